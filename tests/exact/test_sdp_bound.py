"""The semidefinite bound never exceeds the optimum, closes small and published instances, and survives branching."""

import itertools
from functools import cache

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.exceptions import InfeasibleError
from konstrain.exact.sdp_bound import SdpBound, semidefinite_bound
from konstrain.stop import Deadline

RELATIVE = 1e-7


@cache
def partitions(n_blocks: int, n_clusters: int) -> np.ndarray:
    """Every partition into at most so many clusters, one per row, clusters numbered by their first blocks."""
    rows = [(0,)]
    for _ in range(n_blocks - 1):
        rows = [(*row, j) for row in rows for j in range(min(max(row) + 2, n_clusters))]
    return np.array(rows)


def optimum(problem: Problem) -> float:
    """Least cost over all feasible partitions; infinite when there is none."""
    labelings = partitions(problem.n_blocks, problem.n_clusters)
    cost = np.full(len(labelings), problem.scatter.sum() + (problem.weight @ problem.mean**2).sum())
    is_feasible = np.ones(len(labelings), dtype=bool)
    if problem.conflicts is not None:
        for u, v, _ in zip(*problem.conflicts.edges, strict=True):
            is_feasible &= labelings[:, u] != labelings[:, v]
    for j in range(problem.n_clusters):
        inside = labelings == j
        weight = inside @ problem.weight
        size = inside @ problem.demand
        sums = inside @ (problem.weight[:, None] * problem.mean)
        cost -= (sums**2).sum(axis=1) / np.where(weight > 0, weight, 1.0)
        # Uniform bounds only: numbering clusters by first blocks loses no partition.
        if problem.size_min is not None:
            is_feasible &= size >= problem.size_min[j] - 1e-9
        if problem.size_max is not None:
            is_feasible &= size <= problem.size_max[j] + 1e-9
        if problem.nonempty:
            is_feasible &= inside.any(axis=1)
    return float(np.where(is_feasible, cost, np.inf).min())


def random_problem(rng: np.random.Generator) -> Problem | None:
    """One small problem with links, weights or sizes, duplicates and odd scales; None when it is infeasible."""
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-3, 4) + 10.0 ** rng.integers(-1, 3)
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    rng.shuffle(pairs)
    n_must, n_cannot = rng.integers(0, 3), rng.integers(0, 4)
    options = {"must_link": pairs[:n_must], "cannot_link": pairs[n_must : n_must + n_cannot]}
    kind = rng.integers(3)
    if kind == 0:
        options["sample_weight"] = rng.random(n) * 3 * (rng.random(n) < 0.9)
    elif kind == 1:
        options["size_min"] = int(rng.integers(0, n // k + 1))
        options["size_max"] = int(rng.integers(-(-n // k), n + 1))
    try:
        return Problem.build(X, k, **options)
    except InfeasibleError:
        return None


def random_problems(count: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    while count:
        problem = random_problem(rng)
        if problem is not None and np.isfinite(optimum(problem)):
            count -= 1
            yield problem


def tolerance(problem: Problem, best: float) -> float:
    # Sums of squares of uncentred rows lose digits in the oracle itself.
    return RELATIVE * abs(best) + 1e-12 * float((problem.weight @ problem.mean**2).sum())


def test_bound_never_exceeds_the_optimum_and_mostly_meets_it():
    n_closed = 0
    for problem in random_problems(300):
        best = optimum(problem)
        result = SdpBound(problem).run(best, gap=1e-6, max_rounds=12)
        assert result.lower_bound <= best + tolerance(problem, best)
        assert all(step.lower_bound <= best + tolerance(problem, best) for step in result.trace)
        n_closed += result.status == "closed"
    assert n_closed >= 270


def test_bound_holds_without_an_upper_bound():
    for problem in random_problems(40, seed=1):
        best = optimum(problem)
        assert semidefinite_bound(problem, gap=1e-3) <= best + tolerance(problem, best)


def test_children_bound_their_own_clusterings_and_never_fall_below_the_parent():
    for problem in random_problems(40, seed=2):
        parent = SdpBound(problem)
        parent.run(np.inf, max_rounds=1)
        pair = parent.branching_pair()
        if pair is None:
            continue
        best = []
        for child in (parent.child_must_link(*pair), parent.child_cannot_link(*pair)):
            result = child.run(np.inf, max_rounds=2)
            assert result.lower_bound >= parent.lower_bound
            best.append(result.lower_bound)
        value = optimum(problem)
        assert min(best) <= value + tolerance(problem, value)
