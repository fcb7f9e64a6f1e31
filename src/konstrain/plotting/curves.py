"""Experiment curves: mean and spread over runs, one curve per method."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from konstrain.plotting._style import as_written, axes_or_new, color, dashes, legend_above, marker, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREADS = ("std", "range", "none")


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
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

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
    legend_above(ax, *ax.get_legend_handles_labels())
    return ax


def _draw_curve(
    ax: "Axes", i: int, name: str, x: NDArray[np.float64], values: NDArray[np.float64], spread: str
) -> None:
    known = np.isfinite(values)
    if not known.all():
        name = f"{name} ({(~known).sum()} of {known.size} runs without a value)"
    at = np.unique(x[known])
    runs = [values[known & (x == place)] for place in at]
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
