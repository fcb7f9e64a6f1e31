"""`LinkMetric`: rows in a space where links are short and long as they should be."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from konstrain._sklearn import Interval, StrOptions, fit_context
from konstrain.constraints.inputs import read_links
from konstrain.link_metrics import Evidence, diagonal, itml, rca

# The ways to learn, and "standard": features on one scale, whatever the links.
KINDS = ("standard", "diagonal", "rca", "itml")


class LinkMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn from links how much features, and combinations of them, count in distances.

    Euclidean distances of transformed rows are the learned ones, so anything that measures distances can follow.
    Features are brought to one scale first: their units do not matter.

    Parameters
    ----------
    kind : {"itml", "rca", "diagonal", "standard"}, default="itml"
        "itml": information-theoretic metric learning [1]_, from both kinds of links. "rca": relevant component
        analysis [2]_, the inverse of the covariance within must-linked rows. "diagonal": the same without
        correlations, one weight per feature. "standard": every feature has variance 1; links are not looked at.
    slack_price : float, default=0.1
        For "itml", what missing the length of a link costs: gamma of the paper. Small values trust links
        less.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        ``transform`` multiplies rows by its transpose.
    metric_ : ndarray of shape (n_features, n_features)
        The squared distance of x and y is ``(x - y) @ metric_ @ (x - y)``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    .. [1] Davis, Kulis, Jain, Sra, Dhillon (2007), "Information-Theoretic Metric Learning", ICML.
    .. [2] Bar-Hillel, Hertz, Shental, Weinshall (2003), "Learning Distance Functions using Equivalence Relations",
       ICML.

    Examples
    --------
    The second feature is noise: rows that belong together differ in it.

    >>> X = [[0.0, 0.0], [0.1, 1.0], [1.0, 0.0], [1.1, 1.0]]
    >>> metric = LinkMetric("rca").fit(X, must_link=[(0, 1), (2, 3)])
    >>> bool(metric.metric_[0, 0] > metric.metric_[1, 1])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions(set(KINDS))],
        "slack_price": [Interval(Real, 0, None, closed="neither")],
    }

    components_: NDArray[np.float64]
    metric_: NDArray[np.float64]

    def __init__(self, kind: str = "itml", *, slack_price: float = 0.1) -> None:
        self.kind = kind
        self.slack_price = slack_price

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None, labels: Any = None
    ) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present for scikit-learn's conventions.
        must_link, cannot_link : pairs, optional
            Rows that should be near, or far, as in `ConstrainedKMeans`; a confidence lessens what a link counts.
        labels : array-like of shape (n_samples,), optional
            A clustering of the rows. Where links are few the metric is then the one that suits its clusters, the
            inverse of the covariance within them, instead of equal weights.

        Returns
        -------
        self
            The fitted transformer.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        must, cannot = read_links("must_link", must_link, len(X)), read_links("cannot_link", cannot_link, len(X))
        scale = _scale_of(X)
        clusters = None if labels is None else column_or_1d(labels)
        evidence = Evidence(np.ascontiguousarray(X / scale), must, cannot, clusters)
        self._keep(self._learned(evidence) / np.outer(scale, scale))
        return self

    def _learned(self, evidence: Evidence) -> NDArray[np.float64]:
        n_features = evidence.rows.shape[1]
        if self.kind == "standard" or (len(evidence.is_short) == 0 and evidence.labels is None):
            return np.eye(n_features)
        if self.kind == "itml":
            return itml(evidence, slack_price=self.slack_price)
        return {"rca": rca, "diagonal": diagonal}[self.kind](evidence)

    def _keep(self, metric: NDArray[np.float64]) -> None:
        self.metric_ = metric
        # Features of very different size: the root is taken on one scale, so that rounding harms none of them.
        scale = np.sqrt(np.diag(metric))
        variances, directions = np.linalg.eigh(metric / np.outer(scale, scale))
        self.components_ = (directions * np.sqrt(np.maximum(variances, 0.0))).T * scale
        self._n_features_out = len(self.components_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return rows whose Euclidean distances are the learned ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            In the precision of X.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.ascontiguousarray((X @ self.components_.T).astype(X.dtype, copy=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scale_of(X: NDArray[Any]) -> NDArray[np.float64]:
    """Standard deviation of each feature; 1 where a feature is the same everywhere."""
    scale = X.std(axis=0, dtype=np.float64)
    return np.where((X.min(axis=0) < X.max(axis=0)) & (scale > 0), scale, 1.0)
