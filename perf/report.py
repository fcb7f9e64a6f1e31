"""The command line and the tables that the performance scripts share."""

import argparse
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

Row = dict[str, str]


def table_of(title: str, rows: list[Row]) -> Table:
    """One table; its columns are the keys of all rows in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(row.get(column, "") for column in columns))
    return table


def main(description: str, sections: dict[str, Callable[..., Iterable[Row]]]) -> None:
    """Run the sections asked for and print one table each."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*sections, []], help="default: all")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="ours only, without the largest runs")
    depth.add_argument("--full", action="store_true", help="also peers that need minutes and gigabytes")
    arguments = parser.parse_args()
    console = Console(width=140)
    # Idle threads of the linear algebra library spin for a while, and their CPU time would count as ours.
    with threadpool_limits(1):
        for title in arguments.sections or sections:
            console.print(table_of(title, list(sections[title](quick=arguments.quick, full=arguments.full))))
