"""Sizes of clusters and shares of groups with the bounds on them."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.constraints.shares import read_shares
from konstrain.plotting._style import BROKEN, COLORS, INK, axes_or_new, documented, halo, legend_of, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Clusters up to which bars are wide enough for their values.
LABELLED_BARS: Final = 25


@documented
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

    Examples
    --------
    >>> ax = plot_sizes([50, 61, 39], size_min=40, size_max=60)
    >>> [bool(bar.get_hatch()) for bar in ax.patches]
    [False, True, True]
    """
    sizes = column_or_1d(sizes).astype(np.float64)
    if sizes.size == 0:
        raise ValueError("sizes is empty; there must be at least one cluster")
    low, high = size_bound("size_min", size_min, sizes.size), size_bound("size_max", size_max, sizes.size)
    slack = TOTAL_RELATIVE * np.abs(sizes).sum()
    outside = (sizes < low - slack) | (sizes > high + slack)
    names = np.arange(sizes.size) if names is None else column_or_1d(names)
    check_consistent_length(sizes, names)
    ax = axes_or_new(ax)
    width = 0.7 if sizes.size <= LABELLED_BARS else 1.0
    bars = ax.bar(range(sizes.size), sizes, width, color=[BROKEN if out else COLORS[4] for out in outside])
    for bar, out in zip(bars, outside, strict=True):
        bar.set_hatch("//" if out else None)
        bar.set(edgecolor=INK if out else "none", linewidth=0.0)
    _draw_bound(ax, "size_min", low, "--")
    _draw_bound(ax, "size_max", high, "-")
    _finish(ax, bars, names, int(outside.sum()))
    return ax


def size_bound(name: str, value: Any, n_clusters: int) -> NDArray[np.float64]:
    """Return a bound for each cluster, infinite where there is none."""
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
    if len(bars) <= LABELLED_BARS:
        # In the middle of the bars: at their ends the bounds run through.
        ax.bar_label(bars, fmt="%g", label_type="center", fontsize=10, color=INK, path_effects=halo(3))
        ax.set_xticks(range(len(bars)), names, parse_math=False)
    ax.set_xlabel("cluster")
    ax.set_ylabel("size")
    ax.margins(x=0.02)
    remove_frame(ax)
    first = [(bar, f"{n_outside} outside the bounds") for bar in bars if bar.get_hatch()][:1]
    legend_of(ax, *first, ncols=3)


@documented
def plot_shares(
    labels: Any,
    category: Any,
    *,
    share_min: Any = None,
    share_max: Any = None,
    share_tolerance: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of each group in each cluster as a dot, and the bounds on it as a band; others stand out.

    Parameters
    ----------
    category : array-like of shape (n_samples,), or table with a column per attribute
        The group of each row.
    share_min, share_max, share_tolerance : optional
        The bounds, as in `ConstrainedKMeans`.

    Examples
    --------
    >>> ax = plot_shares([0, 0, 1, 1], ["F", "M", "F", "F"], share_max={"F": 0.8})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['F', 'M']
    """
    labels = column_or_1d(labels)
    names, codes = np.unique(labels, return_inverse=True)
    attributes = read_shares(category, share_min, share_max, share_tolerance, labels.size)
    ax = axes_or_new(ax)
    groups: list[str] = []
    outside = 0
    for attribute in attributes:
        found = attribute.shares_in(codes, names.size)
        for v in range(len(attribute.values)):
            at, low, high = len(groups), float(attribute.low[v]), float(attribute.high[v])
            groups.append(attribute.shown(v))
            if low > 0 or high < 1:
                label = "allowed" if not ax.patches else None
                ax.barh(at, high - low, 0.6, left=low, color=COLORS[4], alpha=0.25, label=label)
            is_out = (found[:, v] < low - TOTAL_RELATIVE) | (found[:, v] > high + TOTAL_RELATIVE)
            # Clusters side by side within the band, so that equal shares do not hide each other.
            heights = at + np.linspace(-0.22, 0.22, names.size) if names.size > 1 else np.array([float(at)])
            ax.scatter(found[~is_out, v], heights[~is_out], s=22, color=COLORS[4], zorder=3)
            ax.scatter(found[is_out, v], heights[is_out], s=34, marker="X", color=BROKEN, zorder=3)
            ax.vlines(attribute.shares[v], at - 0.35, at + 0.35, INK, "--", linewidth=1.2)
            outside += int(is_out.sum())
    ax.set_yticks(range(len(groups)), groups, parse_math=False)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of the cluster's rows (dashed: of all rows)")
    remove_frame(ax)
    mark = [ax.scatter([], [], s=34, marker="X", color=BROKEN)] if outside else []
    legend_of(ax, *[(handle, f"{outside} outside the bounds") for handle in mark])
    return ax
