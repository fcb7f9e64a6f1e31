"""The report about a clustering: numbers recomputed directly, prices by solving without the constraint."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, certify, describe, report
from oracles import all_labelings

IRIS = load_iris().data


def cheapest(X, centers, *, must_link=(), cannot_link=(), size_min=0, size_max=np.inf, sample_weight=None):
    """Least cost of putting rows to centers under the constraints, by trying all labels."""
    squared = ((X[:, None, :] - centers) ** 2).sum(axis=2)
    if sample_weight is not None:
        squared *= sample_weight[:, None]
    best = np.inf
    for labels in itertools.product(range(len(centers)), repeat=len(X)):
        sizes = np.bincount(labels, minlength=len(centers))
        if (sizes < size_min).any() or (sizes > size_max).any():
            continue
        if any(labels[i] != labels[j] for i, j in must_link) or any(labels[i] == labels[j] for i, j in cannot_link):
            continue
        best = min(best, squared[np.arange(len(X)), labels].sum())
    return best


def fitted(seed, **more):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    pairs = [tuple(rng.choice(7, 2, replace=False).tolist()) for _ in range(4)]
    asked = {"must_link": pairs[:2], "cannot_link": pairs[2:], **more}
    try:
        model = ConstrainedKMeans(3, size_max=asked.get("size_max"), random_state=0).fit(
            X, **{name: value for name, value in asked.items() if name != "size_max"}
        )
    except InfeasibleError:
        return None
    return X, asked, model


# Small ones: beside costs without weights the prices of the sizes would not count.
WEIGHTS = np.array([0.001, 0.03, 0.001, 0.08, 0.001, 0.01, 0.04])


@pytest.mark.parametrize("more", [{}, {"sample_weight": WEIGHTS, "size_max": 3}], ids=["plain", "weights and sizes"])
@pytest.mark.parametrize("seed", range(8))
def test_the_price_of_a_link_is_what_the_cost_falls_without_it(seed, more):
    made = fitted(seed, **more)
    if made is None:
        pytest.skip("this draw contradicts itself")
    X, asked, model = made
    report = describe(X, model.labels_, 3, **asked)
    expected = {}
    for kind in ("must_link", "cannot_link"):
        pairs = asked[kind]
        for pair in pairs:
            rest = {**asked, kind: [p for p in pairs if set(p) != set(pair)]}
            saving = cheapest(X, model.cluster_centers_, **asked) - cheapest(X, model.cluster_centers_, **rest)
            if saving > 1e-9:
                expected[kind, frozenset(pair)] = saving
    found = {(link.kind, frozenset(link.rows)): link.price for link in report.binding_links}
    assert found.keys() == expected.keys()
    for key, price in found.items():
        assert price == pytest.approx(expected[key])


@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_a_size_lies_between_one_more_and_one_less(seed):
    X = np.random.default_rng(seed).normal(size=(8, 2))
    model = ConstrainedKMeans(2, size_min=3, size_max=5, random_state=0).fit(X)
    report = describe(X, model.labels_, 2, size_min=3, size_max=5)
    base = cheapest(X, model.cluster_centers_, size_min=3, size_max=5)
    low, high = np.full(2, 3.0), np.full(2, 5.0)
    for bound in report.binding_sizes:
        step = np.eye(2)[bound.cluster]
        give = {"min": (low - step, high), "max": (low, high + step)}[bound.side]
        saved = base - cheapest(X, model.cluster_centers_, size_min=give[0], size_max=give[1])
        assert saved <= bound.price + 1e-9
        assert bound.price > 0
    assert all(report.sizes[bound.cluster] in (3, 5) for bound in report.binding_sizes)


def test_binding_sizes_are_told_and_loose_ones_are_not():
    model = ConstrainedKMeans(3, size_min=48, random_state=0).fit(IRIS)
    tight = describe(IRIS, model.labels_, 3, size_min=48)
    assert [(bound.side, bound.bound) for bound in tight.binding_sizes] == [("min", 48.0)]
    assert "held by its min: 1 row less would save up to" in str(tight)
    plain = ConstrainedKMeans(3, random_state=0).fit(IRIS)
    assert describe(IRIS, plain.labels_, 3, size_min=10, size_max=100).binding_sizes == ()


@pytest.mark.parametrize(
    "bounds",
    [
        {"size_max": 2},
        {"size_max": [[2, 9], [2, 9]], "demand": [[1, 1]] * 4},
        {"category": [0, 1, 0, 1], "share_min": 0.5},
    ],
)
def test_duals_of_rounding_are_no_prices(monkeypatch, bounds):
    X, labels = [[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1]
    before = describe(X, labels, 2, **bounds)
    solve = report.assign_by

    def with_rounding(*given, **named):
        found = solve(*given, **named)
        return replace(found, prices=np.where(found.prices == 0, 1.1e-7, found.prices))

    monkeypatch.setattr(report, "assign_by", with_rounding)
    assert describe(X, labels, 2, **bounds) == before


def test_the_cost_is_the_weighted_sum_of_squares():
    X, classes = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).random(len(X))
    report = describe(X, classes, sample_weight=weight)
    expected = sum(
        (
            weight[classes == j, None] * (X[classes == j] - np.average(X[classes == j], 0, weight[classes == j])) ** 2
        ).sum()
        for j in range(3)
    )
    assert report.sse == pytest.approx(expected)
    assert report.sizes == (59.0, 71.0, 48.0)


def test_violations_and_wrong_sizes_are_counted_not_refused():
    labels = np.repeat([0, 1, 2], 50)
    report = describe(
        IRIS, labels, must_link=[(0, 50), (0, 1)], cannot_link=[(0, 2, 0.5), (3, 60, 0.5)], size_max=[60, 40, 60]
    )
    assert (report.violations.must_link, report.violations.cannot_link) == (1, 1)
    assert report.wrong_sizes == (1,)
    assert "out of bounds" in str(report)
    assert "2 must-links (1 broken), 2 cannot-links (1 broken)" in str(report)
    assert report.to_dict()["violations"] == {"must_link": 1, "cannot_link": 1}


def test_demand_is_what_sizes_count():
    demand = np.arange(150.0)
    report = describe(IRIS, np.repeat([0, 1], 75), demand=demand)
    assert report.sizes == (demand[:75].sum(), demand[75:].sum())
    assert "cluster    demand\n" in str(report)


def test_prices_of_demand_are_told_per_unit_of_demand():
    X, demand = [[0.0], [1.0], [2.0], [9.0]], [5.0, 5.0, 5.0, 5.0]
    report = describe(X, [0, 0, 1, 1], size_max=12, demand=demand)
    # Duals of a unit from 2, what a third row would save, to 4, what a second row is worth, are all right.
    price = float(re.search(r"held by its max: 1 unit of demand more would save up to ([\d.]+)", str(report))[1])
    assert 2.0 <= price <= 4.0


def test_a_broken_link_is_told_as_such():
    report = describe([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1], must_link=[(1, 2)])
    assert "must-link 1, 2 (broken): keeping it would add 56" in str(report)
    report = describe([[0.0], [1.0], [8.0], [9.0]], [0, 1, 1, 1], must_link=[(1, 2)])
    assert "must-link 1, 2: without it" in str(report)


def test_a_bound_that_was_not_found_is_told_in_words():
    assert "no lower bound was found in time" in str(describe([[0.0], [1.0]], [0, 1], lower_bound=-np.inf))


def test_the_gap_is_told_when_a_bound_is_given():
    report = describe(IRIS, np.repeat([0, 1, 2], 50), lower_bound=78.0)
    assert report.gap == pytest.approx((report.sse - 78.0) / report.sse)
    assert "no clustering under these constraints is below 78" in str(report)


def test_no_time_means_no_prices():
    model = ConstrainedKMeans(3, size_min=48, random_state=0).fit(IRIS)
    report = describe(IRIS, model.labels_, 3, size_min=48, time_limit=0.0)
    assert (report.binding_sizes, report.binding_links) == ((), ())


@pytest.mark.parametrize(
    ("labels", "words"), [([0, 1], "one whole number per row"), ([0, 1, 5], r"labels\[2\] is 5")]
)
def test_labels_that_are_none_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        describe([[0.0], [1.0], [2.0]], labels, 2)


@pytest.mark.parametrize("size_max", [None, 2, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_every_link_that_costs_something_is_told_whatever_the_unit(size_max, scale):
    """Also links whose own rows are where they want to be, while others make way for them."""
    rng = np.random.default_rng(0)
    labelings = all_labelings(6, 3)
    n_told = 0
    for _ in range(examples(40)):
        X = np.round(rng.normal(size=(6, 2)), 2) * scale
        pairs = [tuple(rng.choice(6, 2, replace=False).tolist()) for _ in range(5)]
        asked = {"must_link": pairs[:2], "cannot_link": pairs[2:]}
        labels = rng.permutation([0, 0, 1, 1, 2, 2])
        centers = np.array([X[labels == j].mean(axis=0) for j in range(3)])
        costs = ((X[:, None] - centers) ** 2).sum(axis=2)[np.arange(6), labelings].sum(axis=1)
        sizes = np.stack([(labelings == j).sum(axis=1) for j in range(3)])
        costs[(sizes > (6 if size_max is None else size_max)).any(axis=0)] = np.inf

        def best(must_link, cannot_link, costs=costs):
            kept = np.isfinite(costs)
            for i, j in must_link:
                kept &= labelings[:, i] == labelings[:, j]
            for i, j in cannot_link:
                kept &= labelings[:, i] != labelings[:, j]
            return costs[kept].min(initial=np.inf)

        if not np.isfinite(best(**asked)):
            continue
        expected = set()
        for kind, pair in [("must_link", p) for p in pairs[:2]] + [("cannot_link", p) for p in pairs[2:]]:
            rest = {**asked, kind: [p for p in asked[kind] if set(p) != set(pair)]}
            if best(**asked) - best(**rest) > 1e-8 * best(**asked):
                expected.add((kind, frozenset(pair)))
        report = describe(X, labels, 3, size_max=size_max, **asked)
        assert {(link.kind, frozenset(link.rows)) for link in report.binding_links} == expected
        n_told += len(expected)
    assert n_told > 0 or examples(40) < 10  # few may all be free


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_binding_sizes_are_told_whatever_the_unit(scale):
    model = ConstrainedKMeans(3, size_min=48, random_state=0).fit(IRIS * scale)
    tight = describe(IRIS * scale, model.labels_, 3, size_min=48)
    assert [(bound.side, bound.bound) for bound in tight.binding_sizes] == [("min", 48.0)]


def test_links_that_were_not_looked_at_are_not_more_than_none():
    X = load_iris().data
    links = {"must_link": [(0, 60), (1, 70)], "cannot_link": [(2, 3)]}
    report = describe(X, ConstrainedKMeans(3, random_state=0).fit(X, **links).labels_, 3, **links)
    listed = report.to_text()
    assert "without it" in listed
    silent = replace(report, binding_links=(), unpriced_links=298).to_text()
    assert "more may cost something" not in silent
    assert "  (298 links may cost something and were not priced; no other does)" in silent
    some = replace(report, unpriced_links=298).to_text()
    assert "  (298 more may cost something; only the likeliest were priced)" in some


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_of_great_weight_and_little_demand_are_described_without_overflow():
    X = np.array([[0.0, 0.4], [0.0, 0.0], [0.9, 0.0], [0.2, 0.1], [0.5, 0.5], [0.1, 0.7]])
    weight, demand = 1e300 * np.array([1.0, 4.0, 1.0, 4.0, 4.0, 4.0]), [1e15, 1.0, 4.0, 3.0, 1.0, 3.0]
    links = [(5, 1), (4, 3), (4, 0), (0, 5)]
    report = describe(
        X, np.zeros(6, int), 1, size_min=5.5, size_max=1e300, must_link=links, sample_weight=weight, demand=demand
    )
    assert np.isfinite(report.sse)


def test_a_proof_about_rows_without_weight_ends_at_nothing():
    proof = certify([[1.0], [0.0], [0.0]], 1, sample_weight=[0.0, 0.0, 0.0], time_limit=5)
    assert (proof.cost, proof.lower_bound, proof.is_optimal) == (0.0, 0.0, True)


@pytest.mark.parametrize(
    ("labels", "previous", "asked", "message"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], {}, "no row moved"),
        ([0, 0, 1, 1], [0, 0, -1, 1], {"size_max": 2}, "no row moved; 1 row is new"),
        ([0, 0, 1, 1], [0, 0, 0, 1], {"size_max": 2}, "1 row moved: 1 to keep size_max of cluster 0"),
        (
            [0, 1, 1, 1],
            [0, 0, 0, 1],
            {"size_min": [0, 2]},
            "2 rows moved: 1 to keep size_min of cluster 1, 1 for lower cost",
        ),
        ([0, 0, 1, 1], [0, 0, 0, 1], {"must_link": [(2, 3)]}, "1 row moved: 1 to keep links"),
        ([0, 0, 1, 1], [0, 0, 0, 0], {"cannot_link": [(0, 3)]}, "2 rows moved: 1 to keep links, 1 for lower cost"),
        (
            [0, 0, 1, 1],
            [0, 1, 0, 1],
            {"connectivity": [(0, 1), (1, 2), (2, 3)]},
            "2 rows moved: 2 to keep clusters in one piece",
        ),
        (
            [0, 0, 1, 1],
            [0, 0, 0, 1],
            {"demand": [[1, 1], [1, 1], [1, 5], [1, 1]], "size_max": [[4, 6], [4, 6]]},
            "1 row moved: 1 to keep size_max of resource 1 in cluster 0",
        ),
        (
            [0, 1, 0, 1],
            [0, 0, 1, 1],
            {"category": ["x", "x", "y", "y"], "share_max": {"x": 0.6}},
            "2 rows moved: 2 to keep share_max of cluster 0",
        ),
    ],
)
def test_a_report_tells_what_each_move_is_for(labels, previous, asked, message):
    report = describe([[0.0], [1.0], [2.0], [9.0]], labels, 2, previous=previous, **asked)
    assert str(report.moves) == message
    assert str(report).splitlines()[1] == message
    assert report.to_dict()["moves"]["n_moved"] == sum(
        a != b for a, b in zip(labels, previous, strict=True) if b >= 0
    )
