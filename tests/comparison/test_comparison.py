"""Comparing methods on one's own data: the same problem for all, failures as rows, broken links counted."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris

from konstrain import BLPKMeans, Comparison, compare
from konstrain.metrics import sum_of_squares

IRIS = load_iris()
LINKS = {"must_link": [(0, 50), (50, 51)], "cannot_link": [(0, 149)]}


@pytest.fixture(scope="module")
def found():
    methods = ["constrained-kmeans", "kmeans", BLPKMeans(init="k-means++"), KMeans(n_init=2), KMeans(n_init=1)]
    return compare(IRIS.data, methods, 3, **LINKS, labels=IRIS.target, seeds=[4, 5])


def test_there_is_a_row_per_method_and_seed_and_a_line_per_method(found):
    names = ["constrained-kmeans", "kmeans", "BLPKMeans", "KMeans 1", "KMeans 2"]
    assert [line["method"] for line in found.table] == names
    assert sorted((row["method"], row["seed"]) for row in found.rows) == sorted((n, s) for n in names for s in (4, 5))


def test_measures_are_those_of_a_fit_by_hand(found):
    row = next(row for row in found.rows if row["method"] == "KMeans 1" and row["seed"] == 5)
    by_hand = KMeans(n_clusters=3, n_init=2, random_state=5).fit(IRIS.data)
    np.testing.assert_allclose(row["sse"], by_hand.inertia_)
    np.testing.assert_allclose(row["sse"], sum_of_squares(IRIS.data, by_hand.labels_))


def test_methods_that_do_not_see_links_say_so_and_their_broken_links_count(found):
    lines = {line["method"]: line for line in found.table}
    assert lines["kmeans"]["ignored"] == "must_link, cannot_link"
    assert lines["BLPKMeans"]["ignored"] is None
    assert lines["kmeans"]["broken_ml"] >= 1.0
    assert lines["constrained-kmeans"]["broken_ml"] == lines["BLPKMeans"]["broken_cl"] == 0.0


def test_links_that_can_be_read_once_reach_every_method_and_every_count():
    links = {kind: iter(pairs) for kind, pairs in LINKS.items()}
    found = compare(IRIS.data, ["constrained-kmeans", "kmeans"], 3, **links, seeds=[0, 1])
    assert [row["broken_cl"] + row["broken_ml"] > 0 for row in found.rows] == [False, True, False, True]


def test_sums_and_sizes_are_those_that_weights_and_demands_make():
    X = [[0.0], [1.0], [5.0], [6.0]]
    counted = {"sample_weight": [1.0, 3.0, 1.0, 1.0], "demand": [2.0, 2.5, 1.0, 1.0]}
    (row,) = compare(X, ["exact"], 2, **counted, size_max=4.5, seeds=[0]).rows
    assert row["sse"] == pytest.approx(0.75 + 0.5) == pytest.approx(row["lower_bound"])
    assert (row["smallest"], row["largest"]) == (2.0, 4.5)


def test_what_fails_is_a_row_with_the_reason():
    found = compare(IRIS.data, ["kmeans", "exact", DBSCAN()], 3, cannot_link=[(7, 7)], seeds=[0])
    status = {row["method"]: (row["status"], row["reason"]) for row in found.rows}
    assert status["kmeans"][0] == "failed"  # its broken links cannot be counted either
    assert "cannot_link" in status["exact"][1]
    assert "n_clusters" in status["DBSCAN"][1]
    assert found.table[1]["failed"] == 1
    assert "failed" in found.to_text()


def test_the_answer_does_not_depend_on_the_number_of_workers(found):
    again = compare(IRIS.data, ["constrained-kmeans"], 3, **LINKS, labels=IRIS.target, seeds=[4, 5], n_jobs=2)
    ours = [row for row in found.rows if row["method"] == "constrained-kmeans"]
    keys = ("seed", "sse", "ari", "nmi", "smallest")
    assert [[row[key] for key in keys] for row in again.rows] == [[row[key] for key in keys] for row in ours]


def test_the_text_is_aligned_and_without_empty_columns(found):
    lines = repr(found).splitlines()
    assert lines[0].split()[:3] == ["method", "runs", "failed"]
    assert "gap" not in lines[0]
    assert all(line.startswith(name["method"]) for line, name in zip(lines[1:], found.table, strict=True))


def test_frames_and_pictures_hold_every_run(found):
    assert found.to_polars().shape[0] == len(found.rows) == 10
    with mpl.rc_context({"backend": "agg"}):
        ax = found.plot("ari")
    assert [label.get_text() for label in ax.get_yticklabels()] == [line["method"] for line in found.table]
    assert sum(len(line.get_xdata()) for line in ax.lines) == 10


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="at least one method and one seed"):
        compare(IRIS.data, [], 3)
    assert isinstance(compare(IRIS.data, ["kmeans"], 3, seeds=iter([0])), Comparison)
