"""The methods that papers compare with, under their published names; links may end broken, and are counted."""

from konstrain.baselines.balanced_kmeans import BalancedKMeans
from konstrain.baselines.bcls import BCLS
from konstrain.baselines.cksc import CKSC
from konstrain.baselines.constrained_spectral import ConstrainedSpectral
from konstrain.baselines.dils import DILS
from konstrain.baselines.min_size_kmeans import MinSizeKMeans

__all__ = ["BCLS", "CKSC", "DILS", "BalancedKMeans", "ConstrainedSpectral", "MinSizeKMeans"]
