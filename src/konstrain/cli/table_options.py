"""The options that say how a table is read and what becomes of its columns."""

from enum import StrEnum
from typing import Annotated

import typer

TABLE = "Table"


class Prepare(StrEnum):
    """What becomes of columns that are no plain numbers."""

    AUTO = "auto"
    NONE = "none"


class MissingChoice(StrEnum):
    """What becomes of rows with empty cells."""

    ERROR = "error"
    DROP = "drop"
    MEDIAN = "median"


class Decimal(StrEnum):
    """The sign before decimals."""

    POINT = "."
    COMMA = ","


PrepareOption = Annotated[
    Prepare,
    typer.Option(
        help="auto: text with few values as 0/1 columns, dates as days, numbers on one scale where they need it, "
        "identifiers left out; none: numbers as they stand, all else refused.",
        rich_help_panel=TABLE,
    ),
]
Standardize = Annotated[
    bool | None,
    typer.Option(
        "--standardize/--no-standardize",
        help="Give each number mean 0 and variance 1, or leave it. (default: as --prepare finds)",
        rich_help_panel=TABLE,
    ),
]
Categorical = Annotated[
    str | None, typer.Option(help="Columns to take as categories, numbers too.", rich_help_panel=TABLE)
]
MissingOption = Annotated[
    MissingChoice,
    typer.Option(help="Rows with empty cells: refuse, leave out, or fill in.", rich_help_panel=TABLE),
]
DecimalOption = Annotated[
    Decimal | None, typer.Option(help="The sign before decimals in CSV. (default: found out)", rich_help_panel=TABLE)
]
NoValue = Annotated[
    str | None,
    typer.Option("--na", help="Words that mean that a value is missing: k.A.,unknown", rich_help_panel=TABLE),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="How text is written: latin1, cp1252, utf-16. (default: utf-8)", rich_help_panel=TABLE),
]
Geo = Annotated[
    str | None,
    typer.Option(
        help="Columns of latitude and longitude in degrees, to cluster by alone: distances in kilometres.",
        rich_help_panel=TABLE,
    ),
]
