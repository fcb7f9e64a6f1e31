"""The k-means estimators: the front door and the methods of the papers, one file each."""

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
