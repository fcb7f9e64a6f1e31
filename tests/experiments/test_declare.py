"""What names a row stays the same from run to run."""

import numpy as np

from konstrain.experiments.declare import Contender


def start_somewhere(X, n_clusters, random_state):
    return X[random_state.permutation(len(X))[:n_clusters]]


def test_a_function_among_the_parameters_is_named_without_its_place_in_memory():
    contender = Contender("ours", "bc-kmeans", params=(("init", start_somewhere), ("n_init", 3)))
    assert contender.key == "bc-kmeans(init=start_somewhere, n_init=3) limit=60"
    assert len(start_somewhere(np.zeros((4, 1)), 2, np.random.RandomState(0))) == 2
