"""Fits under shares of groups and several resources; `checks.py` recounts every share and size."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from konstrain import ConstrainedKMeans, certify, describe
from konstrain.exceptions import NotProvenWarning

pytestmark = pytest.mark.filterwarnings("ignore::konstrain.exceptions.NotProvenWarning")


@pytest.fixture(scope="module")
def people():
    """Two blobs with unequal shares of two attributes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    X[:80] += 3.0
    sex = np.where(rng.random(160) < np.where(np.arange(160) < 80, 0.7, 0.2), "F", "M")
    return X, sex, rng.choice(["old", "mid", "young"], 160)


@pytest.mark.parametrize(
    "asked",
    [
        {"share_tolerance": 0.1},
        {"share_min": {"F": 0.4}, "share_max": {"F": 0.6}},
        {"share_min": 0.3, "size_min": 30, "size_max": 50},
    ],
)
def test_shares_are_kept(people, asked):
    X, sex, _ = people
    model = ConstrainedKMeans(4, random_state=0, n_init=3, **asked).fit(X, category=sex)
    free = ConstrainedKMeans(4, random_state=0, n_init=3).fit(X)
    assert model.inertia_ > free.inertia_
    assert set(model.cluster_shares_) == {"F", "M"}


def test_every_attribute_is_kept_on_its_own(people):
    X, sex, age = people
    table = pl.DataFrame({"sex": sex, "age": age})
    model = ConstrainedKMeans(3, share_tolerance=0.2, random_state=0, n_init=2).fit(X, category=table.to_pandas())
    assert set(model.cluster_shares_) == {"sex", "age"}


def test_shares_with_links_labels_weights_and_soft_links(people):
    X, sex, _ = people
    y = np.full(160, -1)
    y[[0, 1, 90]] = [0, 0, 1]
    model = ConstrainedKMeans(3, share_min={"F": 0.35}, random_state=0, n_init=2).fit(
        X,
        y,
        np.linspace(1.0, 2.0, 160),
        must_link=[(5, 100), (7, 8)],
        cannot_link=[(5, 6, np.inf), (9, 10, 0.5)],
        category=sex,
    )
    assert model.violations_.must_link == 0


def test_several_resources_are_kept(people):
    X = people[0]
    rng = np.random.default_rng(1)
    held = np.column_stack([rng.lognormal(size=160), rng.integers(1, 5, 160)])
    mean = held.sum(axis=0) / 4
    model = ConstrainedKMeans(4, 0.8 * mean, 1.2 * mean, random_state=0, n_init=2).fit(X, demand=held)
    assert model.cluster_sizes_.shape == (4, 2)


def test_small_fits_are_as_good_as_enumeration():
    """Seven rows in two clusters: the best of a few restarts is the best there is."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        X = rng.normal(size=(7, 2))
        category = rng.permutation([0, 0, 0, 1, 1, 1, 1])
        best = np.inf
        for labels in product((0, 1), repeat=7):
            groups = [np.flatnonzero(np.array(labels) == j) for j in (0, 1)]
            if all(g.size and category[g].mean() <= 0.75 and category[g].mean() >= 0.4 for g in groups):
                best = min(best, sum(((X[g] - X[g].mean(axis=0)) ** 2).sum() for g in groups))
        model = ConstrainedKMeans(2, share_min={1: 0.4}, share_max={1: 0.75}, n_init=20, random_state=0)
        assert model.fit(X, category=category).inertia_ == pytest.approx(best)


def test_a_seed_gives_one_answer_for_any_number_of_workers(people):
    X, sex, _ = people
    one, two = (
        ConstrainedKMeans(4, share_tolerance=0.1, random_state=5, n_init=4, n_jobs=jobs).fit(X, category=sex)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_predict_takes_shares_and_resources(people):
    X, sex, _ = people
    model = ConstrainedKMeans(2, random_state=0).fit(X)
    labels = model.predict(X[:60], category=sex[:60], share_tolerance=0.1)
    share = (sex[:60] == "F").mean()
    for j in (0, 1):
        inside = sex[:60][labels == j]
        assert not inside.size or 0.9 * share <= (inside == "F").mean() <= share / 0.9
    held = np.column_stack([np.ones(60), np.arange(60.0)])
    labels = model.predict(X[:60], demand=held, size_max=[[40, 1000], [40, 1000]])
    assert max(np.bincount(labels)) <= 40


def test_a_certificate_says_what_it_left_out(people):
    X, sex, _ = people
    model = ConstrainedKMeans(2, share_min={"F": 0.25}, random_state=0).fit(X[60:110], category=sex[60:110])
    certificate = model.certify(X[60:110], time_limit=20)
    assert certificate.left_out == ("shares",)
    assert certificate.cost == pytest.approx(model.inertia_)
    assert certificate.lower_bound <= model.inertia_
    found = certify(X[60:110], 2, demand=np.ones((50, 2)), size_max=[[30, 30], [30, 30]], time_limit=20)
    assert found.left_out == ("resources",)
    assert max(np.bincount(found.best_labels)) <= 30


def test_labels_that_break_shares_are_not_certified(people):
    X, sex, _ = people
    labels = (np.arange(160) < 80).astype(int)
    with pytest.raises(ValueError, match="shares or resources are not within their bounds"):
        certify(X, 2, labels=labels, category=sex, share_min={"F": 0.4})


def test_the_report_names_what_binds_and_what_it_costs(people):
    X, sex, _ = people
    asked = {"category": sex, "share_min": {"F": 0.42}}
    model = ConstrainedKMeans(2, share_min={"F": 0.42}, random_state=0).fit(X, category=sex)
    report = describe(X, model.labels_, **asked)
    binding = report.binding_rules[0]
    assert (binding.about, binding.side, binding.bound) == ("share of F", "min", 0.42)
    # What is saved where the bound gives way by 0.01 is at most that, but for the gap of a step.
    less = ConstrainedKMeans(2, share_min={"F": 0.41}, random_state=0).fit(X, category=sex)
    assert 0 < less.inertia_ < model.inertia_
    assert "held by its min: 0.01 less would save up to" in str(report)


def test_other_estimators_refuse_several_resources(people):
    from konstrain import BCKMeans

    with pytest.raises(ValueError, match="demand has 2 resources, BCKMeans takes one"):
        BCKMeans(2, size_min=3).fit(people[0][:20], demand=np.ones((20, 2)))


def test_a_time_limit_leaves_every_bound_kept(people):
    X, sex, age = people
    model = ConstrainedKMeans(4, share_tolerance=0.1, random_state=0, n_init=1, time_limit=1.5)
    model.fit(X, category={"sex": sex, "age": age})
    assert issubclass(NotProvenWarning, Warning)
