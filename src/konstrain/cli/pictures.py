"""Pictures of results, written whole or not at all; needs matplotlib."""

import io
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from konstrain.cli.given import Given
from konstrain.exceptions import FileError
from konstrain.files import RowNames, write_whole
from konstrain.files.outputs import refuse_unwritable

ENDINGS = (".png", ".svg", ".pdf")
DOTS_PER_INCH: Final = 150


def refuse_undrawable(path: Path) -> None:
    """Raise now if a picture could not be made later."""
    if path.suffix.lower() not in ENDINGS:
        raise FileError(f"cannot tell the format of {path} from its name; it should end in {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise FileError("pictures need matplotlib; install it with: pip install 'konstrain[plot]'")
    refuse_unwritable(path)


def draw(path: Path, plot: Callable[[Any], object], size: tuple[float, float] = (7.0, 5.5)) -> None:
    """Draw on new axes and write the picture."""
    from matplotlib.figure import Figure

    # Without pyplot: no window system is asked for anything.
    figure = Figure(layout="constrained", figsize=size)
    plot(figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), dpi=DOTS_PER_INCH)
    write_whole(path, picture.getvalue())


def draw_clusters(path: Path, given: Given, labels: Any, centers: Any = None) -> None:
    """Draw rows by cluster, with their links."""
    import polars as pl

    from konstrain.plotting import plot_clusters

    # Columns that are drawn as they are have names; main components have none.
    X: Any = given.X if len(given.features) > 2 else pl.DataFrame(given.X, schema=list(given.features))
    draw(path, lambda ax: plot_clusters(X, labels, centers=centers, ax=ax, **given.constraints.links))


def draw_sizes(path: Path, given: Given, labels: Any) -> None:
    """Draw the sizes against their bounds."""
    from konstrain.plotting import plot_sizes

    names, codes = np.unique(labels, return_inverse=True)
    demand = given.constraints.demand
    if demand is not None and len(np.shape(demand)) > 1:
        raise FileError("sizes of several resources are drawn one by one: name a single column in --demand")
    sizes = np.bincount(codes, demand)
    low, high = given.constraints.size_min, given.constraints.size_max
    draw(path, lambda ax: plot_sizes(sizes, names=names, size_min=low, size_max=high, ax=ax))


def draw_map(path: Path, given: Given, labels: Any) -> None:
    """Draw regions on a map, with their loads against the bounds."""
    from konstrain.plotting import map_areas, plot_map

    if given.areas is None:
        raise FileError(
            "a map needs places: give --geo LAT,LON, name two columns in --columns, or give a file of polygons"
        )
    asked = given.constraints
    loads = {name: getattr(asked, name) for name in ("demand", "size_min", "size_max")}
    # Several resources are more than a map shows: it counts rows then.
    given_loads = loads if np.ndim(asked.demand) < 2 else {}
    areas = given.map or map_areas(given.areas)
    draw(path, lambda ax: plot_map(areas, labels, ax=ax, **given_loads), size=areas.figure_size)


def draw_fit(path: Path, given: Given, labels: Any, centers: Any) -> None:
    """Draw a map where rows are places or polygons, else rows by cluster with their links."""
    if given.map is not None:
        draw_map(path, given, labels)
    else:
        draw_clusters(path, given, labels, centers)


def draw_shares(path: Path, given: Given, labels: Any) -> None:
    """Draw the shares of groups against their bounds."""
    from konstrain.plotting import plot_shares

    asked = given.constraints
    if asked.category is None:
        raise FileError("shares of which groups? give --category, the column that names them")
    draw(path, lambda ax: plot_shares(labels, asked.category, ax=ax, **asked.shares))


def draw_silhouette(path: Path, given: Given, labels: Any) -> None:
    """Draw how well rows sit in their clusters."""
    from konstrain.plotting import plot_silhouette

    draw(path, lambda ax: plot_silhouette(given.X, labels, ax=ax))


def draw_conflicts(path: Path, result: Any, rows: RowNames) -> None:
    """Draw why no clustering satisfies the constraints, with rows by their ids."""
    from konstrain.plotting import plot_conflicts

    draw(path, lambda ax: plot_conflicts(result, name_of=rows.name_of, ax=ax))


def draw_scores(path: Path, choice: Any) -> None:
    """Draw the score of each number of clusters, and the recommended one."""

    def plot(ax: Any) -> None:
        numbers = [scored.n_clusters for scored in choice.scores]
        scores, errors = ([getattr(s, name) for s in choice.scores] for name in ("score", "error"))
        ax.errorbar(numbers, scores, yerr=errors if any(errors) else None, marker="o", capsize=3)
        ax.axvline(choice.n_clusters, linestyle=":", color="0.5")
        ax.set(xlabel="clusters", ylabel=choice.by, title=f"recommended: {choice.n_clusters}", xticks=numbers)

    draw(path, plot)


def draw_bounds(path: Path, trace: Sequence[Any]) -> None:
    """Draw how the bounds met."""
    from konstrain.plotting import plot_bounds

    draw(path, lambda ax: plot_bounds(trace, ax=ax))
