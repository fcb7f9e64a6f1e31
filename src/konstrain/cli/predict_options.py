"""Which file holds the new rows, and how it is read; what its columns are the model knows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from konstrain.cli.options import DATA
from konstrain.cli.table_options import TABLE, DecimalOption, Encoding, MissingChoice, NoValue


@dataclass(frozen=True)
class NewRows:
    """A file of new rows."""

    data: Annotated[Path, typer.Argument(help="New rows, with the columns that the model was fitted on.")]
    id: Annotated[
        str | None,
        typer.Option(help="Column with the names of rows. (default: as for the fit)", rich_help_panel=DATA),
    ] = None
    missing: Annotated[
        MissingChoice | None,
        typer.Option(
            help="Rows with empty cells: refuse, leave out, or fill in. (default: as for the fit)",
            rich_help_panel=TABLE,
        ),
    ] = None
    na: NoValue = None
    decimal: DecimalOption = None
    encoding: Encoding = None
