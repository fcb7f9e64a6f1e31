"""Evidence that constraints clash, in a form a program can read; `explain.py` has the words for people."""

from dataclasses import dataclass
from typing import Any

from konstrain.exceptions import InfeasibleError


@dataclass(frozen=True)
class Hop:
    """One step of a must-link path.

    Parameters
    ----------
    rows : tuple of two ints
        The rows this step ties together.
    source : str
        What ties them: ``"must_link"``, ``"separation_min"``, ``"groups"`` or ``"labels"``.
    name : object
        The group or label both rows have; None for the other sources.
    """

    rows: tuple[int, int]
    source: str
    name: Any = None


@dataclass(frozen=True)
class MustLinkPath:
    """Two rows that must be apart, and the shortest chain of must-links that ties them together.

    Parameters
    ----------
    pair : tuple of two ints
        The rows that must be apart; both ends of `rows`.
    source : str
        Why they must: ``"cannot_link"``, ``"diameter_max"`` or ``"labels"``.
    rows : tuple of ints
        The rows along the path.
    hops : tuple of Hop
        The steps of the path, one fewer than rows.

    Examples
    --------
    >>> from konstrain import check
    >>> path = check(9, 2, must_link=[(0, 4), (4, 7)], cannot_link=[(0, 7)]).findings[0].witness
    >>> path.pair, path.rows, path.hops[0].source
    ((0, 7), (0, 4, 7), 'must_link')
    """

    pair: tuple[int, int]
    source: str
    rows: tuple[int, ...]
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class UncolorableRows:
    """Rows whose cannot-links need more clusters than there are.

    Parameters
    ----------
    rows : tuple of ints
        The first row of each block involved.
    pairs : tuple of (int, int, str)
        The cannot-links among these blocks, each with what asks for it, such as ``"cannot_link"``.
    n_clusters : int
        The number of clusters that is too small.
    is_clique : bool
        Whether each two of the blocks are in conflict.
    irreducible : bool
        Whether it is proved that leaving out any one of the rows would make the rest possible.
    conflicts : tuple of (int, int)
        The ends of `pairs` as first rows of their blocks: the graph over `rows`.

    Examples
    --------
    >>> from konstrain import check
    >>> found = check(9, 2, must_link=[(0, 8)], cannot_link=[(0, 1), (1, 2), (2, 8)]).findings[0].witness
    >>> found.rows, found.is_clique, found.conflicts
    ((0, 1, 2), True, ((0, 1), (2, 0), (1, 2)))
    """

    rows: tuple[int, ...]
    pairs: tuple[tuple[int, int, str], ...]
    n_clusters: int
    is_clique: bool
    irreducible: bool
    conflicts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SizeSums:
    """Numbers that cannot add up.

    Parameters
    ----------
    needed, available : float
        What the constraints ask for and what there is; needed is the larger one.
    rows : tuple of ints
        The rows this is about, where it is about some of them: a block that fits nowhere, or the first rows of
        blocks that cannot share clusters.

    Examples
    --------
    >>> from konstrain import check
    >>> check(150, 3, size_max=40).findings[0].witness
    SizeSums(needed=150.0, available=120.0, rows=())
    """

    needed: float
    available: float
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One reason why no clustering exists.

    Parameters
    ----------
    reason : str
        The same words as `InfeasibleError.reason`.
    message : str
        What clashes, with rows and values, and the way out.
    witness : MustLinkPath, UncolorableRows, SizeSums or None
        The evidence; None where only everything together clashes.

    Examples
    --------
    >>> from konstrain import check
    >>> finding = check(150, 3, size_max=40).findings[0]
    >>> finding.reason
    'sizes'
    >>> finding.message
    'size_max adds up to 120 over 3 clusters, but there are 150 rows; raise size_max or ask for more clusters.'
    """

    reason: str
    message: str
    witness: Any

    def error(self) -> InfeasibleError:
        """Make the error that says this."""
        return InfeasibleError(self.message, reason=self.reason, witness=self.witness)
