"""Cuts from known sizes: a subset of the rows that no number of whole clusters can fill is cut through.

Without them a group apart from the others may count as 1.35 clusters, at no cost, which may lose half the bound.

Let the size of cluster C lie between l_C and u_C, and let X of all weights N be in a part Q. A cluster with weight x
inside, y outside contributes x^2 / (x + y) = x - g(x, y) to the sum of w_i w_j Z_ij over i, j in Q, with
g(x, y) = x y / (x + y). So

    sum_{i, j in Q} w_i w_j Z_ij <= X - least(X),

where least(X) is the least sum of g(x_C, y_C) over k clusters (x_C, y_C) in the quadrangle
T_C = {x, y >= 0, l_C <= x + y <= u_C} that add up to (X, N - X). As g is concave, its least sum is at a vertex of
this polytope. Two equations cut it out of the product of k quadrangles, so a vertex lies in a face of the product of
dimension two at most: all but two clusters are at vertices of T_C, which have g = 0. What is left for the two is a
polygon of choices, and at a vertex of it the sum is least. Where there are few such cases `least_torn` tries all;
where sizes of many clusters differ, all of them may have the least and the most of any.

Blocks may be in a part by a share f_i: the cut is <v v', Y> <= limit with v_i = f_i sqrt(w_i). Where
blocks merge, the shares of their rows average and the cut stays what it was.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._tolerances import LEAST_VIOLATION, TOTAL_RELATIVE
from konstrain.exact.sdp.model import SdpModel, SizeBounds, symmetric

# Blocks of a cut, its coefficients on the diagonal, and the vector whose products are off it.
Entries = tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class SizeCutParams:
    """Tunable numbers of the separation of subset and clique cuts."""

    # Most cases of clusters that are whole in a subset; with more clusters sizes bind less, and cases take too long.
    most_cases: int = 5000
    # Blocks of a clique at most; larger cliques are denser rows.
    most_members: int = 12


PARAMS = SizeCutParams()


def least_torn(inside: float, total: float, sizes: SizeBounds) -> float:
    """Return the least sum of x y / (x + y) over clusters with x of `inside` and y of the rest in each."""
    taken_x, taken_y, least, most, least_other, most_other = _cases(sizes)
    x, y = inside - taken_x, total - inside - taken_y
    slack = TOTAL_RELATIVE * total
    # The first of the two clusters is in the box of (0, 0) and (x, y), and its size is from low to high.
    low, high = np.maximum(least, x + y - most_other), np.minimum(most, x + y - least_other)
    is_case = (np.minimum(x, y) >= -slack) & (low <= high + slack)
    x, y, low, high = (values[is_case] for values in (np.maximum(x, 0.0), np.maximum(y, 0.0), low, high))
    zero = np.zeros_like(x)
    corner_points = [(zero, zero), (x, zero), (zero, y), (x, y)]
    edge_points = [p for size in (low, high) for p in ((zero, size), (x, size - x), (size, zero), (size - y, y))]
    best = np.inf
    for a, b in corner_points + edge_points:
        is_point = (a >= -slack) & (a <= x + slack) & (b >= -slack) & (b <= y + slack)
        is_point &= (a + b >= low - slack) & (a + b <= high + slack)
        torn = _torn(a, b) + _torn(x - a, y - b)
        best = min(best, float(torn[is_point].min(initial=np.inf)))
    return best if np.isfinite(best) else 0.0


@lru_cache(maxsize=16)
def _cases(sizes: SizeBounds) -> NDArray[np.float64]:
    """Cases by column: inside and outside that all but two clusters take whole, then sizes of those two."""
    cases = []
    n_cases = 0
    for pair in sorted(set(combinations(sizes, 2))):
        taken = _whole_clusters(Counter(sizes) - Counter(pair))
        cases.append(np.concatenate([taken, np.tile([*pair[0], *pair[1]], (len(taken), 1))], axis=1))
        n_cases += len(taken)
        if n_cases > PARAMS.most_cases and len(set(sizes)) > 1:
            widest = (min(least for least, _ in sizes), max(most for _, most in sizes))
            return _cases((widest,) * len(sizes))
    return np.concatenate(cases).T


def _whole_clusters(counts: Counter[tuple[float, float]]) -> NDArray[np.float64]:
    """Inside and outside of clusters that are on one side each and as small or as large as they can be."""
    taken = np.zeros((1, 2))
    for bounds, count in sorted(counts.items()):
        corners = np.array([corner for size in sorted(set(bounds)) for corner in ((size, 0.0), (0.0, size))])
        choices = np.array(list(combinations_with_replacement(range(len(corners)), count)), dtype=np.intp)
        taken = (taken[:, None] + corners[choices].sum(axis=1)).reshape(-1, 2)
    return taken


def _torn(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y = np.maximum(x, 0.0), np.maximum(y, 0.0)
    return np.asarray(x * y / np.maximum(x + y, np.finfo(float).tiny))


@lru_cache(maxsize=16)
def _table(total: float, sizes: SizeBounds, n_blocks: int) -> NDArray[np.float64]:
    """Weights from nothing to all, and the most that is kept of each; limits of cuts are computed exactly."""
    inside = np.linspace(0.0, total, n_blocks + 1)
    return np.array([inside, [x - least_torn(float(x), total, sizes) for x in inside]])


@dataclass(frozen=True, eq=False)
class PartRows:
    """Rows of unit norm one after the other, diagonal entries of each first; see sdp_cuts.h."""

    end: NDArray[np.int64]
    position: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    diagonals: NDArray[np.int32]
    norm: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Part cuts."""

    share: NDArray[np.float64]  # (n_parts, n_blocks): share of each block that is in the part.
    limit: NDArray[np.float64]  # (n_parts,): most that the sum of f_i f_j w_i w_j Z_ij can be.

    @classmethod
    def none(cls, model: SdpModel) -> "Parts":
        """No cuts."""
        return cls(np.zeros((0, model.n_blocks)), np.zeros(0))

    @classmethod
    def of(cls, model: SdpModel, is_in: NDArray[np.bool_]) -> "Parts":
        """Cuts of parts made of whole blocks."""
        total = float(model.weight.sum())
        kept = [float(x) - least_torn(float(x), total, model.sizes) for x in is_in @ model.weight]
        return cls(is_in.astype(np.float64), np.array(kept, dtype=np.float64))

    def __len__(self) -> int:
        return self.limit.size

    def chosen(self, kept: NDArray[Any]) -> "Parts":
        """Return some of the cuts."""
        return Parts(self.share[kept], self.limit[kept])

    def joined(self, other: "Parts") -> "Parts":
        """Return these and others."""
        return Parts(np.concatenate([self.share, other.share]), np.concatenate([self.limit, other.limit]))

    def merged(self, weight: NDArray[np.float64], place: NDArray[np.int32]) -> "Parts":
        """Return the cuts when block b, of this weight, becomes part of block place[b]."""
        share = np.zeros((len(self), int(place.max()) + 1))
        np.add.at(share.T, place, (self.share * weight).T)
        return Parts(share / np.bincount(place, weights=weight), self.limit)

    def rows(self, model: SdpModel) -> PartRows:
        """Return the cuts as rows over Y, without conflicts."""
        root = np.sqrt(model.weight)

        def entries() -> Iterator[Entries]:
            for share in self.share:
                named = np.flatnonzero(share)
                v = share[named] * root[named]
                yield named, v**2, v

        return rows_of_products(model, entries(), 2.0)

    def violated(self, model: SdpModel, Y: NDArray[np.float64]) -> "Parts":
        """Return cuts that Y violates and that are not among these, the most violated ones."""
        # All clusters but two are whole, each in one of four ways.
        n_cases = math.comb(model.n_clusters + 1, 3)
        if model.least_size <= 0 or not np.isfinite(model.most_size) or n_cases > PARAMS.most_cases:
            return Parts.none(model)
        known = {share.tobytes() for share in self.share}
        parts = _grow(model, Y)
        parts = parts.chosen(np.array([share.tobytes() not in known for share in parts.share], dtype=bool))
        violation = parts.excess(model, Y)
        # By the distance of Y from the cut: the length of the row is the weight of the part.
        order = np.argsort(-violation / (parts.share @ model.weight), kind="stable")
        return parts.chosen(order[violation[order] > LEAST_VIOLATION * model.least_size])

    def excess(self, model: SdpModel, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much Y violates each cut."""
        v = self.share * np.sqrt(model.weight)
        return np.asarray(((v @ _full(Y)) * v).sum(axis=1) - self.limit)


def rows_of_products(model: SdpModel, cuts: Iterable[Entries], scale: float) -> PartRows:
    """Rows with given diagonals and `scale` times v_i v_j at each pair of blocks, without conflicts."""
    m = model.n_blocks
    is_free = np.ones(m * m, dtype=bool)
    is_free[model.forbidden] = False
    positions, coefficients, norms, diagonals = [], [], [], []
    for named, on, v in cuts:
        i, j = np.tril_indices(named.size, -1)
        position = named[i] * m + named[j]
        kept = is_free[position]
        below = scale * v[i[kept]] * v[j[kept]]
        norms.append(np.sqrt((on**2).sum() + 0.5 * (below**2).sum()))
        positions.append(np.concatenate([named * (m + 1), position[kept]]))
        coefficients.append(np.concatenate([on, below]) / norms[-1])
        diagonals.append(named.size)
    return PartRows(
        np.cumsum([position.size for position in positions], dtype=np.int64),
        np.concatenate([np.zeros(0), *positions]).astype(np.int32),
        np.concatenate([np.zeros(0), *coefficients]),
        np.array(diagonals, dtype=np.int32),
        np.array(norms, dtype=np.float64),
    )


def _full(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.tril(Y) + np.tril(Y, -1).T, 0.0)


def _grow(model: SdpModel, Y: NDArray[np.float64]) -> Parts:
    """From each block on, add the block most tied to the part, to half of all; keep the most violated on the way."""
    m, w = model.n_blocks, model.weight
    weights, kept = _table(float(w.sum()), model.sizes, m)
    tie = _full(Y) * np.sqrt(np.outer(w, w))
    every = np.arange(m)
    # Of the part from each block on: ties to all blocks, sum of w_i w_j Z_ij, weight, members.
    link, inner, inside, is_in = tie.copy(), tie.diagonal().copy(), w.copy(), np.eye(m, dtype=bool)
    most, found = np.full(m, -np.inf), is_in.copy()
    while inside.min() < w.sum() / 2:
        added = np.where(is_in, -np.inf, link / w).argmax(axis=1)
        inner += 2 * link[every, added] + tie[added, added]
        inside += w[added]
        link += tie[added]
        is_in[every, added] = True
        violation = (inner - np.interp(inside, weights, kept)) / inside
        better = violation > most
        most[better], found[better] = violation[better], is_in[better]
    return Parts.of(model, np.unique(found, axis=0))


@dataclass(frozen=True, eq=False)
class Cliques:
    """Clique cuts of the matrix of one size: of many rows, few are alone in few clusters.

    Let y_i be 1 if row i is in one of the n_s clusters of size s, and x_ij if rows i and j share one. Then

        sum of y_i over i in Q - sum of x_ij over pairs in Q <= n_s

    for any rows Q, since a cluster with t of them adds t - t (t - 1) / 2 <= 1. In the matrix of this size, y_i is
    s Y_ii / w_i and x_ij is s Y_ij / sqrt(w_i w_j).
    """

    size: float  # Size of the clusters.
    count: int  # How many there are.
    is_in: NDArray[np.bool_]  # (n_cuts, n_blocks): blocks of each clique.

    @classmethod
    def none(cls, model: SdpModel, size: float, count: int) -> "Cliques":
        """No cuts."""
        return cls(size, count, np.zeros((0, model.n_blocks), dtype=bool))

    def __len__(self) -> int:
        return len(self.is_in)

    @property
    def limit(self) -> NDArray[np.float64]:
        """Right-hand side of each cut."""
        return np.full(len(self), float(self.count))

    def chosen(self, kept: NDArray[Any]) -> "Cliques":
        """Return some of the cuts."""
        return Cliques(self.size, self.count, self.is_in[kept])

    def joined(self, other: "Cliques") -> "Cliques":
        """Return these and others."""
        return Cliques(self.size, self.count, np.concatenate([self.is_in, other.is_in]))

    def merged(self, weight: NDArray[np.float64], place: NDArray[np.int32]) -> "Cliques":
        """Return the cuts when block b becomes part of block place[b]: members that merge count once."""
        is_in = np.zeros((len(self), int(place.max()) + 1), dtype=bool)
        np.logical_or.at(is_in.T, place, self.is_in.T)
        return Cliques(self.size, self.count, is_in)

    def rows(self, model: SdpModel) -> PartRows:
        """Return the cuts as rows over Y, without conflicts."""
        root = np.sqrt(model.weight)
        members = (np.flatnonzero(is_in) for is_in in self.is_in)
        return rows_of_products(
            model, ((named, self.size / model.weight[named], 1 / root[named]) for named in members), -self.size
        )

    def violated(self, model: SdpModel, Y: NDArray[np.float64]) -> "Cliques":
        """Return cuts that Y violates and that are not among these: from each block on, the best members in turn."""
        root = np.sqrt(model.weight)
        shared = self.size * np.maximum(symmetric(Y), 0.0) / np.outer(root, root)
        is_in = np.eye(model.n_blocks, dtype=bool)
        sums = shared.diagonal().copy()
        gain = np.where(is_in, -np.inf, shared.diagonal() - shared)
        every = np.arange(model.n_blocks)
        for _ in range(PARAMS.most_members - 1):
            added = gain.argmax(axis=1)
            more = gain[every, added]
            joins = np.flatnonzero(more > LEAST_VIOLATION)
            sums[joins] += more[joins]
            is_in[joins, added[joins]] = True
            gain[joins] -= shared[added[joins]]
            gain[joins, added[joins]] = -np.inf
        # Not from blocks that are hardly in these clusters: others find the same without them.
        is_violated = (sums > self.count + LEAST_VIOLATION) & (shared.diagonal() > LEAST_VIOLATION)
        found = is_in[is_violated]
        known = {clique.tobytes() for clique in self.is_in}
        new = [n for n, clique in enumerate(found) if clique.tobytes() not in known]
        return Cliques(self.size, self.count, np.unique(found[new], axis=0))
