"""K-means under constraints on Dask collections: more rows than one machine's memory holds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from konstrain.dask.estimator import DaskConstrainedKMeans as ConstrainedKMeans

__all__ = ["ConstrainedKMeans"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Late: workers import this package for `passes.py` alone, and their memory is for rows.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return import_module("konstrain.dask.estimator").DaskConstrainedKMeans
        except ModuleNotFoundError as error:
            if error.name not in ("dask", "distributed"):
                raise
            raise ImportError("this needs dask: pip install 'konstrain[dask]'") from None
