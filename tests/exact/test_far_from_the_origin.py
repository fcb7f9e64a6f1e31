"""Bounds hold for rows of any form, far from the origin too; what cannot be satisfied is said at once."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from effort import examples
from konstrain import ExactKMeans, InfeasibleError, Problem, check, lower_bound
from konstrain.exact.sdp.bound import SdpBound
from konstrain.exact.sdp.model import SdpModel
from oracles import all_labelings

FORMS = {"dense": np.asarray, "sparse": csr_array, "float32": lambda X: X.astype(np.float32)}


def best_sum_of_squares(X, k, blocks):
    """Least sum of squares over all clusterings of blocks, around the first row: differences are exact there."""
    X = np.asarray(X - X[0], dtype=np.longdouble)
    best = np.inf
    for few in all_labelings(blocks.max() + 1, k):
        if np.unique(few).size == k:
            labels = few[blocks]
            rows = [X[labels == j] for j in range(k)]
            best = min(best, float(sum(((r - r.mean(axis=0)) ** 2).sum() for r in rows)))
    return best


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e7])
def test_bounds_stay_below_the_optimum(form, offset):
    rng = np.random.default_rng(int(offset))
    for _ in range(examples(4)):
        X = np.round(rng.normal(size=(9, 3)), 3)
        X[:, 0] += offset
        given = FORMS[form](X)
        rows = np.asarray(given.toarray() if form == "sparse" else given, dtype=np.float64)
        blocks = np.array([0, 0, 1, 1, 1, 2, 3, 4, 5])
        must_link = [(0, 1), (2, 3), (3, 4)]
        best = best_sum_of_squares(rows, 3, blocks)
        bound = SdpBound(Problem.build(given, 3, must_link=must_link)).run(best).lower_bound
        assert bound <= best
        certificate = lower_bound(given, 3, must_link=must_link)
        assert certificate.lower_bound <= best
        model = ExactKMeans(3, random_state=0).fit(given, must_link=must_link)
        assert model.lower_bound_ <= best
        assert model.lower_bound_ <= model.inertia_
        assert model.inertia_ == pytest.approx(best, rel=1e-9 + 1e-16 * offset**2)


def test_the_guard_covers_means_in_single_precision():
    X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32) + np.float32(1e4)
    must_link = [(0, 1), (2, 3)]
    single, double = (SdpModel.of(Problem.build(rows, 2, must_link=must_link)) for rows in (X, X.astype(np.float64)))
    assert single.total <= double.total + double.guard
    assert single.guard > 1e3 * double.guard


@pytest.mark.parametrize("n", [5, 7, 9, 31])
@pytest.mark.parametrize("bound", ["auto", "sdp", "column-generation"])
def test_infeasible_by_demand_is_said_without_a_search(n, bound, monkeypatch):
    X, demand = np.random.default_rng(0).normal(size=(n, 2)), np.full(n, 3.0)
    sizes = {"size_min": 3 * n / 2 - 1, "size_max": 3 * n / 2 + 1}
    assert check(n, 2, demand=demand, **sizes).feasible is False
    monkeypatch.setattr("konstrain.exact.solve.Tree.search", lambda *_: pytest.fail("the tree was searched"))
    with pytest.raises(InfeasibleError, match="no clustering satisfies all constraints"):
        ExactKMeans(2, bound=bound, **sizes).fit(X, demand=demand)
    with pytest.raises(InfeasibleError):
        lower_bound(X, 2, demand=demand, bound=bound, **sizes)
