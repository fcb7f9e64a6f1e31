"""Digits with all pairs among a tenth of the rows as links; no import of konstrain, so that peers see the same."""

import numpy as np
from sklearn.datasets import load_digits

from linked_pairs import all_pairs_of_some

SHARE = 0.1
N_CLUSTERS = 10


def linked_digits(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows without the three constant features (a metric cannot weigh them), must-links and cannot-links."""
    X, y = load_digits(return_X_y=True)
    must, cannot = all_pairs_of_some(y, SHARE, np.random.default_rng(seed))
    return np.ascontiguousarray(X[:, np.ptp(X, axis=0) > 0]), must, cannot
