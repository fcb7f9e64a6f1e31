"""The methods that papers compare with, under their published names; links may end broken, and are counted."""

from konstrain.baselines.cop_kmeans import COPKMeans
from konstrain.baselines.cvqe import CVQE
from konstrain.baselines.greedy_kmeans import GreedyKMeans
from konstrain.baselines.lcvqe import LCVQE
from konstrain.baselines.mpck_means import MPCKMeans
from konstrain.baselines.pck_means import PCKMeans

# Alphabetical: ruff takes names in capitals for constants and would put them first.
__all__ = ["COPKMeans", "CVQE", "GreedyKMeans", "LCVQE", "MPCKMeans", "PCKMeans"]  # noqa: RUF022
