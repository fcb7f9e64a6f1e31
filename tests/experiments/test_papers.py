"""The published numbers, as typed in: what the papers' own totals and texts say about them."""

import numpy as np
import pytest

from konstrain.experiments.lines import grid_of
from konstrain.experiments.papers import babaki2014, baumann2020, jia2023


@pytest.mark.parametrize(
    ("text", "add", "slack", "printed"),
    [
        (baumann2020.TABLE_3, np.mean, 0.0005, baumann2020.PRINTED_MEANS),
        # The paper adds unrounded seconds: five times the 0.03 that rounding a line to 0.1 is off by on average.
        (baumann2020.TABLE_4, np.sum, 0.15, baumann2020.PRINTED_SUMS),
    ],
    ids=["III", "IV"],
)
def test_baumann_totals_are_those_of_the_last_line(text, add, slack, printed):
    numbers = np.array([[float(cell) for cell in line.split()[1:]] for line in text.split("\n") if line])
    assert numbers.shape == (25, 6)
    np.testing.assert_allclose(add(numbers, axis=0), [float(cell) for cell in printed.split()], atol=slack)


def test_jia_seconds_are_read_in_the_unit_of_the_header():
    # Table 2 is headed 10^-3 ms: the first cell of the greedy method, 866.59, is 0.87 ms.
    assert jia2023.EXPERIMENT.tables[1].published["soybean", 0]["greedy"].value == pytest.approx(866.59e-6)


def test_babaki_shows_what_the_paper_proved_infeasible():
    table = babaki2014.EXPERIMENT.tables[2]
    assert table.published["soybean", 3, 80]["exact"].mark == "INF"
    records = [
        {"data": "soybean", "k": 3, "links": 80, "method": "exact", "status": "failed", "reason": "InfeasibleError"}
    ]
    line = next(row for row in grid_of(table, records).rows if row[:3] == ["soybean", "3", "80"])
    assert "INF" in line
