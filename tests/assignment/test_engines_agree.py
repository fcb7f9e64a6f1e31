"""Every engine against enumeration, and against every other engine that supports the problem."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import EXAMPLES, examples
from konstrain.assignment import ENGINES, AssignmentProblem, assign, choose, milp
from konstrain.exceptions import InfeasibleError
from oracles import best_cost, check_engine, cost_tolerance
from problems import random_links, random_problem

KINDS = {
    "free": {},
    "cliques": {"links": "cliques"},
    "conflicts": {"links": "hard"},
    "soft": {"links": "soft"},
    "sizes": {"sizes": True},
    "sizes and cliques": {"sizes": True, "links": "cliques"},
    "sizes and conflicts": {"sizes": True, "links": "hard", "demand": "integer"},
    "real demand": {"sizes": True, "demand": "real"},
    "everything": {"sizes": True, "links": "soft", "demand": "real"},
    "amounts": {"resources": "amounts"},
    "shares": {"resources": "shares"},
    "counts": {"resources": "counts"},
    "amounts and shares": {"resources": "both"},
    "shares and sizes": {"resources": "shares", "sizes": True},
    "shares and conflicts": {"resources": "shares", "links": "hard"},
    "amounts, sizes and cliques": {"resources": "amounts", "sizes": True, "links": "cliques", "demand": "integer"},
    "all at once": {"resources": "both", "sizes": True, "links": "soft", "demand": "real"},
}
# Which kinds an engine meets.
MEETS = {
    "nearest": ["free"],
    "transport": ["sizes"],
    "matching": ["cliques"],
    "linked": ["cliques", "conflicts", "soft"],
    "priced": [kind for kind, asked in KINDS.items() if "resources" in asked or "sizes" in asked],
    "milp": list(KINDS),
}
PROBLEMS_PER_ENGINE = 10 * EXAMPLES


def supported_problems(engine, seed, count):
    """Problems of the engine's kinds that it supports, the same ones in every run."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        kind = MEETS[engine.name][int(rng.integers(len(MEETS[engine.name])))]
        problem = random_problem(rng, **KINDS[kind], max_labelings=1000)
        if engine.supports(problem):
            found += 1
            yield problem


@pytest.mark.engine
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engine_equals_enumeration(engine):
    for problem in supported_problems(engine, 11, PROBLEMS_PER_ENGINE):
        check_engine(engine, problem, best_cost(problem))


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
def test_the_chosen_engine_equals_enumeration(seed, kind):
    problem = random_problem(np.random.default_rng(seed), **KINDS[kind], max_labelings=1000)
    check_engine(choose(problem), problem, best_cost(problem))


@pytest.mark.engine
@pytest.mark.parametrize("links", ["hard", "soft"])
@pytest.mark.parametrize("sizes", [False, True])
def test_engines_equal_each_other_beyond_enumeration(links, sizes):
    """Up to 24 blocks: too many to enumerate, dense enough for every branch of the search."""
    rng = np.random.default_rng(5)
    for _ in range(examples(15)):
        n_blocks, n_clusters = int(rng.integers(10, 25)), int(rng.integers(2, 6))
        points, centers = rng.normal(size=(n_blocks, 2)), rng.normal(size=(n_clusters, 2))
        demand = rng.integers(1, 4, n_blocks).astype(float)
        costs = demand[:, None] * ((points[:, None] - centers) ** 2).sum(-1)
        graph = random_links(rng, n_blocks, links, float(costs.mean()), density=rng.choice([0.05, 0.15, 0.3]))
        mean = demand.sum() / n_clusters
        bounds = {"size_min": np.floor(0.8 * mean), "size_max": np.ceil(1.2 * mean)} if sizes else {}
        problem = AssignmentProblem.checked(costs, links=graph, demand=demand, **bounds)
        expected = cost_or_infinity(milp, problem)
        for engine in ENGINES:
            if engine.supports(problem):
                check_engine(engine, problem, expected)


def cost_or_infinity(engine, problem):
    try:
        return engine.solve(problem).cost
    except InfeasibleError:
        return np.inf


def test_every_kind_meets_the_engine_made_for_it():
    rng = np.random.default_rng(1)
    chosen = {kind: {choose(random_problem(rng, **KINDS[kind])).name for _ in range(20)} for kind in KINDS}
    assert chosen["free"] == {"nearest"}
    assert "matching" in chosen["cliques"]
    assert "linked" in chosen["conflicts"]
    assert "linked" in chosen["soft"]
    assert "transport" in chosen["sizes"]
    assert all("priced" in chosen[kind] for kind in MEETS["priced"] if kind != "sizes")
    assert "milp" not in set.union(*chosen.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_changes_nothing_but_time(kind):
    rng = np.random.default_rng(3)
    for _ in range(examples(30)):
        problem = random_problem(rng, **KINDS[kind])
        if np.isinf(best_cost(problem)):
            continue
        cold = assign(problem)
        nudged = AssignmentProblem(
            problem.costs * rng.uniform(0.9, 1.1, problem.costs.shape),
            problem.links,
            problem.demand,
            problem.size_min,
            problem.size_max,
            problem.nonempty,
            problem.resources,
        )
        warm = assign(nudged, warm=cold)
        np.testing.assert_allclose(warm.cost, assign(nudged).cost, rtol=1e-9, atol=cost_tolerance(nudged))


@pytest.mark.parametrize("kind", KINDS)
def test_same_problem_same_labels_and_inputs_untouched(kind):
    rng = np.random.default_rng(4)
    for _ in range(examples(20)):
        problem = random_problem(rng, **KINDS[kind])
        before = problem.costs.copy()
        if np.isinf(best_cost(problem)):
            continue
        np.testing.assert_array_equal(assign(problem).labels, assign(problem).labels)
        np.testing.assert_array_equal(problem.costs, before)
