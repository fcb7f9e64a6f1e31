"""The semidefinite bound where every cluster has a size of its own: a matrix for the clusters of each size.

The relaxation of `bound` has one matrix for all clusters and cannot express which rows are in the large ones. Here,
as in [1]_, clusters of size s have the matrix Y_s = sum of D 1_C 1_C' D / s over them, D = diag(r), r = sqrt(weight):

    Y_s r = s diag(Y_s) / r,   sum over sizes of s diag(Y_s) = weight,   trace Y_s = their number,   0 <= Y_s <= I,

Y_s >= 0, Y_s = 0 on conflicts, stars, cliques (`size_cuts`), and Y_s,ii is at most weight_i / s, or 0 for heavier
blocks. The cost is <C, sum of Y_s>. Each of the two half steps of the method does for each matrix what it does for
one; what the matrices have in common are the multipliers of their diagonals.

**Why the bound is safe.** Let p_s be multipliers of the first equations, q of the second, and
E_s = (p_s r' + r p_s') / 2 - s diag(p_s / r) + s diag(q), so that the <E_s, Y_s> add up to q'weight. Then, as in
`bound`, <C, Y_s> is at least <C + rho (V_s + E_s), Y_s> - rho <E_s, Y_s> plus the terms of limits on the diagonal,
for V_s clipped to the sum of the cuts, and <M, Y_s> is at least the sum of as many smallest eigenvalues of M as there
are clusters of this size (Ky Fan).

References
----------
.. [1] Rujeerapaiboon, Schindler, Kuhn, Wiesemann (2019), "Size matters: cardinality-constrained clustering and
   outlier detection via conic optimization".
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from konstrain import _core
from konstrain._tolerances import SDP_ROUNDING
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.cuts import Cuts
from konstrain.exact.sdp.model import SdpModel, lower_norm, merge_matrix, place_after_merge, size_bounds, symmetric
from konstrain.exact.sdp.size_cuts import Cliques
from konstrain.exact.sdp.spectral import SpectralProjection, smallest_sum


@dataclass(frozen=True)
class SizedParams:
    """Tunable numbers of the bound with one matrix per size."""

    # Least ratio of the largest to the smallest size. Sizes 35 and 36 of Glass leave 3.9%, but 1.9% with one matrix.
    least_ratio: float = 1.25
    # Degree to which a block is in clusters of a size, below which its stars are left out; larger: fewer cuts.
    least_degree: float = 0.02


PARAMS = SizedParams()


def are_known_and_differ(problem: Problem) -> bool:
    """Return whether every cluster has a known size, and some are much larger than others."""
    sizes = size_bounds(problem)
    if not sizes or not all(0 < least == most for least, most in sizes):
        return False
    # Sizes ascend.
    return sizes[-1][0] >= PARAMS.least_ratio * sizes[0][0]


@dataclass(eq=False)
class _SameSize:
    """The clusters of one size: their matrix in the two half steps, its multipliers and cuts; lower triangles."""

    size: float
    count: int
    high: NDArray[np.float64]
    Y: Any
    Z: Any
    U: Any
    p: NDArray[np.float64]
    cuts: Cuts
    spectral: SpectralProjection = field(init=False)

    def __post_init__(self) -> None:
        self.spectral = SpectralProjection(self.count)

    @classmethod
    def start(cls, model: SdpModel, size: float, count: int) -> "_SameSize":
        m = model.n_blocks
        # As if every cluster of this size were spread evenly over all blocks.
        Z = count * np.eye(m) / m
        cuts = Cuts.none(model, Cliques.none(model, size, count))
        return cls(size, count, _high(model, size), Z.copy(), Z, np.zeros((m, m)), np.zeros(m), cuts)

    def merged(self, model: SdpModel, parent: SdpModel, i: int, j: int) -> "_SameSize":
        Y, Z, U = (merge_matrix(symmetric(matrix), parent.weight, i, j) for matrix in (self.Y, self.Z, self.U))
        cuts = self.cuts.moved(model, parent.weight, place_after_merge(parent.n_blocks, i, j))
        root = np.sqrt(parent.weight)
        p = _merged_entries(self.p, root / np.hypot(root[i], root[j]), i, j)
        return _SameSize(self.size, self.count, _high(model, self.size), Y, Z, U, p, cuts)

    def separated(self, model: SdpModel, i: int, j: int) -> "_SameSize":
        Y, Z, U = self.Y.copy(), self.Z.copy(), self.U.copy()
        Z[j, i] = 0.0
        return _SameSize(self.size, self.count, self.high, Y, Z, U, self.p.copy(), self.cuts.of(model))

    def equations(self, root: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multipliers of the equations as a matrix, E_s at the head of this file."""
        E: NDArray[np.float64] = 0.5 * (np.multiply.outer(self.p, root) + np.multiply.outer(root, self.p))
        E.reshape(-1)[:: root.size + 1] += self.size * (q - self.p / root)
        return np.asarray(np.tril(E))

    def spectral_step(self, model: SdpModel, rho: float) -> None:
        work = np.zeros_like(self.Z)
        _core.sdp_shift(self.Z, self.U, model.cost, rho, work)
        factor = self.spectral.factor(work, None)
        blas.dsyrk(1.0, factor, beta=0.0, c=self.Y.T, lower=0, overwrite_c=1)

    def without_cuts(self, model: SdpModel) -> NDArray[np.float64]:
        """Y + U less the cuts, as their multipliers are: what the equations have to be right for."""
        work: NDArray[np.float64] = np.zeros_like(self.Z)
        self._sweep(model, 0, self.Z.copy(), self.U.copy(), work)
        return work

    def cut_step(self, model: SdpModel, E: NDArray[np.float64]) -> NDArray[np.float64]:
        """Project on the cuts, given the equations; return squared lengths as the kernel adds them up."""
        U = self.U - E
        apart, size, moved, _, objective = self._sweep(model, 1, self.Z, U, np.zeros_like(U))
        self.U = U + E
        return np.array([apart**2, size**2, moved**2, lower_norm(self.U) ** 2, objective])

    def _sweep(self, model: SdpModel, n_sweeps: int, Z: Any, U: Any, work: Any) -> Any:
        nothing = np.zeros(model.n_blocks)
        polyhedron = self.cuts.polyhedron(model, nothing, self.high)
        return polyhedron.project(model.cost, nothing, n_sweeps, self.Y, Z, U, self.cuts.mu, work)

    def step_of_equations(self, inside: NDArray[np.float64], root: NDArray[np.float64]) -> NDArray[np.float64]:
        """Step in p from a matrix that misses Y r = s diag(Y) / r: exact if nothing were clipped, else too short."""
        missed = inside @ root - self.size * inside.diagonal() / root
        total = float(root @ root)
        # Products of the equations' rows: diag(c) + r r' / 2, which Sherman and Morrison invert.
        c = 0.5 * total - root**2 + (root - self.size / root) ** 2
        scaled = root / c
        return np.asarray((missed - scaled @ missed * 0.5 * root / (1 + 0.5 * float(scaled @ root))) / c)

    def bound(self, model: SdpModel, rho: float, E: NDArray[np.float64]) -> tuple[float, float]:
        """Least that this matrix can cost by the multipliers at hand, and what rounding may have added."""
        M = np.zeros_like(self.U)
        polyhedron = self.cuts.polyhedron(model, np.zeros(model.n_blocks), self.high)
        _, limits, limits_size = polyhedron.dual_matrix(model.cost, self.U - E, self.cuts.mu, rho, M)
        M += rho * E
        size = self.count * lower_norm(M) + rho * lower_norm(E) + float(limits_size)
        return smallest_sum(M, self.count) + float(limits), size

    def renew_cuts(self, model: SdpModel, *, drop: bool) -> None:
        if drop:
            self.cuts = self.cuts.active(model)
        self.spectral.forget()
        self.cuts, _ = self.cuts.separated(model, self.Y, spared=PARAMS.least_degree / self.size)

    def rescale(self, factor: float) -> None:
        self.U /= factor
        self.p /= factor
        self.cuts.mu[:] /= factor
        self.spectral.rescale(1 / factor)


class SizedBound(SdpBound):
    """Lower bound of one node where each cluster has a known size above 0; see the head of this file."""

    _groups: list[_SameSize]
    _q: NDArray[np.float64]
    _rho: float

    def _begin(self) -> None:
        counts = Counter(most for _, most in self.model.sizes)
        model = self._model_of_cuts
        self._groups = [_SameSize.start(model, size, count) for size, count in sorted(counts.items())]
        self._q = np.zeros(self.model.n_blocks)
        self._rho = 1.0

    @property
    def _model_of_cuts(self) -> SdpModel:
        # Parts of `size_cuts` hold for all clusters together and not for those of one size.
        return replace(self.model, sizes=())

    @property
    def rho(self) -> float:
        """Weight of the distance between the two half steps."""
        return self._rho

    @property
    def n_cuts(self) -> int:
        """Number of cuts."""
        return sum(group.cuts.n_cuts for group in self._groups)

    def _iterate(self) -> Any:
        model, root = self.model, np.sqrt(self.model.weight)
        for group in self._groups:
            group.spectral_step(model, self._rho)
        self._meet_equations(root)
        steps = [group.cut_step(model, group.equations(root, self._q)) for group in self._groups]
        *squares, objective = np.sum(steps, axis=0)
        self._step = (*np.sqrt(squares), objective)
        self._n_iterations += 1
        return self._step

    def _meet_equations(self, root: NDArray[np.float64]) -> None:
        """Raise the dual in the multipliers of the equations, those of each size and those in common in turn."""
        given = [group.without_cuts(self.model) for group in self._groups]
        sizes = np.array([group.size for group in self._groups])
        held = np.zeros_like(root)
        for group, work in zip(self._groups, given, strict=True):
            inside = np.maximum(symmetric(work - group.equations(root, self._q)), 0.0)
            group.p += group.step_of_equations(inside, root)
            diagonal = work.diagonal() - group.p * root - group.size * (self._q - group.p / root)
            held += group.size * np.clip(diagonal, 0.0, group.high)
        self._q += (held - self.model.weight) / float(sizes @ sizes)

    def _rescale(self, factor: float) -> None:
        self._rho *= factor
        self._q /= factor
        for group in self._groups:
            group.rescale(factor)

    def _safe_bound(self) -> float:
        model, root, rho = self.model, np.sqrt(self.model.weight), self._rho
        bounds = [group.bound(model, rho, group.equations(root, self._q)) for group in self._groups]
        value = sum(bound for bound, _ in bounds) - rho * float(self._q @ model.weight)
        size = sum(size for _, size in bounds) + rho * float(np.abs(self._q) @ model.weight)
        return model.total + model.scale * (value - SDP_ROUNDING * model.n_blocks * size)

    def _renew_cuts(self, *, drop: bool) -> None:
        for group in self._groups:
            group.renew_cuts(self._model_of_cuts, drop=drop)

    @property
    def _relaxed(self) -> NDArray[np.float64]:
        return np.asarray(sum(symmetric(group.Z) for group in self._groups))

    def _begin_merged(self, parent: SdpBound, i: int, j: int) -> None:
        assert isinstance(parent, SizedBound)
        self._groups = [group.merged(self._model_of_cuts, parent.model, i, j) for group in parent._groups]
        self._q = _merged_entries(parent._q, parent.model.weight / self.model.weight[i], i, j)
        self._rho = parent._rho

    def _begin_separated(self, parent: SdpBound, i: int, j: int) -> None:
        assert isinstance(parent, SizedBound)
        self._groups = [group.separated(self._model_of_cuts, i, j) for group in parent._groups]
        self._q, self._rho = parent._q.copy(), parent._rho


def _high(model: SdpModel, size: float) -> NDArray[np.float64]:
    """Most Y_ii of blocks in a cluster of this size; blocks that are heavier are in none."""
    return np.where(model.weight <= size, model.weight / size, 0.0)


def _merged_entries(values: NDArray[np.float64], share: NDArray[np.float64], i: int, j: int) -> NDArray[np.float64]:
    """Values with those of i and j, by their shares, in the place of i: E_s of merged blocks is E_s merged."""
    merged = np.delete(values, j)
    merged[i] = share[i] * values[i] + share[j] * values[j]
    return merged
