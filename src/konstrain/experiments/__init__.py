"""The papers' experiments: declared in a file each, run row by row, reported together with what was published.

>>> list_experiments()[0].name
'baumann2020'
"""

from pathlib import Path

from konstrain.comparison.measures import Instance
from konstrain.experiments.declare import Case, Contender, Experiment, Row
from konstrain.experiments.papers import PAPERS
from konstrain.experiments.report import write_files
from konstrain.experiments.runner import Summary, run_rows

__all__ = [
    "Case",
    "Contender",
    "Experiment",
    "Instance",
    "Row",
    "Summary",
    "get_experiment",
    "list_experiments",
    "run_experiment",
    "write_report",
]


def list_experiments() -> list[Experiment]:
    """Return the experiments that are declared, one per paper."""
    return list(PAPERS.values())


def get_experiment(name: str) -> Experiment:
    """Return the experiment called `name`.

    Examples
    --------
    >>> get_experiment("baumann2020").reference[:7]
    'Baumann'
    """
    try:
        return PAPERS[name]
    except KeyError:
        raise ValueError(f"there is no experiment {name!r}; there are: {', '.join(PAPERS)}") from None


def run_experiment(
    experiment: str | Experiment,
    *,
    db: str | Path,
    data: str | Path | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    retry: bool = False,
    quiet: bool = False,
    starts: int | None = None,
    links: str | Path | None = None,
) -> Summary:
    """Run the rows of an experiment that are not in the file yet.

    Each row runs in a process of its own, within its limits of time and memory; a row that fails is kept with the
    reason. Every finished row is in the file at once, so that a run which was killed goes on where it was.

    Parameters
    ----------
    experiment : str or Experiment
        A name from `list_experiments`, or a declaration of your own (its functions must be importable).
    db : path
        SQLite file, made if it is not there.
    data : path, optional
        Folder of data sets that do not come with the library.
    quick : bool, default=False
        Run the tenth that the experiment declares.
    n_jobs : int, optional
        Workers, in joblib's sense; backends set with `joblib.parallel_config` are used.
    retry : bool, default=False
        Run failed rows again.
    quiet : bool, default=False
        Show no progress; none is shown when standard error is not a terminal.
    starts : int, optional
        Runs per case of each method that has more than one; default: as declared.
    links : path, optional
        Folder with constraint files of your own, one for each case to be run, called by its fields: iris-CS10.csv.
        Lines are ``ML i j`` or ``CL i j``, rows numbered from 0 (`konstrain.files.read_links_file` reads them).

    Returns
    -------
    summary : Summary
        Counts of rows and the seconds this took.
    """
    chosen = _chosen(experiment, starts, links)
    folder = None if data is None else Path(data)
    return run_rows(chosen, db=Path(db), data=folder, quick=quick, n_jobs=n_jobs, retry=retry, quiet=quiet)


def _chosen(experiment: str | Experiment, starts: int | None, links: str | Path | None) -> Experiment:
    chosen = get_experiment(experiment) if isinstance(experiment, str) else experiment
    return chosen.varied(starts=starts, links=None if links is None else Path(links))


def write_report(
    experiment: str | Experiment,
    *,
    db: str | Path,
    output: str | Path,
    starts: int | None = None,
    links: str | Path | None = None,
) -> Path:
    """Write what was published and what we found, side by side.

    Parameters
    ----------
    experiment : str or Experiment
        A name from `list_experiments`, or a declaration of your own.
    db : path
        SQLite file that `run_experiment` wrote; rows that are not there yet are left out.
    output : path
        Folder, made if it is not there: NAME.md with its pictures, and the raw rows as NAME.parquet. Each file
        appears whole or not at all.
    starts, links : optional
        As the rows were run.

    Returns
    -------
    path : Path
        The Markdown file.
    """
    return write_files(_chosen(experiment, starts, links), db=Path(db), output=Path(output))
