"""How often one start reaches the best known clustering: Lloyd alone, with local search, with relocations.

Usage: python perf/local_search.py [folder with <name>/data.txt and constraint files] [starts per instance]
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from konstrain import AssignmentProblem, assign
from konstrain.kmeans.local_search import improve, relocation_candidates
from konstrain.links import LinkGraph

METHODS = ("lloyd", "search", "relocate")


@dataclass
class Instance:
    """Blocks of must-linked points with the conflicts between them."""

    means: np.ndarray
    weight: np.ndarray
    links: LinkGraph
    n_clusters: int


def load(folder: Path, pairs_file: Path) -> Instance:
    """Merge must-linked points of one data set."""
    with (folder / "data.txt").open() as lines:
        n, _, k = map(int, next(lines).split())
        points = np.loadtxt(lines)
    rows = [line.split() for line in pairs_file.read_text().splitlines()]
    must = np.array([r[1:] for r in rows if r[0] == "ML"], dtype=int).reshape(-1, 2)
    cannot = np.array([r[1:] for r in rows if r[0] == "CL"], dtype=int).reshape(-1, 2)
    graph = coo_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    m, block = connected_components(graph, directed=False)
    weight = np.bincount(block).astype(float)
    means = np.zeros((m, points.shape[1]))
    np.add.at(means, block, points)
    means /= weight[:, None]
    return Instance(means, weight, LinkGraph.from_edges(m, block[cannot[:, 0]], block[cannot[:, 1]]), k)


def squared_distances(means: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Squared distances of all means to all centers."""
    return ((means[:, None] - centers) ** 2).sum(-1)


def seed_centers(instance: Instance, rng: np.random.Generator) -> np.ndarray:
    """K-means++ over weighted blocks."""
    chosen = [rng.choice(len(instance.weight), p=instance.weight / instance.weight.sum())]
    nearest = np.full(len(instance.weight), np.inf)
    while len(chosen) < instance.n_clusters:
        nearest = np.minimum(nearest, ((instance.means - instance.means[chosen[-1]]) ** 2).sum(-1))
        share = instance.weight * nearest
        chosen.append(rng.choice(share.size, p=share / share.sum()))
    return instance.means[chosen]


def lloyd(instance: Instance, centers: np.ndarray) -> tuple[np.ndarray, float]:
    """Run constrained Lloyd iterations until the labels repeat."""
    labels, last = None, None
    while last is None or not np.array_equal(labels, last):
        costs = instance.weight[:, None] * squared_distances(instance.means, centers)
        last, labels = labels, assign(AssignmentProblem(costs, instance.links, nonempty=True)).labels
        total = np.bincount(labels, instance.weight, minlength=instance.n_clusters)
        centers = np.zeros_like(centers)
        np.add.at(centers, labels, instance.weight[:, None] * instance.means)
        centers /= total[:, None]
    cost = float((instance.weight * ((instance.means - centers[labels]) ** 2).sum(-1)).sum())
    return labels, cost


def search(instance: Instance, labels: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """Run the local search on its own."""
    result = improve(instance.means, instance.weight, labels, instance.n_clusters, links=instance.links, seed=seed)
    return result.labels, result.cost


def relocate(instance: Instance, labels: np.ndarray, cost: float, seed: int) -> tuple[np.ndarray, float]:
    """Try the best three relocations until none of them helps."""
    improved = True
    while improved:
        improved = False
        for centers in relocation_candidates(instance.means, instance.weight, labels, instance.n_clusters, 3, seed):
            other, other_cost = search(instance, lloyd(instance, centers)[0], seed)
            if other_cost < cost * (1 - 1e-9):
                labels, cost, improved = other, other_cost, True
                break
    return labels, cost


def run(instance: Instance, n_starts: int) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Costs of every start after each stage, and seconds spent up to there."""
    costs = {method: np.empty(n_starts) for method in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for start in range(n_starts):
        rng = np.random.default_rng(start)
        begin = time.perf_counter()
        labels, costs["lloyd"][start] = lloyd(instance, seed_centers(instance, rng))
        seconds["lloyd"] += time.perf_counter() - begin
        labels, costs["search"][start] = search(instance, labels, start)
        seconds["search"] += time.perf_counter() - begin
        labels, costs["relocate"][start] = relocate(instance, labels, costs["search"][start], start)
        seconds["relocate"] += time.perf_counter() - begin
    return costs, seconds


def main(root: Path, n_starts: int) -> None:
    """Print one line per data set: mean over its instances."""
    print(f"{n_starts} starts per instance; hit: within 1e-7 of the best value any method found")
    print(f"{'data set':14s}{'k':>3s}" + "".join(f"{method + ' hit':>14s}{'ms':>8s}" for method in METHODS))
    for folder in sorted(root.iterdir()):
        hits = dict.fromkeys(METHODS, 0.0)
        spent = dict.fromkeys(METHODS, 0.0)
        files = sorted(folder.glob("ml_*.txt"))
        for file in files:
            instance = load(folder, file)
            costs, seconds = run(instance, n_starts)
            best = min(float(c.min()) for c in costs.values())
            for method in METHODS:
                hits[method] += float((costs[method] <= best * (1 + 1e-7)).mean()) / len(files)
                spent[method] += 1e3 * seconds[method] / n_starts / len(files)
        cells = "".join(f"{hits[method]:14.3f}{spent[method]:8.2f}" for method in METHODS)
        print(f"{folder.name:14s}{instance.n_clusters:3d}{cells}", flush=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared/data/pairwise"
    main(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 300)
