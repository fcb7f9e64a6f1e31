"""The evidence of an infeasible problem as a graph."""

from itertools import combinations

import pytest
from matplotlib.colors import to_hex

from konstrain import ConstrainedKMeans, InfeasibleError, check
from konstrain.plotting import plot_conflicts
from konstrain.plotting._style import BROKEN


def numbers(ax):
    return [text.get_text() for text in ax.texts if text.get_text().isdigit()]


def ends(ax, style):
    return [line for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata()) > 1]


def test_a_contradiction_is_a_solid_path_closed_by_a_dashed_line(ax):
    with pytest.raises(InfeasibleError) as caught:
        ConstrainedKMeans(2).fit([[0.0]] * 9, must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)])
    assert plot_conflicts(caught.value, ax=ax) is ax
    assert numbers(ax) == ["0", "4", "7"]
    (path,), (apart,) = ends(ax, "-"), ends(ax, "--")
    assert len(path.get_xdata()) == 3
    assert (path.get_xdata()[0], path.get_xdata()[-1]) == tuple(apart.get_xdata())
    assert to_hex(apart.get_color()).upper() == BROKEN
    assert "contradicts" in ax.texts[-1].get_text()


def test_rows_that_need_more_clusters_have_a_line_per_conflict_between_blocks(ax):
    cycle = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 9)]
    result = check(10, 2, must_link=[(0, 9)], cannot_link=cycle)
    plot_conflicts(result, ax=ax)
    assert numbers(ax) == ["0", "1", "2", "3", "4"]
    assert len(ends(ax, "--")) == 5
    assert result.findings[0].witness.conflicts[1] in [(4, 0), (0, 4)]


def test_large_cliques_are_dots_with_thin_lines(ax):
    k = 41
    plot_conflicts(check(k + 1, k, cannot_link=list(combinations(range(k + 1), 2))), ax=ax)
    assert numbers(ax) == []
    assert len(ends(ax, "--")) == k * (k + 1) // 2
    assert ends(ax, "--")[0].get_linewidth() < 1
    assert "raise" in ax.texts[-1].get_text()


def test_sums_are_two_bars(ax):
    plot_conflicts(check(150, 3, size_max=40), ax=ax)
    needed, available = (bar.get_height() for bar in ax.patches)
    assert available / needed == pytest.approx(120 / 150)


def test_several_findings_stand_side_by_side_and_the_rest_is_counted(ax):
    clique = list(combinations(range(5, 9), 2))
    plot_conflicts(check(150, 3, size_max=40, must_link=[(0, 1)], cannot_link=[(0, 1), *clique]), ax=ax)
    assert numbers(ax) == ["0", "1", "5", "6", "7", "8"]
    assert len(ax.patches) == 2
    chain = check(30, 3, must_link=[(i, i + 1) for i in range(20)], cannot_link=[(i, i + 3) for i in range(6)])
    assert plot_conflicts(chain).get_title("right") == "the first 4 of 6 findings"


def test_evidence_without_rows_is_told_in_words(ax):
    threes = [(0, 1), (1, 2), (3, 4), (4, 5)]
    result = check(8, 2, must_link=[*threes, (6, 7)], size_min=4, size_max=4)
    assert result.findings[0].witness is None
    plot_conflicts(result.findings[0], ax=ax)
    assert "no way to put the blocks" in ax.texts[0].get_text()


def test_what_is_possible_has_no_conflicts():
    with pytest.raises(ValueError, match=r"the check found no clash \(feasible is True\)"):
        plot_conflicts(check(4, 2))
    with pytest.raises(TypeError, match="give an InfeasibleError, a CheckResult or a Finding, got str"):
        plot_conflicts("x")


def test_rows_carry_the_names_they_are_given():
    names = ["anna", "$b$", "a name too long for a circle"]
    ax = plot_conflicts(check(3, 2, cannot_link=[(0, 1), (1, 2), (0, 2)]), name_of=lambda row: names[row])
    shown = [text for text in ax.texts if text.get_text() in ("anna", "$b$", "a name to...")]
    assert len(shown) == 3
    assert not any(text.get_parse_math() for text in ax.texts)
