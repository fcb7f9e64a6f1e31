"""Star cuts of the semidefinite bound: pairs, triangles and larger stars, with their multipliers.

Star (i; T): the sum of Z_ij over j in T, minus the sum of Z_jl over pairs in T, is at most Z_ii. With t members of T
in the cluster of i, whose weight is W, the left side is at most (t - t (t - 1) / 2) / W <= 1 / W = Z_ii. One member
gives a pair, two a triangle inequality.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain.exact.sdp_model import SdpModel

STAR_WIDTH = 6

# Of each kind, so many cuts per block are taken in one round, the most violated ones.
MOST_PER_BLOCK = 20
# Violations below these, relative to Z_ii, are not worth a row.
LEAST_VIOLATION = 1e-4
LEAST_STAR_VIOLATION = 1e-3
# Larger stars are looked for once no triangle is violated by more.
STARS_BELOW = 0.3


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of one node as rows of unit norm, and the multiplier of each.

    Parameters
    ----------
    stars : ndarray of int32, shape (n_cuts, 6)
        Centre and members of each star; -1 fills up.
    rows : tuple of ndarray
        ``start, position, coefficient`` for the kernels; see sdp_cuts.h.
    norm : ndarray of shape (n_cuts,)
        Norm of each row before scaling. ``mu / norm`` belongs to the cut in units of Z and survives a merge.
    mu : ndarray of shape (n_cuts,)
        Multipliers, changed in place by the projection.
    """

    stars: NDArray[np.int32]
    rows: tuple[Any, Any, Any]
    norm: NDArray[np.float64]
    mu: NDArray[np.float64]

    @classmethod
    def make(cls, model: SdpModel, stars: NDArray[np.int32], prices: NDArray[np.float64]) -> Self:
        """Build the rows; `prices` are multipliers in units of Z."""
        start, position, coefficient, norm = _core.sdp_cut_rows(
            np.ascontiguousarray(stars), model.weight, model.forbidden
        )
        return cls(stars, (start, position, coefficient), norm, prices * norm)

    @classmethod
    def none(cls, model: SdpModel) -> Self:
        """No cuts yet."""
        return cls.make(model, np.zeros((0, STAR_WIDTH), dtype=np.int32), np.zeros(0))

    @property
    def n_cuts(self) -> int:
        """Number of cuts."""
        return self.mu.size

    @property
    def prices(self) -> NDArray[np.float64]:
        """Multipliers in units of Z."""
        return self.mu / self.norm

    def separated(self, model: SdpModel, Y: NDArray[np.float64]) -> "tuple[Cuts, int]":
        """Return these cuts with those that Y violates, and how many are new."""
        found, _ = _core.sdp_separate(
            Y,
            model.weight,
            self.stars,
            MOST_PER_BLOCK * model.n_blocks,
            LEAST_VIOLATION,
            LEAST_STAR_VIOLATION,
            STARS_BELOW,
        )
        new = found.reshape(-1, STAR_WIDTH)
        stars = np.concatenate([self.stars, new])
        return Cuts.make(model, stars, np.concatenate([self.prices, np.zeros(len(new))])), len(new)

    def active(self, model: SdpModel) -> "Cuts":
        """Return the cuts that have a positive multiplier."""
        kept = self.mu > 0
        return Cuts.make(model, self.stars[kept], self.prices[kept])

    def moved(self, model: SdpModel, place: NDArray[np.int32]) -> "Cuts":
        """Return the cuts for a child in which block b has number place[b], without those that name one twice."""
        moved = np.where(self.stars >= 0, place[self.stars], -1)
        # Members ascend, as separation writes them; -1 goes last again.
        largest = np.iinfo(np.int32).max
        members = np.sort(np.where(moved[:, 1:] < 0, largest, moved[:, 1:]), axis=1)
        is_repeated = (members[:, 1:] == members[:, :-1]) & (members[:, 1:] != largest)
        kept = ~(is_repeated.any(axis=1) | (members == moved[:, :1]).any(axis=1))
        members[members == largest] = -1
        stars = np.column_stack([moved[:, 0], members])[kept].astype(np.int32)
        stars, prices = _distinct(stars, self.prices[kept])
        return Cuts.make(model, stars, prices)


def _distinct(stars: NDArray[np.int32], prices: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Cuts that became the same one: once, with the sum of their prices."""
    if not len(stars):
        return stars, prices
    unique, which = np.unique(stars, axis=0, return_inverse=True)
    sums = np.zeros(len(unique))
    np.add.at(sums, which.ravel(), prices)
    return unique, sums
