"""The little we take from scikit-learn's private modules, in one place."""

import sys
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "fit_context", "is_argument_of_fold"]

# Where cross-validation fits an estimator to a part of the rows.
_FOLDS = "sklearn.model_selection._validation"


def is_argument_of_fold(value: Any, n_samples: int) -> bool:
    """Whether cross-validation passes this object to a fit of some rows, numbered otherwise than in the whole.

    scikit-learn splits arguments that have a value per row and passes on all others as they are; only the calling
    frame shows which rows a fit has.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == _FOLDS:
            passed, rows = frame.f_locals.get("fit_params"), frame.f_locals.get("train")
            if isinstance(passed, dict) and any(value is other for other in passed.values()):
                return rows is None or not np.array_equal(rows, np.arange(n_samples))
        frame = frame.f_back
    return False
