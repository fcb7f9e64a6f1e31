"""Features on one scale, as a transformer that remembers it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from konstrain.scaling import scale_of


class OneScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Mean 0 and variance 1 for each column; one that is the same everywhere becomes 0.

    What `StandardScaler` does, but for columns whose squares no double holds, and constants: these are 0 exactly.
    """

    def fit(self, X: Any, y: Any = None) -> "OneScale":
        """Find unit, mean and spread of each column."""
        columns = np.asarray(X, dtype=np.float64).T
        self.n_features_in_ = len(columns)
        scales = np.array([scale_of(column) for column in columns]).reshape(-1, 3)
        self.unit_, self.mean_, self.spread_ = scales.T.copy()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns on their scale."""
        check_is_fitted(self)
        scaled: NDArray[np.float64] = (np.asarray(X, dtype=np.float64) / self.unit_ - self.mean_) / self.spread_
        return scaled
