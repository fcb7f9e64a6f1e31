"""Rows coloured by cluster, centers, and the links between rows, broken ones standing out."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import read_links
from konstrain.metrics import are_apart
from konstrain.plotting._style import (
    BROKEN,
    INK,
    RASTER_FROM,
    as_written,
    axes_or_new,
    color,
    documented,
    halo,
    legend_above,
    marker,
    read_clusters,
    remove_frame,
)
from konstrain.plotting.projection import Projection, project

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Clusters up to which their names are in the picture; more would hide the rows.
NAMED_CLUSTERS: Final = 30


@documented
def plot_clusters(
    X: Any,
    labels: Any,
    *,
    centers: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    max_links: int = 200,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rows by cluster with their links; links that the labels break are thick, vermilion and crossed.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of more than two columns the two main components are drawn (`project`).
    centers : array-like of shape (n_clusters, n_features), optional
        Drawn as crosses; cluster names stand beside them, otherwise at the means of the rows.
    must_link, cannot_link : pairs, optional
        Links in any form that `fit` takes. Solid lines: together, dashed lines: apart.
    max_links : int, default=200
        Most lines of each kind, kept and broken ones; evenly spread over those given. The legend has the full counts.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 0.0], [5.1, 0.0]]
    >>> ax = plot_clusters(X, [0, 0, 1, 1], must_link=[(0, 2)], cannot_link=[(1, 3)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1 must-link broken', '1 cannot-link']
    """
    plane = project(X, centers)
    names, codes = read_clusters(plane.rows, labels)
    if max_links < 0:
        raise ValueError(f"max_links must not be negative, got {max_links}")
    must = read_links("must_link", must_link, codes.size).pairs
    cannot = read_links("cannot_link", cannot_link, codes.size).pairs
    ax = axes_or_new(ax)
    _draw_rows(ax, plane.rows, codes, names)
    apart, together = are_apart(codes, must), ~are_apart(codes, cannot)
    _draw_links(ax, plane.rows, "must-link", must, apart, max_links)
    _draw_links(ax, plane.rows, "cannot-link", cannot, together, max_links)
    _name_clusters(ax, plane.rows, codes, names, plane.centers)
    _finish(ax, plane)
    return ax


def _draw_rows(ax: "Axes", rows: NDArray[Any], codes: NDArray[np.intp], names: NDArray[Any]) -> None:
    area = float(np.clip(6_000 / len(rows), 10.0 if len(rows) < RASTER_FROM else 3.0, 50))
    alpha = float(np.clip(np.sqrt(5_000 / len(rows)), 0.3, 1.0))
    if len(rows) < RASTER_FROM:
        for i, name in enumerate(names):
            at = rows[codes == i]
            ax.scatter(
                at[:, 0],
                at[:, 1],
                s=area,
                c=color(i),
                marker=marker(i),
                alpha=alpha,
                edgecolors="white",
                linewidths=0.4 if area > 20 else 0.0,
                zorder=2,
                label=f"cluster {name}",
            )
        return
    # One cloud in mixed order: clusters drawn one after the other would hide each other where they overlap.
    order = np.random.default_rng(0).permutation(len(rows))
    colors = np.array([color(i) for i in range(len(names))])[codes[order]]
    ax.scatter(*rows[order].T, s=area, c=colors, marker=".", alpha=alpha, linewidths=0, rasterized=True)


def _draw_links(
    ax: "Axes", rows: NDArray[Any], kind: str, pairs: NDArray[np.int32], broken: NDArray[np.bool_], most: int
) -> None:
    style = "-" if kind == "must-link" else (0, (4, 2.5))
    kept, shown = _spread(pairs[~broken], most), _spread(pairs[broken], most)
    if len(kept):
        faint = float(np.clip(6 / np.sqrt(len(kept)), 0.35, 0.9))
        words = _count_text((~broken).sum(), len(kept), kind)
        _lines(ax, rows, kept, words, color=INK, linestyle=style, linewidth=0.8, alpha=faint, zorder=1.5)
    if len(shown):
        words = _count_text(broken.sum(), len(shown), kind, " broken")
        wide, strong = np.clip([12 / np.sqrt(len(shown)), 8 / np.sqrt(len(shown))], [0.8, 0.5], [2.2, 1.0])
        _lines(ax, rows, shown, words, color=BROKEN, linestyle=style, linewidth=wide, alpha=strong, zorder=1.8)
        # A cross as well: colours do not survive grey print.
        middle = rows[shown].mean(axis=1)
        ax.scatter(*middle.T, marker="x", s=22 * wide, c=BROKEN, linewidths=wide, zorder=3)


def _lines(ax: "Axes", rows: NDArray[Any], pairs: NDArray[np.int32], label: str, **style: Any) -> None:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(list(rows[pairs]), label=label, **style), autolim=False)


def _spread(pairs: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    if len(pairs) <= most:
        return pairs
    spread: NDArray[np.int32] = pairs[np.linspace(0, len(pairs) - 1, most).astype(int)]
    return spread


def _count_text(n: int, n_drawn: int, kind: str, state: str = "") -> str:
    words = f"{n:,} {kind}{'s' if n > 1 else ''}{state}"
    return words if n_drawn == n else f"{words} ({n_drawn:,} drawn)"


def _name_clusters(
    ax: "Axes", rows: NDArray[Any], codes: NDArray[np.intp], names: NDArray[Any], centers: NDArray[Any] | None
) -> None:
    if centers is not None:
        ax.scatter(*centers.T, marker="+", s=110, c=INK, linewidths=1.8, zorder=4, path_effects=halo(4))
    if len(names) > NAMED_CLUSTERS:
        return
    counts = np.bincount(codes)
    means = np.column_stack([np.bincount(codes, weights=rows[:, j]) / counts for j in (0, 1)])
    # Centers are numbered; labels that are no such numbers stand at the means of their rows.
    numbered = centers is not None and names.dtype.kind in "iu" and names.min() >= 0 and names.max() < len(centers)
    places = centers[names] if centers is not None and numbered else means
    for i, name in enumerate(names):
        text = ax.annotate(
            str(name),
            places[i],
            xytext=(5, 4) if numbered else (0, 0),
            textcoords="offset points",
            ha="left" if numbered else "center",
            va="bottom" if numbered else "center",
            fontsize=11 if len(names) <= 20 else 8,
            fontweight="bold",
            color=INK,
            path_effects=halo(3),
            zorder=5,
        )
        as_written(text)


def _finish(ax: "Axes", plane: Projection) -> None:
    as_written(ax.set_xlabel(plane.names[0]), ax.set_ylabel(plane.names[1]))
    remove_frame(ax)
    if not plane.names[1]:
        ax.set_yticks([])
    if plane.has_one_scale:
        ax.set_aspect("equal", adjustable="datalim")
    handles, words = ax.get_legend_handles_labels()
    linked = {word: handle for handle, word in zip(handles, words, strict=True) if "-link" in word}
    if linked:
        legend_above(ax, linked.values(), linked.keys())
