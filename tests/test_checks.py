"""The checker of fits sees what is wrong, and no fit gets round it."""

import numpy as np
import pytest

from checks import check_fit
from konstrain import ConstrainedKMeans, Violations
from konstrain.baselines import COPKMeans

X = np.array([[0.0], [1.0], [5.0], [6.0], [20.0], [21.0]])
LINKS = {"must_link": [(0, 1)], "cannot_link": [(0, 5)]}


def fitted():
    return ConstrainedKMeans(3, size_max=2, random_state=0).fit(X, **LINKS)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("labels_", np.array([0, 1, 1, 0, 2, 2], dtype=np.int32)),
        ("labels_", np.array([0, 0, 1, 1, 1, 1], dtype=np.int32)),
        ("labels_", np.zeros(5, dtype=np.int32)),
        ("size_max", 1),
        ("cluster_sizes_", np.array([1.0, 2.0, 3.0])),
        ("cluster_centers_", np.array([[0.5], [5.5], [20.6]])),
        ("inertia_", 1.6),
        ("violations_", Violations(must_link=0, cannot_link=1)),
        ("n_violations_", 1),
    ],
)
def test_what_is_wrong_is_seen(name, wrong):
    model = fitted()
    check_fit(model, X, **LINKS)
    setattr(model, name, wrong)
    with pytest.raises(AssertionError):
        check_fit(model, X, **LINKS)


def test_a_baseline_may_break_links_but_must_count_them():
    model = COPKMeans(2, on_failure="continue", random_state=0)
    model.fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert model.n_violations_ > 0
    model.violations_, model.n_violations_ = Violations(0, 0), 0
    with pytest.raises(AssertionError):
        check_fit(model, X, cannot_link=[(0, 1), (1, 2), (0, 2)])


@pytest.mark.parametrize("method", [ConstrainedKMeans, COPKMeans])
def test_every_fit_ends_in_the_checker(method, monkeypatch):
    def spoil(model, *arguments):
        keep(model, *arguments)
        model.inertia_ += 1.0

    keep = method._keep
    monkeypatch.setattr(method, "_keep", spoil)
    with pytest.raises(AssertionError):
        method(3, random_state=0).fit(X)
