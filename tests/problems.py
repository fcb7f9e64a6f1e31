"""A seeded generator of small assignment problems of every kind, with ties, duplicates and odd scales."""

import numpy as np

from konstrain.assignment import AssignmentProblem, Rules
from konstrain.links import LinkGraph


def random_costs(rng: np.random.Generator, n_blocks: int, n_clusters: int) -> np.ndarray:
    """Costs with ties, repeated rows and scales from 1e-6 to 1e6."""
    kind = rng.integers(4)
    if kind == 0:
        costs = rng.integers(0, 4, (n_blocks, n_clusters)).astype(float)
    elif kind == 1:
        costs = rng.random((max(1, n_blocks // 2), n_clusters))[rng.integers(0, max(1, n_blocks // 2), n_blocks)]
    else:
        points, centers = rng.normal(size=(n_blocks, 2)), rng.normal(size=(n_clusters, 2))
        costs = ((points[:, None] - centers) ** 2).sum(-1)
    return np.ascontiguousarray(costs * 10.0 ** rng.integers(-6, 7))


def random_links(
    rng: np.random.Generator, n_blocks: int, kind: str, scale: float, density: float | None = None
) -> LinkGraph:
    """Links of one kind: "hard" cannot-links, "cliques" of them, or "soft" (both signs, some hard)."""
    u, v = np.triu_indices(n_blocks, 1)
    if kind == "cliques":
        group = rng.integers(0, n_blocks, n_blocks)
        keep = group[u] == group[v]
        return LinkGraph.from_edges(n_blocks, u[keep], v[keep])
    keep = rng.random(u.size) < (rng.random() if density is None else density)
    u, v = u[keep], v[keep]
    if kind == "hard":
        return LinkGraph.from_edges(n_blocks, u, v)
    weights = rng.choice([-1.0, 1.0], u.size) * rng.random(u.size) * scale * rng.choice([0.1, 1.0, 3.0])
    weights[rng.random(u.size) < 0.2] = np.inf
    return LinkGraph.from_edges(n_blocks, u, v, weights)


def random_sizes(
    rng: np.random.Generator, demand: np.ndarray, n_clusters: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Bounds around the mean size: sometimes missing, sometimes loose, sometimes impossible."""
    mean = demand.sum() / n_clusters
    low = np.floor(mean * rng.random(n_clusters) * rng.choice([0.5, 1.0, 1.2]))
    high = np.maximum(low, np.ceil(mean * (1 + rng.random(n_clusters) * rng.choice([0.1, 0.5, 1.0]))))
    return (None if rng.random() < 0.2 else low), (None if rng.random() < 0.2 else high)


def random_amounts(rng: np.random.Generator, n_blocks: int, n_clusters: int) -> Rules:
    """Two or three resources, whole or real, with bounds around their means: loose, tight, one-sided, impossible."""
    n_resources = int(rng.integers(2, 4))
    amounts = rng.random((n_blocks, n_resources)) * 3
    if rng.random() < 0.5:
        amounts = np.floor(amounts)
    mean = amounts.sum(axis=0) / n_clusters
    shape = (n_clusters, n_resources)
    low = mean * rng.random(shape) * rng.choice([0.3, 0.8, 1.1])
    high = np.maximum(low, mean * (1 + rng.random(shape) * rng.choice([0.2, 1.0, 2.0])))
    low[rng.random(shape) < 0.3] = -np.inf
    high[rng.random(shape) < 0.3] = np.inf
    return Rules.of_amounts(amounts, low, high)


def random_shares(rng: np.random.Generator, n_blocks: int, n_clusters: int) -> Rules:
    """One or two attributes of two or three values, blocks of one to three rows, shares from both sides."""
    rows_of = rng.integers(1, 4, n_blocks) if rng.random() < 0.3 else np.ones(n_blocks, dtype=int)
    amounts, rules = [], []
    sizes = rng.integers(2, 4, int(rng.integers(1, 3)))
    for at, n_values in enumerate(sizes):
        counts = np.array([rng.multinomial(m, np.ones(n_values) / n_values) for m in rows_of], dtype=float)
        amounts.append(counts)
        whole = np.concatenate([np.full(n, float(at == other)) for other, n in enumerate(sizes)])
        for value in range(n_values):
            one = np.zeros(sizes.sum())
            one[sizes[:at].sum() + value] = 1.0
            share = counts[:, value].sum() / rows_of.sum()
            width = rng.choice([0.05, 0.3, 0.6])
            rules += [
                (one - share * (1 - width) * whole, 0.0, np.inf),
                (one - share / (1 - width) * whole, -np.inf, 0.0),
            ]
    low, high = (np.tile([rule[side] for rule in rules], (n_clusters, 1)) for side in (1, 2))
    return Rules(np.column_stack(amounts), np.array([rule[0] for rule in rules]), low, high)


def random_counts(rng: np.random.Generator, n_blocks: int, n_clusters: int) -> Rules:
    """Disjoint categories, some blocks of none, and how many of each a cluster holds."""
    n_categories = int(rng.integers(1, 4))
    category = rng.integers(-1, n_categories, n_blocks)
    amounts = (category[:, None] == np.arange(n_categories)) * rng.choice([1.0, 0.5, 3.0], n_categories)
    mean = amounts.sum(axis=0) / n_clusters
    low = np.floor(mean * rng.random((n_clusters, n_categories)))
    high = np.ceil(mean * (1 + rng.random((n_clusters, n_categories)))) + rng.integers(0, 2)
    low[rng.random(low.shape) < 0.3] = -np.inf
    return Rules.of_amounts(amounts, low, high)


def random_resources(rng: np.random.Generator, kind: str, n_blocks: int, n_clusters: int) -> Rules:
    """Bounds on "amounts", on "shares", on "both", or on "counts" of disjoint categories."""
    if kind != "both":
        make = {"amounts": random_amounts, "shares": random_shares, "counts": random_counts}[kind]
        return make(rng, n_blocks, n_clusters)
    first, second = random_amounts(rng, n_blocks, n_clusters), random_shares(rng, n_blocks, n_clusters)
    (m, a), (n, b) = first.weights.shape, second.weights.shape
    rules = np.block([[first.weights, np.zeros((m, b))], [np.zeros((n, a)), second.weights]])
    low, high = np.hstack([first.low, second.low]), np.hstack([first.high, second.high])
    return Rules(np.hstack([first.amounts, second.amounts]), rules, low, high)


def random_problem(
    rng: np.random.Generator,
    *,
    links: str | None = None,
    sizes: bool = False,
    demand: str | None = None,
    resources: str | None = None,
    max_labelings: int = 3000,
) -> AssignmentProblem:
    """One small problem; `demand` is None (1 each), "integer" or "real", `resources` as in `random_resources`."""
    n_clusters = int(rng.integers(1, 5))
    largest = 8 if n_clusters == 1 else int(np.log(max_labelings) / np.log(n_clusters))
    n_blocks = int(rng.integers(1, min(largest, 9) + 1))
    costs = random_costs(rng, n_blocks, n_clusters)
    graph = None if links is None else random_links(rng, n_blocks, links, float(np.abs(costs).max()))
    counts = None
    if demand == "integer":
        counts = rng.integers(0, 4, n_blocks).astype(float)
    elif demand == "real":
        counts = rng.random(n_blocks) * 3
    low, high = None, None
    if sizes:
        low, high = random_sizes(rng, np.ones(n_blocks) if counts is None else counts, n_clusters)
    nonempty = sizes and bool(rng.random() < 0.3)
    asked = None if resources is None else random_resources(rng, resources, n_blocks, n_clusters)
    return AssignmentProblem(costs, graph, counts, low, high, nonempty, asked)


KINDS = ("free", "sizes", "equal", "own sizes", "demand", "resources", "shares", "two attributes", "links", "soft")
MIXES = (
    *((kind,) for kind in KINDS),
    ("links", "sizes"),
    ("soft", "demand"),
    ("links", "shares"),
    ("soft", "shares"),
)


def drawn_problem(rng, mix, n=9, k=3):
    """Return rows and arguments of a small problem; it may be infeasible."""
    X = rng.normal(size=(n, 2)) + 3.0 * rng.normal(size=(k, 2))[rng.integers(k, size=n)]
    given = {"sample_weight": rng.choice([0.5, 1.0, 2.0], n)} if rng.random() < 0.3 else {}
    demand = rng.integers(1, 5, n).astype(float)
    pairs = [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(5)]
    if "sizes" in mix:
        given |= {"size_min": 2, "size_max": 4}
    if "equal" in mix:
        given |= {"size_min": n // k, "size_max": -(-n // k)}
    if "own sizes" in mix:
        given |= {"size_min": [1, 2, 4], "size_max": [2, 3, 6]}
    if "demand" in mix:
        given |= {"demand": demand, "size_min": 0.6 * demand.sum() / k, "size_max": 1.5 * demand.sum() / k}
    if "resources" in mix:
        both = np.column_stack([demand, rng.integers(1, 4, n)])
        given |= {"demand": both, "size_min": 0.5 * both.sum(axis=0) / k, "size_max": 1.6 * both.sum(axis=0) / k}
    if "shares" in mix:
        given |= {"category": np.resize([0, 1], n), "share_min": 0.25}
    if "two attributes" in mix:
        given |= {"category": {"a": np.resize([0, 1], n), "b": np.resize([0, 0, 1], n)}, "share_max": 0.8}
    if "links" in mix:
        given |= {"must_link": pairs[:1], "cannot_link": pairs[1:4]}
    if "soft" in mix:
        given |= {
            "must_link": [(*pair, 0.5) for pair in pairs[:2]],
            "cannot_link": [(*pair, 1.0) for pair in pairs[2:]],
        }
    return X, given
