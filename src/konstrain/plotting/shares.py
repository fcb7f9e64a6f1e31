"""Shares of groups in clusters beside the bounds on them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import column_or_1d

from konstrain.constraints.shares import read_shares
from konstrain.plotting._style import BROKEN, COLORS, INK, axes_or_new, legend_above, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Shares differ from their bounds by rounding.
ROUNDING = 1e-9


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
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    category : array-like of shape (n_samples,), or table with a column per attribute
        The group of each row.
    share_min, share_max, share_tolerance : optional
        The bounds, as in `ConstrainedKMeans`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

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
            groups.append(attribute.words(v))
            if low > 0 or high < 1:
                label = "allowed" if not ax.patches else None
                ax.barh(at, high - low, 0.6, left=low, color=COLORS[4], alpha=0.25, label=label)
            is_out = (found[:, v] < low - ROUNDING) | (found[:, v] > high + ROUNDING)
            # Clusters side by side within the band, so that equal shares can be told apart.
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
    handles, words = ax.get_legend_handles_labels()
    if outside:
        handles.append(ax.scatter([], [], s=34, marker="X", color=BROKEN))
        words.append(f"{outside} outside the bounds")
    if handles:
        legend_above(ax, handles, words, ncols=2)
    return ax
