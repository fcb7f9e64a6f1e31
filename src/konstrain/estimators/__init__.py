"""The k-means estimators: the front door and the methods of the papers, one file each."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from konstrain.estimators.bc_kmeans import BCKMeans
    from konstrain.estimators.blp_kmeans import BLPKMeans
    from konstrain.estimators.constrained_kmeans import ConstrainedKMeans
    from konstrain.estimators.exact_kmeans import ExactKMeans
    from konstrain.estimators.lagrangian_kmeans import LagrangianKMeans
    from konstrain.estimators.link_metric import LinkMetric
    from konstrain.estimators.matching_kmeans import MatchingKMeans

__all__ = [
    "BCKMeans",
    "BLPKMeans",
    "ConstrainedKMeans",
    "ExactKMeans",
    "LagrangianKMeans",
    "LinkMetric",
    "MatchingKMeans",
]

# Modules load when first used: ExactKMeans brings a solver that no other estimator needs.
_HOME_OF = {
    "BCKMeans": "bc_kmeans",
    "BLPKMeans": "blp_kmeans",
    "ConstrainedKMeans": "constrained_kmeans",
    "ExactKMeans": "exact_kmeans",
    "LagrangianKMeans": "lagrangian_kmeans",
    "LinkMetric": "link_metric",
    "MatchingKMeans": "matching_kmeans",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        return value
