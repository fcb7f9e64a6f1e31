"""Report of a clustering: sizes, cost, broken links, prices of the constraints."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from konstrain._memory import KEPT_NUMBERS
from konstrain._messages import counted, term
from konstrain._tolerances import DUAL_ROUNDING, PRICE_ROUNDING
from konstrain.assignment import Assignment, assign_by
from konstrain.assignment.priced import bound_at
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments, ConstraintKeywords, takes_constraints
from konstrain.constraints.connectivity import by_row_number, count_pieces, join_components, read_connectivity
from konstrain.constraints.inputs import Links, read_links, usable_rows
from konstrain.constraints.previous import read_previous
from konstrain.constraints.shares import RuleName
from konstrain.exceptions import UndecidedError
from konstrain.gap import relative_gap
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.steps import Steps
from konstrain.links import LinkGraph
from konstrain.metrics import Violations, are_apart, count_violations
from konstrain.stop import Budget


@dataclass(frozen=True)
class PriceParams:
    """Tunable numbers of the prices of constraints."""

    # Links whose price is computed, each by one more assignment of all blocks: more, longer reports.
    most_links: int = 30
    # Relative gap of an assignment up to which duals of resources and shares are reported: larger, rougher prices.
    small_gap: float = 1e-2


PARAMS = PriceParams()
# Links that a report lists.
LISTED_LINKS: Final = 5
# How rules about shares begin; all others are about resources.
SHARE = "share of "
# What the column of sizes is called, by what sizes count.
_SIZE_TITLES = {"row": "rows", "unit of demand": "demand"}


@dataclass(frozen=True)
class BindingSize:
    """A size held back by its bound: per unit by which that gives way, the cost falls by at most `price`.

    Exactly so when sizes count rows and there are no links, else up to a small gap; by less where other bounds then
    prevent it. `side` is ``"min"`` or ``"max"``.
    """

    cluster: int
    side: str
    bound: float
    price: float


@dataclass(frozen=True)
class HeldRule:
    """What clusters hold of a resource, or which share a group has in each, with the bounds; None: no bound."""

    about: str
    values: tuple[float, ...]
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None


@dataclass(frozen=True)
class BindingRule:
    """A resource or share held back by its bound.

    Where the bound gives way, by one unit of the resource or by a share of 0.01, the cost falls by about `price` at
    most. `side` is ``"min"`` or ``"max"``.
    """

    cluster: int
    about: str
    side: str
    bound: float
    price: float


@dataclass(frozen=True)
class BindingLink:
    """A link that costs something: `price` is what keeping it adds to the cost, centers unchanged.

    `broken`: the clustering does not keep it.
    """

    kind: str
    rows: tuple[int, int]
    price: float
    broken: bool = False


@dataclass(frozen=True)
class Moves:
    """Rows that moved since an earlier clustering, by what their moves are for, and the number of new rows.

    A move is for a bound that it brings the loads nearer to, for a link that was broken, or for a cluster that was in
    several pieces; all others are for a lower cost.
    """

    n_moved: int
    n_new: int
    causes: dict[str, int]

    def __str__(self) -> str:
        moved = f"{counted(self.n_moved, 'row')} moved" if self.n_moved else "no row moved"
        causes = ", ".join(f"{n} {cause}" for cause, n in self.causes.items())
        new = f"; {counted(self.n_new, 'row')} {'is' if self.n_new == 1 else 'are'} new" if self.n_new else ""
        return f"{moved}{f': {causes}' if causes else ''}{new}"


@dataclass(frozen=True)
class Report:
    """What is known about one clustering; reads as a page when printed, `to_dict` has it for programs.

    Parameters
    ----------
    n_samples, n_clusters : int
        Number of rows and of clusters.
    sse : float
        Weighted squared distances of rows to the means of their clusters.
    sizes : tuple of float
        Rows, or demand, in each cluster.
    size_min, size_max : tuple of float or None
        The bounds on them.
    n_must_link, n_cannot_link : int
        Number of links given.
    violations : Violations
        Broken links by kind.
    wrong_sizes : tuple of int
        The clusters whose size is out of bounds.
    binding_sizes : tuple of BindingSize
        Bounds that cost something, the most expensive first.
    binding_links : tuple of BindingLink
        Links that cost something, the most expensive first; at most five of those that were priced.
    unpriced_links : int
        Links that may cost something and were not priced, to bound the work.
    lower_bound, gap : float or None
        No clustering under the constraints costs less than this, and the relative distance to it; None: not computed.
    counts : {"row", "unit of demand"}
        What sizes count.
    held : tuple of HeldRule
        What each cluster holds of each resource, and the shares of groups.
    binding_rules : tuple of BindingRule
        Bounds on these that cost something, the most expensive first.
    n_pieces : tuple of int or None
        Connected pieces of each cluster in the graph of `connectivity`; None without one.
    moves : Moves or None
        Rows that moved since an earlier clustering, and what for; None without one.

    Examples
    --------
    >>> report = describe([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1], must_link=[(1, 2)])
    >>> report.sse, report.sizes, report.violations.must_link
    (1.0, (2.0, 2.0), 1)
    >>> report.binding_links
    (BindingLink(kind='must_link', rows=(1, 2), price=56.0, broken=True),)
    """

    n_samples: int
    n_clusters: int
    sse: float
    sizes: tuple[float, ...]
    size_min: tuple[float, ...] | None
    size_max: tuple[float, ...] | None
    n_must_link: int
    n_cannot_link: int
    violations: Violations
    wrong_sizes: tuple[int, ...]
    binding_sizes: tuple[BindingSize, ...]
    binding_links: tuple[BindingLink, ...]
    unpriced_links: int
    lower_bound: float | None = None
    gap: float | None = None
    counts: str = "row"
    held: tuple[HeldRule, ...] = ()
    binding_rules: tuple[BindingRule, ...] = ()
    n_pieces: tuple[int, ...] | None = None
    moves: Moves | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain numbers, strings, lists and dictionaries."""
        return asdict(self)

    def to_text(self, name_of: Any = str) -> str:
        """Return the page a person reads; `name_of` returns the name of a row."""
        return "\n".join(self._lines(name_of))

    def __str__(self) -> str:
        return self.to_text()

    def _lines(self, name_of: Any) -> Iterator[str]:
        rows, clusters = counted(self.n_samples, "row"), counted(self.n_clusters, "cluster")
        yield f"{rows} in {clusters}, SSE {self.sse:.6g} (sum of squared distances to the centers)"
        if self.lower_bound is not None and self.gap is not None:
            yield bound_message(self.lower_bound, self.gap)
        if self.moves is not None:
            yield str(self.moves)
        yield ""
        yield from self._size_lines()
        for held in self.held:
            yield ""
            yield from self._held_lines(held)
        if self.n_pieces is not None:
            yield ""
            yield pieces_message(self.n_pieces)
        if self.n_must_link or self.n_cannot_link:
            yield ""
            yield self._link_line()
        for link in self.binding_links:
            a, b = map(name_of, link.rows)
            price = f"keeping it would add {link.price:.4g}" if link.broken else f"without it {link.price:.4g} less"
            yield f"  {link.kind.replace('_', '-')} {a}, {b}{' (broken)' if link.broken else ''}: {price}"
        if self.unpriced_links:
            yield self._unpriced_line()
        if self.binding_sizes or self.binding_links or self.binding_rules:
            yield ""
            yield "Prices are in SSE, with the centers where they are; once these move, more may be saved."

    def _unpriced_line(self) -> str:
        if self.binding_links:
            return f"  ({self.unpriced_links} more may cost something; only the likeliest were priced)"
        return f"  ({counted(self.unpriced_links, 'link')} may cost something and were not priced; no other does)"

    def _size_lines(self) -> Iterator[str]:
        notes = dict.fromkeys(self.wrong_sizes, "out of bounds")
        for bound in self.binding_sizes:
            notes.setdefault(bound.cluster, price_note(bound, f"1 {self.counts}"))
        columns = {_SIZE_TITLES[self.counts]: self.sizes, "min": self.size_min, "max": self.size_max}
        given = {name: values for name, values in columns.items() if values is not None}
        yield "cluster" + "".join(f"{name:>10}" for name in given)
        for j in range(self.n_clusters):
            sizes = "".join(f"{values[j]:>10g}" for values in given.values())
            yield f"{j:>7}{sizes}  {notes.get(j, '')}".rstrip()

    def _held_lines(self, held: HeldRule) -> Iterator[str]:
        unit = "0.01" if held.about.startswith(SHARE) else "1 unit"
        notes = {rule.cluster: price_note(rule, unit) for rule in self.binding_rules if rule.about == held.about}
        width = max(10, len(held.about) + 1)
        bounds = {name: values for name, values in (("min", held.low), ("max", held.high)) if values is not None}
        yield f"cluster{held.about:>{width}}" + "".join(f"{name:>10}" for name in bounds)
        for j in range(self.n_clusters):
            cells = "".join(f"{values[j]:>10.4g}" for values in bounds.values())
            yield f"{j:>7}{held.values[j]:>{width}.4g}{cells}  {notes.get(j, '')}".rstrip()

    def _link_line(self) -> str:
        broken = self.violations
        counts = [
            f"{counted(count, kind)} ({f'{n_broken} broken' if n_broken else 'all kept'})"
            for kind, count, n_broken in (
                ("must-link", self.n_must_link, broken.must_link),
                ("cannot-link", self.n_cannot_link, broken.cannot_link),
            )
            if count
        ]
        return ", ".join(counts) + ("; the most expensive:" if self.binding_links else "")


@takes_constraints("groups", "diameter_max", "separation_min")
def describe(
    X: Any,
    labels: Any,
    n_clusters: int | None = None,
    *,
    lower_bound: float | None = None,
    previous: Any = None,
    time_limit: float = 5.0,
    **arguments: Unpack[ConstraintKeywords],
) -> Report:
    """Describe a clustering: its cost, its sizes, what it breaks, and what the constraints that bind cost.

    A price is the saving of the assignment of rows to the centers of this clustering without a bound or a link; a
    clustering with other centers could be better still.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    labels : array-like of shape (n_samples,)
        Cluster of each row, 0 to n_clusters - 1.
    n_clusters : int, optional
        Number of clusters; default: the largest label and one more.
    lower_bound : float, optional
        A proved bound, as from `lower_bound` or `ExactKMeans`, for the gap.
    previous : array-like of shape (n_samples,), optional
        Cluster of each row in an earlier clustering, -1 for new rows, to report which rows moved and what for.
    time_limit : float, default=5.0
        Seconds for the prices; those not known by then are left out.

    Returns
    -------
    Report

    Examples
    --------
    >>> print(describe([[0.0], [1.0], [2.0], [9.0]], [0, 0, 1, 1], size_max=2))
    4 rows in 2 clusters, SSE 25 (sum of squared distances to the centers)
    <BLANKLINE>
    cluster      rows       max
          0         2         2  held by its max: 1 row more would save up to 10
          1         2         2
    <BLANKLINE>
    Prices are in SSE, with the centers where they are; once these move, more may be saved.
    """
    neighbours = by_row_number(arguments.get("connectivity"), X)
    X = usable_rows(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X"))
    labels = _checked_labels(labels, X.shape[0], n_clusters)
    k = int(labels.max()) + 1 if n_clusters is None else int(n_clusters)
    constraints = ConstraintArguments(nonempty=False, **arguments)
    graph = None if neighbours is None else read_connectivity(neighbours, X.shape[0])
    if graph is not None and constraints.join_components:
        graph = join_components(graph, X)
    # Prices are of assignments, which leave the graph out.
    constraints = replace(constraints, connectivity=None, join_components=False)
    counts = {name: read_links(name, value, X.shape[0]) for name, value in constraints.links.items()}
    plain = Problem.of(X, k, replace(constraints, must_link=None, cannot_link=None))
    centers, sse = _centers(plain, labels)
    sizes = np.bincount(labels, plain.demand, k).astype(np.float64)
    prices = _Prices(X, labels, k, centers, constraints, Budget(time_limit))
    links, n_left = prices.links()
    return Report(
        n_samples=X.shape[0],
        n_clusters=k,
        sse=sse,
        sizes=tuple(sizes.tolist()),
        size_min=_as_tuple(plain.size_min),
        size_max=_as_tuple(plain.size_max),
        n_must_link=_count(counts["must_link"]),
        n_cannot_link=_count(counts["cannot_link"]),
        violations=count_violations(labels, **constraints.links),
        wrong_sizes=tuple(_out_of_bounds(plain, sizes).tolist()),
        binding_sizes=tuple(prices.sizes(sizes)),
        binding_links=tuple(links),
        unpriced_links=n_left,
        lower_bound=lower_bound,
        gap=None if lower_bound is None else relative_gap(lower_bound, sse),
        counts="row" if constraints.demand is None or plain.amounts is not None else "unit of demand",
        held=tuple(_held(plain, labels)),
        binding_rules=tuple(prices.rules()),
        n_pieces=None if graph is None else tuple(count_pieces(graph, labels, k).tolist()),
        moves=None if previous is None else _moves(plain, counts, graph, labels, previous),
    )


def price_note(bound: BindingSize | BindingRule, unit: str) -> str:
    """Return a message with the saving where a bound gives way by a unit."""
    change = f"{unit} {'less' if bound.side == 'min' else 'more'}"
    return f"held by its {bound.side}: {change} would save up to {bound.price:.4g}"


def pieces_message(n_pieces: Sequence[int]) -> str:
    """Return a message whether every cluster is in one piece, and which are not."""
    broken = [f"cluster {j} is in {n} pieces" for j, n in enumerate(n_pieces) if n > 1]
    return "; ".join(broken) or "every cluster is in one piece"


def bound_message(lower_bound: float, gap: float) -> str:
    """Return a message with the proved bound."""
    if lower_bound == -np.inf:
        return "no lower bound was found in time: how far from the best possible is not known"
    return f"no clustering under these constraints is below {lower_bound:.6g}: gap {gap:.2g}"


class _Prices:
    """What constraints cost at fixed centers: assignments with and without them."""

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.int32],
        n_clusters: int,
        centers: NDArray[np.float64],
        arguments: ConstraintArguments,
        budget: Budget,
    ) -> None:
        self._X, self._labels, self._k, self._centers = X, labels, n_clusters, centers
        # Soft links have a price by definition; here it is that of hard ones.
        hard: dict[str, Any] = {
            kind: read_links(kind, links, X.shape[0]).hard for kind, links in arguments.links.items()
        }
        self._arguments = replace(arguments, **hard)
        self._budget = budget
        self._problem = Problem.of(X, n_clusters, self._arguments)
        self._assignment = self._assign(self._problem)

    def _assign(self, problem: Problem) -> Assignment | None:
        """Solve the assignment at the centers; None when time does not suffice."""
        if self._budget.expired():
            return None
        costs = distances.block_costs(problem.mean, problem.weight, self._centers, n_threads=default_threads())
        has_rules = problem.resources is not None
        budget = self._budget.part(1.0, work=0.0) if has_rules else self._budget
        try:
            assignment = assign_by(problem.assignment_problem(costs), budget=budget)
        except UndecidedError:
            return None
        # Prices of rules are read from the bound, which a small gap hardly moves.
        return assignment if assignment.proven or (has_rules and assignment.gap <= PARAMS.small_gap) else None

    def rules(self) -> list[BindingRule]:
        """Bounds on resources and shares that hold a cluster back, the most expensive first."""
        problem, assignment = self._problem, self._assignment
        if (
            problem.resources is None
            or assignment is None
            or assignment.prices is None
            or assignment.prices.ndim != 2
        ):
            return []
        rows = np.bincount(problem.expand(assignment.labels), minlength=self._k)
        largest = np.abs(problem.resources.added).max(axis=0)
        found = []
        for r, name in enumerate(problem.rule_names):
            for j, price in enumerate(assignment.prices[:, r].tolist()):
                if self._is_rounding(price, largest[r]):
                    continue
                side = "max" if price > 0 else "min"
                bounds = problem.resources.high if price > 0 else problem.resources.low
                bound = float(bounds[j, r]) if name.share is None else name.share
                # A share that gives way by 0.01 lets that share of the rows change sides.
                saved = abs(price) * (1.0 if name.share is None else 0.01 * float(rows[j]))
                found.append(BindingRule(j, name.about, side, bound, saved))
        return sorted(found, key=lambda rule: -rule.price)

    def sizes(self, sizes: NDArray[np.float64]) -> list[BindingSize]:
        """Bounds that hold a cluster back, the most expensive first."""
        if self._assignment is None or self._assignment.prices is None or self._problem.resources is not None:
            return []
        found = []
        largest = float(self._problem.demand.max())
        for j, price in enumerate(self._assignment.prices.tolist()):
            # A cluster that would take more rows has a positive price, one that must be fed a negative one.
            bounds, side = (self._problem.size_max, "max") if price > 0 else (self._problem.size_min, "min")
            if bounds is None or self._is_rounding(price, largest):
                continue
            # Blocks come whole: a cluster is held back as soon as the largest of them does not fit.
            if abs(sizes[j] - bounds[j]) < largest:
                found.append(BindingSize(j, side, float(bounds[j]), abs(price)))
        return sorted(found, key=lambda bound: -bound.price)

    def _is_rounding(self, dual: float, largest: float) -> bool:
        """Return whether a dual is no price; `largest` is the largest amount of a block under its bound."""
        assert self._assignment is not None
        return abs(dual) * largest <= DUAL_ROUNDING * abs(self._assignment.cost) / self._problem.n_blocks

    def links(self) -> tuple[list[BindingLink], int]:
        """The most expensive links, and how many that may cost something were not priced."""
        if self._problem.resources is not None:
            # What a link costs is less than what the gaps of two assignments may differ by.
            return [], len(self._arguments.must_link) + len(self._arguments.cannot_link)
        candidates = self._candidates() if self._assignment is not None else []
        # One assignment takes too long to repeat it.
        if self._problem.n_blocks * self._k > KEPT_NUMBERS:
            return [], len(candidates)
        found, n_done = [], 0
        for kind, at in candidates[: PARAMS.most_links]:
            saving = self._saving(kind, at)
            if saving is None:
                break
            n_done += 1
            if saving > PRICE_ROUNDING * self._total(self._problem, self._assignment):
                first, second = getattr(self._arguments, kind)[at].tolist()
                together = self._labels[first] == self._labels[second]
                found.append(BindingLink(kind, (first, second), saving, bool(together != (kind == "must_link"))))
        found.sort(key=lambda link: -link.price)
        return found[:LISTED_LINKS], len(candidates) - n_done

    def _candidates(self) -> list[tuple[str, int]]:
        """Links that may cost something, the likeliest first: their rows would rather be elsewhere.

        A link whose own rows are content may still push others away: rows linked with them, or, where sizes bind in
        a way that prices do not cover, any rows.
        """
        assert self._assignment is not None
        labels = self._problem.expand(self._assignment.labels)
        prices = np.zeros(self._k) if self._assignment.prices is None else self._assignment.prices
        regret = self._regret(labels, prices)
        anywhere = self._has_gap_at(prices)
        part = self._linked_parts()
        discontent = np.bincount(part, regret) > 0
        ranked = []
        for kind in ("must_link", "cannot_link"):
            pairs = getattr(self._arguments, kind)
            wish = regret[pairs[:, 0]] + regret[pairs[:, 1]]
            costs = anywhere | discontent[part[pairs[:, 0]]]
            ranked += [(-wish[at], kind, int(at)) for at in np.flatnonzero(costs)]
        return [(kind, at) for _, kind, at in sorted(ranked)]

    def _linked_parts(self) -> NDArray[np.int32]:
        """Number of the connected part, over all links, that each row is in."""
        pairs = np.concatenate([self._arguments.must_link, self._arguments.cannot_link])
        n = self._labels.size
        part: NDArray[np.int32] = connected_components(
            csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n)), directed=False
        )[1]
        return part

    def _has_gap_at(self, prices: NDArray[np.float64]) -> bool:
        """Whether the relaxation at these duals is below the assignment: blocks are whole, and links restrict them.

        Where it is not, a part whose rows are all content pays nothing for its links: without one of them the
        relaxation, and with it the cost, stay what they are.
        """
        assert self._assignment is not None
        if self._problem.size_min is None and self._problem.size_max is None:
            return False
        costs = distances.block_costs(self._problem.mean, self._problem.weight, self._centers)
        step = self._problem.assignment_problem(costs)
        try:
            bound = bound_at(step, prices, self._budget)
        except UndecidedError:
            return True
        return not step.closes_gap(self._assignment.cost, bound)

    def _regret(self, labels: NDArray[np.int32], prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the reduced cost of each row in its cluster above its least one, at the duals of the sizes."""
        linked = np.unique(np.concatenate([self._arguments.must_link.ravel(), self._arguments.cannot_link.ravel()]))
        regret = np.zeros(labels.size)
        if linked.size:
            given = {name: getattr(self._arguments, name) for name in ("sample_weight", "demand")}
            given = {name: np.asarray(value)[linked] for name, value in given.items() if value is not None}
            rows = Problem.build(self._X[linked], self._k, **given, nonempty=False)
            costs = distances.block_costs(rows.mean, rows.weight, self._centers) + rows.demand[:, None] * prices
            regret[linked] = costs[np.arange(linked.size), labels[linked]] - costs.min(axis=1)
        return regret

    def _saving(self, kind: str, at: int) -> float | None:
        """Return by how much the cost falls without one link; None when time does not suffice."""
        pairs = getattr(self._arguments, kind)
        # The same link may be given twice, in either order.
        same = (np.sort(pairs, axis=1) == np.sort(pairs[at])).all(axis=1)
        problem = Problem.of(self._X, self._k, replace(self._arguments, **{kind: pairs[~same]}))
        assignment = self._assign(problem)
        if assignment is None:
            return None
        return self._total(self._problem, self._assignment) - self._total(problem, assignment)

    @staticmethod
    def _total(problem: Problem, assignment: Assignment | None) -> float:
        assert assignment is not None
        assert problem.scatter is not None
        return assignment.cost + float(problem.scatter.sum())


def _moves(
    plain: Problem, links: dict[str, Links], graph: LinkGraph | None, labels: NDArray[np.int32], previous: Any
) -> Moves:
    """Yield what each move is for."""
    before = read_previous(previous, labels.size, plain.n_clusters)
    is_new = before < 0
    now = np.where(is_new, labels, before)
    moving = np.flatnonzero(now != labels)
    for_bounds = dict(_moves_for_bounds(plain, labels, now, moving.tolist()))
    causes = dict(Counter(f"to keep {bound}" for bound in for_bounds.values()).most_common())
    moving = np.setdiff1d(moving, list(for_bounds))
    broken = [pairs.pairs[are_apart(now, pairs.pairs) == (kind == "must_link")] for kind, pairs in links.items()]
    is_for_links = np.isin(moving, np.concatenate(broken))
    n_for_pieces = 0
    if graph is not None:
        in_pieces = count_pieces(graph, now, plain.n_clusters) > 1
        n_for_pieces = int((in_pieces[now[moving]] & ~is_for_links).sum())
    causes["to keep links"] = int(is_for_links.sum())
    causes["to keep clusters in one piece"] = n_for_pieces
    causes["for lower cost"] = int(moving.size - is_for_links.sum()) - n_for_pieces
    return Moves(int((now != labels).sum()), int(is_new.sum()), {cause: n for cause, n in causes.items() if n})


def _moves_for_bounds(
    plain: Problem, labels: NDArray[np.int32], now: NDArray[np.int32], moving: list[int]
) -> Iterator[tuple[int, str]]:
    """Yield moves that bring a load nearer to a bound that it misses, each with the bound, until none does."""
    rules = plain.rules
    if rules is None:
        return
    low, high = rules.widened
    load, names = rules.values(now), [*plain.rule_names, RuleName("")][: rules.n_rules]
    found = True
    while found:
        found = False
        for row in moving.copy():
            missed = _missed_bound(int(now[row]), int(labels[row]), rules.added[row], load, low, high)
            if missed is None:
                continue
            cluster, rule, side = missed
            load[now[row]] -= rules.added[row]
            load[labels[row]] += rules.added[row]
            moving.remove(row)
            found = True
            yield row, _bound_message(names[rule], side, cluster)


def _missed_bound(
    source: int,
    target: int,
    added: NDArray[np.float64],
    load: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> tuple[int, int, str] | None:
    """Return cluster, rule and side of a bound that a load misses and that the move of a row brings it nearer to."""
    for cluster, change in ((source, -added), (target, added)):
        for side, missed in (
            ("max", (load[cluster] > high[cluster]) & (change < 0)),
            ("min", (load[cluster] < low[cluster]) & (change > 0)),
        ):
            if missed.any():
                return cluster, int(np.argmax(missed)), side
    return None


def _bound_message(name: RuleName, side: str, cluster: int) -> str:
    if name.share is not None:
        return f"{term(f'share_{name.side}')} of cluster {cluster}"
    return f"{term(f'size_{side}')} of {f'{name.about} in ' if name.about else ''}cluster {cluster}"


def _checked_labels(labels: Any, n_samples: int, n_clusters: int | None) -> NDArray[np.int32]:
    values = np.asarray(labels)
    if values.shape != (n_samples,) or values.dtype.kind not in "iu":
        raise ValueError(f"labels must be one whole number per row, shape ({n_samples},), got {values.shape}")
    highest = int(values.max()) if n_clusters is None else n_clusters - 1
    bad = np.flatnonzero((values < 0) | (values > highest))
    if bad.size:
        raise ValueError(f"labels[{bad[0]}] is {values[bad[0]]}; labels are 0 to {highest}")
    return np.ascontiguousarray(values, dtype=np.int32)


def _centers(plain: Problem, labels: NDArray[np.int32]) -> tuple[NDArray[np.float64], float]:
    """Means of the clusters, and the sum of squares around them; an empty cluster's center is the origin."""
    steps = Steps(plain, n_threads=default_threads())
    centers = steps.centers_of(labels, np.zeros((plain.n_clusters, plain.mean.shape[1])))
    return centers, steps.inertia(labels, centers)


def _held(plain: Problem, labels: NDArray[np.int32]) -> Iterator[HeldRule]:
    """What clusters hold of resources, and the shares of groups in them, with their bounds."""
    if plain.amounts is not None:
        for r, name in enumerate(plain.amounts.names):
            values = np.bincount(labels, plain.amounts.values[:, r], plain.n_clusters)
            low, high = plain.amounts.low[:, r], plain.amounts.high[:, r]
            yield HeldRule(
                name,
                tuple(values.tolist()),
                tuple(np.maximum(low, 0.0).tolist()) if np.isfinite(low).any() else None,
                tuple(high.tolist()) if np.isfinite(high).any() else None,
            )
    for attribute in plain.attributes:
        shares = attribute.shares_in(labels, plain.n_clusters)
        for v in range(len(attribute.values)):
            low, high = (np.full(plain.n_clusters, bound[v]) for bound in (attribute.low, attribute.high))
            yield HeldRule(
                f"{SHARE}{attribute.shown(v)}",
                tuple(shares[:, v].tolist()),
                tuple(low.tolist()) if attribute.low[v] > 0 else None,
                tuple(high.tolist()) if attribute.high[v] < 1 else None,
            )


def _out_of_bounds(plain: Problem, sizes: NDArray[np.float64]) -> NDArray[np.intp]:
    low, high = plain.widened_bounds
    return np.flatnonzero((sizes < low) | (sizes > high))


def _count(links: Any) -> int:
    return len(links.hard) + len(links.soft)


def _as_tuple(bounds: NDArray[np.float64] | None) -> tuple[float, ...] | None:
    return None if bounds is None else tuple(bounds.tolist())
