"""Curves: measures of runs with their spread, one curve per method; bounds of a proof over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from konstrain.gap import relative_gap
from konstrain.plotting._style import (
    BROKEN,
    COLORS,
    as_written,
    axes_or_new,
    color,
    dashes,
    documented,
    legend_of,
    marker,
    remove_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREADS = ("std", "range", "none")
# Rounds of a proof up to which each has a mark.
MARKED_ROUNDS: Final = 40
# Height of the picture of a proof, at least, as a share of the sums of squares.
LEAST_RANGE: Final = 0.02


@documented
def plot_curves(
    x: Any,
    values: Any,
    methods: Any,
    *,
    spread: str = "std",
    x_name: str = "",
    value_name: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the mean over runs along x for each method, with the spread of the runs around it.

    One entry of the three columns is one run, as in a table of results: ``plot_curves(runs["n"], runs["ari"],
    runs["method"])``.

    Parameters
    ----------
    x : array-like of shape (n_runs,)
        Where the run stands along the axis, such as its number of constraints.
    values : array-like of shape (n_runs,)
        What was measured. NaN: the run gave nothing; it is left out, and the legend says how many were.
    methods : array-like of shape (n_runs,)
        The method; curves come in the order of their first runs.
    spread : {"std", "range", "none"}, default="std"
        The band: one standard deviation either way, from least to largest, or none.
    x_name, value_name : str, optional
        What stands at the axes.

    Examples
    --------
    >>> ax = plot_curves([1, 1, 2, 2], [0.2, 0.4, 0.5, float("nan")], ["a"] * 4)
    >>> ax.lines[0].get_ydata().round(6).tolist(), ax.get_legend().get_texts()[0].get_text()
    ([0.3, 0.5], 'a (1 of 4 runs without a value)')
    """
    if spread not in SPREADS:
        raise ValueError(f"spread must be one of {', '.join(map(repr, SPREADS))}, got {spread!r}")
    x = column_or_1d(x).astype(np.float64)
    values = column_or_1d(values).astype(np.float64)
    methods = column_or_1d(methods)
    check_consistent_length(x, values, methods)
    if not x.size:
        raise ValueError("there are no runs to draw")
    ax = axes_or_new(ax)
    for i, method in enumerate(dict.fromkeys(methods.tolist())):
        of_method = methods == method
        _draw_curve(ax, i, str(method), x[of_method], values[of_method], spread)
    as_written(ax.set_xlabel(x_name), ax.set_ylabel(value_name))
    ax.grid(axis="y", alpha=0.3, linewidth=0.6)
    remove_frame(ax)
    legend_of(ax)
    return ax


def _draw_curve(
    ax: "Axes", i: int, name: str, x: NDArray[np.float64], values: NDArray[np.float64], spread: str
) -> None:
    measured = np.isfinite(values)
    if not measured.all():
        name = f"{name} ({(~measured).sum()} of {measured.size} runs without a value)"
    at = np.unique(x[measured])
    runs = [values[measured & (x == place)] for place in at]
    mean = np.array([run.mean() for run in runs])
    ax.plot(at, mean, color=color(i), linestyle=dashes(i), marker=marker(i), markersize=5, label=name)
    if spread == "none":
        return
    if spread == "std":
        deviation = np.array([run.std() for run in runs])
        low, high = mean - deviation, mean + deviation
    else:
        low, high = np.array([run.min() for run in runs]), np.array([run.max() for run in runs])
    ax.fill_between(at, low, high, color=color(i), alpha=0.15, linewidth=0)


@documented
def plot_bounds(trace: Sequence[Any], *, ax: "Axes | None" = None) -> "Axes":
    """Draw lower bound and incumbent over time; what lies between them is what is not yet proved.

    Parameters
    ----------
    trace : sequence of TracePoint
        `ExactKMeans.trace_`, or anything with `seconds`, `lower_bound` and `upper_bound`.

    Examples
    --------
    >>> from konstrain.exact.tree import TracePoint
    >>> ax = plot_bounds([TracePoint(0.5, 9.0, 12.0, 1, 2), TracePoint(1.0, 10.0, 10.0, 3, 0)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['best clustering found: 10', 'lower bound: 10 (gap 0)']
    """
    if not len(trace):
        raise ValueError("trace is empty; give the trace_ of a fitted ExactKMeans")
    seconds = np.array([point.seconds for point in trace], dtype=np.float64)
    lower = np.array([point.lower_bound for point in trace], dtype=np.float64)
    upper = np.array([point.upper_bound for point in trace], dtype=np.float64)
    ax = axes_or_new(ax)
    both = np.isfinite(lower) & np.isfinite(upper)
    ax.fill_between(seconds[both], lower[both], upper[both], step="post", color=COLORS[4], alpha=0.25, linewidth=0)
    gap = relative_gap(lower[-1], upper[-1])
    # Rounds are marked as long as they are few: there are no values in between.
    marks = ("v", "^") if len(trace) <= MARKED_ROUNDS else ("", "")
    found = f"best clustering found: {upper[-1]:.6g}"
    bound = f"lower bound: {lower[-1]:.6g} (gap {gap:.2g})"
    _steps(ax, seconds, upper, label=found, color=BROKEN, linestyle="-", marker=marks[0])
    _steps(ax, seconds, lower, label=bound, color=COLORS[0], linestyle="--", marker=marks[1])
    _finish_bounds(ax)
    return ax


def _steps(ax: "Axes", seconds: NDArray[np.float64], values: NDArray[np.float64], **style: Any) -> None:
    finite = np.isfinite(values)
    ax.plot(seconds[finite], values[finite], drawstyle="steps-post", markersize=6, **style)


def _finish_bounds(ax: "Axes") -> None:
    ax.set_xlabel("seconds")
    ax.set_ylabel("sum of squares")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlim(left=0)
    ax.margins(y=0.15)
    low, high = ax.get_ylim()
    # A gap of rounding size must not fill the picture.
    margin = max(0.0, LEAST_RANGE * abs(high) - (high - low)) / 2
    ax.set_ylim(low - margin, high + margin)
    remove_frame(ax)
    legend_of(ax)
