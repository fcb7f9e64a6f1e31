"""Bound and incumbent over time."""

import numpy as np
import pytest

from konstrain import ExactKMeans
from konstrain.exact.tree import TracePoint
from konstrain.plotting import plot_bounds
from konstrain.plotting.curves import MARKED_ROUNDS


def test_both_curves_are_drawn_as_steps_and_the_legend_ends_with_the_gap(ax):
    trace = [TracePoint(1.0, 6.0, 12.0, 1, 2), TracePoint(2.0, 9.0, 12.0, 3, 2), TracePoint(3.0, 9.0, 10.0, 5, 1)]
    assert plot_bounds(trace, ax=ax) is ax
    found, bound = ax.lines
    assert found.get_ydata().tolist() == [12, 12, 10]
    assert bound.get_ydata().tolist() == [6, 9, 9]
    assert found.get_drawstyle() == bound.get_drawstyle() == "steps-post"
    assert found.get_linestyle() != bound.get_linestyle()
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["best clustering found: 10", "lower bound: 9 (gap 0.1)"]


def test_what_was_not_known_yet_is_left_out(ax):
    trace = [TracePoint(1.0, -np.inf, np.inf, 1, 2), TracePoint(2.0, 9.0, 12.0, 3, 2)]
    plot_bounds(trace, ax=ax)
    assert [line.get_xdata().tolist() for line in ax.lines] == [[2.0], [2.0]]


def test_rounds_are_marked_while_they_are_few(ax):
    point = TracePoint(1.0, 9.0, 12.0, 3, 2)
    assert all(line.get_marker() for line in plot_bounds([point] * MARKED_ROUNDS, ax=ax).lines)
    assert not any(line.get_marker() for line in plot_bounds([point] * (MARKED_ROUNDS + 1)).lines)


def test_a_gap_of_rounding_size_does_not_fill_the_picture(ax):
    model = ExactKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.2], [9.0]])
    low, high = plot_bounds(model.trace_, ax=ax).get_ylim()
    assert high - low > 0.01 * model.inertia_
    assert low < model.inertia_ < high


def test_an_empty_trace_is_refused():
    with pytest.raises(ValueError, match="trace is empty; give the trace_ of a fitted ExactKMeans"):
        plot_bounds([])
