"""Certificates of labels and problems: what `certify` says beyond the bounds themselves."""

import json
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from konstrain import ConstrainedKMeans, ExactKMeans, InfeasibleError, certify, check, lower_bound
from konstrain._studio import proving

IRIS = load_iris().data
DRAWN = np.random.default_rng(0).normal(size=(80, 3))
ROWS = [[float(i)] for i in range(6)]
# Problems whose constraints can each be kept alone, but not together.
IMPOSSIBLE = {
    "shares": (2, {"must_link": [(0, 1)], "category": list("aabbbb"), "share_min": {"a": 0.25}}),
    "sizes": (3, {"must_link": [(0, 1), (1, 2)], "cannot_link": [(3, 4), (4, 5), (3, 5)], "size_min": 2}),
    "resources": (2, {"demand": np.array([[1, 1]] * 4 + [[9, 1], [1, 9]]), "size_max": np.full((2, 2), 9.0)}),
}


@pytest.mark.parametrize("bound", ["auto", "sdp", "parts"])
@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_constraints_that_cannot_be_kept_together_are_called_infeasible(kind, bound):
    n_clusters, asked = IMPOSSIBLE[kind]
    with pytest.raises(InfeasibleError):
        certify(ROWS, n_clusters, bound=bound, **asked)


def said_by_check(n_clusters, **asked):
    return check(ROWS, n_clusters, **asked).findings[0].message


def said_by_fit(n_clusters, share_min, **asked):
    with pytest.raises(InfeasibleError) as error:
        ConstrainedKMeans(n_clusters, share_min=share_min).fit(ROWS, **asked)
    return str(error.value)


def said_by_certify(n_clusters, **asked):
    with pytest.raises(InfeasibleError) as error:
        certify(ROWS, n_clusters, **asked)
    return str(error.value)


@pytest.mark.parametrize("say", [said_by_check, said_by_fit, said_by_certify])
def test_an_infeasible_combination_names_only_what_was_asked(say):
    n_clusters, asked = IMPOSSIBLE["shares"]
    message = say(n_clusters, **asked)
    assert "share" in message
    assert "link" in message
    assert "size" not in message
    assert "conflict" not in message


@pytest.mark.parametrize("bound", ["auto", "columns", "column-generation", "sdp", "parts"])
def test_without_time_the_bound_is_zero(bound):
    certificate = certify(np.random.default_rng(0).normal(size=(80, 3)), 8, bound=bound, time_limit=0)
    assert certificate.lower_bound == 0.0
    assert certificate.gap == 1.0


def test_many_features_leave_the_time_limit_as_it_is():
    X = sparse.random(1500, 3000, density=0.01, format="csr", random_state=0)
    began = time.process_time()
    certificate = certify(X, 5, time_limit=0.3)
    # Making parts alike and looking for equal rows took 2.7 s, whatever the limit.
    assert time.process_time() - began < 2.0
    assert certificate.lower_bound <= certificate.cost


def test_limits_of_distance_are_kept_by_the_bound():
    X = np.array([[0.0], [0.1], [5.0], [5.2], [9.0]])
    # Row 4 is more than 3 from every other row, so it has a cluster of its own.
    limited = certify(X, 3, diameter_max=3.0)
    assert limited.is_optimal
    assert limited.best_labels[4] not in limited.best_labels[:4]
    together = certify(X, 2, separation_min=4.0)
    assert together.best_labels[2] == together.best_labels[4]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_rows", [1, 4])
def test_rows_at_one_place_are_certified_without_a_warning(n_rows):
    certificate = certify([[1.0, 2.0]] * n_rows, min(n_rows, 2), bound="columns")
    assert (certificate.cost, certificate.gap) == (0.0, 0.0)


@pytest.mark.parametrize(("X", "k", "size_max", "prover"), [(IRIS[::2], 5, 16, "sdp"), (DRAWN, 8, 11, "columns")])
def test_under_sizes_of_few_features_the_higher_root_goes_on(X, k, size_max, prover):
    points = []
    proof = certify(X, k, size_max=size_max, gap=0.02, callback=points.append)
    assert proof.prover == prover
    assert proof.is_optimal
    assert np.all(np.diff([point.lower_bound for point in points]) >= 0)
    begun = certify(X, k, size_max=size_max, gap=1e-9, callback=lambda point: True)
    assert begun.prover == "columns"
    assert 0.0 < begun.lower_bound <= proof.cost


@pytest.mark.parametrize(("n_rows", "d", "prover"), [(3000, 2, "columns"), (3000, 5, "parts")])
def test_many_rows_of_few_features_are_bounded_over_boxes_under_sizes(n_rows, d, prover):
    X = np.random.default_rng(0).normal(size=(n_rows, d))
    assert certify(X, 4, size_max=n_rows // 3, time_limit=0).prover == prover


def test_few_features_are_proved_over_boxes_wherever_a_proof_is_asked_for(monkeypatch, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = ConstrainedKMeans(4, random_state=0).fit(X)
    assert lower_bound(X, 4).prover == "columns"
    assert model.certify(X).prover == "columns"
    assert ExactKMeans(4, random_state=0).fit(X).prover_ == "columns"
    found = []
    monkeypatch.setattr(proving, "certify", lambda *rows, **asked: found.append(certify(*rows, **asked)) or found[-1])
    proved = proving.prove(X, 4, model.labels_, {"size_max": 15}, 30.0, tmp_path / "progress.json")
    assert proved.is_optimal
    assert found[0].prover == "columns"
    assert json.loads((tmp_path / "progress.json").read_text())["lower_bound"] <= found[0].cost
