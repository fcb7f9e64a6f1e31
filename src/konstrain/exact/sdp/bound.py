"""The semidefinite lower bound on the cost of every feasible clustering.

Peng and Wei's relaxation [1]_ over blocks, as in [2]_, with cuts, solved by the alternating direction method of
multipliers: one half step projects on a spectral set (eigenvalues), the other on a polyhedron (sweeps over the cuts).
Whatever state the method is in, its multipliers give a bound that holds; convergence decides only how good it is.

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
of this is taken off beforehand (`model._rounding_guard`), what it does in the sums above is taken off here.

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
from konstrain._tolerances import SDP_ROUNDING
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.branching import branching_scores
from konstrain.exact.sdp.cuts import Cuts
from konstrain.exact.sdp.model import SdpModel, merge_matrix, place_after_merge, symmetric
from konstrain.exact.sdp.spectral import SpectralProjection, deflate, one_blas_thread, smallest_sum
from konstrain.exact.sdp.start import clustering_matrix, suggested_multipliers
from konstrain.stop import Budget

# Iterations before the first cuts at the root, and between later rounds of cuts.
FIRST_ITERATIONS = 80
ROUND_ITERATIONS = 30
# A bound is computed, and rho adapted, so often.
CHECK_EVERY = 10
# Sweeps over the cuts in one projection; 1, 3 and 10 lead to the same number of iterations.
N_SWEEPS = 3
FIRST_RHO = 1.0
# From the multipliers of a clustering: parts of 100 rows of ten clusters that overlap take 10 to 50 iterations with
# 0.1 and 0.3, up to 60 with 1, and 50 to 110 from nothing (`start.py`).
KNOWN_LABELS_RHO = 0.3
# Residuals within this factor of each other count as balanced; beyond it rho changes by at most the second factor at
# a time. On Iris with 3 clusters a run takes 600 iterations with 1.1, 370 with 1.6 and 340 with 2; but from 2 on the
# multipliers jump too far for 5 clusters, and the run stalls at a gap of 4e-4 instead of closing.
BALANCED = 2.0
MOST_RHO_FACTOR = 1.6
# Rounds of cuts at most; many clusters have long tails.
MOST_ROUNDS = 60
MOST_ROUNDS_MANY_CLUSTERS = 150
MANY_CLUSTERS = 10
# A node has stalled when so many rounds gained less than this share of the gap that is left ...
STALL_ROUNDS, STALL_SHARE = 4, 0.05
CHILD_STALL_ROUNDS, CHILD_STALL_SHARE = 3, 0.10
MANY_CLUSTERS_STALL_ROUNDS = 10
# ... while Y and Z agree to this (relatively), so that the gap is real and not just slow convergence.
STALL_APART = 2e-4


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
    """What a run of the bound ends with.

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
        Whether the keyboard ended the run; who started it decides whether to pass that on.

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
        return cls(Z.copy(), Z, np.zeros((m, m)), FIRST_RHO)

    @classmethod
    def start_at(cls, model: SdpModel, labels: NDArray[np.int32]) -> "_State":
        Z = np.tril(clustering_matrix(model, labels))
        U = np.tril(suggested_multipliers(model, labels)) / -KNOWN_LABELS_RHO
        return cls(Z.copy(), Z, U, KNOWN_LABELS_RHO)

    def merged(self, weight: NDArray[np.float64], i: int, j: int) -> "_State":
        Y, Z, U = (merge_matrix(symmetric(matrix), weight, i, j) for matrix in (self.Y, self.Z, self.U))
        return _State(Y, Z, U, self.rho)

    def copy(self) -> "_State":
        return _State(self.Y.copy(), self.Z.copy(), self.U.copy(), self.rho)


class SdpBound:
    """Lower bound of one node of a search: a problem with further must-links and cannot-links between its blocks.

    The node remembers everything, so that `run` can be called again, and hands it to its children. Pairs of blocks
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
        max_rounds: int | None = None,
    ) -> SdpResult:
        """Improve the bound until it meets the upper bound, stalls, or time is up.

        Parameters
        ----------
        upper_bound : float, optional
            Cost of the best clustering known.
        gap : float, default=1e-4
            The run is done when ``upper_bound - lower_bound <= gap * upper_bound``.
        budget : Budget, optional
            When to end at the latest.
        max_rounds : int, optional
            Rounds of cuts at most; default 60, for ten clusters or more 150.

        Returns
        -------
        SdpResult
        """
        run = _Run(np.inf if upper_bound is None else float(upper_bound), gap, budget or self._budget, self.model)
        first = self._n_iterations
        interrupted = False
        try:
            with one_blas_thread(self.model.n_blocks):
                status = self._rounds(run, max_rounds or self._most_rounds)
        except KeyboardInterrupt:
            status, interrupted = "limit", True
        except np.linalg.LinAlgError:
            # LAPACK gave up on a decomposition, which it hardly ever does; the bound so far holds.
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

    @property
    def _most_rounds(self) -> int:
        return MOST_ROUNDS if self.model.n_clusters < MANY_CLUSTERS else MOST_ROUNDS_MANY_CLUSTERS

    def _rounds(self, run: "_Run", max_rounds: int) -> str:
        if self.model.known_value is not None or run.is_closed(self.lower_bound):
            return "closed"
        bounds = []
        for number in range(max_rounds):
            status = self._advance(run, FIRST_ITERATIONS if self._n_iterations == 0 else ROUND_ITERATIONS)
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
            if step % CHECK_EVERY and not run.budget.expired():
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
        self._step = _core.sdp_project(
            *self._cuts.rows,
            model.forbidden,
            model.low,
            model.high,
            model.cost,
            model.direction,
            N_SWEEPS,
            state.Y,
            state.Z,
            state.U,
            self._cuts.mu,
            work,
        )
        self._n_iterations += 1
        return self._step

    def _adapt_rho(self, step: Any) -> None:
        """Balance relative residuals [3]_: rho follows the root of their ratio once that leaves a factor of two.

        It has no floor: many clusters need it small.
        """
        apart, size, moved, multiplier, _ = step
        primal, dual = apart / size, moved / max(multiplier, np.finfo(float).tiny)
        if max(primal, dual) <= BALANCED * min(primal, dual):
            return
        ratio = primal / max(dual, np.finfo(float).tiny)
        self._rescale(float(np.clip(np.sqrt(ratio), 1 / MOST_RHO_FACTOR, MOST_RHO_FACTOR)))

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
        """Bound that the multipliers at hand prove; see the head of this file."""
        model, state = self.model, self._state
        M = np.zeros_like(state.U)
        norm, limits, limits_size = _core.sdp_dual_matrix(
            *self._cuts.rows,
            model.forbidden,
            model.low,
            model.high,
            model.cost,
            state.U,
            self._cuts.mu,
            state.rho,
            M,
        )
        count = model.n_clusters - 1
        value = deflate(M, model.direction, 2.0 * norm) + smallest_sum(M, count) + float(limits)
        guard = SDP_ROUNDING * model.n_blocks * float(count * norm + limits_size)
        return model.total + model.scale * (value - guard)

    def _has_stalled(self, run: "_Run", bounds: list[float]) -> bool:
        rounds, share = (STALL_ROUNDS, STALL_SHARE) if self.depth == 0 else (CHILD_STALL_ROUNDS, CHILD_STALL_SHARE)
        if self.model.n_clusters >= MANY_CLUSTERS:
            rounds = MANY_CLUSTERS_STALL_ROUNDS
        if len(bounds) <= rounds or not run.trace:
            return False
        last = run.trace[-1]
        # A relaxed cost below the bound shows that Y is still far from the relaxation: slow, but not stalled.
        if last.apart >= STALL_APART or last.objective < bounds[-1]:
            return False
        gained = bounds[-1] - bounds[-1 - rounds]
        if not np.isfinite(run.upper_bound):
            return gained < share * run.gap * abs(bounds[-1])
        # While the relaxed cost is at the upper bound the gap is not known to be real.
        is_below = last.objective < run.upper_bound * (1 - run.gap / 2)
        return gained < share * (run.upper_bound - bounds[-1]) and is_below

    def _renew_cuts(self, *, drop: bool) -> None:
        if drop:
            self._cuts = self._cuts.active(self.model)
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
        """Two blocks of the problem to branch on, see `branching_scores`; None: all pairs are decided."""
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
        """Return the node in which blocks i and j of the problem share a cluster, with everything learned here.

        A matrix of the merged blocks is a matrix of the blocks, so multipliers keep their worth; only cuts that would
        name a block twice are lost.
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
    """When one run is to end, and what it wrote down."""

    def __init__(self, upper_bound: float, gap: float, budget: Budget, model: SdpModel) -> None:
        self.upper_bound = upper_bound
        self.gap = gap
        self.budget = budget
        # Costs near 0 beside the total are known to rounding only.
        self._rounding = SDP_ROUNDING * model.n_blocks * model.total + model.guard
        self.trace: list[SdpStep] = []

    def is_closed(self, lower_bound: float) -> bool:
        if not np.isfinite(self.upper_bound):
            return False
        return bool(self.upper_bound - lower_bound <= max(self.gap * abs(self.upper_bound), self._rounding))


def semidefinite_bound(
    problem: Problem, upper_bound: float | None = None, *, gap: float = 1e-4, time_limit: float | None = None
) -> float:
    """Return a number below the cost of every feasible clustering.

    Parameters
    ----------
    problem : Problem
        The problem, with means.
    upper_bound : float, optional
        Cost of a clustering; the bound ends when it is this near, relatively.
    gap : float, default=1e-4
        See `upper_bound`; without one, the bound ends when further rounds gain much less than this.
    time_limit : float, optional
        Seconds after which the best bound so far is returned.

    Returns
    -------
    float

    Examples
    --------
    >>> problem = Problem.build([[0.0], [1.0], [5.0], [6.0]], 2)
    >>> 0.99 < semidefinite_bound(problem, upper_bound=1.0) <= 1.0
    True
    """
    return SdpBound(problem, Budget(time_limit)).run(upper_bound, gap).lower_bound
