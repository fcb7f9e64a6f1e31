"""The figures of an experiment: our curves, and the published points beside them."""

import io
from collections.abc import Sequence

from konstrain.comparison.measures import MEASURES
from konstrain.comparison.records import Record, select
from konstrain.experiments.document import Picture
from konstrain.experiments.published import Figure
from konstrain.plotting import plot_curves

# More panels than this go on in the next line.
MOST_ACROSS = 4


def draw(experiment: str, figure: Figure, records: Sequence[Record]) -> Picture | None:
    """Draw a figure of an experiment; nothing where no run has its measure."""
    from matplotlib.figure import Figure as Canvas

    about = select(records, **dict(figure.where))
    shown = [r for r in about if r["method"] in figure.methods and r.get(figure.measure) is not None]
    panels = list(dict.fromkeys(record[figure.panels] for record in shown if figure.x in record))
    if not panels:
        return None
    n_across = min(len(panels), MOST_ACROSS)
    n_down = -(-len(panels) // n_across)
    canvas = Canvas(figsize=(5.0 * n_across, 4.0 * n_down), layout="constrained")
    for number, panel in enumerate(panels):
        ax = canvas.add_subplot(n_down, n_across, number + 1)
        runs = sorted(select(shown, **{figure.panels: panel}), key=lambda run: figure.methods.index(run["method"]))
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
        # Inside: above stands the legend, in as many lines as it needs.
        ax.text(0.98, 0.03, str(panel), transform=ax.transAxes, ha="right", fontsize=11, fontweight="bold")
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=110)
    return Picture(f"{experiment}-{figure.name}.png", figure.title, file.getvalue())
