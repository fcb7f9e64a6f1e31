"""The methods that papers compare with, under their published names; links may end broken, and are counted."""

from konstrain.baselines.bcls import BCLS
from konstrain.baselines.cksc import CKSC
from konstrain.baselines.constrained_spectral import ConstrainedSpectral
from konstrain.baselines.cvqe import CVQE, LCVQE
from konstrain.baselines.dils import DILS
from konstrain.baselines.greedy import COPKMeans, GreedyKMeans
from konstrain.baselines.mpck_means import MPCKMeans
from konstrain.baselines.pck_means import PCKMeans
from konstrain.baselines.relaxed_kmeans import RelaxedKMeans
from konstrain.baselines.sized_kmeans import BalancedKMeans, MinSizeKMeans

# Alphabetical: ruff takes names in capitals for constants and would put them first.
__all__ = [  # noqa: RUF022
    "BCLS",
    "BalancedKMeans",
    "CKSC",
    "COPKMeans",
    "CVQE",
    "ConstrainedSpectral",
    "DILS",
    "GreedyKMeans",
    "LCVQE",
    "MPCKMeans",
    "MinSizeKMeans",
    "PCKMeans",
    "RelaxedKMeans",
]
