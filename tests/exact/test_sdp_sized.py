"""The bound with a matrix for each size: below every clustering of these sizes, above the plain one where it pays."""

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans, certify
from konstrain.constraints.problem import Problem
from konstrain.exact import nodes
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.model import symmetric
from konstrain.exact.sdp.sized import SizedBound, are_known_and_differ
from konstrain.exact.task import ProofTask
from konstrain.exceptions import InfeasibleError
from konstrain.stop import Budget
from oracles import costs_of_all_labelings

SIZES = [(1, 3), (2, 5), (1, 2, 4), (2, 2, 3), (1, 3, 3), (1, 1, 2, 3)]


def random_problem(rng: np.random.Generator) -> tuple[Problem, float] | None:
    """A problem with known sizes and perhaps links, and the least cost; None when nothing keeps them."""
    sizes = np.array(SIZES[rng.integers(len(SIZES))])
    n, k = int(sizes.sum()), sizes.size
    X = (rng.normal(size=(n, 2)) + 4.0 * rng.integers(0, 3, (n, 1))) * 10.0 ** rng.integers(-2, 3)
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    rng.shuffle(pairs)
    links = {"must_link": pairs[: rng.integers(0, 3)], "cannot_link": pairs[3 : 3 + rng.integers(0, 3)]}
    try:
        problem = Problem.build(X, k, size_min=sizes, size_max=sizes, **links)
    except InfeasibleError:
        return None
    _, costs = costs_of_all_labelings(problem)
    return (problem, float(costs.min())) if np.isfinite(costs.min()) else None


@pytest.mark.parametrize("seed", range(examples(5)))
def test_never_above_the_optimum_at_the_root_or_in_children(seed):
    rng = np.random.default_rng(seed)
    n_seen = 0
    while n_seen < examples(160):
        drawn = random_problem(rng)
        if drawn is None:
            continue
        problem, best = drawn
        n_seen += 1
        root = SizedBound(problem)
        # Not cut off at an upper bound, so that a bound that is too high shows.
        root.run(max_rounds=2)
        assert root.lower_bound <= best * (1 + 1e-9) + 1e-12
        pair = root.branching_pair()
        if pair is None or n_seen % 5:
            continue
        children = [root.child_must_link(*pair), root.child_cannot_link(*pair)]
        for child in children:
            child.run(max_rounds=1)
        assert min(child.lower_bound for child in children) <= best * (1 + 1e-9) + 1e-12


def three_groups(n: int = 24) -> tuple[np.ndarray, list[int]]:
    """Rows in three equal groups, and sizes that cut through them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], n // 3, axis=0)
    return X, [2, n // 4, n - n // 4 - 2]


def test_matrices_of_their_own_prove_more_than_one_for_all():
    X, sizes = three_groups()
    best = ConstrainedKMeans(3, size_min=sizes, size_max=sizes, n_init=30, random_state=0).fit(X).inertia_
    problem = Problem.build(X, 3, size_min=sizes, size_max=sizes)
    plain, sized = (kind(problem).run(best, max_rounds=20).lower_bound for kind in (SdpBound, SizedBound))
    assert plain < sized <= best * (1 + 1e-9)
    assert best - sized < 0.5 * (best - plain)


def test_children_begin_with_what_their_parent_has_proved():
    X, sizes = three_groups()
    parent = SizedBound(Problem.build(X, 3, size_min=sizes, size_max=sizes))
    # No cuts yet: a star that would name a block twice is lost in a merge.
    for _ in range(40):
        parent._iterate()
    proved = parent._safe_bound()
    for child in (parent.child_must_link(0, 1), parent.child_cannot_link(0, 20)):
        assert child._safe_bound() >= proved * (1 - 1e-9)


def test_the_relaxed_matrices_meet_their_equations_in_the_end():
    X, sizes = three_groups()
    bound = SizedBound(Problem.build(X, 3, size_min=sizes, size_max=sizes))
    bound.run(max_rounds=30)
    matrices = {group.size: symmetric(group.Z) for group in bound._groups}
    for size, Z in matrices.items():
        np.testing.assert_allclose(Z.sum(axis=1), size * Z.diagonal(), atol=5e-3)
        np.testing.assert_allclose(np.trace(Z), 1.0, atol=5e-3)
    np.testing.assert_allclose(sum(size * Z.diagonal() for size, Z in matrices.items()), 1.0, atol=5e-3)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([2, 3, 5], [2, 3, 5], True),
        ([8, 8, 10], [8, 8, 10], True),
        (8, 9, False),  # two of 8, one of 9: known, but nearly the same
        ([2, 3, 4], [2, 3, 6], True),  # what the others leave
        (5, 5, False),
        ([2, 3, 4], [2, 4, 5], False),
        ([0, 4, 6], [0, 4, 6], False),
        (None, 6, False),
    ],
    ids=["each", "by-a-quarter", "by-one", "left-over", "equal", "free", "empty", "upper"],
)
def test_sizes_are_known_and_differ(low, high, expected):
    n = {5: 15, 8: 25}.get(low, 10) if np.ndim(low) == 0 else max(10, sum(low))
    problem = Problem.build(np.arange(float(n))[:, None], 3, size_min=low, size_max=high, nonempty=low != [0, 4, 6])
    assert are_known_and_differ(problem) is expected


@pytest.fixture(scope="module")
def plain():
    """Return the bound of one matrix for all sizes of the three groups."""
    X, sizes = three_groups(15)
    bound = SdpBound(Problem.build(X, 3, size_min=sizes, size_max=sizes))
    bound.run(np.inf, 1e-4)
    return bound


@pytest.mark.parametrize("is_better", [True, False], ids=["sized", "plain"])
def test_a_root_goes_on_with_the_better_of_the_two(monkeypatch, plain, is_better):
    X, sizes = three_groups(15)
    problem = Problem.build(X, 3, size_min=sizes, size_max=sizes)
    if not is_better:
        monkeypatch.setattr(SizedBound, "_safe_bound", lambda self: 0.0)
    root = nodes.SemidefiniteNode.root(ProofTask(X, problem))
    root.run(np.inf, 1e-4, Budget(None))
    assert isinstance(root._bound, SizedBound) is is_better
    assert root.lower_bound >= plain.lower_bound
    assert all(isinstance(child._bound, SizedBound) is is_better for child in root.children((0, 14)))


@pytest.mark.parametrize("seed", range(3))
def test_proofs_end_at_the_optimum_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    sizes = [2, 3, 4]
    _, costs = costs_of_all_labelings(Problem.build(X, 3, size_min=sizes, size_max=sizes))
    proof = certify(X, 3, size_min=sizes, size_max=sizes, bound="sdp", gap=1e-5)
    np.testing.assert_allclose(proof.best_cost, costs.min(), rtol=1e-7)
    assert proof.is_optimal
    assert proof.lower_bound <= costs.min() * (1 + 1e-9)
