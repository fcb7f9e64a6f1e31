"""Why no clustering exists, as a picture: the rows that clash and the links between them."""

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.check import CheckResult
from konstrain.constraints.findings import Finding, MustLinkPath, SizeSums, UncolorableRows
from konstrain.exceptions import InfeasibleError
from konstrain.plotting._style import BROKEN, COLORS, INK, as_written, axes_or_new, documented, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Findings side by side; lines of a message, and letters of each; letters of a row's name.
DRAWN_FINDINGS: Final = 4
MESSAGE_LINES: Final = 8
LINE_LETTERS: Final = 38
NAME_LETTERS: Final = 12
# Points: rows are circles of at most this diameter, and carry their numbers down to the second one.
LARGEST_ROW: Final = 21.0
SMALLEST_NUMBERED: Final = 12.0
# The picture of one finding, with its message, in its own units: a circle of radius 1 and what is around it.
WIDTH: Final = 3.0
LOW: Final = -2.8
HIGH: Final = 1.3
MUST: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 2.0}
CANNOT: dict[str, Any] = {"color": BROKEN, "linestyle": "--", "linewidth": 1.8}

_Names = Callable[[int], str]


@documented
def plot_conflicts(error_or_check: Any, *, name_of: _Names = str, ax: "Axes | None" = None) -> "Axes":
    """Draw the evidence that constraints clash: solid lines tie rows together, dashed lines keep them apart.

    Parameters
    ----------
    error_or_check : InfeasibleError, CheckResult or Finding
        The evidence that no clustering exists. Of a check the first four findings are drawn side by side.
    name_of : callable, default=str
        Returns what a row is called.

    Examples
    --------
    >>> from konstrain import check
    >>> ax = plot_conflicts(check(9, 2, must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)]))
    >>> [text.get_text() for text in ax.texts][:3]
    ['0', '4', '7']
    """
    findings = _findings(error_or_check)
    shown = findings[:DRAWN_FINDINGS]
    ax = axes_or_new(ax, (max(4.5, 3.4 * len(shown)), 4.8))
    unit = _points_per_unit(ax, len(shown))
    for i, finding in enumerate(shown):
        middle = np.array([WIDTH * i, 0.0])
        draw: Callable[..., None] = _DRAWERS.get(type(finding.witness), _draw_nothing)
        draw(ax, finding.witness, middle, unit, name_of)
        # A letter is about half as wide as high.
        size = float(np.clip(WIDTH * unit / (0.55 * LINE_LETTERS), 6.0, 9.0))
        message = _wrapped(finding.message)
        as_written(ax.text(middle[0], -1.4, message, ha="center", va="top", fontsize=size, color=INK))
    _finish(ax, shown, len(findings))
    return ax


def _points_per_unit(ax: "Axes", n_findings: int) -> float:
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return float(72 / dpi * min(box.width / (WIDTH * n_findings), box.height / (HIGH - LOW)))


def _wrapped(message: str) -> str:
    """Return the message in short lines; of a long one the middle is left out, since its end says what to do."""
    lines = textwrap.wrap(message, LINE_LETTERS)
    return "\n".join(lines if len(lines) <= MESSAGE_LINES else [*lines[: MESSAGE_LINES - 3], "...", *lines[-2:]])


def _findings(source: Any) -> list[Finding]:
    if isinstance(source, InfeasibleError):
        return [Finding(source.reason, str(source), source.witness)]
    if isinstance(source, Finding):
        return [source]
    if not isinstance(source, CheckResult):
        raise TypeError(f"give an InfeasibleError, a CheckResult or a Finding, got {type(source).__name__}")
    if not source.findings:
        raise ValueError(f"nothing to draw: the check found no clash (feasible is {source.feasible})")
    return source.findings


def _draw_path(ax: "Axes", path: MustLinkPath, middle: NDArray[np.float64], unit: float, name_of: _Names) -> None:
    # The path runs over the upper half, its contradiction below it from end to end.
    places = middle + _circle(len(path.rows), np.pi, 0.0)
    ax.plot(*places.T, **MUST, zorder=1)
    ax.plot(*places[[0, -1]].T, **CANNOT, zorder=1)
    ax.plot(*places[[0, -1]].mean(axis=0), marker="x", color=BROKEN, markersize=11, markeredgewidth=2.5)
    _draw_rows(ax, places, path.rows, unit, name_of)


def _draw_rows_apart(
    ax: "Axes", found: UncolorableRows, middle: NDArray[np.float64], unit: float, name_of: _Names
) -> None:
    turn = np.pi / 2
    places = middle + _circle(len(found.rows), turn, turn - 2 * np.pi * (1 - 1 / len(found.rows)))
    index = {row: i for i, row in enumerate(found.rows)}
    # Hundreds of full lines would be one filled circle.
    wide, strong = np.clip([12, 8] / np.sqrt(len(found.conflicts)), [0.4, 0.15], [CANNOT["linewidth"], 1.0])
    for a, b in found.conflicts:
        ax.plot(*places[[index[a], index[b]]].T, **CANNOT | {"linewidth": wide}, alpha=strong, zorder=1)
    _draw_rows(ax, places, found.rows, unit, name_of)


def _draw_sums(ax: "Axes", sums: SizeSums, middle: NDArray[np.float64], *_: Any) -> None:
    scale = 2.0 / max(sums.needed, sums.available)
    for x, name, amount, style in (
        (-0.5, "needed", sums.needed, {"color": BROKEN, "hatch": "//", "edgecolor": INK}),
        (0.5, "available", sums.available, {"color": COLORS[4]}),
    ):
        at = middle[0] + x
        ax.bar(at, amount * scale, bottom=-1.0, width=0.6, **style)
        ax.text(at, -1.0 + amount * scale + 0.05, f"{name} {amount:g}", ha="center", fontsize=9, color=INK)


def _draw_nothing(ax: "Axes", witness: Any, middle: NDArray[np.float64], *_: Any) -> None:
    """Evidence without a picture, such as sizes and conflicts that only clash together: the message must do."""
    ax.plot(*middle, marker="x", color=BROKEN, markersize=30, markeredgewidth=4)


_DRAWERS: dict[type, Callable[..., None]] = {
    MustLinkPath: _draw_path,
    UncolorableRows: _draw_rows_apart,
    SizeSums: _draw_sums,
}


def _circle(n: int, start: float, end: float) -> NDArray[np.float64]:
    angles = np.linspace(start, end, n)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _draw_rows(ax: "Axes", places: NDArray[np.float64], rows: tuple[int, ...], unit: float, name_of: _Names) -> None:
    spacing = unit * float(np.linalg.norm(places[1] - places[0]))
    diameter = min(LARGEST_ROW, 0.8 * spacing)
    ax.scatter(*places.T, s=diameter**2, c="white", edgecolors=INK, linewidths=1.2, zorder=2)
    if diameter >= SMALLEST_NUMBERED:
        for place, row in zip(places, rows, strict=True):
            name = name_of(row)
            name = name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 3]}..."
            # Four letters fill a circle; longer names are smaller.
            size = 0.43 * diameter * min(1.0, 4 / len(name))
            as_written(ax.text(*place, name, ha="center", va="center", fontsize=size, color=INK, zorder=3))


def _finish(ax: "Axes", shown: list[Finding], n_findings: int) -> None:
    from matplotlib.lines import Line2D

    lines = {}
    if any(isinstance(finding.witness, MustLinkPath) for finding in shown):
        lines["must share a cluster"] = Line2D([], [], **MUST)
    if any(isinstance(finding.witness, MustLinkPath | UncolorableRows) for finding in shown):
        lines["must not share one"] = Line2D([], [], **CANNOT)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-WIDTH / 2, WIDTH * (len(shown) - 0.5))
    ax.set_ylim(LOW, HIGH)
    if lines:
        legend_above(ax, lines.values(), lines.keys())
    if n_findings > len(shown):
        ax.set_title(f"the first {len(shown)} of {n_findings} findings", fontsize=9, loc="right")
