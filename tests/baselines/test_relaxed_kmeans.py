"""CKM with links: the linear program is the one of the paper, and rounding it is what breaks constraints."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from konstrain import InfeasibleError
from konstrain.baselines import MinSizeKMeans, RelaxedKMeans
from konstrain.baselines.relaxed_kmeans import SharedSteps
from konstrain.constraints import Problem

# Three rows that must all be apart in two clusters: no labels, but halves.
TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def least_share_cost(X, centers, must, cannot, low):
    """(3c) to (3f) row by row in scipy, without merging what must-links tie."""
    (n, _), k = X.shape, len(centers)
    costs = ((X[:, None] - centers) ** 2).sum(axis=2)
    eye = np.eye(n * k).reshape(n, k, n * k)
    equal = [eye[i].sum(axis=0) for i in range(n)] + [eye[p, j] - eye[q, j] for p, q in must for j in range(k)]
    below = [eye[p, j] + eye[q, j] for p, q in cannot for j in range(k)] + [-eye[:, j].sum(axis=0) for j in range(k)]
    answer = linprog(
        costs.ravel(),
        A_ub=np.array(below),
        b_ub=[1.0] * (len(cannot) * k) + [-low] * k,
        A_eq=np.array(equal),
        b_eq=[1.0] * n + [0.0] * (len(must) * k),
        bounds=(0, 1),
    )
    return answer.fun


def test_shares_solve_the_linear_program_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(12, 2)), rng.normal(size=(3, 2))
    must, cannot = [(0, 1), (2, 3)], [(0, 4), (4, 5), (0, 5), (6, 7)]
    problem = Problem.build(X, 3, must_link=must, cannot_link=cannot, size_min=3)
    steps = SharedSteps(problem)
    cost = (steps.shares(centers) * steps.costs(centers)).sum() + problem.scatter.sum()
    assert cost == pytest.approx(least_share_cost(X, centers, must, cannot, 3))


def test_rows_of_split_blocks_are_counted():
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    problem = Problem.build(X, 3, must_link=[(0, 1)], cannot_link=[(0, 2)])
    split, whole = [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]
    # The first block is two rows.
    assert SharedSteps(problem).n_split(np.array([split, whole, whole, split, whole])) == 3


def test_links_that_nothing_satisfies_are_refused():
    with pytest.raises(InfeasibleError):
        RelaxedKMeans(2).fit(np.arange(6.0).reshape(6, 1), cannot_link=TRIANGLE)


def test_rounding_breaks_links_where_the_program_splits():
    # All three want the first center: half of each may be there, and rounding puts some of them together.
    X = np.array([[0.0], [0.1], [0.2], [10.0], [30.0]])
    model = RelaxedKMeans(3, init=[[0.1], [10.0], [30.0]], max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, cannot_link=TRIANGLE)
    assert model.n_split_ == 3
    assert model.n_violations_ > 0
    kept = RelaxedKMeans(3, init=[[0.1], [10.0], [30.0]]).fit(X, cannot_link=TRIANGLE[:1])
    assert (kept.n_split_, kept.n_violations_) == (0, 0)


def test_without_links_it_is_ckm(seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    relaxed = RelaxedKMeans(4, size_min=8, init=X[:4]).fit(X)
    np.testing.assert_array_equal(relaxed.labels_, MinSizeKMeans(4, size_min=8, init=X[:4]).fit(X).labels_)
    assert relaxed.n_split_ == 0
