"""Pictures of clusterings, constraints and proofs; needs matplotlib (``pip install konstrain[plot]``).

Each plot takes the axes to draw on, or makes new ones, and returns them. Legends stand above the axes, where they
hide nothing: a title goes above them (``ax.set_title("...", pad=40)``).
"""

from konstrain.plotting.clusters import plot_clusters
from konstrain.plotting.conflicts import plot_conflicts
from konstrain.plotting.curves import plot_bounds, plot_curves
from konstrain.plotting.maps import MapAreas, map_areas, plot_map
from konstrain.plotting.projection import Projection, project
from konstrain.plotting.silhouette import plot_silhouette
from konstrain.plotting.sizes import plot_shares, plot_sizes

__all__ = [
    "MapAreas",
    "Projection",
    "map_areas",
    "plot_bounds",
    "plot_clusters",
    "plot_conflicts",
    "plot_curves",
    "plot_map",
    "plot_shares",
    "plot_silhouette",
    "plot_sizes",
    "project",
]
