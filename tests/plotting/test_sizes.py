"""Bars of the sizes, lines of the bounds, and what is outside."""

import numpy as np
import pytest

from konstrain.plotting import plot_sizes


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_bars_have_the_sizes_and_values_on_them(ax):
    assert plot_sizes([3, 5.5], ax=ax) is ax
    assert [bar.get_height() for bar in ax.patches] == [3, 5.5]
    assert [text.get_text() for text in ax.texts] == ["3", "5.5"]
    assert ax.get_legend() is None


def test_a_common_bound_is_one_line_and_bars_outside_are_hatched(ax):
    plot_sizes([40, 61, 39], size_min=40, size_max=60, ax=ax)
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, True, True]
    assert [line.get_segments()[0][0][1] for line in ax.collections] == [40, 60]
    assert legend(ax) == ["size_min 40", "size_max 60", "2 outside the bounds"]


def test_bounds_of_single_clusters_stand_at_their_bars(ax):
    plot_sizes([4, 4, 4], size_max=[3, np.inf, 5], ax=ax)
    (line,) = ax.collections
    assert [segment[:, 0].mean() for segment in line.get_segments()] == [0, 2]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [True, False, False]


def test_sums_of_demands_may_miss_a_bound_by_rounding(ax):
    plot_sizes([0.1 + 0.2, 0.3], size_max=0.3, ax=ax)
    assert not any(bar.get_hatch() for bar in ax.patches)


def test_many_clusters_come_without_values(ax):
    plot_sizes(np.arange(1, 201), ax=ax)
    assert len(ax.patches) == 200
    assert not ax.texts


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="at least one cluster"):
        plot_sizes([])
    with pytest.raises(ValueError, match=r"size_max must be a number or one per cluster, shape \(2,\), got \(3,\)"):
        plot_sizes([1, 2], size_max=[1, 2, 3])


def test_clusters_stand_under_their_names_as_written():
    ax = plot_sizes([1, 2], names=["$a$", "b"])
    ax.figure.canvas.draw()
    labels = ax.get_xticklabels()
    assert [label.get_text() for label in labels] == ["$a$", "b"]
    assert not any(label.get_parse_math() for label in labels)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        plot_sizes([1, 2], names=["a"])
