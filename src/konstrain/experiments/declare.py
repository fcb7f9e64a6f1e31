"""How an experiment is written down: problems, contenders, measures, and the published numbers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from konstrain.comparison.measures import Instance
from konstrain.comparison.records import matches
from konstrain.experiments.published import Claim, Distribution, Figure, PaperTable
from konstrain.files import RowNames, read_links_file

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
        return " ".join(f"{name}={value}" for name, value in self.facts.items())

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, and the seed as "set"."""
        return dict((*self.fields, ("set", self.seed)))


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
    where : mapping
        On which cases it runs, by their fields and "set": a value, or a tuple or range of them; all by default.
    """

    label: str
    method: str
    params: tuple[tuple[str, Any], ...] = ()
    n_runs: int = 1
    time_limit: float = 60.0
    memory_limit: float | None = 4000.0
    where: Mapping[str, Any] = field(default_factory=dict)

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

    @property
    def facts(self) -> dict[str, Any]:
        """What the case says, with "method" and "run"."""
        return {**self.case.facts, "method": self.contender.label, "run": self.run}


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
        Methods that take part.
    measures : tuple of str
        Names in `konstrain.comparison.measures.MEASURES`.
    tables, figures, claims : tuple
        What the report shows.
    quick : tuple of mappings
        Which rows the quick form runs, about a tenth: those that match any of these, as in `Contender.where`.
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
    quick: tuple[Mapping[str, Any], ...] = ({},)
    notes: tuple[str, ...] = ()

    def varied(self, *, starts: int | None = None, links: Path | None = None) -> "Experiment":
        """Return the same experiment with another number of starts, or under links of one's own.

        Parameters
        ----------
        starts : int, optional
            Runs per case of each contender that has more than one.
        links : path, optional
            Folder with a file of links for each case to be run; see `links_file_of`. Other cases are left out.
        """
        contenders = tuple(
            replace(contender, n_runs=starts) if starts is not None and contender.n_runs > 1 else contender
            for contender in self.contenders
        )
        cases = self.cases if links is None else partial(_cases_of_files, self.cases, links)
        return replace(self, contenders=contenders, cases=cases)

    def rows(self, *, quick: bool = False) -> list[Row]:
        """Return all runs, or those of the quick form, in the order in which they are done."""
        rows = (
            Row(case, contender, run)
            for case in self.cases()
            for contender in self.contenders
            if matches(case.facts, contender.where)
            for run in range(contender.n_runs)
        )
        return [row for row in rows if not quick or any(matches(row.facts, part) for part in self.quick)]


def links_file_of(case: Case) -> str:
    """Return what a file of links for a case is called: the values of its fields.

    Examples
    --------
    >>> links_file_of(Case.of(print, seed=0, data="iris", constraints="CS10"))
    'iris-CS10.csv'
    """
    return "-".join(str(value) for _, value in case.fields) + ".csv"


def _cases_of_files(cases: Callable[[], Iterator[Case]], folder: Path) -> Iterator[Case]:
    """Yield each case that has a file of links in a folder, once: with its first seed."""
    paths = {path.name: path for path in sorted(folder.glob("*.csv"))}
    firsts: dict[str, Case] = {}
    for case in cases():
        firsts.setdefault(links_file_of(case), case)
    unknown = [name for name in paths if name not in firsts]
    if unknown or not paths:
        what = f"{unknown[0]} is for no case" if unknown else "no file of links is there"
        raise ValueError(f"{folder}: {what}; files are called like {next(iter(firsts))}")
    for name, case in firsts.items():
        if name in paths:
            make = partial(_with_links, case.make, paths[name])
            yield Case(make, case.seed, (*case.fields, ("links_file", name)))


def _with_links(make: Callable[[Path | None, int], Instance], path: Path, folder: Path | None, seed: int) -> Instance:
    """Build a problem and take its links from a file."""
    instance = make(folder, seed)
    found = read_links_file(path, RowNames(len(instance.X)))
    links = {"must_link": found.must_link, "cannot_link": found.cannot_link}
    return replace(instance, constraints={**instance.constraints, **links})
