"""DILS: fitness values per second, against computing each from scratch."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from konstrain import count_violations
from konstrain.baselines import DILS
from report import Row
from timing import cpu_seconds

DATA = Path(__file__).resolve().parents[3] / "shared/data/sets"
EVALUATIONS = 300_000
# Share r of n rows stands for q (q - 1) / 2 random pairs with q = r n, as in the papers' constraint sets.
SHARES = (0.10, 0.15, 0.20)


def dils_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per constraint set on Vehicle, or on rows of its shape where the data are not at hand."""
    name, X, y = _vehicle()
    for share in SHARES[:1] if quick else SHARES:
        must_link, cannot_link = _links(y, share)
        model = DILS(len(np.unique(y)), max_evaluations=EVALUATIONS, random_state=0)
        seconds, _ = cpu_seconds(lambda m=model, ml=must_link, cl=cannot_link: m.fit(X, must_link=ml, cannot_link=cl))
        scratch, _ = cpu_seconds(
            lambda m=model, ml=must_link, cl=cannot_link: _fitness(X, m.labels_, ml, cl), repeats=20
        )
        yield {
            "rows": name,
            "links": str(len(must_link) + len(cannot_link)),
            "s per fit": f"{seconds:.2f}",
            "evaluations/s": f"{EVALUATIONS / seconds:,.0f}",
            "from scratch, numpy/s": f"{1 / scratch:,.0f}",
            "ratio": f"{EVALUATIONS / seconds * scratch:,.0f}",
        }


def _vehicle() -> tuple[str, NDArray[np.float64], NDArray[np.int64]]:
    path = DATA / "vehicle.csv"
    if path.exists():
        table = np.loadtxt(path, delimiter=",", skiprows=1)
        return "Vehicle, 846 x 18", np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)
    rng = np.random.default_rng(0)
    return "normal, 846 x 18", rng.normal(size=(846, 18)), rng.integers(4, size=846)


def _links(y: NDArray[np.int64], share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    q = int(np.ceil(share * y.size))
    i, j = np.triu_indices(y.size, 1)
    drawn = np.random.default_rng(0).choice(i.size, q * (q - 1) // 2, replace=False)
    pairs = np.column_stack([i[drawn], j[drawn]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def _fitness(X: NDArray[np.float64], labels: NDArray[np.int32], must_link: object, cannot_link: object) -> float:
    spread = np.mean([pdist(X[labels == j]).mean() for j in np.unique(labels) if (labels == j).sum() > 1])
    return float(spread) * (1 + count_violations(labels, must_link=must_link, cannot_link=cannot_link).total)


SECTIONS = {"dils": dils_rows}
