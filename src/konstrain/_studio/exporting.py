"""What leaves the page: links, labels, the picture, and the Python lines that make the same clustering."""

import io
import json
from typing import Any

import numpy as np

from konstrain._studio.fitting import arguments
from konstrain._studio.hub import Studio
from konstrain._studio.session import APART, TOGETHER, UNSURE, Settings
from konstrain.files.links import questions_text

_CODES = {TOGETHER: "must", APART: "cannot", UNSURE: ""}


def links_text(studio: Studio) -> str:
    """Return all answers as `a,b,answer`, which every verb takes as --answers."""
    links = studio.session.state.links.values()
    return questions_text(studio.rows.names, [(*link.pair, _CODES[link.kind]) for link in links])


def labels_text(studio: Studio) -> str:
    """Return the label of each row as CSV."""
    import polars as pl

    names = studio.rows.names
    column = "row" if names.column is None else "id" if names.column == "label" else names.column
    ids: Any = np.arange(names.n_samples) if names.ids is None else list(names.ids)
    return pl.DataFrame({column: ids, "label": studio.labels_}).write_csv()


def python_lines(studio: Studio) -> str:
    """Return lines that, run on the same rows, give the same clustering."""
    settings = studio.session.state.settings
    given = ", ".join(f"{name}={value!r}" for name, value in arguments(settings).items())
    constraints = studio.session.state.constraints
    lines = ["import numpy as np", "", "from konstrain import ConstrainedKMeans", ""]
    lines.append(f"# X: the rows of {studio.rows.title!r} as an array of these columns, in this order:")
    lines.append(f"# {json.dumps(list(settings.features))}")
    if settings.standardize:
        lines += _scaling(studio, settings)
    for name, table in constraints.items():
        lines.append(f"{name} = {table.tolist()!r}".replace("inf", "np.inf"))
    counts = [name for name in ("demand", "sample_weight") if getattr(studio.rows, name) is not None]
    lines += [f"# {name}: one number per row, as on the page" for name in counts]
    if settings.previous is not None:
        lines.append(f"previous = {list(settings.previous)!r}")
        counts.append("previous")
    if studio.rows.connectivity is not None:
        lines.append("# connectivity: pairs of rows that are neighbours, as on the page")
        counts.append("connectivity")
    passed = "".join(f", {name}={name}" for name in (*constraints, *counts))
    lines.append(f"model = ConstrainedKMeans({given})")
    lines.append(f"model.fit(X{passed})")
    lines.append("labels = model.labels_")
    lines += [f"labels[{row}] = labels[{beside}]  # by hand" for row, beside in studio.session.state.moves]
    return "\n".join(lines) + "\n"


def _scaling(studio: Studio, settings: Settings) -> list[str]:
    """Return the lines that give numbers mean 0 and variance 1."""
    categories = studio.rows.categories
    numbers = [i for i, name in enumerate(settings.features) if name not in categories]
    every = len(numbers) == len(settings.features)
    lines = ["spread = X.std(axis=0)", "scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)"]
    return [*lines, "X = scaled" if every else f"X[:, {numbers}] = scaled[:, {numbers}]"]


def picture_bytes(studio: Studio) -> bytes:
    """Draw the clusters and links as the command line does."""
    from matplotlib.figure import Figure

    from konstrain.plotting import plot_clusters, plot_map

    fit = studio.fit
    if fit is None:
        raise ValueError("there is no clustering to draw yet")
    areas, (low, high) = studio.rows.areas, fit.bounds
    page = Figure(layout="constrained", figsize=(7.0, 5.5) if areas is None else areas.figure_size)
    if areas is not None:
        plot_map(areas, fit.labels, demand=studio.rows.demand, size_min=low, size_max=high, ax=page.subplots())
    else:
        # As on the page: rows where their features put them, however distances are measured.
        centers = fit.centers if fit.metric is None else None
        plot_clusters(fit.source, fit.labels, centers=centers, ax=page.subplots(), **_links_of(studio))
    content = io.BytesIO()
    page.savefig(content, format="png", dpi=150)
    return content.getvalue()


def _links_of(studio: Studio) -> dict[str, Any]:
    return {"must_link": studio.must_link, "cannot_link": studio.cannot_link}
