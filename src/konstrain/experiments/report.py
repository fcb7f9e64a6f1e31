"""The report of an experiment in Markdown: claims, tables and figures, and how our numbers came about."""

import html
import io
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars

from konstrain.comparison.measures import MEASURES
from konstrain.comparison.records import Record, select
from konstrain.experiments.declare import Experiment
from konstrain.experiments.published import Distribution, Figure
from konstrain.experiments.store import Started, open_store
from konstrain.experiments.tables import lines_of
from konstrain.files.outputs import write_whole
from konstrain.plotting import plot_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Panels of a figure in one line.
PANELS_ACROSS: Final = 4

# What draws the runs of one panel.
Panel = Callable[["Axes", Any, Sequence[Record]], None]


def write_files(experiment: Experiment, *, db: Path, output: Path) -> Path:
    """Write the report; see `konstrain.experiments.write_report`."""
    if not db.exists():
        raise FileNotFoundError(f"there is no file {db}; run the experiment first")
    keys = [row.key for row in experiment.rows()]
    with open_store(db) as store:
        records = store.records(experiment.name, keys)
        starts = store.starts(experiment.name)
    # matplotlib is an extra.
    figures = experiment.figures if find_spec("matplotlib") is not None else ()
    pictures = {figure.name: png for figure in figures if (png := draw_figure(figure, records)) is not None}
    output.mkdir(parents=True, exist_ok=True)
    for name, png in pictures.items():
        write_whole(output / f"{experiment.name}-{name}.png", png)
    write_whole(output / f"{experiment.name}.parquet", as_parquet(records))
    page = output / f"{experiment.name}.md"
    text = compose_report(experiment, records, starts, n_rows=len(keys), drawn=set(pictures))
    write_whole(page, text.encode())
    return page


def compose_report(
    experiment: Experiment, records: Sequence[Record], starts: Sequence[Started], *, n_rows: int, drawn: set[str]
) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {escaped(experiment.title)}", escaped(experiment.reference + "."), *map(escaped, experiment.notes)]
    if experiment.claims:
        blocks += ["## What was claimed and what was found", _claims(experiment, records)]
    for table in experiment.tables:
        blocks += [f"## {escaped(table.title)}", as_table(lines_of(table, records))]
    for figure in experiment.figures:
        if figure.name in drawn:
            title = escaped(figure.title)
            blocks += [f"## {title}", f"![{title}]({experiment.name}-{figure.name}.png)"]
    blocks += [*_failures(records), *_origin(experiment, records, starts, n_rows)]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Return text for Markdown in which nothing is taken for HTML, and no cell of a table ends early."""
    return " ".join(html.escape(text, quote=False).replace("|", "\\|").split("\n"))


def as_table(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, header first; the first column is to the left, the others to the right.

    Examples
    --------
    >>> print(as_table([["cluster", "rows"], ["0", "50"]]))
    | cluster | rows |
    | --- | ---: |
    | 0 | 50 |
    """
    header, *rows = [[escaped(cell) for cell in line] for line in lines]
    rules = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rules, *rows])


def _claims(experiment: Experiment, records: Sequence[Record]) -> str:
    words = {True: "yes", False: "no", None: "not judged"}
    verdicts = [(claim.text, claim.judge(records)) for claim in experiment.claims]
    rows = [[text, verdict.found, words[verdict.holds]] for text, verdict in verdicts]
    return as_table([["claim", "found", "holds"], *rows])


def _failures(records: Sequence[Record]) -> list[str]:
    failed = [record for record in records if record["status"] == "failed"]
    reasons = Counter((record["method"], record["reason"].splitlines()[0][:200]) for record in failed)
    if not reasons:
        return []
    rows = [[method, str(count), reason] for (method, reason), count in reasons.items()]
    return ["## Rows that failed", as_table([["method", "rows", "reason"], *rows])]


def _origin(experiment: Experiment, records: Sequence[Record], starts: Sequence[Started], n_rows: int) -> list[str]:
    """Return how the numbers came about: rows, seeds, commands, machine."""
    sets = sorted({record["set"] for record in records})
    blocks = [
        "## How these numbers came about",
        f"{len(records)} of {n_rows} rows are done; draws of constraints (seeds): {', '.join(map(str, sets))}. The "
        "seed of a method is 1000 times the draw plus the number of the run. Each row ran on one thread in a process "
        f"of its own. The raw rows are in {experiment.name}.parquet.",
    ]
    # Indented text is shown as it is, markup and all.
    blocks += [f"    {command}" for command in dict.fromkeys(start.command for start in starts)]
    machines = dict.fromkeys(tuple(start.machine.items()) for start in starts)
    return [*blocks, *(as_table([["", "machine"], *machine]) for machine in machines)]


def as_parquet(records: Sequence[Record]) -> bytes:
    """Return records as they are, one row each; columns in order of appearance."""
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    # Not strict: a field may be a number in one case and text in another; its column is then text.
    frame = polars.DataFrame(columns, strict=False)
    file = io.BytesIO()
    # 19 is the densest level that is still quick: rows are written once and kept in a repository.
    frame.write_parquet(file, compression="zstd", compression_level=19)
    return file.getvalue()


def draw_figure(figure: Figure | Distribution, records: Sequence[Record]) -> bytes | None:
    """Return a figure of an experiment as PNG; None where no run has its measure."""
    about = [record for record in select(records, **figure.where) if record["method"] in figure.methods]
    shown = [run for run in about if run.get(figure.measure) is not None]
    draw_one: Panel = _draw_sizes
    if isinstance(figure, Figure):
        shown, draw_one = [run for run in shown if figure.x in run], _curves_of(figure)
    return _panels(figure, shown, draw_one) if shown else None


def _panels(figure: Figure | Distribution, shown: Sequence[Record], draw_one: Panel) -> bytes:
    """Draw a panel for each value of a field, its contenders in the order in which the figure names them."""
    from matplotlib.figure import Figure as Canvas

    panels = list(dict.fromkeys(run[figure.panels] for run in shown))
    n_across = min(len(panels), PANELS_ACROSS)
    n_down = -(-len(panels) // n_across)
    canvas = Canvas(figsize=(5.0 * n_across, 4.0 * n_down), layout="constrained")
    for number, panel in enumerate(panels):
        ax = canvas.add_subplot(n_down, n_across, number + 1)
        runs = select(shown, **{figure.panels: panel})
        draw_one(ax, panel, sorted(runs, key=lambda run: figure.methods.index(run["method"])))
        # Inside the axes: the legend takes the place above them.
        ax.text(0.98, 0.03, str(panel), transform=ax.transAxes, ha="right", fontsize=11, fontweight="bold")
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=110)
    return file.getvalue()


def _curves_of(figure: Figure) -> Panel:
    """Return what draws curves of a measure over a field, and published points."""

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
    """Draw the sizes of clusters, largest first."""
    points = [
        (place, size, run["method"])
        for run in runs
        for place, size in enumerate(sorted(run["sizes"], reverse=True), start=1)
    ]
    places, sizes, methods = zip(*points, strict=True)
    plot_curves(places, sizes, methods, x_name="cluster, largest first", value_name="rows", ax=ax)
    ax.set_ylim(bottom=0.0)
