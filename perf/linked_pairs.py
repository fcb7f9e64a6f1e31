"""Pairs drawn from true labels; no import of konstrain, so that peers can draw the same ones."""

import numpy as np


def random_pairs(labels: np.ndarray, same: bool, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw pairs of rows whose labels agree (or not), uniformly."""
    drawn = rng.integers(0, labels.size, (200 * count + 1000, 2) if same else (20 * count + 1000, 2))
    distinct = drawn[:, 0] != drawn[:, 1]
    agree = labels[drawn[:, 0]] == labels[drawn[:, 1]]
    return drawn[distinct & (agree == same)][:count]


def all_pairs_of_some(labels: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw a share of the rows; all pairs among them, as must-links and cannot-links by label."""
    rows = np.sort(rng.choice(labels.size, int(share * labels.size), replace=False))
    first, second = np.triu_indices(rows.size, 1)
    pairs = np.column_stack([rows[first], rows[second]])
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return pairs[same], pairs[~same]
