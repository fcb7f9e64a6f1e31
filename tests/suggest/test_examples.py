"""What functions of `konstrain.suggest` return for small inputs."""

import numpy as np

from konstrain.suggest.uncertainty import doubt_of_rows, worth_of_rows


def test_example_of_doubt_of_rows():
    assert doubt_of_rows(np.array([[1.0, 4.0, 9.0], [3.0, 5.0, 3.0]])).tolist() == [0.25, 1.0]


def test_example_of_worth_of_rows():
    assert worth_of_rows(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), is_complete=False).round(3).tolist() == [
        0.462,
        0.0,
    ]
