"""CKSC: the weights are the optimum of the quadratic program, and kernel k-means runs on the kernel they make."""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from konstrain.baselines import CKSC
from konstrain.baselines.cksc import learn_weights


def best_by_faces(A, t):
    """Try every way in which neighbouring weights may be equal and the last ones 0; return the least squares."""
    m = A.shape[1]
    sums = np.cumsum(A, axis=1)
    least = float((t**2).sum())
    for size in range(1, m + 1):
        for face in itertools.combinations(range(m), size):
            delta = np.linalg.lstsq(sums[:, face], t, rcond=None)[0]
            if (delta >= 0).all():
                least = min(least, float(((sums[:, face] @ delta - t) ** 2).sum()))
    return least


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_optimal_by_enumeration_of_faces(seed):
    rng = np.random.default_rng(seed)
    A, t = rng.normal(size=(12, 5)), rng.normal(size=12)
    beta = learn_weights(A, t)
    assert (np.diff(beta) <= 0).all()
    assert beta[-1] >= 0
    assert ((A @ beta - t) ** 2).sum() == pytest.approx(best_by_faces(A, t))


def test_weights_are_those_of_a_general_solver():
    rng = np.random.default_rng(1)
    A, t = rng.random(size=(30, 6)), rng.random(size=30)
    monotone = np.vstack([-np.diff(np.eye(6), axis=0), np.eye(6)[-1]])
    general = minimize(
        lambda b: ((A @ b - t) ** 2).sum(),
        np.ones(6),
        jac=lambda b: 2 * A.T @ (A @ b - t),
        constraints=LinearConstraint(monotone, lb=0),
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(learn_weights(A, t), general.x, atol=1e-5)


def two_rings(n=60):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.concatenate([ring, 3 * ring]), np.repeat([0, 1], n)


def some_links(true, seed=0, count=60):
    pairs = np.random.default_rng(seed).integers(true.size, size=(count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = true[pairs[:, 0]] == true[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def misfit(K, links):
    """Squared distance of a kernel from what the links ask for, the diagonal included."""
    must, cannot = links["must_link"], links["cannot_link"]
    return (
        ((np.diag(K) - 1) ** 2).sum()
        + ((K[must[:, 0], must[:, 1]] - 1) ** 2).sum()
        + (K[cannot[:, 0], cannot[:, 1]] ** 2).sum()
    )


def test_the_learnt_kernel_fits_the_links_better_than_any_multiple_of_the_one_it_starts_from():
    X, true = two_rings()
    links = some_links(true)
    model = CKSC(2, gamma=2.0, random_state=0).fit(X, **links)
    V = model.embedding_ / np.sqrt(np.where(model.kernel_weights_ > 0, model.kernel_weights_, 1.0))
    learnt = misfit(model.embedding_ @ model.embedding_.T, links)
    plain = min(misfit(scale * V @ V.T, links) for scale in np.linspace(0, 20, 201))
    assert learnt < 0.99 * plain
    assert model.n_violations_ == 0
    assert (np.diff(model.kernel_weights_) <= 1e-12).all()


def test_the_objective_is_that_of_kernel_kmeans():
    X, true = two_rings(20)
    model = CKSC(3, random_state=0).fit(X, **some_links(true))
    K = model.embedding_ @ model.embedding_.T
    cost = np.trace(K)
    for j in range(3):
        own = model.labels_ == j
        cost -= K[np.ix_(own, own)].sum() / own.sum()
    assert model.objective_ == pytest.approx(cost)


def test_a_confidence_is_worth_that_share_of_a_link():
    X, true = two_rings(20)
    links = some_links(true, count=10)
    must = links["must_link"]
    sure = CKSC(2, random_state=0).fit(X, must_link=np.concatenate([must, must]), cannot_link=links["cannot_link"])
    twice = np.repeat(np.column_stack([must, np.full(len(must), 0.5)]), 4, axis=0)
    half = CKSC(2, random_state=0).fit(X, must_link=twice, cannot_link=links["cannot_link"])
    np.testing.assert_allclose(half.kernel_weights_, sure.kernel_weights_, rtol=1e-8)
