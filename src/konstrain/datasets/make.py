"""Data made by formula, as the papers made theirs; each function returns rows and their classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Labelled = tuple[NDArray[np.float64], NDArray[np.int64]]

# Angle at the outer end of each arm, a little more than two turns.
_SPIRAL_ANGLE = np.deg2rad(780)


def make_gaussian_balls(
    n_clusters: int = 10,
    *,
    n_samples: int = 500,
    n_features: int = 512,
    sigma: float = 0.1,
    random_state: Any = None,
) -> Labelled:
    """Make balls of equal size around random centers (Le et al. 2018, section 7.1).

    Parameters
    ----------
    n_clusters : int, default=10
        Number of balls; their centers are uniform in the cube from -1 to 1.
    n_samples : int, default=500
        Rows in all. Balls are of equal size, so up to ``n_clusters - 1`` rows fewer are made, as in the paper.
    n_features : int, default=512
        Number of dimensions.
    sigma : float, default=0.1
        Variance in each direction: the paper's covariance is sigma times the identity; it takes 0.1, 0.5 and 0.7.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of float64, shape (n_clusters * (n_samples // n_clusters), n_features)
    labels : ndarray of int64

    Examples
    --------
    >>> X, labels = make_gaussian_balls(30, sigma=0.5, random_state=0)
    >>> X.shape, set(np.bincount(labels).tolist())
    ((480, 512), {16})
    """
    if not 1 <= n_clusters <= n_samples:
        raise ValueError(f"n_clusters={n_clusters} balls need between 1 and n_samples={n_samples} rows each")
    rng = check_random_state(random_state)
    labels = np.repeat(np.arange(n_clusters), n_samples // n_clusters)
    centers = rng.uniform(-1.0, 1.0, (n_clusters, n_features))
    return centers[labels] + np.sqrt(sigma) * rng.standard_normal((labels.size, n_features)), labels


def make_half_rings(n_samples: int = 400, *, noise: float = 0.1, random_state: Any = None) -> Labelled:
    """Make two half rings of radius 1 that reach into each other (Ganji et al. 2016, Table 1).

    The paper gives only 400 rows, 2 features and 2 classes. Both rings get half of the rows, at uniform angles.

    Parameters
    ----------
    n_samples : int, default=400
        Rows in all; an odd one goes to the lower ring.
    noise : float, default=0.1
        Standard deviation around the rings.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Examples
    --------
    >>> X, labels = make_half_rings(random_state=0)
    >>> X.shape, np.bincount(labels).tolist()
    ((400, 2), [200, 200])
    """
    rng = check_random_state(random_state)
    labels = np.repeat([0, 1], [n_samples // 2, n_samples - n_samples // 2])
    angle = rng.uniform(0.0, np.pi, n_samples)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    # The lower ring is the upper one turned by half a circle about (0.5, 0.25).
    X = np.where(labels[:, None] == 0, ring, np.array([1.0, 0.5]) - ring)
    return X + rng.normal(scale=noise, size=X.shape), labels


def make_spirals(n_samples: int = 300, *, noise: float = 0.5, random_state: Any = None) -> Labelled:
    """Make two arms of a spiral, each the mirror image of the other, around (15, 15).

    The spiral that Baumann (2020) took from González-Almagro et al. (2020) follows this formula and is as symmetric;
    its seed is not known.

    Parameters
    ----------
    n_samples : int, default=300
        Rows in all, an even number.
    noise : float, default=0.5
        Points are moved by up to this much to the right and up, before the second arm is mirrored.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Examples
    --------
    >>> X, labels = make_spirals(random_state=0)
    >>> bool(np.allclose(X[labels == 0] + X[labels == 1], 30.0))
    True
    """
    if n_samples % 2:
        raise ValueError(f"n_samples={n_samples} rows cannot be shared by two equal arms; take an even number")
    rng = check_random_state(random_state)
    # The square root spreads the points evenly along the arm, whose turns grow longer outwards.
    angle = _SPIRAL_ANGLE * np.sqrt(rng.uniform(size=n_samples // 2))
    arm = angle[:, None] * np.column_stack([-np.cos(angle), np.sin(angle)])
    arm += rng.uniform(0.0, noise, arm.shape)
    return 15.0 + np.concatenate([arm, -arm]), np.repeat([0, 1], n_samples // 2)


def make_control_charts(n_each: int = 100, *, n_features: int = 60, random_state: Any = None) -> Labelled:
    """Make control charts of six kinds: normal, cyclic, rising, falling, shifted up, shifted down.

    The formulas are those of Alcock and Manolopoulos (1999), behind the set that Ganji et al. (2016) call KDD: a
    level of 30 with uniform noise of up to 6; cycles of amplitude and period 10 to 15; trends of 0.2 to 0.5 per step;
    shifts by 7.5 to 20 somewhere in the middle third.

    Parameters
    ----------
    n_each : int, default=100
        Charts of each kind.
    n_features : int, default=60
        Steps in time.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Examples
    --------
    >>> X, labels = make_control_charts(random_state=0)
    >>> X.shape, set(np.bincount(labels).tolist())
    ((600, 60), {100})
    """
    rng = check_random_state(random_state)

    def one_per_chart(low: float, high: float) -> NDArray[np.float64]:
        drawn: NDArray[np.float64] = rng.uniform(low, high, (n_each, 1))
        return drawn

    time = np.arange(1, n_features + 1)
    cycle = one_per_chart(10, 15) * np.sin(2 * np.pi * time / one_per_chart(10, 15))
    trends = [sign * one_per_chart(0.2, 0.5) * time for sign in (1, -1)]
    shifts = [
        sign * one_per_chart(7.5, 20) * (time >= one_per_chart(n_features / 3, 2 * n_features / 3))
        for sign in (1, -1)
    ]
    X = 30.0 + np.concatenate([np.zeros_like(cycle), cycle, *trends, *shifts])
    return X + 2.0 * rng.uniform(-3.0, 3.0, X.shape), np.repeat(np.arange(6), n_each)
