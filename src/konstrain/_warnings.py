"""Warnings that point at the line of the caller, however deep in the package they arise."""

import sys
import warnings

# Packages whose frames are passed over: ours, and those between a call and our code.
PASSED_OVER = ("konstrain", "sklearn", "joblib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside the package."""
    # Python 3.12 has `skip_file_prefixes` for this; a fixed stacklevel would differ between fit and fit_predict.
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package_of(frame.f_globals) in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(module_globals: dict[str, object]) -> str:
    return str(module_globals.get("__name__", "")).partition(".")[0]
