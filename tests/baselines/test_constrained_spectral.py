"""CSP: the generalised eigenproblem solved independently, the threshold, and what links do to the clusters."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from konstrain.baselines import ConstrainedSpectral
from konstrain.baselines.constrained_spectral import feasible_cuts


def random_case(seed, n=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    pairs = rng.permutation(n)[: 2 * (n // 3)].reshape(-1, 2)
    return X, pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]


def matrices(X, must_link, cannot_link, gamma=0.7):
    """Laplacian, links, links over the roots of degrees, those roots: entry by entry."""
    n = len(X)
    A = np.array([[np.exp(-gamma * ((a - b) ** 2).sum()) for b in X] for a in X]) - np.eye(n)
    D = np.diag(1 / np.sqrt(A.sum(axis=1)))
    Q = np.zeros((n, n))
    for pairs, sign in ((must_link, 1), (cannot_link, -1)):
        for i, j in pairs:
            Q[i, j] = Q[j, i] = sign
    return np.eye(n) - D @ A @ D, Q, D @ Q @ D, np.diag(D), A.sum()


def cuts_of_general_solver(L, B):
    """All real solutions with positive eigenvalues by the QZ method, cheapest first."""
    values, vectors = scipy.linalg.eig(L, B)
    good = np.isfinite(values) & (np.abs(values.imag) < 1e-9) & (values.real > 1e-9)
    v = vectors[:, good].real
    v /= np.linalg.norm(v, axis=0)
    costs = np.array([column @ L @ column for column in v.T])
    order = np.argsort(costs)
    return v[:, order], costs[order]


def same_columns(a, b):
    """Whether columns agree up to their signs."""
    np.testing.assert_allclose(np.abs(np.sum(a * b, axis=0)), np.ones(a.shape[1]), rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_cuts_are_those_of_a_general_eigensolver(seed, share):
    L, Q, *_ = matrices(*random_case(seed))
    threshold = share * np.linalg.eigvalsh(Q)[-1]
    cuts, costs = feasible_cuts(L, Q, threshold)
    expected, expected_costs = cuts_of_general_solver(L, Q - threshold * np.eye(len(Q)))
    np.testing.assert_allclose(costs, expected_costs, rtol=1e-6)
    # One eigenvalue of Q for each must-link and each cannot-link is 1: as many cuts.
    assert cuts.shape[1] == (np.linalg.eigvalsh(Q) > threshold).sum()
    separate = np.r_[True, np.diff(costs) > 1e-6] & np.r_[np.diff(costs) > 1e-6, True]
    same_columns(cuts[:, separate], expected[:, separate])


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("variant", ["program", "paper"])
def test_embedding_is_the_published_one(n_clusters, variant):
    X, must_link, cannot_link = random_case(7)
    model = ConstrainedSpectral(n_clusters, gamma=0.7, variant=variant, random_state=0)
    model.fit(X, must_link=must_link, cannot_link=cannot_link)
    L, Q, scaled, root, volume = matrices(X, must_link, cannot_link)
    if variant == "paper":
        share = 0.5 + 0.4 * 2 * (len(must_link) + len(cannot_link)) / len(X) ** 2
        Q, threshold = scaled, share * np.sort(np.linalg.eigvalsh(scaled))[1 - n_clusters]
    elif n_clusters == 2:
        Q, threshold = scaled, 0.5 * np.linalg.eigvalsh(scaled)[-1]
    else:
        singular = np.linalg.svd(Q, compute_uv=False)
        threshold = (singular[n_clusters - 1] + singular[n_clusters]) / 2 - 1e-6
    assert model.threshold_ == pytest.approx(threshold)
    v, costs = cuts_of_general_solver(L, Q - threshold * np.eye(len(Q)))
    v, costs = v[:, : n_clusters - 1], costs[: n_clusters - 1]
    np.testing.assert_allclose(np.abs(model.cuts_), np.abs(v), atol=1e-5)
    weight = np.abs(1 - costs) if n_clusters > 2 else 1.0
    np.testing.assert_allclose(
        np.abs(model.embedding_), np.abs(root[:, None] * v) * np.sqrt(volume) * weight, atol=1e-4
    )


@pytest.mark.parametrize("threshold", [None, 0.1, 0.6, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_every_cut_satisfies_the_threshold(threshold, seed):
    X, must_link, cannot_link = random_case(seed)
    model = ConstrainedSpectral(4, gamma=0.7, threshold=threshold, random_state=0)
    model.fit(X, must_link=must_link, cannot_link=cannot_link)
    Q = matrices(X, must_link, cannot_link)[1]
    satisfaction = np.einsum("ij,ij->j", model.cuts_, Q @ model.cuts_)
    np.testing.assert_allclose(np.linalg.norm(model.cuts_, axis=0), 1.0)
    assert (satisfaction >= model.threshold_ - 1e-9).all()
    assert threshold is None or model.threshold_ == threshold


def four_blobs():
    """Two rows of two blobs: left against right is as good a cut as top against bottom."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(15, 2)) * 0.3 + place for place in ([0, 0], [0, 2], [2, 0], [2, 2])])


@pytest.mark.parametrize("side", [0, 1])
def test_links_choose_between_two_good_cuts(side):
    true = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 15, axis=0)[:, side]
    must_link = [(i, j) for i in range(0, 60, 5) for j in range(i + 5, 60, 5) if true[i] == true[j]]
    cannot_link = [(i, j) for i in range(0, 60, 5) for j in range(i + 5, 60, 5) if true[i] != true[j]]
    model = ConstrainedSpectral(2).fit(four_blobs(), must_link=must_link, cannot_link=cannot_link)
    assert adjusted_rand_score(true, model.labels_) == 1.0
    assert model.n_violations_ == 0


def test_without_links_it_is_plain_spectral_clustering():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)) * 0.3 + place for place in ([0, 0], [0, 6], [7, 0])])
    for k, true in ((3, np.repeat([0, 1, 2], 20)), (1, np.zeros(60))):
        model = ConstrainedSpectral(k, n_init=10, random_state=0).fit(X)
        assert adjusted_rand_score(true, model.labels_) == 1.0
        assert model.threshold_ == 0.0


def test_a_precomputed_affinity_gives_the_same_clusters():
    X, must_link, cannot_link = random_case(3)
    A = np.exp(-0.7 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(A, 0.0)
    links = {"must_link": must_link, "cannot_link": cannot_link}
    model = ConstrainedSpectral(3, affinity="precomputed", random_state=0).fit(A, **links)
    np.testing.assert_array_equal(
        model.labels_, ConstrainedSpectral(3, gamma=0.7, random_state=0).fit(X, **links).labels_
    )
    assert np.isnan(model.inertia_)


def test_standardised_features_are_those_of_a_scaler():
    X, must_link, cannot_link = random_case(3)
    X = X * [1.0, 30.0]
    before = X.copy()
    links = {"must_link": must_link, "cannot_link": cannot_link}
    model = ConstrainedSpectral(3, gamma=0.5, standardize=True, random_state=0).fit(X, **links)
    by_hand = ConstrainedSpectral(3, gamma=0.5, random_state=0).fit(StandardScaler().fit_transform(X), **links)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(by_hand.embedding_), atol=1e-8)
    plain = ConstrainedSpectral(3, gamma=0.5, random_state=0).fit(X, **links)
    assert np.abs(np.abs(plain.embedding_) - np.abs(model.embedding_)).max() > 0.01
    np.testing.assert_array_equal(X, before)


def test_a_graph_in_pieces_is_cut_between_them():
    A = np.zeros((7, 7))
    A[:3, :3] = A[3:6, 3:6] = 1.0  # and a row without neighbours
    model = ConstrainedSpectral(2, affinity="precomputed").fit(A, must_link=[(0, 2)], cannot_link=[(1, 4), (2, 3)])
    assert model.n_violations_ == 0
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:6])) == 1


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((2, 3)), r"must be square, got shape \(2, 3\)"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), r"affinity\[0, 1\] is -1; affinities must not be negative"),
        (np.array([[0.0, 1.0], [0.5, 0.0]]), r"not symmetric: \[0, 1\] is 1, \[1, 0\] is 0.5"),
    ],
)
def test_affinities_that_are_none_are_refused(affinity, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedSpectral(2, affinity="precomputed").fit(affinity)


def test_a_threshold_that_no_cut_reaches_is_refused():
    X, must_link, cannot_link = random_case(0)
    with pytest.raises(ValueError, match=r"threshold=1 is not below 1, .*lower threshold"):
        ConstrainedSpectral(3, threshold=1.0).fit(X, must_link=must_link, cannot_link=cannot_link)


def test_confidences_weigh_links():
    X, must_link, cannot_link = random_case(5)
    half = np.column_stack([must_link, np.full(len(must_link), 0.5)])
    model = ConstrainedSpectral(3, threshold=0.6, random_state=0).fit(X, must_link=half, cannot_link=cannot_link)
    # Must-links of half confidence have eigenvalues of 0.5 only: the cuts are those of the cannot-links.
    assert model.cuts_.shape[1] == min(2, len(cannot_link))
    sure = model.cuts_[cannot_link[:, 0]] * model.cuts_[cannot_link[:, 1]]
    assert (-2 * sure.sum(axis=0) > 0.6).all()


@pytest.mark.parametrize("variant", ["program", "paper"])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("kind", ["must_link", "cannot_link"])
def test_links_of_rows_without_neighbours_are_no_error(variant, n_clusters, kind):
    # So far away that their affinities are zero.
    X = np.concatenate([np.random.default_rng(0).normal(size=(8, 2)), [[1e3, 0.0], [0.0, 1e3]]])
    model = ConstrainedSpectral(n_clusters, variant=variant, random_state=0).fit(X, **{kind: [(8, 9)]})
    assert model.embedding_[8:].tolist() == np.zeros((2, model.embedding_.shape[1])).tolist()


@pytest.mark.parametrize("variant", ["program", "paper"])
def test_where_no_cut_exceeds_the_threshold_plain_cuts_are_taken(variant):
    affinity = np.array([[0.0, 0.5], [0.5, 0.0]])
    model = ConstrainedSpectral(2, affinity="precomputed", variant=variant).fit(affinity, must_link=[(0, 1)])
    free = ConstrainedSpectral(2, affinity="precomputed", variant=variant).fit(affinity)
    np.testing.assert_allclose(model.cuts_, free.cuts_)


def test_a_threshold_met_exactly_is_no_error():
    affinity = np.zeros((6, 6))
    affinity[[0, 3, 2, 4], [3, 0, 4, 2]] = 1.0
    model = ConstrainedSpectral(4, affinity="precomputed", random_state=0).fit(affinity, must_link=[(2, 3)])
    assert np.isfinite(model.embedding_).all()
    assert model.n_violations_ == 0
