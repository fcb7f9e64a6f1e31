"""How an experiment is written down: problems, contenders, measures, and the published numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from konstrain.comparison.measures import Instance
from konstrain.experiments.published import Claim, Distribution, Figure, PaperTable
from konstrain.methods import METHODS

# Seconds that a row may take beyond the limit its method was given: building the problem, measuring, and slack.
GRACE: Final = 60.0


@dataclass(frozen=True)
class Case:
    """A problem before it is built: small enough to send anywhere.

    Parameters
    ----------
    make : callable
        ``make(folder, seed)`` builds the `Instance`; must be importable where rows run.
    seed : int
        What the draw of constraints, and of data where data are drawn, starts from.
    fields : tuple of (name, value)
        What tables group by, such as ``(("data", "iris"), ("constraints", "CS10"))``; with the seed it is unique.
    """

    make: Callable[[Path | None, int], Instance]
    seed: int
    fields: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, make: Callable[[Path | None, int], Instance], *, seed: int, **fields: Any) -> "Case":
        """Write a case down with its fields as keywords."""
        return cls(make, seed, tuple(fields.items()))

    @property
    def key(self) -> str:
        """Text that names this case among all of its experiment.

        Examples
        --------
        >>> Case.of(print, seed=3, data="iris", constraints="CS10").key
        'data=iris constraints=CS10 set=3'
        """
        return " ".join(f"{name}={value}" for name, value in (*self.fields, ("set", self.seed)))


def everywhere(case: Case) -> bool:
    """Return True: the contender runs on every case."""
    return True


@dataclass(frozen=True)
class Contender:
    """A method as it takes part: under its label in the tables, with its parameters, runs and limits.

    Parameters
    ----------
    label : str
        Its name in the tables, the published one where there is one.
    method : str
        Its name in `konstrain.methods.METHODS`.
    params : tuple of (name, value)
        More parameters of the constructor.
    n_runs : int
        Runs per case from different seeds.
    time_limit : float
        Seconds, passed to the method if it takes a limit; `GRACE` later the row is ended from outside.
    memory_limit : float or None
        Megabytes that a row may ask for beyond what the process holds; None: no limit.
    fits : callable
        Whether it runs on a case.
    """

    label: str
    method: str
    params: tuple[tuple[str, Any], ...] = ()
    n_runs: int = 1
    time_limit: float = 60.0
    memory_limit: float | None = 4000.0
    fits: Callable[[Case], bool] = everywhere

    @property
    def key(self) -> str:
        """Text that names the contender and everything that its results depend on.

        Examples
        --------
        >>> Contender("BLPKM-CC", "blp-kmeans", params=(("n_init", 5),)).key
        'blp-kmeans(n_init=5) limit=60'
        """
        # A function's own text has its place in memory, which is another one in the next run.
        params = ", ".join(f"{name}={getattr(value, '__name__', repr(value))}" for name, value in self.params)
        return f"{self.method}({params}) limit={self.time_limit:g}"


@dataclass(frozen=True)
class Row:
    """One run: a case, a contender, a run number."""

    case: Case
    contender: Contender
    run: int

    @property
    def key(self) -> str:
        """Text that is the same whenever the same run is meant: what resuming and comparing rely on."""
        return f"{self.case.key} | {self.contender.key} | run={self.run}"

    @property
    def random_state(self) -> int:
        """The seed of the method: another one for each run and each draw of constraints."""
        return 1000 * self.case.seed + self.run


def whole(row: Row) -> bool:
    """Return True: the quick form is the whole experiment."""
    return True


@dataclass(frozen=True)
class Experiment:
    """Data x constraints x methods x seeds x measures, and what a paper published about them.

    Parameters
    ----------
    name, title : str
        What commands call it; what the report's first line says.
    reference : str
        The paper.
    cases : callable
        Makes the cases, always the same ones in the same order.
    contenders : tuple of Contender
        Those whose method is not in `konstrain.methods.METHODS` are left out and named in the report.
    measures : tuple of str
        Names in `konstrain.comparison.measures.MEASURES`.
    tables, figures, claims : tuple
        What the report shows.
    quick : callable
        Which rows the quick form runs: about a tenth.
    notes : tuple of str
        What a reader must know: where the paper is silent, and what replaces data that are not public.
    """

    name: str
    title: str
    reference: str
    cases: Callable[[], Iterator[Case]]
    contenders: tuple[Contender, ...]
    measures: tuple[str, ...]
    tables: tuple[PaperTable, ...] = ()
    figures: tuple[Figure | Distribution, ...] = ()
    claims: tuple[Claim, ...] = ()
    quick: Callable[[Row], bool] = whole
    notes: tuple[str, ...] = ()

    @cached_property
    def present(self) -> tuple[Contender, ...]:
        """The contenders whose methods exist."""
        return tuple(contender for contender in self.contenders if contender.method in METHODS)

    @cached_property
    def missing(self) -> tuple[Contender, ...]:
        """The contenders whose methods do not exist."""
        return tuple(contender for contender in self.contenders if contender.method not in METHODS)

    def rows(self, *, quick: bool = False) -> list[Row]:
        """Return all runs, or those of the quick form, in the order in which they are done."""
        rows = (
            Row(case, contender, run)
            for case in self.cases()
            for contender in self.present
            if contender.fits(case)
            for run in range(contender.n_runs)
        )
        return [row for row in rows if not quick or self.quick(row)]
