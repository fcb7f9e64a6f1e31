"""The published numbers, as typed in: what the papers' own totals and texts say about them."""

import numpy as np
import pytest

from konstrain.experiments.papers import baumann2020


@pytest.mark.parametrize(
    ("text", "add", "decimals", "printed"),
    [
        (baumann2020.TABLE_3, np.mean, 3, [0.706, 0.485, 0.877, 0.649, 0.923, 0.740]),
        # The paper adds unrounded seconds, so its sums may be off by half a unit per line.
        (baumann2020.TABLE_4, np.sum, 0, [18.8, 74759.8, 21.2, 81286.9, 29.9, 93032.6]),
    ],
    ids=["III", "IV"],
)
def test_baumann_totals_are_those_of_the_last_line(text, add, decimals, printed):
    numbers = np.array([[float(cell) for cell in line.split()[1:]] for line in text.split("\n") if line])
    assert numbers.shape == (25, 6)
    np.testing.assert_allclose(add(numbers, axis=0), printed, atol=0.6 * 10.0**-decimals)
