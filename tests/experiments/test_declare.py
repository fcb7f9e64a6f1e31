"""What names a row stays the same from run to run."""

from dataclasses import replace

import numpy as np

from konstrain.experiments.declare import Case, Contender
from toy_experiments import toy


def start_somewhere(X, n_clusters, random_state):
    return X[random_state.permutation(len(X))[:n_clusters]]


def test_a_function_among_the_parameters_is_named_without_its_place_in_memory():
    contender = Contender("ours", "bc-kmeans", params=(("init", start_somewhere), ("n_init", 3)))
    assert contender.key == "bc-kmeans(init=start_somewhere, n_init=3) limit=60"
    assert len(start_somewhere(np.zeros((4, 1)), 2, np.random.RandomState(0))) == 2


def test_contenders_run_on_the_cases_that_match_and_the_quick_form_takes_any_of_its_parts():
    experiment = replace(
        toy(n_sets=4),
        contenders=(Contender("all", "kmeans", n_runs=2), Contender("few", "kmeans", where={"set": range(2)})),
        quick=({"method": "all", "run": 1, "set": (0, 3)}, {"method": "few", "set": 1}),
    )
    facts = [(row.contender.label, row.case.seed, row.run) for row in experiment.rows()]
    assert facts == [
        *[("all", 0, 0), ("all", 0, 1), ("few", 0, 0), ("all", 1, 0), ("all", 1, 1), ("few", 1, 0)],
        *[("all", 2, 0), ("all", 2, 1), ("all", 3, 0), ("all", 3, 1)],
    ]
    quick = [(row.contender.label, row.case.seed, row.run) for row in experiment.rows(quick=True)]
    assert quick == [("all", 0, 1), ("few", 1, 0), ("all", 3, 1)]
    assert Case.of(print, seed=3, data="iris").facts == {"data": "iris", "set": 3}
