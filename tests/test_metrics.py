"""Measures of labels refuse what are no labels."""

import numpy as np
import pytest

from konstrain import count_violations
from konstrain.metrics import mean_silhouette, sum_of_squares, touched_rows

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("labels", [None, 3, [[0, 1], [1, 0]]])
def test_labels_that_are_no_list_are_refused(labels):
    for measure in (
        lambda: count_violations(labels, must_link=[(0, 0)]),
        lambda: sum_of_squares(X, labels),
        lambda: mean_silhouette(X, labels),
    ):
        with pytest.raises(ValueError, match=r"labels must be .*, got shape"):
            measure()


def test_labels_of_other_rows_are_refused():
    for measure in (sum_of_squares, mean_silhouette):
        with pytest.raises(ValueError, match=r"labels must be of shape \(3,\), one for each row, got shape \(2,\)"):
            measure(X, [0, 1])


def test_labels_that_are_hidden_are_refused():
    with pytest.raises(ValueError, match=r"labels\[1\] is masked"):
        count_violations(np.ma.array([0, 1, 0], mask=[0, 1, 0]))


def test_weights_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"sample_weight must have one value per row, shape \(3,\), got \(2,\)"):
        sum_of_squares(X, [0, 0, 1], sample_weight=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0; it must be finite and not negative"):
        sum_of_squares(X, [0, 0, 1], sample_weight=[-1.0, 1.0, 1.0])


@pytest.mark.parametrize("n_samples", [-1, 0])
def test_a_number_of_rows_that_is_none_is_refused(n_samples):
    with pytest.raises(ValueError, match="the number of rows must lie between 1 and"):
        touched_rows(n_samples)
