"""One method on one problem: a timed fit, and what is measured of it, by name."""

import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from konstrain.constraints.inputs import read_links
from konstrain.methods import Method
from konstrain.metrics import Violations, count_violations, sum_of_squares, touched_rows


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem as methods get it, and the truth that their answers are measured with.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to cluster.
    n_clusters : int
        Number of clusters.
    labels : array-like of shape (n_samples,), optional
        True classes; only measures see them.
    constraints : mapping
        Arguments of `konstrain.methods.Method.fit`: must_link, cannot_link, size_min, size_max, ...
    """

    X: Any
    n_clusters: int
    labels: Any = None
    constraints: Mapping[str, Any] = field(default_factory=dict)


# Values that a clock or the operating system gives: two runs of the same row differ in these and in nothing else.
CLOCKED = ("seconds", "cpu_seconds", "peak_mb")


@dataclass(frozen=True)
class Taken:
    """What a fit took: seconds on the clock, seconds of processors, and the most memory its process held."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True, eq=False)
class FitOutcome:
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


def _attribute(name: str) -> Callable[[FitOutcome], Any]:
    """Read a fitted attribute that only some methods have."""

    def read(outcome: FitOutcome) -> Any:
        value = getattr(outcome.model, name, None)
        return value.item() if isinstance(value, np.generic) else value

    return read


def _sizes(outcome: FitOutcome) -> list[float]:
    """What each cluster holds: rows, or demand where rows have one."""
    demand = outcome.instance.constraints.get("demand")
    found: list[float] = np.bincount(outcome.labels, demand, outcome.instance.n_clusters).tolist()
    return found


def _share_slack(outcome: FitOutcome) -> float | None:
    """Least share of a group in a cluster, less the share asked for: negative where a cluster has too little."""
    asked = outcome.instance.constraints
    if not isinstance(asked.get("share_min"), float):
        return None
    groups, codes = np.unique(asked["category"], return_inverse=True)
    shape = (outcome.instance.n_clusters, groups.size)
    counts = np.bincount(np.ravel_multi_index((outcome.labels, codes), shape), minlength=shape[0] * shape[1])
    by_cluster = counts.reshape(shape)
    return float((by_cluster / by_cluster.sum(axis=1, keepdims=True)).min() - asked["share_min"])


def _sse(outcome: FitOutcome) -> float:
    weight = outcome.instance.constraints.get("sample_weight")
    return sum_of_squares(outcome.instance.X, outcome.labels, weight)


@dataclass(frozen=True)
class Measure:
    """One measure: what tables call it, how many digits they show, and how it is found."""

    name: str
    title: str
    digits: int
    of: Callable[[FitOutcome], Any]


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
    Measure("one_cluster", "all rows in one cluster", 3, lambda o: bool((o.labels == o.labels[0]).all())),
    Measure("share_slack", "least share above its bound", 6, _share_slack),
    Measure("lower_bound", "lower bound", 4, _attribute("lower_bound_")),
    Measure("gap", "gap", 6, _attribute("gap_")),
    Measure("proved", "proved", 3, _attribute("is_optimal_")),
    Measure("split", "rows split between clusters", 1, _attribute("n_split_")),
    Measure("prover", "bound that proved", 0, _attribute("prover_")),
    Measure("seconds", "seconds", 3, lambda o: o.taken.seconds),
    Measure("cpu_seconds", "processor seconds", 3, lambda o: o.taken.cpu_seconds),
    Measure("peak_mb", "peak memory, MB", 0, lambda o: o.taken.peak_mb),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _ALL})


def measure(outcome: FitOutcome, names: Iterable[str]) -> dict[str, Any]:
    """Take some measures of one run."""
    return {name: MEASURES[name].of(outcome) for name in names}


_MEGABYTE: Final = 2**20


def reset_peak() -> None:
    """Start measuring the peak of memory anew, where the system can."""
    marks = Path("/proc/self/clear_refs")
    if marks.exists():
        marks.write_text("5")


def peak_megabytes() -> float:
    """Most memory that this process has held since `reset_peak`, or ever where that does nothing."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return float(lines["VmHWM"].split()[0]) * 1024 / _MEGABYTE
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _MEGABYTE


def fit_and_measure(
    instance: Instance,
    method: Method,
    measures: tuple[str, ...],
    *,
    params: Mapping[str, Any],
    random_state: int,
    time_limit: float | None,
) -> dict[str, Any]:
    """Fit a method and measure its answer; only the fit is timed."""
    reset_peak()
    with warnings.catch_warnings():
        # What a warning would say (not proved, not converged) is among the measures.
        warnings.simplefilter("ignore")
        begun, cpu_begun = time.perf_counter(), time.process_time()
        model = method.fit(
            instance.X,
            instance.n_clusters,
            params=params,
            random_state=random_state,
            time_limit=time_limit,
            **instance.constraints,
        )
        taken = Taken(time.perf_counter() - begun, time.process_time() - cpu_begun, peak_megabytes())
    outcome = FitOutcome(instance, model, taken)
    return measure(outcome, measures)
