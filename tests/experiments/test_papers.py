"""The published numbers, as typed in: what the papers' own totals and texts say about them."""

import numpy as np
import pytest

from konstrain.experiments.papers import babaki2014, baumann2020, ganji2016, jia2023, le2018
from konstrain.experiments.tables import lines_of


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


@pytest.mark.parametrize("table", babaki2014.EXPERIMENT.tables[:2], ids=["6", "7"])
def test_babaki_improvements_are_those_of_the_last_column(table):
    lines = {line: cells for line, cells in table.published.items() if line[1] == 5}
    assert len(lines) == {"iris": 11, "wine": 7}[next(iter(lines))[0]]
    for line, cells in lines.items():
        best, ours, printed = (cells[heading].value for heading in ("COP best", "exact", "exact below COP, %"))
        assert (best is None) == (printed is None), line
        if best is not None:
            # Printed with two digits, cut off or rounded, once with one.
            assert printed == pytest.approx(100 * (1 - ours / best), abs=0.05)


def test_ganji_numbers_of_constraints_are_quarters_halves_and_wholes_of_the_rows():
    rows = {
        "iris": 150, "wine": 178, "ionosphere": 351, "breast_cancer": 569, "synthetic_control": 600, "letter": 600,
        "vehicle": 846, "glass": 214, "yeast": 1484, "breast_tissue": 106, "ecoli": 336, "half_rings": 400,
    }  # fmt: skip
    expected = [(name, n // divisor) for name, n in rows.items() for divisor in (4, 2, 1)]
    for text in (ganji2016.TABLE_2, ganji2016.TABLE_3):
        lines = [line.split() for line in text.split("\n") if line]
        assert [(name, int(links)) for name, links, *_ in lines] == expected
        assert {len(line) for line in lines} == {8 if text is ganji2016.TABLE_2 else 11}


def test_le_marks_the_best_method_of_each_line():
    # What the paper prints in bold; in two lines another method is as good, in one it is better.
    best = {("YaleB", 3): {"BCLS", "BCKM"}, ("ORL", 1): {"COP"}, ("UMIST", 1): {"CKSC", "BCKM"}}
    for line in le2018.TABLE_1.strip().split("\n"):
        name, subset, *cells = line.split()
        assert len(cells) == 2 * len(le2018.COMPARED)
        values = dict(zip(le2018.COMPARED, map(float, cells), strict=False))
        top = {method for method, value in values.items() if value == max(values.values())}
        assert top == best.get((name, int(subset)), {"BCKM"}), line


def test_jia_seconds_are_read_in_the_unit_of_the_header():
    # Table 2 is headed 10^-3 ms: the first cell of the greedy method, 866.59, is 0.87 ms.
    assert jia2023.EXPERIMENT.tables[1].published["soybean", 0]["greedy"].value == pytest.approx(866.59e-6)


def test_babaki_shows_what_the_paper_proved_infeasible():
    table = babaki2014.EXPERIMENT.tables[2]
    assert table.published["soybean", 3, 80]["exact"].mark == "INF"
    records = [
        {"data": "soybean", "k": 3, "links": 80, "method": "exact", "status": "failed", "reason": "InfeasibleError"}
    ]
    line = next(row for row in lines_of(table, records) if row[:3] == ["soybean", "3", "80"])
    # Published, and ours: nothing else of that line is a number.
    assert line.count("INF") == 2
    assert not any("failed" in cell for cell in line)
