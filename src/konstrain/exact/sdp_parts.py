"""Part cuts of the semidefinite bound: a part of the rows that no number of whole clusters can fill is torn.

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

Blocks may be in a part by a share f_i: the cut is <v v', Y> <= limit with v_i = f_i sqrt(w_i). Where blocks merge,
the shares of their rows average and the cut stays what it was.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from konstrain.exact.sdp_model import SdpModel, SizeBounds

# Of the parts found in one round so many are taken, the most violated ones.
MOST_PARTS = 40
# Violations below this, relative to the least size of a cluster, are not worth a row.
LEAST_PART_VIOLATION = 1e-3
# With more clusters there are too many cases to try, and sizes bind less.
MOST_CLUSTERS = 20
# With more cases, of sizes that differ, all clusters count as if they had the widest bounds.
MOST_CASES = 5000
# Points at which the least torn weight is tabulated, to choose parts by; their limits are computed exactly.
TABLE_SIZE = 513
# Cases that miss being possible by so little, relative to all weights, are tried too.
CASE_SLACK = 1e-9


def least_torn(inside: float, total: float, sizes: SizeBounds) -> float:
    """Return the least sum of x y / (x + y) over clusters with x of `inside` and y of the rest in each."""
    taken_x, taken_y, least, most, least_other, most_other = _cases(sizes)
    x, y = inside - taken_x, total - inside - taken_y
    slack = CASE_SLACK * total
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
        if n_cases > MOST_CASES and len(set(sizes)) > 1:
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
def _table(total: float, sizes: SizeBounds) -> NDArray[np.float64]:
    """Weights from nothing to all, and the least torn of each."""
    inside = np.linspace(0.0, total, TABLE_SIZE)
    return np.array([inside, [least_torn(float(x), total, sizes) for x in inside]])


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
    """Part cuts.

    Parameters
    ----------
    share : ndarray of shape (n_parts, n_blocks)
        Share of each block that is in the part.
    limit : ndarray of shape (n_parts,)
        Most that the sum of f_i f_j w_i w_j Z_ij can be.
    """

    share: NDArray[np.float64]
    limit: NDArray[np.float64]

    @classmethod
    def none(cls, model: SdpModel) -> "Parts":
        """No cuts."""
        return cls(np.zeros((0, model.n_blocks)), np.zeros(0))

    @classmethod
    def of(cls, model: SdpModel, is_in: NDArray[np.bool_]) -> "Parts":
        """Cuts of parts made of whole blocks."""
        total = float(model.weight.sum())
        inside = is_in @ model.weight
        torn = [least_torn(float(x), total, model.sizes) for x in inside]
        return cls(is_in.astype(np.float64), inside - np.array(torn))

    def __len__(self) -> int:
        return self.limit.size

    def chosen(self, kept: NDArray[np.bool_]) -> "Parts":
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
        m = model.n_blocks
        is_free = np.ones(m * m, dtype=bool)
        is_free[model.forbidden] = False
        positions, coefficients, norms, diagonals = [], [], [], []
        for share in self.share:
            named = np.flatnonzero(share)
            v = share[named] * np.sqrt(model.weight[named])
            i, j = np.tril_indices(named.size, -1)
            position = named[i] * m + named[j]
            kept = is_free[position]
            below = 2 * v[i[kept]] * v[j[kept]]
            norms.append(np.sqrt((v**4).sum() + 0.5 * (below**2).sum()))
            positions.append(np.concatenate([named * (m + 1), position[kept]]))
            coefficients.append(np.concatenate([v**2, below]) / norms[-1])
            diagonals.append(named.size)
        return PartRows(
            np.cumsum([position.size for position in positions], dtype=np.int64),
            np.concatenate([np.zeros(0), *positions]).astype(np.int32),
            np.concatenate([np.zeros(0), *coefficients]),
            np.array(diagonals, dtype=np.int32),
            np.array(norms, dtype=np.float64),
        )

    def violated(self, model: SdpModel, Y: NDArray[np.float64]) -> "Parts":
        """Return cuts that Y violates and that are not among these."""
        if model.least_size <= 0 or not np.isfinite(model.most_size) or model.n_clusters > MOST_CLUSTERS:
            return Parts.none(model)
        known = {share.tobytes() for share in self.share}
        grown = np.unique(_grow(model, Y), axis=0)
        parts = Parts.of(model, grown[[part.astype(np.float64).tobytes() not in known for part in grown]])
        v = parts.share * np.sqrt(model.weight)
        violation = ((v @ _full(Y)) * v).sum(axis=1) - parts.limit
        order = np.argsort(-violation, kind="stable")[:MOST_PARTS]
        order = order[violation[order] > LEAST_PART_VIOLATION * model.least_size]
        return Parts(parts.share[order], parts.limit[order])


def _full(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.tril(Y) + np.tril(Y, -1).T, 0.0)


def _grow(model: SdpModel, Y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """From each block on, add the block most tied to the part, to half of all; keep the most violated on the way."""
    m, w = model.n_blocks, model.weight
    tie = _full(Y) * np.sqrt(np.outer(w, w))
    total = float(w.sum())
    table = _table(total, model.sizes)
    every = np.arange(m)
    link, inner, inside = tie.copy(), tie.diagonal().copy(), w.copy()
    is_in = np.eye(m, dtype=bool)
    best, parts = np.full(m, -np.inf), is_in.copy()
    while inside.min() < total / 2:
        added = np.where(is_in, -np.inf, link / w).argmax(axis=1)
        inner += 2 * link[every, added] + tie[added, added]
        inside += w[added]
        link += tie[added]
        is_in[every, added] = True
        violation = inner - inside + np.interp(inside, *table)
        better = violation > best
        best[better], parts[better] = violation[better], is_in[better]
    return parts
