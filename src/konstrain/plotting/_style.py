"""What all plots share: axes, colours that differ for colour-blind eyes and in grey print, and marks."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from konstrain._documentation import completed_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

# Five of Okabe and Ito's colours, and seven that a search found as far from these, from each other and from vermilion
# (kept for what is broken) as the five are apart, to eyes without red, green or blue cones as well.
# Numbers of colours and of marks have no common factor: 84 clusters differ.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#770033"),
    *("#550099", "#AA3300", "#8855FF", "#994488", "#223366", "#BBAA99"),
)
# On dark ground those are too dim; hues like theirs, lighter, found in the same way.
COLORS_ON_DARK = (
    *("#6666FF", "#FFDD66", "#11CC00", "#FF55CC", "#5599BB", "#995555"),
    *("#CC11DD", "#DDAAAA", "#5566AA", "#BB88FF", "#66CCFF", "#BBEEDD"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "p")
DASHES = ("-", "--", "-.", ":")

INK = "#222222"
PALE_INK = "#777777"
BROKEN = "#D55E00"

# More marks than this become a bitmap in vector formats, which otherwise take minutes to open.
RASTER_FROM: Final = 5_000


_Plot = TypeVar("_Plot", bound=Callable[..., Any])


def documented(plot: _Plot) -> _Plot:
    """Describe what most plots take.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    return completed_by(plot, documented.__doc__)


def read_clusters(rows: Any, labels: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the names of the clusters and the place among them of each row's label; as many labels as rows."""
    labels = column_or_1d(labels)
    check_consistent_length(rows, labels)
    return np.unique(labels, return_inverse=True)


def color(i: int) -> str:
    """Return the colour of the i-th cluster or curve."""
    return COLORS[i % len(COLORS)]


def marker(i: int) -> str:
    """Return the mark of the i-th cluster or curve."""
    return MARKERS[i % len(MARKERS)]


def dashes(i: int) -> str:
    """Return the line style of the i-th curve."""
    return DASHES[i % len(DASHES)]


def axes_or_new(ax: "Axes | None", figsize: tuple[float, float] | None = None) -> "Axes":
    """Return the given axes, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib; run: pip install 'konstrain[plot]'", name=error.name
        ) from None
    return plt.subplots(layout="constrained", figsize=figsize)[1]


def halo(width: float) -> list[Any]:
    """Return the effect that keeps text and marks apart from what is under them."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def legend_of(ax: "Axes", *more: tuple[Any, str], ncols: int = 2) -> None:
    """Put the legend of what was drawn, and of `more` handles with their labels, above the axes if there is any."""
    drawn = [*zip(*ax.get_legend_handles_labels(), strict=True), *more]
    if drawn:
        legend_above(ax, [handle for handle, _ in drawn], [label for _, label in drawn], ncols)


def legend_above(ax: "Axes", handles: Iterable[Any], labels: Iterable[str], ncols: int = 2) -> None:
    """Put the legend above the axes, where it hides no data."""
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": ncols}
    legend = ax.legend(list(handles), list(labels), fontsize=9, frameon=False, handlelength=3, **place)
    as_written(*legend.get_texts())
    for handle in legend.legend_handles:
        # Thousands of faint lines show in the picture; one in the legend would not.
        handle.set_alpha(1.0)


def as_written(*texts: "Text") -> None:
    """Let names of columns, rows and clusters stand as they are: matplotlib takes what is between $ for formulas."""
    for text in texts:
        text.set_parse_math(False)


def remove_frame(ax: "Axes") -> None:
    """Keep only the two axes that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
