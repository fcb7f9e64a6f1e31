"""Links and sizes together, and what they cost beside either alone: default fits, and a large table."""

import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
from sklearn.datasets import load_iris, load_wine, make_blobs

from konstrain import ConstrainedKMeans
from konstrain.exceptions import NotProvenWarning
from linked_pairs import random_pairs
from report import Row
from timing import cpu_seconds

SIZE_SLACK = 0.2


def default_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield default fits of 10,000 x 2, k=10: rows alone, with sizes, with links and sizes."""
    for spread in (1.0,) if quick else (1.0, 2.0, 4.0):
        X, y = make_blobs(10_000, 2, centers=10, cluster_std=spread, random_state=0)
        links, sizes = _links(y, 250), _sizes(len(X), 10)
        for name, bounds, pairs in (("free", {}, {}), ("sizes", sizes, {}), ("links and sizes", sizes, links)):
            told: list[float] = []
            model = ConstrainedKMeans(10, random_state=0, callback=lambda p, told=told: told.append(p.objective))
            model.set_params(**bounds)
            seconds, _ = cpu_seconds(lambda m=model, X=X, pairs=pairs: m.fit(X, **pairs), repeats=1)
            yield {
                "case": f"10,000 x 2, k=10, spread {spread:g}, {name}",
                "s": f"{seconds:.2f}",
                "runs": str(len(told)),
                "SSE": f"{model.inertia_:.8g}",
            }


def large_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield 200,000 x 20, k=50, with 10,000 links: the fit with sizes within 20% of equal, and without."""
    n = 20_000 if quick else 200_000
    for spread, true_sizes in ((4.0, "unequal"),) if quick else ((2.0, "equal"), (4.0, "equal"), (4.0, "unequal")):
        rng = np.random.default_rng(0)
        counts = rng.multinomial(n, rng.dirichlet(np.full(50, 5.0))) if true_sizes == "unequal" else n
        X, y = make_blobs(
            counts, 20, centers=50 if true_sizes == "equal" else None, cluster_std=spread, random_state=0
        )
        for name, links in (("5% + 5%", _links(y, n // 40)), ("random pairs, 5%", _labelled_pairs(y, n // 20))):
            linked = ConstrainedKMeans(50, random_state=0)
            plain, _ = cpu_seconds(lambda m=linked, links=links, X=X: m.fit(X, **links), repeats=1)
            both = ConstrainedKMeans(50, **_sizes(n, 50), random_state=0)
            seconds, _ = cpu_seconds(lambda m=both, links=links, X=X: m.fit(X, **links), repeats=1)
            yield {
                "case": f"{n:,} x 20, k=50, {true_sizes} true sizes, spread {spread:g}, {name}",
                "links s": f"{plain:.2f}",
                "iterations": str(linked.n_iter_),
                "links and sizes s": f"{seconds:.2f}",
                "their iterations": str(both.n_iter_),
                "ratio": f"{seconds / plain:.1f}",
                "violations": str(both.n_violations_),
            }


def demand_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield Iris by its first feature, no cluster above 300, and Wine by its twelfth, clusters within 5% of equal."""
    iris, wine = load_iris().data, load_wine().data
    equal = wine[:, 11].sum() / 4
    within = {"size_min": 0.95 * equal, "size_max": 1.05 * equal}
    cases = {
        "iris, k=3": (iris, iris[:, 0], ConstrainedKMeans(3, size_max=300)),
        "wine, k=4": (wine, wine[:, 11], ConstrainedKMeans(4, **within)),
        "wine, standardised": ((wine - wine.mean(0)) / wine.std(0), wine[:, 11], ConstrainedKMeans(4, **within)),
    }
    for (name, (X, demand, model)), seed in product(cases.items(), range(1 if quick else 2)):
        model.set_params(random_state=seed)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            seconds, _ = cpu_seconds(lambda m=model, X=X, demand=demand: m.fit(X, demand=demand), repeats=1)
        is_proven = not any(issubclass(one.category, NotProvenWarning) for one in told)
        yield {
            "case": f"{name}, seed {seed}",
            "s": f"{seconds:.2f}",
            "SSE": f"{model.inertia_:.8g}",
            "last step proved": str(is_proven),
        }


def _sizes(n_rows: int, n_clusters: int) -> dict[str, float]:
    mean = n_rows / n_clusters
    return {"size_min": np.floor((1 - SIZE_SLACK) * mean), "size_max": np.ceil((1 + SIZE_SLACK) * mean)}


def _links(y: np.ndarray, n_pairs: int) -> dict[str, np.ndarray]:
    """As many must-links as cannot-links, all of them true."""
    rng = np.random.default_rng(0)
    return {"must_link": random_pairs(y, True, n_pairs, rng), "cannot_link": random_pairs(y, False, n_pairs, rng)}


def _labelled_pairs(y: np.ndarray, n_pairs: int) -> dict[str, np.ndarray]:
    """Pairs drawn from all rows, each a must-link or a cannot-link as it is true."""
    pairs = np.random.default_rng(0).integers(y.size, size=(n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


SECTIONS = {"default fits": default_rows, "links and sizes": large_rows, "demand": demand_rows}
