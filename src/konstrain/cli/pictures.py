"""Pictures of results, written whole or not at all; needs matplotlib."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from konstrain.cli.question import Question
from konstrain.exceptions import FileError
from konstrain.files import write_whole
from konstrain.files.outputs import refuse_unwritable

ENDINGS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150


def refuse_undrawable(path: Path) -> None:
    """Raise now if a picture could not be made later."""
    if path.suffix.lower() not in ENDINGS:
        raise FileError(f"cannot tell the format of {path} from its name; it should end in {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise FileError("pictures need matplotlib; install it with: pip install 'konstrain[plot]'")
    refuse_unwritable(path)


def draw(path: Path, plot: Callable[[Any], object]) -> None:
    """Draw on new axes and write the picture."""
    from matplotlib.figure import Figure

    # Without pyplot: no window system is asked for anything.
    figure = Figure(layout="constrained", figsize=(7.0, 5.5))
    plot(figure.subplots())
    write_whole(path, lambda file: figure.savefig(file, dpi=DOTS_PER_INCH))


def draw_clusters(path: Path, question: Question, labels: Any, centers: Any = None) -> None:
    """Draw rows by cluster, with their links."""
    import polars as pl

    from konstrain.plotting import plot_clusters

    # Columns that are drawn as they are have names; main components have none.
    X: Any = question.X if len(question.features) > 2 else pl.DataFrame(question.X, schema=list(question.features))
    links: dict[str, Any] = {kind: question.constraints.get(kind) for kind in ("must_link", "cannot_link")}
    draw(path, lambda ax: plot_clusters(X, labels, centers=centers, ax=ax, **links))


def draw_sizes(path: Path, question: Question, labels: Any) -> None:
    """Draw the sizes against their bounds."""
    from konstrain.plotting import plot_sizes

    _, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes, question.constraints.get("demand"))
    bounds = {name: question.constraints.get(name) for name in ("size_min", "size_max")}
    draw(path, lambda ax: plot_sizes(sizes, ax=ax, **bounds))


def draw_silhouette(path: Path, question: Question, labels: Any) -> None:
    """Draw how well rows sit in their clusters."""
    from konstrain.plotting import plot_silhouette

    draw(path, lambda ax: plot_silhouette(question.X, labels, ax=ax))


def draw_conflicts(path: Path, result: Any) -> None:
    """Draw why no clustering satisfies the constraints."""
    from konstrain.plotting import plot_conflicts

    draw(path, lambda ax: plot_conflicts(result, ax=ax))


def draw_bounds(path: Path, trace: Sequence[Any]) -> None:
    """Draw how the bounds met."""
    from konstrain.plotting import plot_bounds

    draw(path, lambda ax: plot_bounds(trace, ax=ax))
