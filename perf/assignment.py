"""Time the assignment engines against their peers: ``python perf/assignment.py [--quick | --full] [section ...]``.

CPU time of one process, medians; read ratios rather than milliseconds. A section is a function that yields rows
(`perf/sections/`); to add one, list its module here.
"""

import argparse

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from sections import conflicts, coupled, transport

MODULES = (transport, conflicts, coupled)
SECTIONS = {title: rows for module in MODULES for title, rows in module.SECTIONS.items()}


def table_of(title: str, rows: list[dict[str, str]]) -> Table:
    """One table; its columns are the keys of all rows in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(row.get(column, "") for column in columns))
    return table


def main() -> None:
    """Run the sections asked for and print one table each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="ours only, without the largest runs")
    depth.add_argument("--full", action="store_true", help="also peers that need minutes and gigabytes")
    arguments = parser.parse_args()
    console = Console()
    # Idle threads of the linear algebra library spin for a while, and their CPU time would count as ours.
    with threadpool_limits(1):
        for title in arguments.sections or SECTIONS:
            console.print(table_of(title, list(SECTIONS[title](quick=arguments.quick, full=arguments.full))))


if __name__ == "__main__":
    main()
