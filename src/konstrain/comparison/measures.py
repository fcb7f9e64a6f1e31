"""What is measured of one run: each measure a function of its outcome, by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from konstrain.comparison.instance import Instance
from konstrain.constraints.inputs import read_links
from konstrain.metrics import Violations, count_violations, sum_of_squares, touched_rows

# Values that a clock or the operating system gives: two runs of the same row differ in these and in nothing else.
CLOCKED = ("seconds", "cpu_seconds", "peak_mb")


@dataclass(frozen=True)
class Taken:
    """What a fit took: seconds on the clock, seconds of processors, and the most memory its process held."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fitted method, the problem it was given, and what the run took."""

    instance: Instance
    model: Any
    taken: Taken

    @cached_property
    def labels(self) -> NDArray[Any]:
        """Cluster of each row."""
        return np.asarray(self.model.labels_)

    @cached_property
    def links(self) -> dict[str, Any]:
        """The links of the problem, whether the method looked at them or not."""
        return {kind: self.instance.constraints.get(kind) for kind in ("must_link", "cannot_link")}

    @cached_property
    def violations(self) -> Violations:
        """Broken links, counted again from the labels."""
        return count_violations(self.labels, **self.links)

    def count(self, kind: str) -> int:
        """Links of one kind."""
        return len(read_links(kind, self.links[kind], self.labels.size).pairs)

    def agreement(self, score: Callable[..., float], rows: Any = slice(None)) -> float | None:
        """Score of the labels of some rows beside the truth; nothing to say without truth or rows."""
        if self.instance.labels is None or self.labels[rows].size == 0:
            return None
        return float(score(np.asarray(self.instance.labels)[rows], self.labels[rows]))

    def untouched(self, *kinds: str) -> NDArray[np.bool_]:
        """Rows that no link of these kinds names."""
        return ~touched_rows(self.labels.size, **{kind: self.links[kind] for kind in kinds})


def _share(broken: int, total: int) -> float | None:
    return broken / total if total else None


def _told(name: str) -> Callable[[Outcome], Any]:
    """Read a fitted attribute that only some methods have."""

    def read(outcome: Outcome) -> Any:
        value = getattr(outcome.model, name, None)
        return value.item() if isinstance(value, np.generic) else value

    return read


def _sizes(outcome: Outcome) -> list[float]:
    """What each cluster holds: rows, or demand where rows have one."""
    demand = outcome.instance.constraints.get("demand")
    found: list[float] = np.bincount(outcome.labels, demand, outcome.instance.n_clusters).tolist()
    return found


def _share_room(outcome: Outcome) -> float | None:
    """Least share of a group in a cluster, less the share asked for: negative where a cluster has too little."""
    asked = outcome.instance.constraints
    if not isinstance(asked.get("share_min"), float):
        return None
    groups, codes = np.unique(asked["category"], return_inverse=True)
    shape = (outcome.instance.n_clusters, groups.size)
    counts = np.bincount(np.ravel_multi_index((outcome.labels, codes), shape), minlength=shape[0] * shape[1])
    by_cluster = counts.reshape(shape)
    return float((by_cluster / by_cluster.sum(axis=1, keepdims=True)).min() - asked["share_min"])


def _sse(outcome: Outcome) -> float:
    weight = outcome.instance.constraints.get("sample_weight")
    return sum_of_squares(outcome.instance.X, outcome.labels, weight)


@dataclass(frozen=True)
class Measure:
    """One measure: what tables call it, how many digits they show, and how it is found."""

    name: str
    title: str
    digits: int
    of: Callable[[Outcome], Any]


_ALL = (
    Measure("ari", "ARI", 3, lambda o: o.agreement(adjusted_rand_score)),
    Measure("nmi", "NMI", 3, lambda o: o.agreement(normalized_mutual_info_score)),
    Measure("rand", "Rand index", 3, lambda o: o.agreement(rand_score)),
    Measure(
        "ari_untouched",
        "ARI, rows without links",
        3,
        lambda o: o.agreement(adjusted_rand_score, o.untouched("must_link", "cannot_link")),
    ),
    Measure(
        "nmi_untouched",
        "NMI, rows without links",
        3,
        lambda o: o.agreement(normalized_mutual_info_score, o.untouched("must_link", "cannot_link")),
    ),
    Measure(
        "nmi_without_ml",
        "NMI, rows without must-links",
        3,
        lambda o: o.agreement(normalized_mutual_info_score, o.untouched("must_link")),
    ),
    Measure("broken_ml", "broken must-links", 1, lambda o: o.violations.must_link),
    Measure("broken_cl", "broken cannot-links", 1, lambda o: o.violations.cannot_link),
    Measure("broken", "broken links", 1, lambda o: o.violations.total),
    Measure(
        "broken_ml_share",
        "broken must-links, share",
        3,
        lambda o: _share(o.violations.must_link, o.count("must_link")),
    ),
    Measure(
        "broken_cl_share",
        "broken cannot-links, share",
        3,
        lambda o: _share(o.violations.cannot_link, o.count("cannot_link")),
    ),
    Measure("kept_all", "all links kept", 3, lambda o: o.violations.total == 0),
    Measure("sse", "SSE", 4, _sse),
    Measure(
        "sse_kept",
        "SSE of runs that keep all links",
        4,
        lambda o: _sse(o) if o.violations.total == 0 else None,
    ),
    Measure("sizes", "cluster sizes", 0, _sizes),
    Measure("smallest", "smallest cluster", 0, lambda o: min(_sizes(o))),
    Measure("largest", "largest cluster", 0, lambda o: max(_sizes(o))),
    Measure("share_room", "least share above its bound", 6, _share_room),
    Measure("lower_bound", "lower bound", 4, _told("lower_bound_")),
    Measure("gap", "gap", 6, _told("gap_")),
    Measure("proved", "proved", 3, _told("is_optimal_")),
    Measure("prover", "bound that proved", 0, _told("prover_")),
    Measure("seconds", "seconds", 3, lambda o: o.taken.seconds),
    Measure("cpu_seconds", "processor seconds", 3, lambda o: o.taken.cpu_seconds),
    Measure("peak_mb", "peak memory, MB", 0, lambda o: o.taken.peak_mb),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _ALL})


def measure(outcome: Outcome, names: Iterable[str]) -> dict[str, Any]:
    """Take some measures of one run.

    Parameters
    ----------
    outcome : Outcome
        The run.
    names : iterable of str
        Names in `MEASURES`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> instance = Instance([[0.0], [1.0], [5.0]], 2, constraints={"cannot_link": [(0, 1)]})
    >>> outcome = Outcome(instance, SimpleNamespace(labels_=[0, 0, 1]), Taken(0.5, 0.5, 80.0))
    >>> measure(outcome, ["sse", "broken_cl_share", "sizes"])
    {'sse': 0.5, 'broken_cl_share': 1.0, 'sizes': [2, 1]}
    """
    return {name: MEASURES[name].of(outcome) for name in names}
