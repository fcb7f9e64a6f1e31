"""Cuts of the semidefinite bound with their multipliers: stars, and where sizes are bounded further ones.

Star (i; T): the sum of Z_ij over j in T, minus the sum of Z_jl over pairs in T, is at most Z_ii. With t members of T
in the cluster of i, whose weight is W, the left side is at most (t - t (t - 1) / 2) / W <= 1 / W = Z_ii. One member
gives a pair, two a triangle inequality.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from konstrain import _core
from konstrain._tolerances import LEAST_VIOLATION
from konstrain.exact.sdp.model import SdpModel
from konstrain.exact.sdp.size_cuts import PartRows, Parts

# Blocks of a star in the kernels: the center and up to five members.
STAR_WIDTH: Final = 6


@dataclass(frozen=True)
class CutParams:
    """Tunable numbers of the separation of stars."""

    # Cuts per block and kind that one round adds, most violated first; more tighten faster and slow iterations.
    per_block: int = 20


PARAMS = CutParams()


class FurtherCuts(Protocol):
    """Cuts other than stars: those of `size_cuts`, or cliques."""

    @property
    def limit(self) -> NDArray[np.float64]:
        """Right-hand side of each cut."""
        ...

    def __len__(self) -> int: ...

    def chosen(self, kept: NDArray[Any]) -> Self:
        """Return some of the cuts."""
        ...

    def joined(self, other: Any) -> Self:
        """Return these and others of the same kind."""
        ...

    def merged(self, weight: NDArray[np.float64], place: NDArray[np.int32]) -> Self:
        """Return the cuts when block b, of this weight, becomes part of block place[b]."""
        ...

    def rows(self, model: SdpModel) -> PartRows:
        """Return the cuts as rows over Y."""
        ...

    def violated(self, model: SdpModel, Y: NDArray[np.float64]) -> Self:
        """Return cuts that Y violates and that are not among these."""
        ...


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of one node as rows of unit norm, and the multiplier of each."""

    stars: NDArray[np.int32]  # (n_cuts, 6): center and members of each star; -1 fills up.
    parts: FurtherCuts  # The part cuts, or those of cliques; their rows come after those of the stars.
    # ``start, position, coefficient, diagonals, limit`` for the kernels; see sdp_cuts.h.
    rows: tuple[Any, Any, Any, Any, Any]
    # (n_cuts,): norm of each row before scaling. ``mu / norm`` belongs to the cut in units of Z and survives a merge.
    norm: NDArray[np.float64]
    mu: NDArray[np.float64]  # (n_cuts,): multipliers, changed in place by the projection.

    @classmethod
    def make(cls, model: SdpModel, stars: NDArray[np.int32], parts: FurtherCuts, scaled: NDArray[np.float64]) -> Self:
        """Build the rows; `scaled` are multipliers in units of Z, of stars first."""
        start, position, coefficient, norm = _core.sdp_cut_rows(
            np.ascontiguousarray(stars), model.weight, model.forbidden
        )
        more = parts.rows(model)
        norm = np.concatenate([norm, more.norm])
        rows = (
            np.concatenate([start, start[-1] + more.end]),
            np.concatenate([position, more.position]),
            np.concatenate([coefficient, more.coefficient]),
            np.concatenate([np.ones(len(stars), dtype=np.int32), more.diagonals]),
            np.concatenate([np.zeros(len(stars)), parts.limit / more.norm]),
        )
        return cls(stars, parts, rows, norm, scaled * norm)

    @classmethod
    def none(cls, model: SdpModel, further: FurtherCuts | None = None) -> Self:
        """Return no cuts; `further` is the kind of cuts other than stars."""
        parts = Parts.none(model) if further is None else further
        return cls.make(model, np.zeros((0, STAR_WIDTH), dtype=np.int32), parts, np.zeros(0))

    def of(self, model: SdpModel) -> "Cuts":
        """Return these cuts for another model of the same blocks."""
        return Cuts.make(model, self.stars, self.parts, self.scaled)

    def polyhedron(self, model: SdpModel, low: NDArray[np.float64], high: NDArray[np.float64]) -> _core.SdpPolyhedron:
        """Return the set that the kernels project on; `low` and `high` bound the diagonal."""
        return _core.SdpPolyhedron(*self.rows, model.forbidden, low, high)

    def _by_kind(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values of stars, values of parts."""
        return np.split(values, [len(self.stars)])

    @property
    def n_cuts(self) -> int:
        """Number of cuts."""
        return self.mu.size

    @property
    def scaled(self) -> NDArray[np.float64]:
        """Multipliers in units of Z."""
        return self.mu / self.norm

    def separated(self, model: SdpModel, Y: NDArray[np.float64], spared: float = 0.0) -> "tuple[Cuts, int]":
        """Return these cuts with those that Y violates, stars by more than `spared` in Z_ii; and how many are new."""
        for_stars = Y.copy()
        for_stars.reshape(-1)[:: model.n_blocks + 1] += spared * model.weight
        found, _ = _core.sdp_separate(
            for_stars,
            model.weight,
            self.stars,
            PARAMS.per_block * model.n_blocks,
            LEAST_VIOLATION,
            LEAST_VIOLATION,
            np.inf,
        )
        new = found.reshape(-1, STAR_WIDTH)
        parts = self.parts.violated(model, Y)
        of_star, of_part = self._by_kind(self.scaled)
        scaled = np.concatenate([of_star, np.zeros(len(new)), of_part, np.zeros(len(parts))])
        cuts = Cuts.make(model, np.concatenate([self.stars, new]), self.parts.joined(parts), scaled)
        return cuts, len(new) + len(parts)

    def active(self, model: SdpModel) -> "Cuts":
        """Return the cuts that have a positive multiplier."""
        kept = self.mu > 0
        of_star, of_part = self._by_kind(kept)
        return Cuts.make(model, self.stars[of_star], self.parts.chosen(of_part), self.scaled[kept])

    def moved(self, model: SdpModel, weight: NDArray[np.float64], place: NDArray[np.int32]) -> "Cuts":
        """Return the cuts for a child in which block b, of this weight, has number place[b].

        Stars that would name a block twice are dropped.
        """
        moved = np.where(self.stars >= 0, place[self.stars], -1)
        # Members ascend, as separation writes them; -1 goes last again.
        largest = np.iinfo(np.int32).max
        members = np.sort(np.where(moved[:, 1:] < 0, largest, moved[:, 1:]), axis=1)
        is_repeated = (members[:, 1:] == members[:, :-1]) & (members[:, 1:] != largest)
        kept = ~(is_repeated.any(axis=1) | (members == moved[:, :1]).any(axis=1))
        members[members == largest] = -1
        stars = np.column_stack([moved[:, 0], members])[kept].astype(np.int32)
        of_star, of_part = self._by_kind(self.scaled)
        stars, of_star = _distinct(stars, of_star[kept])
        return Cuts.make(model, stars, self.parts.merged(weight, place), np.concatenate([of_star, of_part]))


def _distinct(stars: NDArray[np.int32], scaled: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each of equal cuts once, with the sum of their multipliers."""
    if not len(stars):
        return stars, scaled
    unique, which = np.unique(stars, axis=0, return_inverse=True)
    sums = np.zeros(len(unique))
    np.add.at(sums, which.ravel(), scaled)
    return unique, sums
