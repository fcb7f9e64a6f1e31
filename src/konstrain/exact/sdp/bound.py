"""The semidefinite lower bound on the cost of every feasible clustering.

Peng and Wei's relaxation [1]_ over blocks, as in [2]_, with cuts, solved by the alternating direction method of
multipliers: one half step projects on a spectral set (eigenvalues), the other on a polyhedron (sweeps over the cuts).
The multipliers of any iteration give a valid bound; convergence makes it tight.

**Why the bound is safe.** Let Y be the matrix of a clustering (see `SdpModel`), U the scaled multiplier, rho > 0, and
mu >= 0 the multipliers of cuts <A_t, Y> <= b_t. Write V = sum_t mu_t A_t - S, with S free on conflicts (there Y = 0),
S >= 0 elsewhere off the diagonal, and S_ii of either sign where low_i <= Y_ii <= high_i are known. Then

    <V, Y> <= sum_t mu_t b_t - sum_i S_ii Y_ii
           <= sum_t mu_t b_t - sum_i (max(S_ii, 0) low_i - max(-S_ii, 0) high_i),

so with M = C + rho V

    <C, Y> = <M, Y> - rho <V, Y>
          >= <M, Y> + rho (sum_i (max(S_ii, 0) low_i - max(-S_ii, 0) high_i) - sum_t mu_t b_t).

With size bounds low_i = w_i / size_max and high_i = w_i / size_min, as Y_ii is w_i over the weight of its cluster;
without, low_i = 0 and S_ii >= 0 is required. Last, Y = uu' + W with W u = 0, 0 <= W <= I and trace k - 1, so <M, Y>
is at least u'Mu plus the sum of the k - 1 smallest eigenvalues of M on the complement of u (Ky Fan). V is U itself
where U allows it, and clipped to the sum of the cuts where it does not. What rounding may have done to C before any
of this is taken off beforehand (`model.rounding_guard`), what it does in the sums above is taken off here.

References
----------
.. [1] Peng, Wei (2007), "Approximating K-means-type clustering via semidefinite programming".
.. [2] Piccialli, Russo Russo, Sudoso (2022), "An exact algorithm for semi-supervised minimum sum-of-squares
   clustering".
.. [3] Wohlberg (2017), "ADMM penalty parameter selection by residual balancing": relative residuals, the root of
   their ratio as factor, capped; after He, Yang, Wang (2000).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from konstrain import _core
from konstrain._tolerances import LEAST_VIOLATION, SDP_ROUNDING
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.cuts import Cuts
from konstrain.exact.sdp.model import SdpModel, merge_matrix, place_after_merge, symmetric
from konstrain.exact.sdp.spectral import SpectralProjection, deflate, one_blas_thread, smallest_sum
from konstrain.exact.sdp.start import clustering_matrix, suggested_multipliers
from konstrain.stop import Budget


@dataclass(frozen=True)
class SdpParams:
    """Tunable numbers of the method."""

    # Iterations between rounds of cuts; more converge better before cuts are added.
    iterations: int = 30
    # Iterations between bounds and changes of rho; a larger number saves eigenvalues and ends later.
    check_every: int = 10
    # Largest change of rho at a time, and the factor within which residuals count as balanced. Iris with 3 clusters
    # takes 600 iterations with 1.1 and 370 with 1.6; from 2 on the multipliers jump too far for 5 clusters.
    rho_step: float = 1.6
    # A node has stalled when this number of rounds gains less than this share of the gap; larger rounds and smaller
    # shares branch later.
    stall_rounds: int = 4
    stall_share: float = 0.05
    # Exponent of the degree to which blocks share a cluster, in branching; a larger one counts fewer blocks as tied.
    tie_power: int = 20


PARAMS = SdpParams()


@dataclass(frozen=True)
class SdpStep:
    """One line of the trace, written whenever a bound is computed."""

    n_iterations: int
    lower_bound: float
    best_bound: float
    objective: float
    apart: float
    rho: float
    n_cuts: int


@dataclass(frozen=True, eq=False)
class SdpResult:
    """Result of a run of the bound.

    Parameters
    ----------
    lower_bound : float
        No feasible clustering costs less. Infinite: there is none.
    status : str
        "closed": within the gap of the upper bound. "stalled": more iterations would not help, branch. "limit": the
        budget or an interrupt ended the run.
    Z : ndarray of shape (n_blocks, n_blocks)
        The relaxed clustering: 1 / (weight of the cluster) for blocks that share one.
    n_iterations, n_cuts : int
        Iterations of this run, cuts at its end.
    trace : tuple of SdpStep
        The course of this run.
    interrupted : bool
        Whether the keyboard ended the run; the caller raises again if need be.

    Examples
    --------
    >>> result = SdpBound(Problem.build([[0.0], [1.0], [5.0], [6.0]], 2)).run(upper_bound=1.0)
    >>> result.status, result.Z.shape
    ('closed', (4, 4))
    """

    lower_bound: float
    status: str
    Z: NDArray[np.float64]
    n_iterations: int
    n_cuts: int
    trace: tuple[SdpStep, ...] = ()
    interrupted: bool = False


@dataclass
class _State:
    """The method's variables, all in units of Y: lower triangles of m x m matrices."""

    Y: Any
    Z: Any
    U: Any
    rho: float

    @classmethod
    def start(cls, model: SdpModel) -> "_State":
        m = model.n_blocks
        u = model.direction
        # The center of the spectral set.
        share = (model.n_clusters - 1) / (m - 1)
        Z = share * np.eye(m) + (1 - share) * np.outer(u, u)
        return cls(Z.copy(), Z, np.zeros((m, m)), 1.0)

    @classmethod
    def start_at(cls, model: SdpModel, labels: NDArray[np.int32]) -> "_State":
        Z = np.tril(clustering_matrix(model, labels))
        return cls(Z.copy(), Z, -np.tril(suggested_multipliers(model, labels)), 1.0)

    def merged(self, weight: NDArray[np.float64], i: int, j: int) -> "_State":
        Y, Z, U = (merge_matrix(symmetric(matrix), weight, i, j) for matrix in (self.Y, self.Z, self.U))
        return _State(Y, Z, U, self.rho)

    def copy(self) -> "_State":
        return _State(self.Y.copy(), self.Z.copy(), self.U.copy(), self.rho)


class SdpBound:
    """Lower bound of one node of a search: a problem with further must-links and cannot-links between its blocks.

    The node keeps its state, so that `run` can be called again, and passes it to its children. Pairs of blocks
    are numbered as in the problem, at the root as in every child.

    Parameters
    ----------
    problem : Problem
        The problem, with means; soft links are ignored (the bound is on the squared distances alone), as are size
        bounds in units other than weights.
    budget : Budget, optional
        Ends runs that are given no budget of their own.

    Attributes
    ----------
    lower_bound : float
        Best bound so far; holds at any time, also after an interrupt.

    Examples
    --------
    >>> problem = Problem.build([[0.0], [1.0], [5.0], [6.0], [9.0]], 2, cannot_link=[(0, 1)])
    >>> root = SdpBound(problem)
    >>> result = root.run(upper_bound=32.75)
    >>> result.status, 0.9999 * 32.75 <= result.lower_bound <= 32.75
    ('closed', True)
    """

    def __init__(self, problem: Problem, budget: Budget | None = None) -> None:
        self._set_up(SdpModel.of(problem), budget or Budget(None))
        if self.model.known_value is None:
            self._begin()

    def _begin(self) -> None:
        self._state = _State.start(self.model)
        self._cuts = Cuts.none(self.model)

    def _set_up(self, model: SdpModel, budget: Budget) -> None:
        self.model = model
        self.lower_bound = model.within_blocks if model.known_value is None else model.known_value
        self.depth = 0
        self._budget = budget
        self._n_iterations = 0
        self._step: Any = (0.0, 1.0, 0.0, 0.0, 0.0)
        self._spectral = SpectralProjection(model.n_clusters - 1)

    def start_at(self, labels: NDArray[np.int32]) -> None:
        """Begin with the multipliers that a good clustering suggests, labels by blocks of the problem."""
        if self.model.known_value is None:
            self._state = _State.start_at(self.model, labels[self.block_of >= 0])

    @property
    def n_iterations(self) -> int:
        """Iterations of all runs so far."""
        return self._n_iterations

    @property
    def block_of(self) -> NDArray[np.int32]:
        """Node block of each block of the problem; -1: left out, because it has no weight."""
        return self.model.block_of

    def run(
        self,
        upper_bound: float | None = None,
        gap: float = 1e-4,
        budget: Budget | None = None,
        *,
        max_rounds: int = 60,
    ) -> SdpResult:
        """Improve the bound until it is within `gap` of the upper bound, stalls, or time is up.

        More rounds of cuts close the root more often, and take long where branching is faster.
        """
        run = _Run(np.inf if upper_bound is None else float(upper_bound), gap, budget or self._budget, self.model)
        first = self._n_iterations
        interrupted = False
        try:
            with one_blas_thread():
                status = self._rounds(run, max_rounds)
        except KeyboardInterrupt:
            status, interrupted = "limit", True
        except np.linalg.LinAlgError:
            # LAPACK failed, which is very rare; the bound so far is valid.
            status = "stalled"
        n_cuts = 0 if self.model.known_value is not None else self.n_cuts
        return SdpResult(
            self.lower_bound, status, self.Z, self._n_iterations - first, n_cuts, tuple(run.trace), interrupted
        )

    @property
    def rho(self) -> float:
        """Weight of the distance between the two half steps."""
        return self._state.rho

    @property
    def n_cuts(self) -> int:
        """Number of cuts."""
        return self._cuts.n_cuts

    def _rounds(self, run: "_Run", max_rounds: int) -> str:
        if self.model.known_value is not None or run.is_closed(self.lower_bound):
            return "closed"
        bounds = []
        for number in range(max_rounds):
            status = self._advance(run, PARAMS.iterations)
            if status is not None:
                return status
            bounds.append(self.lower_bound)
            if self._has_stalled(run, bounds):
                break
            self._renew_cuts(drop=number % 2 == 1)
        return "stalled"

    def _advance(self, run: "_Run", n_iterations: int) -> str | None:
        """Iterate, with a bound every few steps; return why to end, if there is a reason."""
        for step in range(1, n_iterations + 1):
            previous = self._iterate()
            if step % PARAMS.check_every and not run.budget.expired():
                continue
            self._take_bound(run)
            if run.is_closed(self.lower_bound):
                return "closed"
            if run.budget.expired():
                return "limit"
            self._adapt_rho(previous)
        return None

    def _iterate(self) -> Any:
        """Take one step: spectral projection, then projection on the cuts."""
        model, state = self.model, self._state
        work = np.zeros_like(state.Z)
        _core.sdp_shift(state.Z, state.U, model.cost, state.rho, work)
        factor = self._spectral.factor(work, model.direction)
        # W = F F' into the lower triangle; the kernel adds uu'.
        blas.dsyrk(1.0, factor, beta=0.0, c=state.Y.T, lower=0, overwrite_c=1)
        # One sweep over the cuts: 3 or 10 lead to the same number of iterations.
        self._step = self._polyhedron.project(
            model.cost, model.direction, 1, state.Y, state.Z, state.U, self._cuts.mu, work
        )
        self._n_iterations += 1
        return self._step

    @property
    def _polyhedron(self) -> _core.SdpPolyhedron:
        return self._cuts.polyhedron(self.model, self.model.low, self.model.high)

    def _adapt_rho(self, step: Any) -> None:
        """Balance relative residuals [3]_: rho follows the root of their ratio once that leaves `rho_step`.

        It has no floor: many clusters need it small.
        """
        apart, size, moved, multiplier, _ = step
        primal, dual = apart / size, moved / max(multiplier, np.finfo(float).tiny)
        if max(primal, dual) <= PARAMS.rho_step * min(primal, dual):
            return
        ratio = primal / max(dual, np.finfo(float).tiny)
        self._rescale(float(np.clip(np.sqrt(ratio), 1 / PARAMS.rho_step, PARAMS.rho_step)))

    def _rescale(self, factor: float) -> None:
        """Change rho and leave the multipliers, which are in units of it, what they are."""
        self._state.rho *= factor
        self._state.U /= factor
        self._cuts.mu[:] /= factor
        self._spectral.rescale(1 / factor)

    def _take_bound(self, run: "_Run") -> None:
        bound = self._safe_bound()
        self.lower_bound = max(self.lower_bound, bound)
        apart, size, _, _, objective = self._step
        run.trace.append(
            SdpStep(
                self._n_iterations,
                bound,
                self.lower_bound,
                self.model.total + self.model.scale * float(objective),
                float(apart / size),
                self.rho,
                self.n_cuts,
            )
        )

    def _safe_bound(self) -> float:
        """Return the bound of the current multipliers; see the head of this file."""
        model, state = self.model, self._state
        M = np.zeros_like(state.U)
        norm, limits, limits_size = self._polyhedron.dual_matrix(model.cost, state.U, self._cuts.mu, state.rho, M)
        count = model.n_clusters - 1
        value = deflate(M, model.direction, 2.0 * norm) + smallest_sum(M, count) + float(limits)
        guard = SDP_ROUNDING * model.n_blocks * float(count * norm + limits_size)
        return model.total + model.scale * (value - guard)

    def _has_stalled(self, run: "_Run", bounds: list[float]) -> bool:
        rounds, share = PARAMS.stall_rounds, PARAMS.stall_share
        if len(bounds) <= rounds or not run.trace:
            return False
        last = run.trace[-1]
        # Y and Z apart, or a relaxed cost below the bound: slow convergence, but not stalled.
        if last.apart >= LEAST_VIOLATION or last.objective < bounds[-1]:
            return False
        gained = bounds[-1] - bounds[-1 - rounds]
        if not np.isfinite(run.upper_bound):
            return gained < share * run.gap * abs(bounds[-1])
        # The gap may not be real while the relaxed cost is at the upper bound.
        is_below = last.objective < run.upper_bound * (1 - run.gap / 2)
        return gained < share * (run.upper_bound - bounds[-1]) and is_below

    def _renew_cuts(self, *, drop: bool) -> None:
        if drop:
            self._cuts = self._cuts.active(self.model)
        self._spectral.forget()
        self._cuts, _ = self._cuts.separated(self.model, self._state.Y)

    @property
    def Z(self) -> NDArray[np.float64]:
        """The relaxed clustering between node blocks: 1 / (weight of the cluster) for blocks that share one."""
        model = self.model
        if model.known_value is not None:
            is_one = model.n_clusters == 1
            return np.full((model.n_blocks,) * 2, 1 / model.weight.sum()) if is_one else np.diag(1 / model.weight)
        root = np.sqrt(model.weight)
        return np.asarray(self._relaxed / np.outer(root, root))

    @property
    def _relaxed(self) -> NDArray[np.float64]:
        """The same in units of Y."""
        return symmetric(self._state.Z)

    def branching_pair(self) -> tuple[int, int] | None:
        """Return two blocks of the problem to branch on, see `branching_scores`; None: all pairs are fixed."""
        model = self.model
        if model.known_value is not None:
            return None
        score = branching_scores(model, self.Z)
        i, j = divmod(int(score.argmax()), model.n_blocks)
        if score[i, j] <= 0:
            return None
        return self._first_of(i), self._first_of(j)

    def _first_of(self, node_block: int) -> int:
        return int(np.argmax(self.block_of == node_block))

    def child_must_link(self, i: int, j: int) -> "SdpBound":
        """Return the node in which blocks i and j of the problem share a cluster, with the multipliers of this one.

        A matrix of the merged blocks is a matrix of the blocks, so multipliers stay valid; only cuts that would
        name a block twice are dropped.
        """
        a, b = self._node_pair(i, j)
        if self.model.is_conflict[a, b]:
            raise ValueError(f"blocks {i} and {j} are in conflict and cannot be merged")
        child = self._child(self.model.merged(a, b))
        if child.model.known_value is None:
            child._begin_merged(self, a, b)
        return child

    def _begin_merged(self, parent: "SdpBound", i: int, j: int) -> None:
        self._state = parent._state.merged(parent.model.weight, i, j)
        place = place_after_merge(parent.model.n_blocks, i, j)
        self._cuts = parent._cuts.moved(self.model, parent.model.weight, place)

    def child_cannot_link(self, i: int, j: int) -> "SdpBound":
        """Return the node in which blocks i and j of the problem are in different clusters."""
        a, b = self._node_pair(i, j)
        child = self._child(self.model.separated(a, b))
        if child.model.known_value is None:
            child._begin_separated(self, a, b)
        return child

    def _begin_separated(self, parent: "SdpBound", i: int, j: int) -> None:
        self._state = parent._state.copy()
        self._state.Z[j, i] = 0.0
        self._cuts = parent._cuts.of(self.model)

    def _node_pair(self, i: int, j: int) -> tuple[int, int]:
        """Node blocks of two blocks of the problem, the smaller first."""
        a, b = sorted((int(self.block_of[i]), int(self.block_of[j])))
        if a < 0 or a == b:
            raise ValueError(f"blocks {i} and {j} are one block here, or have no weight: nothing to branch on")
        return a, b

    def _child(self, model: SdpModel) -> "SdpBound":
        child = type(self).__new__(type(self))
        child._set_up(model, self._budget)
        child.depth = self.depth + 1
        child.lower_bound = max(self.lower_bound, child.lower_bound)
        child._n_iterations = self._n_iterations
        return child


class _Run:
    """Limits and trace of one run."""

    def __init__(self, upper_bound: float, gap: float, budget: Budget, model: SdpModel) -> None:
        self.upper_bound = upper_bound
        self.gap = gap
        self.budget = budget
        # Costs near 0 relative to the total are rounding.
        self._rounding = SDP_ROUNDING * model.n_blocks * model.total + model.guard
        self.trace: list[SdpStep] = []

    def is_closed(self, lower_bound: float) -> bool:
        if not np.isfinite(self.upper_bound):
            return False
        return bool(self.upper_bound - lower_bound <= max(self.gap * abs(self.upper_bound), self._rounding))


def branching_scores(model: SdpModel, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a score for branching on blocks i < j, in the upper triangle; 0: nothing to gain.

    A good pair raises both children. Together, one of the two has to join the cluster of the other, which costs at
    least the cheaper of the two moves. Apart, the relaxation loses the degree to which they shared a cluster, and
    more if many blocks are tied to either.

    The score is min(F, 1 - F) * sqrt(t_i t_j / (t_i + t_j)) * move, where F = Z_ij / min(Z_ii, Z_jj) is the degree to
    which they share a cluster, t the weight of all blocks tied to a block, and move the cost of the cheaper move.
    """
    own = Z.diagonal()
    degree = np.clip(Z / np.maximum(np.minimum.outer(own, own), np.finfo(float).tiny), 0.0, 1.0)
    tied = degree**PARAMS.tie_power @ model.weight
    reach = np.sqrt(np.multiply.outer(tied, tied) / np.add.outer(tied, tied))
    move = move_costs(model, Z)
    scores = np.minimum(degree, 1 - degree) * reach * np.maximum(np.minimum(move, move.T), 0.0)
    return np.asarray(np.triu(np.where(model.is_conflict, 0.0, scores), 1))


def move_costs(model: SdpModel, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much more block i costs in the relaxed cluster of block j than in its own, both centers fixed."""
    gram = -model.scale * model.cost / np.sqrt(np.outer(model.weight, model.weight))
    # Row i weighs the members of the relaxed cluster of block i: these weights sum to 1.
    member = np.maximum(Z, 0.0) * model.weight
    member /= member.sum(axis=1)[:, None]
    to_center = gram @ member.T
    centers = (member * to_center.T).sum(axis=1)
    cost = model.weight[:, None] * (centers - 2 * to_center)
    return np.asarray(cost - cost.diagonal()[:, None])
