"""The tables of a report: from records to cells, with the published number, ours and the difference."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from konstrain.comparison.measures import MEASURES
from konstrain.comparison.records import Group, Record, groups_of, select, summed_up, values_of
from konstrain.experiments.published import Column, PaperTable, Published

_NOTHING = Published(None)
# Text of a cell where all runs proved that there is no clustering, as Babaki et al. print it.
INFEASIBLE = "INF"


@dataclass(frozen=True)
class Cell:
    """A published number, ours, and the runs behind ours: all, failed, and those that proved infeasibility."""

    published: Published
    ours: float | None
    sd: float | None
    n_runs: int
    n_failed: int
    n_infeasible: int = 0

    @property
    def difference(self) -> float | None:
        """Ours less the published number, where both are there."""
        if self.ours is None or self.published.value is None:
            return None
        return self.ours - self.published.value


def cell_of(column: Column, published: Published, records: Sequence[Record]) -> Cell:
    """Sum up the runs of one contender on one group of cases."""
    runs = select(records, method=column.method)
    failed = sum(run["status"] == "failed" for run in runs)
    infeasible = sum((run.get("reason") or "").startswith("InfeasibleError") for run in runs)
    values = values_of(runs, column.measure)
    sd = statistics.stdev(values) if column.statistic == "mean" and len(values) > 1 else None
    ours = summed_up(runs, column.measure, column.statistic)
    if column.relative_to is not None:
        other = summed_up(select(records, method=column.relative_to), column.measure, column.statistic)
        ours = None if ours is None or not other else 100.0 * (other - ours) / other
    return Cell(published, ours, sd, len(runs), failed, infeasible)


def cells_of(table: PaperTable, records: Sequence[Record]) -> dict[Group, dict[str, Cell]]:
    """Return all cells of a table: a line for each group of cases with runs of a contender of this table."""
    shown = {column.method for column in table.columns}
    chosen = (record for record in select(records, **table.where) if record["method"] in shown)
    groups = groups_of(chosen, table.by)
    groups = {group: runs for group, runs in groups.items() if not table.published or group in table.published}
    if table.lists_published and groups:
        groups |= {group: [] for group in table.published if group not in groups}
    return {
        group: {
            column.heading: cell_of(column, table.published.get(group, {}).get(column.heading, _NOTHING), runs)
            for column in table.columns
        }
        for group, runs in groups.items()
    }


def lines_of(table: PaperTable, records: Sequence[Record]) -> list[list[str]]:
    """Return a table as text: the header, a line per group, totals last."""
    cells = cells_of(table, records)
    pairs = [(column, _is_published(table, column)) for column in table.columns]
    header = [*table.by, *(text for column, both in pairs for text in _headings(column, both))]
    rows = [
        [*map(str, group), *(text for column, both in pairs for text in _texts(line[column.heading], column, both))]
        for group, line in [*cells.items(), *totals_of(table, cells).items()]
    ]
    return [header, *rows]


def totals_of(table: PaperTable, cells: dict[Group, dict[str, Cell]]) -> dict[Group, dict[str, Cell]]:
    """Sum up lines that differ in the first field only."""
    if table.total is None:
        return {}
    rests = dict.fromkeys(group[1:] for group in cells)
    return {
        (table.total, *rest): {column.heading: _total(table, rest, column.heading, cells) for column in table.columns}
        for rest in rests
    }


def _total(table: PaperTable, rest: Group, heading: str, lines: dict[Group, dict[str, Cell]]) -> Cell:
    cells = [lines[group][heading] for group in lines if group[1:] == rest]
    total = _summed_up(table.total or "sum", cells)
    n_published = sum(group[1:] == rest and heading in line for group, line in table.published.items())
    printed = table.printed_totals.get(rest, {}).get(heading)
    # The paper's own total is over all its lines, so it is shown with ours only where ours is too.
    is_whole = sum(cell.ours is not None for cell in cells) == n_published
    return replace(total, published=printed) if printed is not None and is_whole else total


def _summed_up(statistic: str, cells: Sequence[Cell]) -> Cell:
    # The published total is taken over the lines where we have a number too, so that both are over the same.
    here = [cell for cell in cells if cell.ours is not None] or cells
    add = statistics.fmean if statistic == "mean" else sum
    ours = [cell.ours for cell in here if cell.ours is not None]
    theirs = [cell.published.value for cell in here if cell.published.value is not None]
    published = Published(float(add(theirs))) if len(theirs) == len(here) else _NOTHING
    n_runs, n_failed = sum(cell.n_runs for cell in here), sum(cell.n_failed for cell in here)
    return Cell(published, float(add(ours)) if ours else None, None, n_runs, n_failed)


def _is_published(table: PaperTable, column: Column) -> bool:
    return any(column.heading in line for line in table.published.values())


def _headings(column: Column, both: bool) -> list[str]:
    if not both:
        return [column.heading]
    return [f"{column.heading}: published", "ours", "difference"]


def _texts(cell: Cell, column: Column, both: bool) -> list[str]:
    digits = MEASURES[column.measure].digits if column.digits is None else column.digits
    unit = "%" if column.statistic == "share" else ""
    ours = _number(cell.ours, digits, unit, cell.sd if cell.published.sd is not None else None)
    if cell.n_infeasible and cell.n_infeasible == cell.n_runs:
        ours = INFEASIBLE if column.measure == "sse" else ""
    elif cell.n_failed:
        ours += f" ({cell.n_failed} of {cell.n_runs} failed)"
    if not both:
        return [ours]
    theirs = _number(cell.published.value, digits, unit, cell.published.sd) + cell.published.mark
    return [theirs, ours, "" if cell.difference is None else f"{cell.difference:+.{digits}f}"]


def _number(value: float | None, digits: int, unit: str, sd: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}f}{unit}" + ("" if sd is None else f" ± {sd:.{digits}f}")
