"""ITML of the package metric-learn, for `perf/learned_metric.py`."""

from functools import wraps
from typing import Any

import metric_learn._util
import numpy as np
from metric_learn import ITML


def _in_todays_words(check: Any) -> Any:
    """metric-learn 0.7 calls an argument by the name that scikit-learn gave up in 1.8."""

    @wraps(check)
    def renamed(*args: Any, force_all_finite: Any = True, **options: Any) -> Any:
        return check(*args, ensure_all_finite=force_all_finite, **options)

    return renamed


for _name in ("check_array", "check_X_y"):
    setattr(metric_learn._util, _name, _in_todays_words(getattr(metric_learn._util, _name)))


def transformed(X: np.ndarray, must: np.ndarray, cannot: np.ndarray, max_iter: int) -> np.ndarray:
    """Rows in the metric that the package learns by default; as they are without links of both kinds."""
    if not len(must) or not len(cannot):
        return X
    pairs = np.concatenate([must, cannot])
    signs = np.repeat([1, -1], [len(must), len(cannot)])
    model = ITML(preprocessor=X, max_iter=max_iter, random_state=0).fit(pairs, signs)
    return np.ascontiguousarray(model.transform(X))
