"""Data sets and kinds of constraints of `perf/survey.py`, and a check of labels in numpy alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

# Up to 1,500 rows.
SMALL = (
    *("appendicitis", "breast_cancer", "ecoli", "glass", "haberman", "heart", "ionosphere", "iris", "led7digit"),
    *("movement_libras", "saheart", "sonar", "soybean", "tic_tac_toe", "vehicle", "wine", "yeast", "zoo"),
)
# Up to 20,000 rows.
LARGE = ("digits", "optdigits", "satimage", "pendigits", "letter")
# Sets on which no setting is chosen: they tell whether what helps the others helps in general.
HELD_OUT = ("breast_tissue", "bupa", "hayesroth", "monk2", "newthyroid", "spectfheart", "tae")
QUICK = ("iris", "soybean", "wine")
SHIPPED = ("breast_cancer", "digits", "iris", "wine")

# Points in the plane, a number of clusters, and the least SSE there is.
PLANE = {
    ("u1060", 10): 1.754840e9,
    ("u1060", 20): 7.917946e8,
    ("u1060", 30): 4.812516e8,
    ("u1060", 50): 2.555095e8,
    ("gr666", 50): 35_179.55,
    ("pr299", 10): 7.3367010e7,
    ("ali535", 10): 109_824.54,
}

TOLERANCE = 1e-9


def load_set(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised features that vary, and the class of each row."""
    if folder.is_dir():
        table = np.loadtxt(folder / "sets" / f"{name}.csv", delimiter=",", skiprows=1)
        X, classes = table[:, :-1], table[:, -1]
    else:
        X, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    return np.ascontiguousarray(X), np.unique(classes, return_inverse=True)[1]


def load_plane(folder: Path, name: str) -> np.ndarray:
    """Return points in the plane, not scaled."""
    return np.loadtxt(folder / "planar" / f"{name}.txt", skiprows=1)


@dataclass(frozen=True, eq=False)
class Case:
    """Rows and what is asked of their clusters: arguments of `ConstrainedKMeans` and of its `fit`."""

    X: np.ndarray
    n_clusters: int
    settings: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def is_comparable(self) -> bool:
        """Whether objectives of fits compare: the default cost of broken soft links depends on the start."""
        is_soft = any(np.shape(self.asked.get(name, ()))[1:] == (3,) for name in ("must_link", "cannot_link"))
        return not is_soft or "violation_cost" in self.settings


class Draw:
    """Links, groups and demands drawn for one data set, each by a generator of its own."""

    def __init__(self, X: np.ndarray, classes: np.ndarray, draw: int = 0) -> None:
        self.X, self.classes, self.draw = X, classes, draw
        self.n, self.k = len(X), int(classes.max()) + 1
        # Thirty clusters, or fewer where they would have less than ten rows.
        self.many = max(2, min(30, self.n // 10))

    def generator(self, number: int) -> np.random.Generator:
        """Return a generator of its own for each thing drawn."""
        return np.random.default_rng((self.draw, number))

    def case(self, *parts: dict[str, Any], k: int | None = None) -> Case:
        """Return the case in which all parts are asked at once; what `fit` takes is told apart by its name."""
        merged = {name: value for part in parts for name, value in part.items()}
        of_fit = {"y", "sample_weight", "must_link", "cannot_link", "demand", "category"}
        return Case(
            self.X,
            k or self.k,
            {name: value for name, value in merged.items() if name not in of_fit},
            {name: value for name, value in merged.items() if name in of_fit},
        )

    def _pairs(self, classes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        pairs = rng.integers(0, self.n, (max(20, self.n // 5), 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
        return pairs[same], pairs[~same]

    def links(self) -> dict[str, Any]:
        """Return hard links that the classes keep, one for every five rows."""
        must_link, cannot_link = self._pairs(self.classes, self.generator(1))
        return {"must_link": must_link, "cannot_link": cannot_link}

    def soft_links(self) -> dict[str, Any]:
        """Return as many soft links; one class in ten is wrong."""
        rng = self.generator(2)
        wrong = rng.random(self.n) < 0.1
        classes = np.where(wrong, rng.integers(0, self.k, self.n), self.classes)
        links = (np.column_stack([pairs, rng.uniform(0.5, 1.0, len(pairs))]) for pairs in self._pairs(classes, rng))
        return dict(zip(("must_link", "cannot_link"), links, strict=True))

    @property
    def fixed_cost(self) -> dict[str, Any]:
        """A cost of broken links that does not depend on the start: the variance of the data."""
        return {"violation_cost": float(self.X.var(axis=0).sum())}

    def partial_labels(self) -> dict[str, Any]:
        """Return the classes of one row in ten."""
        return {"y": np.where(self.generator(3).random(self.n) < 0.1, self.classes, -1)}

    def sizes(self, least: float, most: float, k: int | None = None) -> dict[str, Any]:
        """Return bounds on sizes as multiples of equal sizes."""
        mean = self.n / (k or self.k)
        return {"size_min": int(least * mean), "size_max": int(np.ceil(most * mean))}

    def sizes_by_cluster(self) -> dict[str, Any]:
        """Return sizes within 10% of targets; the last target is three times the first."""
        target = np.linspace(0.5, 1.5, self.k) * self.n / self.k
        return {"size_min": np.floor(0.9 * target), "size_max": np.ceil(1.1 * target)}

    @cached_property
    def unequal(self) -> np.ndarray:
        """Amounts of which few are large and most are small."""
        return self.generator(4).lognormal(size=self.n)

    def within(self, demand: np.ndarray, share: float) -> dict[str, Any]:
        """Return bounds on demand around equal parts of the total."""
        mean = demand.sum(axis=0) / self.k
        if demand.ndim == 2:
            # One row per cluster: with as many resources as clusters a single row could mean either.
            mean = np.tile(mean, (self.k, 1))
        return {"demand": demand, "size_min": (1 - share) * mean, "size_max": (1 + share) * mean}

    def resources(self, n_resources: int) -> np.ndarray:
        """Return one amount that is very unequal, and others from 1 to 5."""
        rest = self.generator(5).integers(1, 6, (self.n, n_resources - 1))
        return np.column_stack([self.unequal, rest])

    def groups(self, n_groups: int) -> np.ndarray:
        """Return groups that have nothing to do with the rows."""
        return self.generator(10 + n_groups).integers(0, n_groups, self.n)

    def related_groups(self) -> np.ndarray:
        """Return two groups that nearly follow the first principal component, as age or income would."""
        rng = self.generator(6)
        component = np.linalg.svd(self.X - self.X.mean(axis=0), full_matrices=False)[0][:, 0]
        return ((component > np.median(component)) ^ (rng.random(self.n) < 0.2)).astype(int)

    def attributes(self, *numbers: int, tolerance: float) -> dict[str, Any]:
        """Return an attribute for each number of groups."""
        return {"category": {f"{n}": self.groups(n) for n in numbers}, "share_tolerance": tolerance}

    def shares(self, groups: np.ndarray, tolerance: float) -> dict[str, Any]:
        """Return one attribute."""
        return {"category": groups, "share_tolerance": tolerance}


KINDS: dict[str, Callable[[Draw], Case]] = {
    "none": lambda d: d.case(),
    "none, k=2": lambda d: d.case(k=2),
    "none, k=30": lambda d: d.case(k=d.many),
    "links": lambda d: d.case(d.links()),
    "links, k=30": lambda d: d.case(d.links(), k=max(d.k, d.many)),
    "soft links": lambda d: d.case(d.soft_links(), d.fixed_cost),
    "sizes within 20%": lambda d: d.case(d.sizes(0.8, 1.2)),
    "equal sizes": lambda d: d.case(d.sizes(1, 1)),
    "equal sizes, k=30": lambda d: d.case(d.sizes(1, 1, d.many), k=d.many),
    "loose sizes": lambda d: d.case(d.sizes(0.4, 2.5)),
    "sizes by cluster": lambda d: d.case(d.sizes_by_cluster()),
    "weights + sizes": lambda d: d.case({"sample_weight": d.unequal}, d.sizes(0.8, 1.2)),
    "partial labels + sizes": lambda d: d.case(d.partial_labels(), d.sizes(0.5, 1.6)),
    "links + sizes": lambda d: d.case(d.links(), d.sizes(0.5, 1.6)),
    "soft links + sizes": lambda d: d.case(d.soft_links(), d.fixed_cost, d.sizes(0.8, 1.2)),
    "soft links at default cost + sizes": lambda d: d.case(d.soft_links(), d.sizes(0.8, 1.2)),
    "demand within 15%": lambda d: d.case(d.within(d.unequal, 0.15)),
    "demand within 2%": lambda d: d.case(d.within(d.unequal, 0.02)),
    "capacity": lambda d: d.case({"demand": d.unequal, "size_max": 1.2 * d.unequal.sum() / d.k}),
    "links + demand": lambda d: d.case(d.links(), d.within(d.unequal, 0.3)),
    "two resources within 20%": lambda d: d.case(d.within(d.resources(2), 0.2)),
    "three resources within 10%": lambda d: d.case(d.within(d.resources(3), 0.1)),
    "shares of 2 groups": lambda d: d.case(d.shares(d.groups(2), 0.2)),
    "shares of 2 related groups": lambda d: d.case(d.shares(d.related_groups(), 0.2)),
    "shares of 2 groups, k=30": lambda d: d.case(d.shares(d.groups(2), 0.4), k=d.many),
    "shares of 3 groups + sizes": lambda d: d.case(d.shares(d.groups(3), 0.25), d.sizes(0.8, 1.2)),
    "two attributes": lambda d: d.case(d.attributes(2, 3, tolerance=0.25)),
    "three attributes": lambda d: d.case(d.attributes(2, 3, 4, tolerance=0.3)),
    "links + shares": lambda d: d.case(d.links(), d.shares(d.groups(2), 0.3)),
    "shares + demand": lambda d: d.case(d.shares(d.groups(2), 0.3), d.within(d.unequal, 0.2)),
    "links + sizes + shares": lambda d: d.case(d.links(), d.sizes(0.5, 1.6), d.shares(d.groups(2), 0.3)),
}


def objective_of(case: Case, labels: np.ndarray, violation_cost: float | None) -> float:
    """Return SSE plus the cost of broken soft links, from the labels alone."""
    weight = case.asked.get("sample_weight", np.ones(len(labels)))
    total = 0.0
    for j in np.unique(labels):
        rows, inside = case.X[labels == j], weight[labels == j]
        total += float((inside * ((rows - np.average(rows, axis=0, weights=inside)) ** 2).sum(axis=1)).sum())
    for name, is_broken_if_same in (("must_link", False), ("cannot_link", True)):
        links = np.asarray(case.asked.get(name, np.empty((0, 2))))
        if links.shape[1] == 3:
            same = labels[links[:, 0].astype(int)] == labels[links[:, 1].astype(int)]
            total += float(violation_cost or 0.0) * float(links[same == is_broken_if_same, 2].sum())
    return total


def broken_constraints(case: Case, labels: np.ndarray) -> list[str]:
    """Return what of the case the labels break, in words; empty where they keep all of it."""
    if labels.shape != (len(case.X),) or labels.min() < 0 or labels.max() >= case.n_clusters:
        return ["labels are not one of the clusters for each row"]
    checks = (_broken_links, _broken_labels, _broken_sizes, _broken_shares)
    empty = case.n_clusters - np.unique(labels).size
    return [
        *([f"{empty} empty clusters"] if empty else []),
        *(what for check in checks for what in check(case, labels)),
    ]


def _broken_links(case: Case, labels: np.ndarray) -> Iterator[str]:
    for name, is_broken_if_same in (("must_link", False), ("cannot_link", True)):
        links = np.asarray(case.asked.get(name, np.empty((0, 2), dtype=int)))
        if links.shape[1] == 2:
            same = labels[links[:, 0]] == labels[links[:, 1]]
            if (same == is_broken_if_same).any():
                yield f"{int((same == is_broken_if_same).sum())} of {len(links)} {name}"


def _broken_labels(case: Case, labels: np.ndarray) -> Iterator[str]:
    known = case.asked.get("y", np.full(len(labels), -1))
    pairs = np.unique(np.column_stack([known, labels])[known >= 0], axis=0)
    if len(pairs) > min(np.unique(pairs[:, 0]).size, np.unique(pairs[:, 1]).size):
        yield "partial labels"


def _broken_sizes(case: Case, labels: np.ndarray) -> Iterator[str]:
    demand = np.asarray(case.asked.get("demand", np.ones(len(labels)))).reshape(len(labels), -1)
    held = np.array([demand[labels == j].sum(axis=0) for j in range(case.n_clusters)])
    for name, sign in (("size_min", 1), ("size_max", -1)):
        bound = case.settings.get(name)
        if bound is None:
            continue
        bound = np.asarray(bound, dtype=float)
        bound = bound[:, None] if bound.ndim == 1 else bound
        excess = (sign * (bound - held) / np.maximum(np.abs(bound), 1)).max()
        if excess > TOLERANCE:
            yield f"{name} by {excess:.2g} of it"


def _broken_shares(case: Case, labels: np.ndarray) -> Iterator[str]:
    category, t = case.asked.get("category", {}), case.settings.get("share_tolerance", 0.0)
    counts = np.maximum(np.bincount(labels, minlength=case.n_clusters), 1)
    for attribute, groups in category.items() if isinstance(category, dict) else [("", category)]:
        for group in np.unique(groups):
            overall = (groups == group).mean()
            share = np.bincount(labels[groups == group], minlength=case.n_clusters) / counts
            if share.min() < (1 - t) * overall - TOLERANCE or share.max() > overall / (1 - t) + TOLERANCE:
                yield f"share of group {group} {attribute}".strip()
