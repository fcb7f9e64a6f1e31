"""Cluster sizes beside the bounds on them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from konstrain.plotting._style import BROKEN, COLORS, INK, axes_or_new, legend_above, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Values stand on the bars of so many clusters at most.
MOST_VALUES = 25
# Sums of demands differ from their bounds by rounding.
ROUNDING = 1e-9


def plot_sizes(
    sizes: Any, *, size_min: Any = None, size_max: Any = None, names: Any = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the size of each cluster as a bar and the bounds as lines; bars outside them are hatched.

    Parameters
    ----------
    sizes : array-like of shape (n_clusters,)
        What each cluster holds: `cluster_sizes_` of an estimator, rows or units of demand.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        The bounds, for all clusters or for each its own.
    names : array-like of shape (n_clusters,), optional
        What the clusters are called; default: their numbers, from 0.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = plot_sizes([50, 61, 39], size_min=40, size_max=60)
    >>> [bool(bar.get_hatch()) for bar in ax.patches]
    [False, True, True]
    """
    sizes = column_or_1d(sizes).astype(np.float64)
    if sizes.size == 0:
        raise ValueError("sizes is empty; there must be at least one cluster")
    low, high = _bound("size_min", size_min, sizes.size), _bound("size_max", size_max, sizes.size)
    slack = ROUNDING * np.abs(sizes).sum()
    outside = (sizes < low - slack) | (sizes > high + slack)
    names = np.arange(sizes.size) if names is None else column_or_1d(names)
    check_consistent_length(sizes, names)
    ax = axes_or_new(ax)
    width = 0.7 if sizes.size <= MOST_VALUES else 1.0
    bars = ax.bar(range(sizes.size), sizes, width, color=[BROKEN if out else COLORS[4] for out in outside])
    for bar, out in zip(bars, outside, strict=True):
        bar.set_hatch("//" if out else None)
        bar.set(edgecolor=INK if out else "none", linewidth=0.0)
    _draw_bound(ax, "size_min", low, "--")
    _draw_bound(ax, "size_max", high, "-")
    _finish(ax, bars, names, int(outside.sum()))
    return ax


def _bound(name: str, value: Any, n_clusters: int) -> NDArray[np.float64]:
    if value is None:
        return np.full(n_clusters, -np.inf if name == "size_min" else np.inf)
    bound: NDArray[np.float64] = np.asarray(value, dtype=np.float64)
    if bound.shape not in ((), (n_clusters,)):
        raise ValueError(f"{name} must be a number or one per cluster, shape ({n_clusters},), got {bound.shape}")
    return np.broadcast_to(bound, n_clusters)


def _draw_bound(ax: "Axes", name: str, bound: NDArray[np.float64], style: str) -> None:
    at = np.flatnonzero(np.isfinite(bound))
    if not at.size:
        return
    if at.size == bound.size and np.ptp(bound) == 0:
        ax.hlines(bound[0], -0.5, bound.size - 0.5, INK, style, linewidth=1.4, label=f"{name} {bound[0]:g}")
    else:
        ax.hlines(bound[at], at - 0.5, at + 0.5, INK, style, linewidth=1.4, label=name)


def _finish(ax: "Axes", bars: Any, names: NDArray[Any], n_outside: int) -> None:
    from matplotlib.patheffects import withStroke

    if len(bars) <= MOST_VALUES:
        # In the middle of the bars: at their ends the bounds run through.
        halo = [withStroke(linewidth=3, foreground="white")]
        ax.bar_label(bars, fmt="%g", label_type="center", fontsize=10, color=INK, path_effects=halo)
        ax.set_xticks(range(len(bars)), names, parse_math=False)
    ax.set_xlabel("cluster")
    ax.set_ylabel("size")
    ax.margins(x=0.02)
    remove_frame(ax)
    handles, words = ax.get_legend_handles_labels()
    if n_outside:
        first = next(bar for bar in bars if bar.get_hatch())
        handles, words = [*handles, first], [*words, f"{n_outside} outside the bounds"]
    if handles:
        legend_above(ax, handles, words, ncols=3)
