"""`konstrain demo`: Iris under links and sizes, what comes out, and what happens when constraints contradict."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from konstrain.cli.running import guarded, note
from konstrain.cli.startup import end_start


@guarded
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture.")] = Path("konstrain-demo.png"),
) -> None:
    """Cluster Iris under links and sizes: report, proof, picture, and what is said when nothing is possible."""
    from konstrain.cli.pictures import refuse_undrawable
    from konstrain.exceptions import FileError

    try:
        refuse_undrawable(output)
    except FileError as error:
        note(f"{error}; the demo goes on without a picture")
        output = Path()
    for text in _show(output if output.name else None):
        print(text, flush=True)


def _show(picture: Path | None) -> Iterator[str]:
    """Yield what to print next."""
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris
    from sklearn.metrics import adjusted_rand_score

    from konstrain import ConstrainedKMeans, InfeasibleError, check, count_violations, describe

    end_start()
    X, species = load_iris(return_X_y=True)
    # What a person knows: for 60 random pairs of flowers whether they are of one kind, and that no kind is rare.
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(X), (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = species[pairs[:, 0]] == species[pairs[:, 1]]
    links = {"must_link": pairs[same], "cannot_link": pairs[~same]}
    sizes: dict[str, Any] = {"size_min": 45, "size_max": 55}

    yield _title("What the constraints imply")
    yield str(check(X, 3, **sizes, **links))

    yield _title("Three clusterings")
    yield f"{'':<28}{'sizes':<12}{'SSE':>8}  {'broken links':>12}  {'agreement with species (ARI)':>28}"
    model = ConstrainedKMeans(3, **sizes, random_state=0).fit(X, **links)
    for name, fitted in (
        ("plain k-means", KMeans(3, n_init=10, random_state=0).fit(X)),
        ("with links", ConstrainedKMeans(3, random_state=0).fit(X, **links)),
        ("with links, 45 to 55 each", model),
    ):
        counts = " ".join(map(str, np.sort(np.bincount(fitted.labels_))))
        broken = count_violations(fitted.labels_, **links).total
        score = adjusted_rand_score(species, fitted.labels_)
        yield f"{name:<28}{counts:<12}{fitted.inertia_:>8.3f}  {broken:>12}  {score:>28.3f}"

    yield _title("How far from the best possible, and what the constraints cost")
    proof = model.certify(X, time_limit=60)
    yield str(describe(X, model.labels_, 3, **links, **sizes, lower_bound=proof.lower_bound))

    yield _title("And when nothing can satisfy them")
    impossible: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"must_link": [(0, 7), (7, 60), (60, 99)], "cannot_link": [(0, 99)]}, {}),
        ({"cannot_link": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]}, {}),
        ({}, {"size_max": 40}),
    )
    for contradictory, bounds in impossible:
        try:
            ConstrainedKMeans(3, **bounds).fit(X, **contradictory)
        except InfeasibleError as error:
            yield f"- {error}"

    if picture is not None:
        from konstrain.cli.pictures import draw
        from konstrain.plotting import plot_clusters

        draw(picture, lambda ax: plot_clusters(X, model.labels_, centers=model.cluster_centers_, ax=ax, **links))
        yield f"\nwrote {picture}: the clusters and their links"


def _title(words: str) -> str:
    return f"\n{words}\n{'-' * len(words)}"
