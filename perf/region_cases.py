"""The map of `perf/regions.py`, the same in every process."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SIDE, N_REGIONS, SIZE_MIN = 24, 8, 40


def attributes() -> np.ndarray:
    """Three smooth fields with some noise, each of variance 1."""
    rng = np.random.default_rng(0)
    fields = [gaussian_filter(rng.normal(size=(SIDE, SIDE)), 4.0).ravel() for _ in range(3)]
    rows = np.stack([field / field.std() for field in fields], axis=1) + 0.2 * rng.normal(size=(SIDE**2, 3))
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def neighbours() -> np.ndarray:
    """Pairs of areas that share a side."""
    number = np.arange(SIDE**2).reshape(SIDE, SIDE)
    return np.vstack(
        [
            np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
            np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
        ]
    )


def cut_off(labels: np.ndarray) -> float:
    """Share of areas outside the largest piece of their region."""
    pairs = neighbours()
    kept = pairs[labels[pairs[:, 0]] == labels[pairs[:, 1]]]
    graph = coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(len(labels), len(labels)))
    piece = connected_components(graph, directed=False)[1]
    largest = sum(np.bincount(piece[labels == region]).max() for region in np.unique(labels))
    return 1.0 - largest / len(labels)
