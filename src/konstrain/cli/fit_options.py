"""The options of `konstrain fit` alone: how to search, what is for folders, what to write."""

from dataclasses import dataclass
from typing import Annotated

import typer

from konstrain.cli.options import DialectOption, Join, Out, Page, Picture, Save, Seed

MANY = "More rows than memory"


@dataclass(frozen=True)
class SearchOptions:
    """How to look for a clustering, and for how long."""

    method: Annotated[str, typer.Option(help="How to cluster; 'konstrain methods' lists them.")] = (
        "constrained-kmeans"
    )
    n_init: Annotated[
        int | None, typer.Option(min=1, help="Number of starts, of which the best counts. (default: by the data)")
    ] = None
    seed: Seed = 0
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which the best clustering so far is taken.")
    ] = None
    certify: Annotated[
        float | None, typer.Option(min=0, help="Also prove how far from the best possible, for so many seconds.")
    ] = None


@dataclass(frozen=True)
class FolderOptions:
    """What only folders of Parquet need."""

    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Dask scheduler for a folder of Parquet: tcp://host:8786. (default: this machine's cores)",
            rich_help_panel=MANY,
        ),
    ] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace labels that an earlier run wrote to the output folder.", rich_help_panel=MANY
        ),
    ] = False


@dataclass(frozen=True)
class ResultOptions:
    """What to write."""

    output: Out = None
    join: Join = False
    dialect: DialectOption = None
    plot: Picture = None
    save: Save = None
    report: Page = None
