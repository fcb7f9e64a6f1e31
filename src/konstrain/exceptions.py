"""The errors and warnings konstrain raises, each with what a caller needs to act on it."""

from typing import Any


class InfeasibleError(ValueError):
    """No clustering satisfies the constraints; names those that clash.

    Parameters
    ----------
    message : str
        What clashes, with rows named, and the way out.
    reason : str
        One of ``"contradiction"``, ``"too few clusters"``, ``"sizes"``, ``"demand"``, ``"non-empty"``,
        ``"components"``, ``"combination"``.
    witness : object
        The evidence: a must-link path, a clique, an uncolourable set of rows, the sums that cannot add up, or the
        components of the graph that do not fit the clusters.

    Examples
    --------
    >>> from konstrain import ConstrainedKMeans
    >>> try:
    ...     ConstrainedKMeans(2, size_max=1).fit([[0.0], [1.0], [2.0]])
    ... except InfeasibleError as error:
    ...     print(error.reason, error.witness.needed, error.witness.available)
    sizes 3.0 2.0
    """

    def __init__(self, message: str, *, reason: str, witness: Any = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_infeasible, (str(self), self.reason, self.witness)


def _rebuild_infeasible(message: str, reason: str, witness: Any) -> InfeasibleError:
    # Exceptions with keyword arguments do not unpickle by themselves, and restarts run in other processes.
    return InfeasibleError(message, reason=reason, witness=witness)


class UndecidedError(RuntimeError):
    """The time limit ended before any feasible labels were found or infeasibility was proved.

    Raise the time limit, or relax sizes or links, and try again.

    Examples
    --------
    >>> issubclass(UndecidedError, RuntimeError)
    True
    """


class DeadEndError(RuntimeError):
    """A greedy method found no cluster left for some rows; a clustering may exist nonetheless.

    Parameters
    ----------
    message : str
        Which rows, which constraint excludes each cluster, and what to change.
    rows : list of int
        The must-linked rows for which no cluster was left.
    occupied_by : list of int
        For each cluster a row in it that one of `rows` cannot be linked with.

    Examples
    --------
    >>> error = DeadEndError("no cluster is left for row 4", rows=[4], occupied_by=[0, 2])
    >>> error.rows, error.occupied_by
    ([4], [0, 2])
    """

    def __init__(self, message: str, *, rows: list[int], occupied_by: list[int]) -> None:
        super().__init__(message)
        self.rows = rows
        self.occupied_by = occupied_by

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_dead_end, (str(self), self.rows, self.occupied_by)


def _rebuild_dead_end(message: str, rows: list[int], occupied_by: list[int]) -> DeadEndError:
    return DeadEndError(message, rows=rows, occupied_by=occupied_by)


class NotProvenWarning(UserWarning):
    """Labels are feasible, but their optimality was not proved within the time limit.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", NotProvenWarning)  # when a good clustering is enough
    """


class FileError(ValueError):
    """A file cannot be read or written; names the file, the line and the value.

    Examples
    --------
    >>> from konstrain.files import read_table
    >>> try:
    ...     read_table("rows.csv")
    ... except FileError as error:
    ...     print(error)
    cannot read rows.csv: No such file or directory
    """
