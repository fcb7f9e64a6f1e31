"""Distance limits as pairs."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from konstrain import _memory, pairs_beyond_diameter, pairs_within_separation
from konstrain.constraints import pairs


def naive(X, wanted):
    X = np.asarray(X, dtype=float)
    return [
        [i, j] for i in range(len(X)) for j in range(i + 1, len(X)) if wanted(np.sqrt(((X[i] - X[j]) ** 2).sum()))
    ]


@pytest.mark.parametrize("n_features", [1, 3, 20])
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("chunk", [7, 4_000_000])
def test_pairs_equal_the_naive_ones(n_features, kind, chunk, monkeypatch):
    monkeypatch.setattr(pairs, "CELLS", chunk)
    monkeypatch.setattr(_memory, "CELLS", chunk)
    rng = np.random.default_rng(n_features)
    for scale in (0.3, 1.0, 2.5):
        # Multiples of 1/8: distances are exact in float32 too, and the limit is met exactly.
        X = np.round(rng.normal(size=(40, n_features)) * 8) / 8
        limit = scale * np.sqrt(n_features)
        given = {"dense": X, "float32": X.astype(np.float32), "sparse": csr_array(X)}[kind]
        assert pairs_beyond_diameter(given, limit).tolist() == naive(X, lambda d, limit=limit: d > limit)
        assert pairs_within_separation(given, limit).tolist() == naive(X, lambda d, limit=limit: d < limit)


def test_a_distance_equal_to_the_limit_breaks_neither():
    X = [[0.0, 0.0], [3.0, 4.0]]
    assert pairs_beyond_diameter(X, 5.0).shape == (0, 2)
    assert pairs_within_separation(X, 5.0).shape == (0, 2)


def test_rows_near_the_middle_are_not_compared(monkeypatch):
    """With one far row among many, only pairs within reach of it are measured."""
    X = np.r_[np.random.default_rng(0).normal(size=(5000, 30)), np.full((1, 30), 100.0)]
    measured = []
    distances = pairs._distances
    monkeypatch.setattr(
        pairs,
        "_distances",
        lambda X, rows, others: measured.append(rows.size * others.size) or distances(X, rows, others),
    )
    assert pairs_beyond_diameter(X, 300.0).shape == (5000, 2)
    assert sum(measured) < 5_000_000


@pytest.mark.parametrize("n_features", [2, 20])
def test_too_many_pairs_are_refused_with_their_number(n_features, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_NUMBERS", 100)
    X = np.random.default_rng(0).normal(size=(50, n_features))
    number = "is 1225" if n_features == 2 else "is at least"
    with pytest.raises(ValueError, match=f"diameter_max=0 implies too many links: their number {number}"):
        pairs_beyond_diameter(X, 0.0)
    with pytest.raises(ValueError, match=f"separation_min=99 implies too many links: their number {number}"):
        pairs_within_separation(X, 99.0)


def test_a_number_of_rows_has_no_distances():
    with pytest.raises(ValueError, match="distance limits need the rows themselves"):
        pairs_within_separation(5, 1.0)


@pytest.mark.parametrize("limit", [None, "far", -1.0, np.nan, True, [1.0]])
def test_a_limit_that_is_no_distance_is_refused(limit):
    for find, name in ((pairs_beyond_diameter, "diameter_max"), (pairs_within_separation, "separation_min")):
        with pytest.raises(ValueError, match=f"{name} must be a distance, a number not below 0, got "):
            find([[0.0], [1.0]], limit)
