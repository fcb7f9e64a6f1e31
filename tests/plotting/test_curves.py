"""Means and spreads over runs."""

import numpy as np
import polars as pl
import pytest

from konstrain.plotting import plot_curves

RUNS = {"n": [10, 10, 20, 20, 10, 20], "ari": [0.0, 0.4, 0.5, 0.7, 0.1, 0.3], "method": ["b"] * 4 + ["a"] * 2}


def draw(spread="std", ax=None, **names):
    return plot_curves(RUNS["n"], RUNS["ari"], RUNS["method"], spread=spread, ax=ax, **names)


def test_a_curve_per_method_in_the_order_of_the_runs(ax):
    assert draw(ax=ax, x_name="constraints", value_name="ARI") is ax
    assert [line.get_label() for line in ax.lines] == ["b", "a"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.2, 0.6])
    assert ax.lines[0].get_xdata().tolist() == [10, 20]
    looks = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines]
    assert all(one != other for one, other in zip(*looks, strict=True))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("constraints", "ARI")


@pytest.mark.parametrize(("spread", "low", "high"), [("std", 0.2 - 0.2, 0.6 + 0.1), ("range", 0.0, 0.7)])
def test_the_band_is_the_spread_asked_for(spread, low, high, ax):
    heights = draw(spread, ax=ax).collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (pytest.approx(low), pytest.approx(high))


def test_no_spread_no_band(ax):
    assert not draw("none", ax=ax).collections


def test_runs_without_a_value_are_left_out_and_counted(ax):
    plot_curves([1, 1, 2], [np.nan, 0.4, np.nan], ["a"] * 3, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == [0.4]
    assert ax.get_legend().get_texts()[0].get_text() == "a (2 of 3 runs without a value)"


def test_columns_of_a_frame_will_do(ax):
    frame = pl.DataFrame(RUNS)
    plot_curves(frame["n"], frame["ari"], frame["method"], ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.2, 0.6])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="spread must be one of 'std', 'range', 'none', got 'sem'"):
        draw("sem")
    with pytest.raises(ValueError, match="there are no runs to draw"):
        plot_curves([], [], [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot_curves([1], [1, 2], ["a"])
