"""The figures of an experiment: our curves, and the published points beside them; sizes of clusters."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from konstrain.comparison.measures import MEASURES
from konstrain.comparison.records import Record, select
from konstrain.experiments.document import Picture
from konstrain.experiments.published import Distribution, Figure
from konstrain.plotting import plot_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More panels than this go on in the next line.
MOST_ACROSS = 4

# What draws the runs of one panel.
Panel = Callable[["Axes", Any, Sequence[Record]], None]


def draw(experiment: str, figure: Figure | Distribution, records: Sequence[Record]) -> Picture | None:
    """Draw a figure of an experiment; nothing where no run has its measure."""
    about = [record for record in select(records, **dict(figure.where)) if record["method"] in figure.methods]
    shown = [run for run in about if run.get(figure.measure) is not None]
    draw_one: Panel = _draw_sizes
    if isinstance(figure, Figure):
        shown, draw_one = [run for run in shown if figure.x in run], _curves_of(figure)
    return (
        Picture(f"{experiment}-{figure.name}.png", figure.title, _panels(figure, shown, draw_one)) if shown else None
    )


def _panels(figure: Figure | Distribution, shown: Sequence[Record], draw_one: Panel) -> bytes:
    """Draw a panel for each value of a field, its contenders in the order in which the figure names them."""
    from matplotlib.figure import Figure as Canvas

    panels = list(dict.fromkeys(run[figure.panels] for run in shown))
    n_across = min(len(panels), MOST_ACROSS)
    n_down = -(-len(panels) // n_across)
    canvas = Canvas(figsize=(5.0 * n_across, 4.0 * n_down), layout="constrained")
    for number, panel in enumerate(panels):
        ax = canvas.add_subplot(n_down, n_across, number + 1)
        runs = select(shown, **{figure.panels: panel})
        draw_one(ax, panel, sorted(runs, key=lambda run: figure.methods.index(run["method"])))
        # Inside: above stands the legend, in as many lines as it needs.
        ax.text(0.98, 0.03, str(panel), transform=ax.transAxes, ha="right", fontsize=11, fontweight="bold")
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=110)
    return file.getvalue()


def _curves_of(figure: Figure) -> Panel:
    """Curves of a measure over a field, and published points."""

    def draw_one(ax: "Axes", panel: Any, runs: Sequence[Record]) -> None:
        plot_curves(
            [run[figure.x] for run in runs],
            [run[figure.measure] for run in runs],
            [run["method"] for run in runs],
            x_name=figure.x,
            value_name=MEASURES[figure.measure].title,
            ax=ax,
        )
        for label, points in figure.published.get(panel, {}).items():
            ax.plot(*zip(*points, strict=True), "k*", label=f"{label}, published")

    return draw_one


def _draw_sizes(ax: "Axes", panel: Any, runs: Sequence[Record]) -> None:
    """How many rows the largest cluster has, the second largest, and so on."""
    points = [
        (place, size, run["method"])
        for run in runs
        for place, size in enumerate(sorted(run["sizes"], reverse=True), start=1)
    ]
    places, sizes, methods = zip(*points, strict=True)
    plot_curves(places, sizes, methods, x_name="cluster, largest first", value_name="rows", ax=ax)
    ax.set_ylim(bottom=0.0)
