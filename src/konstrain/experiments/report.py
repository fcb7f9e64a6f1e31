"""The report of an experiment: claims, tables and figures, published numbers beside ours, and how ours came about."""

import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import polars

from konstrain.comparison.records import Record
from konstrain.experiments.declare import Experiment
from konstrain.experiments.document import Element, Grid, Heading, Paragraph, Picture, as_markdown
from konstrain.experiments.lines import grid_of
from konstrain.experiments.store import Started, open_store
from konstrain.files.outputs import write_whole

# The most that is still quick: rows are written once, and kept in a repository.
_COMPRESSION = 19
_WORDS = {True: "yes", False: "no", None: "not judged"}


def write_files(experiment: Experiment, *, db: Path, output: Path) -> Path:
    """Write the report; see `konstrain.experiments.write_report`."""
    if not db.exists():
        raise FileNotFoundError(f"there is no file {db}; run the experiment first")
    keys = [row.key for row in experiment.rows()]
    with open_store(db) as store:
        records = store.records(experiment.name, keys)
        starts = store.starts(experiment.name)
    elements = compose_report(experiment, records, starts, n_rows=len(keys))
    output.mkdir(parents=True, exist_ok=True)
    for picture in (element for element in elements if isinstance(element, Picture)):
        write_whole(output / picture.name, picture.png)
    write_whole(output / f"{experiment.name}.parquet", as_parquet(records))
    page = output / f"{experiment.name}.md"
    write_whole(page, as_markdown(elements).encode())
    return page


def compose_report(
    experiment: Experiment, records: Sequence[Record], starts: Sequence[Started], *, n_rows: int
) -> list[Element]:
    """Put the report together."""
    elements: list[Element] = [Heading(experiment.title, 1), Paragraph(experiment.reference + ".")]
    elements += [Paragraph(note) for note in experiment.notes]
    if experiment.claims:
        elements += [Heading("What was claimed and what was found"), _claims(experiment, records)]
    for table in experiment.tables:
        elements += [Heading(table.title), grid_of(table, records)]
    if find_spec("matplotlib") is not None:
        elements += _pictures(experiment, records)
    return [*elements, *_failures(records), *_origin(experiment, records, starts, n_rows)]


def _claims(experiment: Experiment, records: Sequence[Record]) -> Grid:
    verdicts = [(claim.text, claim.judge(records)) for claim in experiment.claims]
    return Grid(
        ["claim", "found", "holds"], [[text, verdict.found, _WORDS[verdict.holds]] for text, verdict in verdicts]
    )


def _pictures(experiment: Experiment, records: Sequence[Record]) -> list[Element]:
    # Imported here: matplotlib is an extra.
    from konstrain.experiments.pictures import draw

    drawn = [(figure.title, draw(experiment.name, figure, records)) for figure in experiment.figures]
    return [element for title, picture in drawn if picture is not None for element in (Heading(title), picture)]


def _failures(records: Sequence[Record]) -> list[Element]:
    reasons: dict[tuple[str, str], int] = {}
    for record in records:
        if record["status"] == "failed":
            group = (record["method"], record["reason"].splitlines()[0][:200])
            reasons[group] = reasons.get(group, 0) + 1
    if not reasons:
        return []
    rows = [[method, str(count), reason] for (method, reason), count in reasons.items()]
    return [Heading("Rows that failed"), Grid(["method", "rows", "reason"], rows)]


def _origin(
    experiment: Experiment, records: Sequence[Record], starts: Sequence[Started], n_rows: int
) -> list[Element]:
    """How the numbers came about: rows, seeds, commands, machine."""
    sets = sorted({record["set"] for record in records})
    missing = ", ".join(contender.label for contender in experiment.missing)
    texts = [
        f"{len(records)} of {n_rows} rows are done; draws of constraints (seeds): {', '.join(map(str, sets))}. The "
        "seed of a method is 1000 times the draw plus the number of the run. Each row ran on one thread in a process "
        f"of its own. The raw rows are in {experiment.name}.parquet."
    ]
    if missing:
        texts.append(f"Not run, because konstrain has no such method: {missing}.")
    elements: list[Element] = [Heading("How these numbers came about"), *map(Paragraph, texts)]
    elements += [Paragraph(command, code=True) for command in dict.fromkeys(start.command for start in starts)]
    machines = list(dict.fromkeys(tuple(start.machine.items()) for start in starts))
    elements += [Grid(["", "machine"], [list(item) for item in machine]) for machine in machines]
    return elements


def as_parquet(records: Sequence[Record]) -> bytes:
    """Return records as they are, one row each; columns in order of appearance."""
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    # Not strict: a field may be a number in one case and text in another; its column is then text.
    frame = polars.DataFrame(columns, strict=False)
    file = io.BytesIO()
    frame.write_parquet(file, compression="zstd", compression_level=_COMPRESSION)
    return file.getvalue()
