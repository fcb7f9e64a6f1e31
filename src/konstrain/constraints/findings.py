"""Reasons why no clustering exists: the evidence for programs, and the messages for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from konstrain._messages import listed, row_term, term
from konstrain.constraints.arguments import Constraints
from konstrain.exceptions import InfeasibleError


@dataclass(frozen=True)
class Hop:
    """One step of a must-link path."""

    rows: tuple[int, int]  # The rows this step ties together.
    source: str  # What ties them: ``"must_link"``, ``"separation_min"``, ``"groups"`` or ``"labels"``.
    name: Any = None  # The group or label both rows have; None for the other sources.


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
        The cannot-links among these blocks, each with its source, such as ``"cannot_link"``.
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
        The sum that the constraints need and the one there is; needed is the larger one.
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
class GraphComponents:
    """Components of the graph of `connectivity` that do not fit the clusters.

    Parameters
    ----------
    held : tuple of float
        Rows, demand or the bounded resource in each component.
    rows : tuple of ints
        The first row of each component.
    component : int or None
        The component that no whole clusters can fill; None where it is about all together.

    Examples
    --------
    >>> from konstrain import check
    >>> check(5, 2, connectivity=[(0, 1), (1, 2), (2, 3)], size_min=2).findings[0].witness
    GraphComponents(held=(4.0, 1.0), rows=(0, 4), component=1)
    """

    held: tuple[float, ...]
    rows: tuple[int, ...]
    component: int | None


@dataclass(frozen=True)
class Finding:
    """One reason why no clustering exists.

    Parameters
    ----------
    reason : str
        As in `InfeasibleError.reason`.
    message : str
        What clashes, with rows and values, and the way out.
    witness : MustLinkPath, UncolorableRows, SizeSums, GraphComponents or None
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
        """Return the finding as an error."""
        return InfeasibleError(self.message, reason=self.reason, witness=self.witness)


def contradiction(constraints: Constraints, path: MustLinkPath) -> Finding:
    """Return that two rows must be both apart and together."""
    chain = listed(map(row_term, path.rows), "-")
    if path.source == "cannot_link" and all(hop.source == "must_link" for hop in path.hops):
        message = (
            f"{_pair_message(constraints, path.source, *path.pair)} contradicts {term('must_link')} path {chain}; "
            "remove one of these pairs."
        )
    else:
        steps = listed((_hop_message(constraints, hop) for hop in path.hops), "; ")
        message = (
            f"{_apart_message(constraints, path)}, which contradicts the path {chain} of rows that must be together "
            f"({steps}); remove one of these."
        )
    return Finding("contradiction", message, path)


def _apart_message(constraints: Constraints, path: MustLinkPath) -> str:
    a, b = path.pair
    if path.source == "labels" and constraints.labels is not None:
        codes, names = constraints.labels.codes, constraints.labels.names
        different = f"different labels {names[codes[a]]!r} and {names[codes[b]]!r}"
        return f"rows {row_term(a)} and {row_term(b)} have {different}"
    return _pair_message(constraints, path.source, a, b)


def _pair_message(constraints: Constraints, source: str, first: int, second: int) -> str:
    a, b = row_term(first), row_term(second)
    if source in ("diameter_max", "separation_min"):
        value = next(s.value for s in (*constraints.must, *constraints.cannot) if s.name == source)
        how = "further apart" if source == "diameter_max" else "closer"
        return f"rows {a} and {b} are {how} than {source}={value:g}"
    if source == "labels":
        return f"rows {a} and {b} have different labels"
    if source == "connectivity":
        return f"rows {a} and {b} are in different components of the graph of {term(source)}"
    return f"{term(source)} ({a}, {b})"


def _hop_message(constraints: Constraints, hop: Hop) -> str:
    a, b = map(row_term, hop.rows)
    if hop.source == "groups":
        return f"rows {a} and {b} are both in group {hop.name!r}"
    if hop.source == "labels":
        return f"rows {a} and {b} both have label {hop.name!r}"
    return _pair_message(constraints, hop.source, *hop.rows)


def too_few_clusters(constraints: Constraints, witness: UncolorableRows) -> Finding:
    """Return that conflicts need more clusters than there are."""
    rows, k = listed_rows(witness.rows), witness.n_clusters
    first = set(witness.rows)
    whose = "rows" if all(a in first and b in first for a, b, _ in witness.pairs) else "the blocks of rows"
    reasons = listed((_pair_message(constraints, source, a, b) for a, b, source in witness.pairs), ", ")
    if witness.is_clique:
        message = (
            f"{whose} {rows} must all be in different clusters, but {term('n_clusters', k)} ({reasons}); raise "
            f"{term('n_clusters')} to at least {len(witness.rows)} or remove one of these."
        )
    else:
        rest = "leaving out any one of them would do" if witness.irreducible else "a smaller set may show it too"
        message = (
            f"the conflicts among {whose} {rows} cannot all hold with {term('n_clusters', k)}; {rest} "
            f"({reasons}); raise "
            f"{term('n_clusters')} or remove one of these."
        )
    return Finding("too few clusters", message, witness)


def combination(constraints: Constraints) -> Finding:
    """Return that sizes, resources, shares, blocks and conflicts are possible one by one but not together."""
    has_sizes = constraints.size_min is not None or constraints.size_max is not None
    has_shares = any(attribute.is_bounded for attribute in constraints.attributes)
    kinds = ["all sizes"] * has_sizes + ["all resources"] * (constraints.amounts is not None)
    kinds += ["all shares"] * has_shares + ["all conflicts"] * bool(constraints.cannot)
    relax = [f"relax {term('size_min')} or {term('size_max')}"] * (has_sizes or constraints.amounts is not None)
    relax += ["relax the shares"] * has_shares
    has_links = any((constraints.must, constraints.cannot, constraints.groups, constraints.labels))
    relax += ["remove links"] * has_links
    relax = relax or [f"lower {term('n_clusters')}"]
    filled = " and leaves no cluster empty" if constraints.nonempty else ""
    message = (
        f"no way to put the blocks into {constraints.n_clusters} clusters keeps {_and(kinds)}{filled}, though each "
        f"of these alone is possible; {', or '.join(relax)}."
    )
    return Finding("combination", message, None)


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "the blocks whole"


def listed_rows(rows: Iterable[int]) -> str:
    """Rows for a message, cut when there are many."""
    return listed(map(row_term, rows), ", ")
