"""Result pages and their pictures made again from their raw rows: ``python tests/result_pages.py [NAME ...]``.

What a page says of commands and machines is not in the raw rows and stays as it is.
"""

import sys
from pathlib import Path
from typing import Any

import polars as pl

from konstrain.experiments import Experiment, get_experiment, list_experiments
from konstrain.experiments.report import compose_report, draw_figure

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
ORIGIN = "## How these numbers came about\n"


def raw_rows(name: str) -> list[dict[str, Any]]:
    """Return the raw rows behind a page as records; what does not apply to a row is left out."""
    rows = pl.read_parquet(RESULTS / f"{name}.parquet").to_dicts()
    return [{key: value for key, value in row.items() if value is not None or key == "reason"} for row in rows]


def page_of(name: str) -> str:
    """Return a page as it stands."""
    return (RESULTS / f"{name}.md").read_text()


def page_from_rows(experiment: Experiment) -> str:
    """Return the page that the raw rows make."""
    name = experiment.name
    drawn = {figure.name for figure in experiment.figures if (RESULTS / f"{name}-{figure.name}.png").exists()}
    made = compose_report(experiment, raw_rows(name), [], n_rows=len(experiment.rows()), drawn=drawn)
    return made.partition(ORIGIN)[0] + ORIGIN + page_of(name).partition(ORIGIN)[2]


def pictures_from_rows(experiment: Experiment) -> dict[Path, bytes]:
    """Return the pictures that the raw rows make, by the files they stand in."""
    rows = raw_rows(experiment.name)
    drawn = {
        RESULTS / f"{experiment.name}-{figure.name}.png": draw_figure(figure, rows) for figure in experiment.figures
    }
    return {path: picture for path, picture in drawn.items() if picture is not None}


if __name__ == "__main__":
    for chosen in map(get_experiment, sys.argv[1:] or [experiment.name for experiment in list_experiments()]):
        (RESULTS / f"{chosen.name}.md").write_text(page_from_rows(chosen))
        for path, picture in pictures_from_rows(chosen).items():
            path.write_bytes(picture)
