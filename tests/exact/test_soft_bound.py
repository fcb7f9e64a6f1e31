"""Soft links enter proofs: the tree finds the enumerated optimum, parts stay below it, and prices must be known."""

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, certify
from konstrain.constraints.problem import Problem
from konstrain.exact.nodes import SemidefiniteNode
from konstrain.exact.task import ProofTask
from konstrain.stop import Budget
from oracles import costs_of_all_labelings


def least_cost(problem: Problem, violation_cost: float) -> float:
    """Least cost over all labelings."""
    return float(costs_of_all_labelings(problem, violation_cost)[1].min())


def soft_problem(seed: int):
    """Rows, clusters, links of which some are soft, and a price at which some are worth breaking."""
    rng = np.random.default_rng(seed)
    while True:
        n, k = int(rng.integers(5, 9)), int(rng.integers(2, 4))
        X = rng.normal(size=(n, 2))
        pairs = rng.permutation([(i, j) for i in range(n) for j in range(i)])[: rng.integers(2, 8)]
        # Confidences; infinite ones are hard.
        links = np.column_stack(
            [pairs, np.where(rng.random(len(pairs)) < 0.2, np.inf, 0.1 + 0.9 * rng.random(len(pairs)))]
        )
        is_must = rng.random(len(pairs)) < 0.5
        options = {"must_link": links[is_must], "cannot_link": links[~is_must]}
        if rng.random() < 0.3:
            options["sample_weight"] = rng.random(n) + 0.2
        try:
            problem = Problem.build(X, k, **options)
        except InfeasibleError:
            continue
        if problem.has_soft_links:
            return X, k, options, problem, float(10.0 ** rng.uniform(-1, 1))


@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_tree_proves_the_enumerated_optimum(seed):
    X, k, options, problem, price = soft_problem(seed)
    best = least_cost(problem, price)
    proof = certify(X, k, violation_cost=price, gap=1e-5, **options)
    np.testing.assert_allclose(proof.best_cost, best, rtol=1e-7)
    assert proof.is_optimal
    assert proof.lower_bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(examples(15)))
def test_no_node_claims_more_than_the_best_clustering_of_its_branch_costs(seed):
    X, _, _, problem, price = soft_problem(seed)
    labelings, costs = costs_of_all_labelings(problem, price)
    nodes = [SemidefiniteNode.root(ProofTask(X, problem, violation_cost=price))]
    n_settled = 0
    for _ in range(30):
        if not nodes:
            break
        node = nodes.pop()
        node.run(np.inf, 1e-3, Budget(None))
        labels = labelings[:, problem.block_of]
        is_in = np.isfinite(costs)
        for i, j in node.branch.must:
            is_in &= labels[:, i] == labels[:, j]
        for i, j in node.branch.cannot:
            is_in &= labels[:, i] != labels[:, j]
        assert node.lower_bound <= costs[is_in].min(initial=np.inf) * (1 + 1e-9)
        pair = node.pair()
        n_settled += pair is None
        nodes += [] if pair is None else node.children(pair)
    assert n_settled or nodes


@pytest.mark.parametrize("seed", range(examples(40)))
def test_parts_stay_below_the_enumerated_optimum(seed):
    X, k, options, problem, price = soft_problem(seed)
    proof = certify(X, k, violation_cost=price, bound="parts", part_size=k + 2, gap=1e-3, **options)
    assert proof.lower_bound <= least_cost(problem, price) * (1 + 1e-9) <= proof.best_cost * (1 + 1e-7)
    assert proof.left_out[-1].startswith("soft links")


def test_a_fit_with_soft_links_certifies_its_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 6.0 * np.repeat([[0, 0], [1, 1]], 20, axis=0)
    links = [(0, 39, 0.4), (1, 2, 0.9), (20, 30, 1.0)]
    model = ConstrainedKMeans(2, random_state=0).fit(X, must_link=links)
    proof = model.certify(X, gap=1e-4)
    assert proof.cost == pytest.approx(model.objective_)
    assert model.objective_ > model.inertia_
    assert proof.is_optimal
    assert certify(X, 2, labels=model.labels_, must_link=links, violation_cost=0.0).cost == pytest.approx(
        model.inertia_
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "there are soft links: give violation_cost"),
        ({"violation_cost": -1.0}, "violation_cost must be finite and not negative, got -1.0"),
        ({"violation_cost": 1.0, "bound": "column-generation"}, "column generation bounds hard links only"),
        ({"violation_cost": 1.0, "sample_weight": [1, 0, 1, 1]}, "row 1 has weight 0, and there are soft links"),
    ],
)
def test_what_cannot_be_bounded_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        certify([[0.0], [1.0], [2.0], [3.0]], 2, must_link=[(0, 3, 0.5)], **options)
