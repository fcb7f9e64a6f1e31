"""CKSC: the weights are the optimum of the quadratic program, and kernel k-means runs on the kernel they make."""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from effort import examples
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


@pytest.mark.parametrize("seed", range(examples(20)))
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


def smoothest_vectors(X, gamma, count):
    """Eigenvectors of the normalised Laplacian for its least eigenvalues, made independently."""
    W = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2)) - np.eye(len(X))
    root = np.sqrt(W.sum(axis=1))
    return np.linalg.eigh(np.eye(len(X)) - W / np.outer(root, root))[1][:, :count]


def test_the_learnt_kernel_fits_the_links_best_of_all_smooth_ones():
    X, true = two_rings(30)
    links = some_links(true)
    model = CKSC(2, n_components=6, gamma=2.0, random_state=0).fit(X, **links)
    V, beta = smoothest_vectors(X, 2.0, 6), model.kernel_weights_

    def misfit_at(weights):
        return misfit((V * weights) @ V.T, links)

    K = model.embedding_ @ model.embedding_.T
    np.testing.assert_allclose(K, (V * beta) @ V.T, atol=1e-8)
    # The plain kernel, whatever its scale, is one of those with weights that never rise.
    assert misfit(K, links) < 0.99 * min(misfit_at(np.full(6, scale)) for scale in np.linspace(0, 40, 401))
    # Raising the first weights together is always allowed, lowering them while they stay above the next.
    gaps = beta - np.append(beta[1:], 0.0)
    assert (gaps >= -1e-12).all()
    for size in range(1, 7):
        first = np.arange(6) < size
        for change in (1e-3, -min(1e-3, gaps[size - 1])):
            assert misfit_at(beta + change * first) >= misfit_at(beta) - 1e-9
    assert model.n_violations_ == 0


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
