"""Both sides of every switch: the same problems, the same answers, attributes recomputed by numpy."""

import re
from pathlib import Path

import numpy as np
import pytest

import konstrain
from konstrain import ConstrainedKMeans, ExactKMeans, InfeasibleError
from konstrain.assignment import ENGINES as ALL_ENGINES
from konstrain.assignment import AssignmentProblem, assign
from konstrain.assignment.transport import solve as transport
from konstrain.kmeans.distances import block_costs, nearest_pass, own_costs
from oracles import best_cost, check_assignment, cost_tolerance
from problems import random_problem
from random_fits import check_random_fit, random_fit
from switches import ENGINES, PROOFS, SAME, SEARCH, SWITCHES, owner_of, set_to


def sides(switches):
    return [
        pytest.param({name: value}, id=f"{name.removeprefix('konstrain.')}={value}")
        for name, values in switches.items()
        for value in values
    ]


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_exists(name):
    module, constant, field = owner_of(name)
    assert hasattr(module, constant)
    assert field is None or hasattr(getattr(module, constant), field)


@pytest.mark.parametrize("setting", sides(ENGINES))
def test_engines_meet_enumeration_on_both_sides(setting):
    rng = np.random.default_rng(0)
    for links in (None, "hard", "cliques", "soft"):
        for sizes, demand in ((False, None), (True, None), (True, "integer"), (True, "real")):
            for _ in range(4):
                problem = random_problem(rng, links=links, sizes=sizes, demand=demand, max_labelings=300)
                best = best_cost(problem)
                with set_to(setting):
                    if not np.isfinite(best):
                        with pytest.raises(InfeasibleError):
                            assign(problem)
                        continue
                    answer = assign(problem)
                check_assignment(problem, answer)
                assert answer.proven
                assert answer.cost == pytest.approx(best, abs=cost_tolerance(problem))


@pytest.mark.parametrize("setting", sides(SAME))
def test_fits_do_not_depend_on_the_side(setting):
    rng = np.random.default_rng(1)
    for _ in range(8):
        X, params, given = random_fit(rng)
        plain = fitted(X, params, given)
        with set_to(setting):
            switched = fitted(X, params, given)
        assert (plain is None) == (switched is None)
        if plain is not None:
            check_random_fit(switched, X, params, given)
            assert switched.objective_ == pytest.approx(
                plain.objective_, rel=1e-9, abs=1e-9 * float(np.abs(plain.inertia_))
            )


@pytest.mark.parametrize("setting", sides(SEARCH))
def test_searches_are_right_on_both_sides(setting):
    rng = np.random.default_rng(2)
    for _ in range(6):
        X, params, given = random_fit(rng)
        with set_to(setting):
            model = fitted(X, params, given)
        if model is not None:
            check_random_fit(model, X, params, given)


@pytest.mark.parametrize("setting", sides(PROOFS))
def test_proofs_agree_on_both_sides(setting):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(14, 2))
    links = {"must_link": [(0, 1)], "cannot_link": [(0, 2), (3, 4)]}
    expected = ExactKMeans(3, size_max=7, random_state=0).fit(X, **links)
    with set_to(setting):
        model = ExactKMeans(3, size_max=7, random_state=0).fit(X, **links)
    assert model.lower_bound_ <= expected.inertia_ * (1 + 1e-12)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=2e-6)


def fitted(X, params, given):
    """Fit, or None where the constraints of this draw cannot be kept."""
    try:
        return ConstrainedKMeans(random_state=0, **params).fit(X, **given)
    except InfeasibleError:
        return None


def test_the_case_where_soft_links_became_hard():
    """20,010 rows in 5 clusters, on either side of 100,000 costs: soft must-links within a blob are kept."""
    rng = np.random.default_rng(0)
    blob = np.repeat(np.arange(5), 4002)
    X = 100.0 * np.eye(5)[blob] + rng.normal(size=(20_010, 5))
    links = np.column_stack([rng.choice(4002, (100, 2)), np.full(100, 0.5)])
    links = links[links[:, 0] != links[:, 1]]
    for rows in (X, X[:19_990]):
        model = ConstrainedKMeans(5, init=100.0 * np.eye(5), random_state=0).fit(rows, must_link=links)
        assert model.n_violations_ == 0


@pytest.mark.parametrize("n_features", [1, 3, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("n_clusters", [1, 7, 8, 9, 15, 16, 17, 33])
def test_kernels_are_right_at_every_lane_width(n_features, n_clusters):
    rng = np.random.default_rng([n_features, n_clusters])
    for n in (1, 31, 33, 2049):
        for dtype in (np.float64, np.float32):
            X = rng.normal(size=(n, n_features)).astype(dtype)
            centers = rng.normal(size=(n_clusters, n_features))
            costs = ((X[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
            for threads in (1, 3):
                np.testing.assert_allclose(block_costs(X, None, centers, n_threads=threads), costs, rtol=1e-10)
                labels, inertia, *_ = nearest_pass(X, None, centers, n_threads=threads)
                assert inertia == pytest.approx(costs.min(axis=1).sum())
                assert own_costs(X, None, labels, centers, n_threads=threads) == pytest.approx(inertia)


@pytest.mark.parametrize(("n", "k"), [(60, 7), (399 * 3, 3), (401 * 3, 3), (700, 17), (1300, 3)])
def test_transport_proves_itself_on_both_sides_of_its_samples(n, k):
    """Cost and bound meet, whichever way the kernel starts; labels are recounted."""
    rng = np.random.default_rng([n, k])
    costs = rng.random((n, k)) ** 2
    problem = AssignmentProblem(costs, size_min=np.full(k, n // k - 1.0), size_max=np.full(k, n // k + 1.0))
    answer = transport(problem)
    assert answer.proven
    check_assignment(problem, answer)


def test_the_list_has_every_limit_that_modules_of_the_search_and_the_engines_name():
    """A constant in capitals that a comparison reads is a switch: it is in the list."""
    package = Path(konstrain.__file__).parent
    named = {name.rsplit(".", 1)[1] for name in SWITCHES}
    for folder in ("kmeans", "assignment", "dask"):
        for path in (package / folder).rglob("*.py"):
            constants = re.findall(r"^([A-Z][A-Z_]+) = [\d.]", path.read_text(), flags=re.MULTILINE)
            assert set(constants) <= named, path.name
    assert len(ALL_ENGINES) == 6
