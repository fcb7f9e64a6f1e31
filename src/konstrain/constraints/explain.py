"""Words for people: which rows clash, why, and the way out."""

from collections.abc import Iterable
from typing import Any

from konstrain.constraints.arguments import Constraints
from konstrain.constraints.witness import Finding, Hop, MustLinkPath, UncolorableRows

# Longer lists are cut in the middle of a sentence; the witness always has all of it.
_SHOWN = 12


def contradiction(constraints: Constraints, path: MustLinkPath) -> Finding:
    """Say that two rows must be both apart and together."""
    chain = _listed(path.rows, "-")
    if path.source == "cannot_link" and all(hop.source == "must_link" for hop in path.hops):
        message = f"cannot_link {path.pair} contradicts must_link path {chain}; remove one of these pairs."
    else:
        steps = _listed((_hop_words(constraints, hop) for hop in path.hops), "; ")
        message = (
            f"{_apart_words(constraints, path)}, which contradicts the path {chain} of rows that must be together "
            f"({steps}); remove one of these."
        )
    return Finding("contradiction", message, path)


def _apart_words(constraints: Constraints, path: MustLinkPath) -> str:
    a, b = path.pair
    if path.source == "labels" and constraints.labels is not None:
        codes, names = constraints.labels.codes, constraints.labels.names
        return f"rows {a} and {b} have different labels {names[codes[a]]!r} and {names[codes[b]]!r}"
    return _pair_words(constraints, path.source, a, b)


def _pair_words(constraints: Constraints, source: str, a: int, b: int) -> str:
    if source in ("diameter_max", "separation_min"):
        value = next(s.value for s in (*constraints.must, *constraints.cannot) if s.name == source)
        how = "further apart" if source == "diameter_max" else "closer"
        return f"rows {a} and {b} are {how} than {source}={value:g}"
    if source == "labels":
        return f"rows {a} and {b} have different labels"
    return f"{source} ({a}, {b})"


def _hop_words(constraints: Constraints, hop: Hop) -> str:
    a, b = hop.rows
    if hop.source == "groups":
        return f"rows {a} and {b} are both in group {hop.name!r}"
    if hop.source == "labels":
        return f"rows {a} and {b} both have label {hop.name!r}"
    return _pair_words(constraints, hop.source, a, b)


def too_few_clusters(constraints: Constraints, witness: UncolorableRows) -> Finding:
    """Say that conflicts need more clusters than there are."""
    rows, k = _listed(witness.rows, ", "), witness.n_clusters
    first = set(witness.rows)
    whose = "rows" if all(a in first and b in first for a, b, _ in witness.pairs) else "the blocks of rows"
    reasons = _listed((_pair_words(constraints, source, a, b) for a, b, source in witness.pairs), ", ")
    if witness.is_clique:
        message = (
            f"{whose} {rows} must all be in different clusters, but n_clusters={k} ({reasons}); raise n_clusters "
            f"to at least {len(witness.rows)} or remove one of these."
        )
    else:
        rest = "leaving out any one of them would do" if witness.irreducible else "a smaller set may show it too"
        message = (
            f"the conflicts among {whose} {rows} cannot all hold with n_clusters={k}; {rest} ({reasons}); raise "
            f"n_clusters or remove one of these."
        )
    return Finding("too few clusters", message, witness)


def combination(constraints: Constraints) -> Finding:
    """Say that sizes, resources, shares, blocks and conflicts are possible one by one but not together."""
    has_sizes = constraints.size_min is not None or constraints.size_max is not None
    has_shares = any(attribute.is_bounded for attribute in constraints.attributes)
    kinds = ["all sizes"] * has_sizes + ["all resources"] * (constraints.amounts is not None)
    kinds += ["all shares"] * has_shares + ["all conflicts"] * bool(constraints.cannot)
    relax = ["relax size_min or size_max"] * (has_sizes or constraints.amounts is not None)
    relax += ["relax the shares"] * has_shares
    has_links = any((constraints.must, constraints.cannot, constraints.groups, constraints.labels))
    relax += ["remove links"] * has_links
    filled = " and leaves no cluster empty" if constraints.nonempty else ""
    message = (
        f"no way to put the blocks into {constraints.n_clusters} clusters keeps {_and(kinds)}{filled}, though each "
        f"of these alone is possible; {', or '.join(relax) or 'lower n_clusters'}."
    )
    return Finding("combination", message, None)


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "the blocks whole"


def listed_rows(rows: Iterable[Any]) -> str:
    """Rows for a message, cut when there are many."""
    return _listed(rows, ", ")


def _listed(items: Iterable[Any], separator: str) -> str:
    words = [str(item) for item in items]
    if len(words) <= _SHOWN:
        return separator.join(words)
    head, tail = words[: _SHOWN - 3], words[-2:]
    return separator.join([*head, f"... ({len(words) - _SHOWN + 1} more) ...", *tail])
