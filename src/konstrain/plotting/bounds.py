"""How a proof went: the best clustering found and the lower bound over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain.gap import relative_gap
from konstrain.plotting._style import BROKEN, COLORS, axes_or_new, legend_above, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MARKED = 40
# The height of the picture is at least this share of the sums of squares.
LEAST_RANGE = 0.02


def plot_bounds(trace: Sequence[Any], *, ax: "Axes | None" = None) -> "Axes":
    """Draw lower bound and incumbent over time; what lies between them is what is not yet proved.

    Parameters
    ----------
    trace : sequence of TracePoint
        `ExactKMeans.trace_`, or anything with `seconds`, `lower_bound` and `upper_bound`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

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
    # Rounds are marked as long as they are few: nothing was known in between.
    marks = ("v", "^") if len(trace) <= MOST_MARKED else ("", "")
    found = f"best clustering found: {upper[-1]:.6g}"
    bound = f"lower bound: {lower[-1]:.6g} (gap {gap:.2g})"
    _steps(ax, seconds, upper, label=found, color=BROKEN, linestyle="-", marker=marks[0])
    _steps(ax, seconds, lower, label=bound, color=COLORS[0], linestyle="--", marker=marks[1])
    _finish(ax)
    return ax


def _steps(ax: "Axes", seconds: NDArray[np.float64], values: NDArray[np.float64], **style: Any) -> None:
    known = np.isfinite(values)
    ax.plot(seconds[known], values[known], drawstyle="steps-post", markersize=6, **style)


def _finish(ax: "Axes") -> None:
    ax.set_xlabel("seconds")
    ax.set_ylabel("sum of squares")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlim(left=0)
    ax.margins(y=0.15)
    low, high = ax.get_ylim()
    # A gap of rounding size must not fill the picture.
    room = max(0.0, LEAST_RANGE * abs(high) - (high - low)) / 2
    ax.set_ylim(low - room, high + room)
    remove_frame(ax)
    legend_above(ax, *ax.get_legend_handles_labels())
