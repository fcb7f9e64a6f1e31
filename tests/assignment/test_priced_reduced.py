"""Variables fixed by reduced costs: nothing better is lost, and little stays open."""

import numpy as np
import pytest

from effort import examples
from konstrain.assignment import milp, priced
from konstrain.assignment.priced import PricedSearch
from konstrain.assignment.priced.reduced import OpenBlocks
from konstrain.assignment.problem import AssignmentProblem
from konstrain.links import LinkGraph
from konstrain.stop import UNLIMITED
from oracles import best_cost, check_assignment, cost_tolerance


def coupled_problem(rng, n, k, kind):
    """Blocks of one or several demands, some of them in chains of cannot-links, and narrow sizes."""
    demand = rng.choice([1.0, 2.0, 3.5], n, p=[0.7, 0.2, 0.1]) if kind == "demand" else None
    total = n if demand is None else demand.sum()
    chain = rng.permutation(n)[: max(2, n // 3)]
    return AssignmentProblem(
        costs=rng.random((n, k)) * rng.uniform(0.5, 1.5, k),
        links=LinkGraph.from_edges(n, chain[:-1], chain[1:]) if kind != "free" else None,
        demand=demand,
        size_min=np.full(k, 0.8 * total / k),
        size_max=np.full(k, 1.2 * total / k),
        nonempty=bool(rng.integers(2)),
    )


def searched(problem):
    """Return a search that has labels, though not always the best ones."""
    search = PricedSearch(problem, UNLIMITED)
    search.run(None)
    search.repair(search.best)
    return search


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["free", "links", "demand"])
def test_no_better_labels_have_a_fixed_block_elsewhere(kind, seed):
    n_fixed = 0
    rng = np.random.default_rng(seed)
    for _ in range(examples(30)):
        problem = coupled_problem(rng, int(rng.integers(6, 10)), int(rng.integers(2, 4)), kind)
        best = best_cost(problem)
        if not np.isfinite(best):
            continue
        search = searched(problem)
        remaining = OpenBlocks.of(search) if search.labels is not None else None
        if remaining is None:
            continue
        n_fixed += problem.n_blocks - remaining.blocks.size
        if remaining.blocks.size:
            found = best_cost(remaining.problem) + remaining.fixed_cost
        else:
            found = search.cost
        assert min(found, search.cost) == pytest.approx(best, abs=cost_tolerance(problem))
    assert n_fixed > examples(20)


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["free", "links", "demand"])
def test_the_answer_is_that_of_the_whole(kind, seed):
    rng = np.random.default_rng(seed)
    for _ in range(examples(15)):
        problem = coupled_problem(rng, int(rng.integers(30, 60)), int(rng.integers(2, 5)), kind)
        answer = priced.solve(problem)
        check_assignment(problem, answer)
        assert answer.proven
        assert answer.cost == pytest.approx(milp.solve(problem).cost, abs=cost_tolerance(problem))


def test_links_to_a_block_that_may_move_keep_the_others_of_their_chain(seed):
    rng = np.random.default_rng(seed)
    problem = coupled_problem(rng, 60, 3, "links")
    remaining = OpenBlocks.of(searched(problem))
    u, v, _ = problem.graph.edges
    is_open = np.isin(np.arange(60), remaining.blocks)
    assert (is_open[u] == is_open[v]).all()
    assert remaining.problem.graph.n_edges == (is_open[u] & is_open[v]).sum()


def test_nothing_is_left_out_of_problems_of_soft_links():
    problem = coupled_problem(np.random.default_rng(0), 60, 3, "links")
    assert OpenBlocks.of(searched(problem)) is not None
    soft = LinkGraph.from_edges(60, [0], [1], [0.5])
    assert OpenBlocks.of(searched(AssignmentProblem(problem.costs, links=soft, size_max=np.full(3, 25.0)))) is None
