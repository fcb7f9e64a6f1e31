"""BCKM (Le et al. 2018): sizes and links by a penalty method that drives a relaxed assignment to binary."""

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._messages import term
from konstrain._sklearn import Interval
from konstrain._tolerances import BINARY, RULE_RELATIVE, STANDSTILL
from konstrain.assignment import Assignment, AssignmentProblem, Rules, choose, nearest, transport
from konstrain.assignment.milp import whole_model
from konstrain.assignment.model import AssignmentModel, Relaxation
from konstrain.constraints import Problem
from konstrain.estimators._base import SIZE_PARAMETERS, BaseConstrainedKMeans
from konstrain.estimators._conventions import estimator
from konstrain.exceptions import InfeasibleError, UndecidedError
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.loop import Iterations, Loop, lloyd
from konstrain.kmeans.restarts import Run
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.kmeans.steps import Steps, centers_from
from konstrain.stop import Budget


@estimator
class BCKMeans(BaseConstrainedKMeans):
    """BCKM: k-means under sizes, must-links and cannot-links as one binary optimisation.

    Plain k-means starts. Then centers by ridge regression on the assignment matrix, equation (8), alternate with
    assignments by an l1 penalty method (Algorithm 2): a relaxed matrix `S` that keeps all constraints, a linear
    program (13), and a binary matrix `V`, element by element (15), whose distance is penalised more and more (16)
    until they are equal [1]_.

    Parameters
    ----------
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on what a cluster holds: rows, or units of `demand`; "12%" is that share of what all rows hold.
    size_tolerance : float or str, optional
        With 0.1 or "10%", every cluster holds within 10% of an equal part.
    init : {"k-means++", "random"}, array-like of shape (n_clusters, n_features) or callable, default="k-means++"
        Where the plain k-means that runs first starts.
    ridge : float, default=1e-4
        Lambda in equation (8).
    penalty : float, default=0.5
        Where the penalties start, rho_0, in the unit of squared distances.
    penalty_growth : float, default=1.1
        What penalties are multiplied by, kappa.
    max_penalty_iter : int, default=100
        Most rounds of the penalty method in one assignment.
    max_iter : int, default=100
        Most iterations of one run, those of plain k-means not counted.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Weighted means of the clusters; the ridge is for the loop only.
    n_violations_ : int
        Broken links: none.

    Notes
    -----
    What the paper leaves open, and what we chose. Must-linked rows are merged to blocks; a block's penalties are
    those of its rows together, so nothing changes, except that plain k-means already runs on blocks. `V` is binary
    and ``0 <= S <= 1``, so the auxiliary variables of (13) are not needed: the S-step minimises
    ``Y - rho_plus * V + rho_minus * (1 - V)`` over the same polytope. Without links, and with rows that count alike,
    that polytope's corners are integral and the S-step is a transportation problem; otherwise HiGHS solves the linear
    program. The paper stops when `S` and `V` come to rest, wherever that is; if `S` is not binary there, one exact
    assignment step (9) finishes, so labels are always feasible; with many clusters, sizes and links together that
    step can take minutes, which `time_limit` bounds. A run ends when labels come back that it already had
    (the paper's threshold on the movement of centers has no value). No cluster is left empty. `sample_weight`
    multiplies distances and penalties: a row of weight 2 is two rows.

    References
    ----------
    .. [1] Le, Eriksson, Do, Milford (2018), "A Binary Optimization Approach for Constrained K-Means Clustering",
       ACCV, Algorithms 1 and 2.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [5.0], [5.2], [9.0]]
    >>> model = BCKMeans(n_clusters=2, size_min=3, random_state=0).fit(X, cannot_link=[(0, 1)])
    >>> model.cluster_sizes_.tolist(), model.n_violations_
    ([3.0, 3.0], 0)
    """

    size_min: Any = None
    size_max: Any = None
    _: KW_ONLY
    size_tolerance: Any = None
    init: Any = "k-means++"
    ridge: float = 1e-4
    penalty: float = 0.5
    penalty_growth: float = 1.1
    max_penalty_iter: int = 100
    max_iter: int = 100

    _takes_confidences: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SIZE_PARAMETERS,
        "ridge": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="neither")],
        "penalty_growth": [Interval(Real, 1, None, closed="neither")],
        "max_penalty_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        demand: Any = None,
        linear: Any = None,
    ) -> Self:
        """Cluster the rows of X under constraints.

        Parameters
        ----------
        linear : tuple (A, b), optional
            Any further constraints ``A @ s <= b`` on the assignment, as in Section 3.2 of the paper: `A` sparse or
            dense, of shape (n_constraints, n_samples * n_clusters), where column ``i * n_clusters + j`` stands for
            row `i` being in cluster `j`.
        """
        self._linear = linear
        try:
            super().fit(X, y, sample_weight, must_link=must_link, cannot_link=cannot_link, demand=demand)
        finally:
            del self._linear
        return self

    def _make_run(self, X: Any, problem: Problem, start: Start, budget: Budget, first_seed: int) -> Run:
        steps = PenaltySteps(
            problem,
            budget=budget,
            n_threads=default_threads(),
            ridge=self.ridge,
            rho_0=self.penalty,
            kappa=self.penalty_growth,
            max_penalty_iter=self.max_penalty_iter,
            rules=None if self._linear is None else LinearRules.read(self._linear, problem),
        )
        return Run(Loop(algorithm_1, steps, self.max_iter), start)


def algorithm_1(
    steps: "PenaltySteps", centers: NDArray[np.float64], iterations: Iterations, warm: Assignment | None = None
) -> Clustering:
    """Alternate ridge centers and assignments by penalties, after plain k-means from these centers."""
    labels = steps.plain_kmeans(centers).block_labels
    seen, feasible, converged = {labels.tobytes()}, False, False
    for _ in iterations:
        centers = steps.ridge_centers(labels, centers)
        solution = iterations.attempt(steps.update_assignment, steps.costs(centers), labels)
        if solution is None:
            break
        # Labels alone decide how the run goes on, so labels that come back begin a circle (mostly of one).
        converged = feasible and solution.labels.tobytes() in seen
        labels, feasible = solution.labels, True
        seen.add(labels.tobytes())
        if converged:
            break
    means = steps.centers_of(labels, centers)
    return steps.clustering(labels, means, iterations.n_iter, converged=converged, proven=iterations.proven)


@dataclass(eq=False)
class PenaltySteps(Steps):
    """The steps of Algorithm 1: centers by equation (8), assignments by Algorithm 2."""

    ridge: float = 1e-4  # Lambda in equation (8).
    # `rho_0` and `kappa`: where penalties start, and what they grow by.
    rho_0: float = 0.5
    kappa: float = 1.1
    max_penalty_iter: int = 100  # Most rounds of Algorithm 2.
    rules: "LinearRules | None" = None  # Further constraints on the assignment.
    _relaxation: Relaxation | None = field(default=None, init=False, repr=False)

    def plain_kmeans(self, centers: NDArray[np.float64]) -> Clustering:
        """K-means without sizes and cannot-links."""
        free = replace(self.problem, conflicts=None, links=None, size_min=None, size_max=None)
        return Loop(lloyd, Steps(free, budget=self.budget, n_threads=self.n_threads)).run(centers)

    def ridge_centers(self, labels: NDArray[np.int32], previous: NDArray[np.float64]) -> NDArray[np.float64]:
        """Equation (8): for a binary S the matrix to invert is diagonal, the weights of the clusters plus lambda."""
        sums, weights = self.sums_of(labels)
        return centers_from(sums, np.where(weights > 0, weights + self.ridge, 0.0), previous)

    def update_assignment(self, costs: NDArray[np.float64], labels: NDArray[np.int32]) -> Assignment:
        """Algorithm 2 from these labels; an exact assignment if it does not end binary and feasible."""
        problem = self.problem.assignment_problem(costs)
        found = self.alternate(problem, labels)
        if found is None or not problem.is_feasible(found) or not self.keeps_rules(found):
            return self.exactly(problem)
        # "Proven" means here that nothing was cut short: the method is no proof of the least cost.
        return Assignment(found, problem.cost_of(found), -np.inf, True, "penalty")

    def keeps_rules(self, labels: NDArray[np.int32]) -> bool:
        """Whether the further constraints hold."""
        return self.rules is None or self.rules.are_kept_by(labels, self.problem.n_clusters)

    def exactly(self, problem: AssignmentProblem) -> Assignment:
        """One exact assignment step (9), the further constraints included."""
        if self.rules is None:
            return self.solve(problem)
        solution = self.model(problem).solve(budget=self.budget)
        if solution.status == "infeasible":
            raise InfeasibleError(
                "no assignment keeps the linear constraints together with the links and sizes", reason="combination"
            )
        if solution.labels is None:
            raise UndecidedError(
                f"no assignment that keeps the linear constraints was found in time; raise {term('time_limit')}"
            )
        cost = problem.cost_of(solution.labels)
        return Assignment(solution.labels, cost, solution.bound, problem.closes_gap(cost, solution.bound), "milp")

    def model(self, problem: AssignmentProblem) -> AssignmentModel:
        """The assignment as a binary program, with the further constraints."""
        model = whole_model(problem)
        return model if self.rules is None else replace(model, linear=(self.rules.matrix, self.rules.bound))

    def alternate(self, problem: AssignmentProblem, labels: NDArray[np.int32]) -> NDArray[np.int32] | None:
        """Alternate S-steps and V-steps until both rest; None when S is not binary there, or time is up."""
        S = one_hot(labels, problem.n_clusters)
        V = S > 0.5
        rho = np.repeat(self.rho_0 * self.problem.weight[:, None], problem.n_clusters, axis=1)
        rho_plus, rho_minus = rho.copy(), rho
        for _ in range(self.max_penalty_iter):
            S_before, V_before = S, V
            relaxed = self.relaxed_step(problem, penalised_costs(problem.costs, V, rho_plus, rho_minus))
            if relaxed is None:
                return None
            S = relaxed
            V = rho_minus * S > rho_plus * (1.0 - S)  # (15)
            rho_minus[~V] *= self.kappa  # (16)
            rho_plus[V] *= self.kappa
            if ((S - S_before) ** 2).sum() + (V ^ V_before).sum() <= STANDSTILL:
                break
        is_binary = np.minimum(S, 1.0 - S).max(initial=0.0) <= BINARY
        return S.argmax(axis=1).astype(np.int32) if is_binary else None

    def relaxed_step(self, problem: AssignmentProblem, costs: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The S-step: the cheapest point of the polytope (3c)-(3f); None when time is up or there is none."""
        if self.rules is None and choose(problem) in (nearest, transport):
            # All corners of the polytope are binary.
            return one_hot(self.solve(replace(problem, costs=costs)).labels, problem.n_clusters)
        if self._relaxation is None:
            # Bounds as given: the rounding that whole labels are forgiven would leave shares just off 0 and 1.
            rules = exact_rules(problem)
            self._relaxation = replace(self.model(problem), rules=rules).relaxation()
        return self._relaxation.solve(costs, budget=self.budget)


def exact_rules(problem: AssignmentProblem) -> Rules:
    """Return sizes and non-empty clusters as rules whose bounds do not give way."""
    ones = np.ones((problem.n_blocks, 1))
    demand = ones if problem.demand is None else problem.demand[:, None]
    low, high = (bound[:, None] for bound in problem.bounds)
    rules = replace(Rules.of_amounts(demand, low, high), is_compared=True)
    if not problem.nonempty:
        return rules
    return rules.with_rule(ones[:, 0], np.ones(problem.n_clusters), np.full(problem.n_clusters, np.inf))


def penalised_costs(
    Y: NDArray[np.float64], V: NDArray[np.bool_], rho_plus: NDArray[np.float64], rho_minus: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Costs of the S-step (13) without its auxiliary variables, up to the constant sum of rho_plus where V is 1."""
    costs: NDArray[np.float64] = Y + np.where(V, -rho_plus, rho_minus)
    return costs


def one_hot(labels: NDArray[np.integer[Any]], n_clusters: int) -> NDArray[np.float64]:
    """Return labels as a matrix with one 1 in each row."""
    matrix = np.zeros((labels.size, n_clusters))
    matrix[np.arange(labels.size), labels] = 1.0
    return matrix


@dataclass(frozen=True, eq=False)
class LinearRules:
    """Rules ``matrix @ s <= bound`` on the assignment `s`, block by block, a block's clusters side by side."""

    matrix: csr_array  # (n_rules, n_blocks * n_clusters): coefficients, the largest of each rule 1 or -1.
    bound: NDArray[np.float64]  # (n_rules,): right-hand sides, on the same scale.

    @classmethod
    def read(cls, given: Any, problem: Problem) -> Self:
        """Check rules over rows and clusters, and add up their coefficients over the rows of each block."""
        matrix, bound = _checked(given, problem.n_samples, problem.n_clusters)
        row, cluster = np.divmod(np.arange(matrix.shape[1]), problem.n_clusters)
        place = problem.block_of[row] * problem.n_clusters + cluster
        merged = csr_array(
            (np.ones(place.size), (np.arange(place.size), place)),
            shape=(place.size, problem.n_blocks * problem.n_clusters),
        )
        summed = csr_array(matrix @ merged)
        unit = np.asarray(abs(summed).max(axis=1).todense(), dtype=np.float64).ravel()
        unit[unit == 0.0] = 1.0
        return cls(csr_array(summed.multiply(1.0 / unit[:, None])), bound / unit)

    def are_kept_by(self, labels: NDArray[np.int32], n_clusters: int) -> bool:
        """Whether labels of the blocks keep every rule, up to what the solver's tolerance may leave."""
        assignment = np.zeros(self.matrix.shape[1])
        assignment[np.arange(labels.size) * n_clusters + labels] = 1.0
        return bool((self.matrix @ assignment <= self.bound + RULE_RELATIVE).all())


def _checked(given: Any, n_samples: int, n_clusters: int) -> tuple[csr_array, NDArray[np.float64]]:
    """Return coefficients and right-hand sides as arrays; raise a ValueError of one line for what is malformed."""
    try:
        coefficients, bound = given
    except (TypeError, ValueError):
        raise ValueError("linear must be a pair (A, b): the assignment s has to satisfy A @ s <= b") from None
    matrix = csr_array(coefficients, dtype=np.float64)
    bound = np.atleast_1d(np.asarray(bound, dtype=np.float64))
    n_places = n_samples * n_clusters
    if matrix.ndim != 2 or matrix.shape[1] != n_places:
        raise ValueError(
            f"A of linear has shape {matrix.shape}; it needs a column for each row and cluster, {n_samples} x "
            f"{n_clusters} = {n_places}, the clusters of a row side by side"
        )
    if bound.shape != (matrix.shape[0],):
        raise ValueError(f"b of linear has shape {bound.shape}, A has {matrix.shape[0]} rules; give one b per rule")
    if not np.isfinite(matrix.data).all():
        raise ValueError("A of linear has entries that are not finite")
    if np.isnan(bound).any() or np.isneginf(bound).any():
        rule = int(np.flatnonzero(np.isnan(bound) | np.isneginf(bound))[0])
        raise ValueError(f"b[{rule}] of linear is {bound[rule]}; give a number, or inf for no bound")
    return matrix, bound
