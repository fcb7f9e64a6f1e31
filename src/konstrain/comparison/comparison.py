"""Several methods on one problem: a record per run, and one table of them all."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Unpack

from joblib import Parallel, delayed
from sklearn.base import clone

from konstrain.comparison.measures import CLOCKED, MEASURES, Instance, fit_and_measure
from konstrain.comparison.records import Record, groups_of, values_of
from konstrain.constraints.arguments import (
    CONNECTIVITY,
    SHARES,
    ConstraintArguments,
    ConstraintKeywords,
    takes_constraints,
)
from konstrain.methods import TO_CONSTRUCTOR, TO_FIT, Method, get_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from polars import DataFrame

_ALWAYS = ("sse", "broken_ml", "broken_cl", "smallest", "largest", "lower_bound", "gap", "proved", *CLOCKED)
_WITH_TRUTH = ("ari", "nmi", "ari_untouched")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What methods made of one problem: a record per run, and a line per method.

    Attributes
    ----------
    rows : list of dict
        One per run: method, seed, status ("done" or "failed"), reason, ignored (constraints that the method does not
        take), and the measures; None where one does not apply.

    Examples
    --------
    >>> rows = [{"method": "a", "seed": seed, "status": "done", "ignored": "", "sse": 4.0 + seed} for seed in (0, 1)]
    >>> Comparison(rows)
    method  runs  failed  best_sse  sse
    a          2       0         4  4.5
    """

    rows: list[dict[str, Any]]

    @property
    def table(self) -> list[dict[str, Any]]:
        """A line per method: means over its runs that did not fail, and the least SSE."""
        return [_line(str(method), runs) for (method,), runs in groups_of(self.rows, ["method"]).items()]

    def to_text(self) -> str:
        """Lay the table out in aligned columns."""
        lines = self.table
        names = [name for name in lines[0] if any(line[name] is not None for line in lines)]
        cells = [names, *([_text(name, line[name]) for name in names] for line in lines)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
        return "\n".join(
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(pairs)
            ).rstrip()
            for pairs in (list(zip(row, widths, strict=True)) for row in cells)
        )

    def __repr__(self) -> str:
        return self.to_text()

    def to_polars(self) -> "DataFrame":
        """Return the runs as a polars frame."""
        import polars

        return polars.DataFrame(self.rows, infer_schema_length=None)

    def plot(self, measure: str = "sse", ax: "Axes | None" = None) -> "Axes":
        """Draw one measure of every run, a line of dots per method.

        Parameters
        ----------
        measure : str, default="sse"
            A column of `rows`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        """
        from konstrain.plotting._style import axes_or_new, color, remove_frame

        ax = axes_or_new(ax)
        groups = groups_of(self.rows, ["method"])
        for place, ((_method,), runs) in enumerate(groups.items()):
            values = values_of(runs, measure)
            ax.plot(values, [place] * len(values), "o", alpha=0.6, color=color(place))
        ax.set_yticks(range(len(groups)), [str(method) for (method,) in groups])
        ax.invert_yaxis()
        ax.set_xlabel(MEASURES[measure].title)
        remove_frame(ax)
        return ax


@takes_constraints("groups", *SHARES, "diameter_max", "separation_min", *CONNECTIVITY)
def compare(
    X: Any,
    methods: Iterable[Any],
    n_clusters: int,
    *,
    labels: Any = None,
    seeds: Iterable[int] = (0, 1, 2),
    time_limit: float | None = 60.0,
    n_jobs: int | None = None,
    **asked: Unpack[ConstraintKeywords],
) -> Comparison:
    """Run several methods on the same rows under the same constraints.

    A method gets the constraints that it understands; `rows` name the rest, and broken links, sizes and SSE are
    measured with them all the same.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to cluster.
    methods : iterable of str or estimator
        Names in `konstrain.methods.METHODS`, or estimators (cloned; their own parameters stay, but for `n_clusters`,
        `random_state` and the limits given here).
    n_clusters : int
        Number of clusters.
    labels : array-like of shape (n_samples,), optional
        True classes: ARI and NMI are measured too. No method sees them.
    seeds : iterable of int, default=(0, 1, 2)
        One run of each method per seed.
    time_limit : float or None, default=60
        Seconds, for methods that take a limit.
    n_jobs : int, optional
        Runs at once, in joblib's sense.

    Returns
    -------
    comparison : Comparison
        A method that fails has rows with the reason; the others go on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> methods = ["constrained-kmeans", "kmeans"]
    >>> found = compare(iris.data, methods, 3, cannot_link=[(0, 1), (2, 3)], labels=iris.target, seeds=[0])
    >>> [(line["method"], line["broken_cl"]) for line in found.table]
    [('constrained-kmeans', 0.0), ('kmeans', 2.0)]
    """
    instance = Instance(X, n_clusters, labels, ConstraintArguments(**asked).given())
    chosen = _named(methods)
    tasks = [(label, method, seed) for seed in list(seeds) for label, method in chosen.items()]
    if not tasks:
        raise ValueError("there is nothing to compare; give at least one method and one seed")
    rows = Parallel(n_jobs=n_jobs)(delayed(_run)(instance, *task, time_limit) for task in tasks)
    return Comparison(rows)


@dataclass(frozen=True)
class _Given(Method):
    """An estimator object with the face of a method by name."""

    model: Any = None

    @classmethod
    def of(cls, model: Any) -> "_Given":
        params, fit = model.get_params(deep=False), signature(model.fit).parameters
        takes = {name for name in TO_CONSTRUCTOR if name in params} | {name for name in TO_FIT if name in fit}
        return cls(type(model).__name__, "", "", "", frozenset(takes), model=model)

    def make(self, **params: Any) -> Any:
        return clone(self.model).set_params(**params)


def _named(methods: Iterable[Any]) -> dict[str, Method]:
    """Find the methods, and give each a label: its name, numbered where there are several alike."""
    found = [get_method(method) if isinstance(method, str) else _Given.of(method) for method in methods]
    names = [method.name for method in found]
    labels = [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name for i, name in enumerate(names)
    ]
    return dict(zip(labels, found, strict=True))


def _run(instance: Instance, label: str, method: Method, seed: int, time_limit: float | None) -> dict[str, Any]:
    names = (*(_WITH_TRUTH if instance.labels is not None else ()), *_ALWAYS)
    row: dict[str, Any] = {"method": label, "seed": seed, "status": "done", "reason": None}
    row["ignored"] = ", ".join(method.ignores(**instance.constraints))
    try:
        measures = fit_and_measure(instance, method, names, params={}, random_state=seed, time_limit=time_limit)
    except Exception as error:
        # What one method cannot do is a finding, not the end of the comparison.
        return {**row, "status": "failed", "reason": f"{type(error).__name__}: {error}", **dict.fromkeys(names)}
    return {**row, **measures}


def _line(method: str, runs: Sequence[Record]) -> dict[str, Any]:
    """Sum up the runs of a method."""
    names = [name for name in runs[0] if name in MEASURES]
    values = {name: values_of(runs, name) for name in names}
    line: dict[str, Any] = {
        "method": method,
        "runs": len(runs),
        "failed": sum(run["status"] == "failed" for run in runs),
        "best_sse": min(values["sse"], default=None),
    }
    line |= {name: statistics.fmean(values[name]) if values[name] else None for name in names}
    return {**line, "ignored": runs[0]["ignored"] or None}


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6g}" if "sse" in name or "bound" in name else f"{value:.{MEASURES[name].digits}f}"
