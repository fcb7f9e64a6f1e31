"""How many clusters: the numbers that constraints allow, and the one that the rows speak for."""

from konstrain.choosing.choose import NumberOfClusters, choose_n_clusters
from konstrain.choosing.limits import least_clusters, most_clusters

__all__ = ["NumberOfClusters", "choose_n_clusters", "least_clusters", "most_clusters"]
