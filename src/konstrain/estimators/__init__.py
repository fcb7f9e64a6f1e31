"""The k-means estimators: the front door and the methods of the papers, one file each."""

from konstrain.estimators.constrained_kmeans import ConstrainedKMeans

__all__ = ["ConstrainedKMeans"]
