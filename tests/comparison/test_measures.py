"""Measures of one run, against what a few lines of plain Python count."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from konstrain.comparison.measures import MEASURES, FitOutcome, Instance, Taken, measure
from konstrain.metrics import sum_of_squares, touched_rows


def outcome_of(X, truth, labels, n_clusters, **constraints):
    instance = Instance(X, n_clusters, truth, constraints)
    return FitOutcome(instance, SimpleNamespace(labels_=np.array(labels)), Taken(1.0, 0.5, 80.0))


@st.composite
def clusterings(draw):
    n_rows = draw(st.integers(2, 12))
    codes = st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)
    pairs = st.lists(st.sampled_from(list(combinations(range(n_rows), 2))), unique=True, max_size=8)
    return draw(codes), draw(codes), draw(pairs), draw(pairs), draw(st.integers(0, 2**32 - 1))


@given(clusterings())
def test_counts_and_sums_are_those_of_plain_loops(drawn):
    truth, labels, must, cannot, seed = drawn
    X = np.random.default_rng(seed).normal(size=(len(labels), 2))
    found = measure(outcome_of(X, truth, labels, 4, must_link=must, cannot_link=cannot), MEASURES)
    broken_ml = sum(labels[a] != labels[b] for a, b in must)
    broken_cl = sum(labels[a] == labels[b] for a, b in cannot)
    assert (found["broken_ml"], found["broken_cl"], found["broken"]) == (broken_ml, broken_cl, broken_ml + broken_cl)
    assert found["broken_ml_share"] == (broken_ml / len(must) if must else None)
    assert found["kept_all"] == (broken_ml + broken_cl == 0)
    assert found["sizes"] == [labels.count(j) for j in range(4)]
    assert (found["smallest"], found["largest"]) == (min(found["sizes"]), max(found["sizes"]))
    pairs = list(combinations(range(len(labels)), 2))
    agree = sum((labels[a] == labels[b]) == (truth[a] == truth[b]) for a, b in pairs)
    np.testing.assert_allclose(found["rand"], agree / len(pairs))
    sse = sum(
        np.square(X[i] - X[[j for j in range(len(labels)) if labels[j] == labels[i]]].mean(axis=0)).sum()
        for i in range(len(labels))
    )
    np.testing.assert_allclose(found["sse"], sse, atol=1e-12)
    assert found["sse_kept"] == (found["sse"] if found["kept_all"] else None)
    free = [i for i in range(len(labels)) if all(i not in pair for pair in [*must, *cannot])]
    np.testing.assert_array_equal(
        np.flatnonzero(~touched_rows(len(labels), must_link=must, cannot_link=cannot)), free
    )


def test_rows_without_links_are_scored_alone():
    truth, labels = [0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 0, 1]
    outcome = outcome_of(np.zeros((6, 1)), truth, labels, 2, must_link=[(0, 2)], cannot_link=[(1, 3)])
    found = measure(outcome, ["ari", "ari_untouched", "nmi_untouched", "nmi_without_ml"])
    assert found["ari_untouched"] == found["nmi_untouched"] == pytest.approx(1.0)  # rows 4 and 5
    assert found["nmi_without_ml"] < 1.0  # rows 1, 3, 4 and 5
    assert found["ari"] < 0.2


def test_what_does_not_apply_is_none():
    outcome = outcome_of(np.zeros((2, 1)), None, [0, 1], 2, must_link=[(0, 1)])
    found = measure(outcome, ["ari", "nmi_untouched", "broken_cl_share", "lower_bound", "gap", "proved"])
    assert set(found.values()) == {None}
    known = outcome_of(np.zeros((2, 1)), [0, 1], [0, 1], 2, must_link=[(0, 1)])
    assert measure(known, ["nmi_untouched"]) == {"nmi_untouched": None}


def test_rows_that_a_linear_program_split_are_read_from_methods_that_count_them():
    outcome = outcome_of(np.zeros((2, 1)), None, [0, 1], 2)
    assert measure(outcome, ["split"]) == {"split": None}
    outcome.model.n_split_ = 3
    assert measure(outcome, ["split"]) == {"split": 3}


def test_proofs_are_read_from_the_model():
    outcome = outcome_of(np.zeros((2, 1)), None, [0, 1], 2)
    outcome.model.lower_bound_, outcome.model.gap_, outcome.model.is_optimal_ = np.float64(2.0), 0.5, np.bool_(False)
    found = measure(outcome, ["lower_bound", "gap", "proved"])
    assert found == {"lower_bound": 2.0, "gap": 0.5, "proved": False}
    assert type(found["proved"]) is bool


def test_sums_of_squares_are_the_same_for_sparse_rows():
    from scipy.sparse import csr_array

    X = np.random.default_rng(0).poisson(0.5, size=(20, 4)).astype(float)
    labels = np.arange(20) % 3
    np.testing.assert_allclose(sum_of_squares(csr_array(X), labels), sum_of_squares(X, labels))


@pytest.mark.parametrize(("labels", "room"), [([0, 0, 1, 1], 0.1), ([0, 1, 0, 1], -0.4), ([0, 0, 0, 1], -0.4)])
def test_shares_are_compared_with_the_least_one_asked_for(labels, room):
    """Groups a, b, a, b: a cluster of one group alone has none of the other."""
    instance = Instance([[0.0], [1.0], [5.0], [6.0]], 2, None, {"category": ["a", "b", "a", "b"], "share_min": 0.4})
    outcome = FitOutcome(instance, SimpleNamespace(labels_=labels), Taken(0.5, 0.5, 80.0))
    assert measure(outcome, ["share_slack"])["share_slack"] == pytest.approx(room)
