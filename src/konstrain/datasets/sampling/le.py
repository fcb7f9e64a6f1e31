"""All links among some rows of each class: Le et al. (2018), section 7."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from konstrain.datasets.sampling.link_sample import LinkSample, all_pairs, read_classes, rows_in_share, split_by_class


def sample_le(labels: Any, share: float = 0.2, *, random_state: Any = None) -> LinkSample:
    """Draw a share of each class and link all drawn rows: must-links within classes, cannot-links between them.

    The paper says that 20% of the points within each cluster are sampled to generate the constraints; that all pairs
    among them become constraints, and that shares are rounded up, is the reading here.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of each row.
    share : float, default=0.2
        Share of each class, rounded up to whole rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Examples
    --------
    >>> sample = sample_le([0] * 50 + [1] * 50, random_state=0)
    >>> sample.rows.size, len(sample.must_link), len(sample.cannot_link)
    (20, 90, 100)
    """
    classes = read_classes(labels)
    rng = check_random_state(random_state)
    members = [np.flatnonzero(classes == label) for label in range(classes.max() + 1)]
    drawn = [rng.choice(rows, rows_in_share(share, rows.size), replace=False) for rows in members]
    return split_by_class(all_pairs(np.sort(np.concatenate(drawn))), classes)
