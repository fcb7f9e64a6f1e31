"""What functions of `konstrain.comparison` return for small inputs."""

from types import SimpleNamespace

from konstrain.comparison.measures import FitOutcome, Instance, Taken, measure
from konstrain.comparison.records import matches, means_of, select, summed_up


def test_example_of_measure():
    instance = Instance([[0.0], [1.0], [5.0]], 2, constraints={"cannot_link": [(0, 1)]})
    outcome = FitOutcome(instance, SimpleNamespace(labels_=[0, 0, 1]), Taken(0.5, 0.5, 80.0))
    assert measure(outcome, ["sse", "broken_cl_share", "sizes"]) == {
        "sse": 0.5,
        "broken_cl_share": 1.0,
        "sizes": [2, 1],
    }


def test_example_of_matches():
    assert not matches({"data": "iris", "run": 2}, {"data": ("iris", "wine"), "run": range(2)})


def test_example_of_select():
    assert select([{"data": "iris", "run": 0}, {"data": "wine", "run": 0}], data="wine") == [
        {"data": "wine", "run": 0}
    ]


def test_example_of_summed_up():
    runs = [{"kept_all": True}, {"kept_all": None}]
    assert (summed_up(runs, "kept_all", "share"), summed_up(runs, "sse", "min")) == (50.0, None)


def test_example_of_means_of():
    assert means_of(
        [{"data": "iris", "ari": 0.5}, {"data": "iris", "ari": 1.0}, {"data": "wine"}], "ari", ["data"]
    ) == {("iris",): 0.75}
