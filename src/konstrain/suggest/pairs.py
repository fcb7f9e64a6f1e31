"""Which pairs are worth asking a person about? Three published ways to choose, one loop.

Each strategy says which question to put next, given what is known. Several at once are found by assuming that the
person will answer as the present clustering has it; asked one by one, the strategies are the published ones. What is
known is read off the links alone, so the answers of one round, given as links, start the next.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from konstrain.constraints.inputs import read_links
from konstrain.estimators import ConstrainedKMeans
from konstrain.suggest.exploration import explore_consolidate, min_max
from konstrain.suggest.known import Known, Questions
from konstrain.suggest.margin import margin
from konstrain.suggest.uncertainty import uncertainty

# How pairs are chosen, by name.
STRATEGIES: dict[str, Callable[[Known, ConstrainedKMeans, Any], Questions]] = {
    "uncertainty": uncertainty,
    "margin": margin,
    "explore-consolidate": explore_consolidate,
    "min-max": min_max,
}


def suggest_pairs(
    X: Any,
    n_clusters: int,
    *,
    ask: int = 10,
    strategy: str = "margin",
    must_link: Any = None,
    cannot_link: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    demand: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> NDArray[np.int64]:
    """Choose pairs of rows for a person to say of whether they belong together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        Number of clusters.
    ask : int, default=10
        Number of pairs.
    strategy : {"margin", "explore-consolidate", "min-max"}, default="margin"
        "margin": rows that stand between two clusters, most doubtful first, each asked against the middle row of the
        nearer cluster, and of the other one once that was denied.
        "explore-consolidate" [1]_: rows far from all known ones until there is one of each cluster, then random
        rows, each asked against the known ones of every cluster, nearest first. "min-max" [2]_: the same, but with
        the row furthest from all known ones instead of a random one.
    must_link, cannot_link : pairs, optional
        What is known already; the answers to earlier questions.
    size_min, size_max, demand, sample_weight : optional
        Constraints on the clustering that answers are guessed from, as in `ConstrainedKMeans`.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Returns
    -------
    pairs : ndarray of int64, shape (n_pairs, 2)
        The first to be asked first. Fewer than `ask` when nothing else is open.

    References
    ----------
    .. [1] Basu, Banerjee, Mooney (2004), "Active Semi-Supervision for Pairwise Constrained Clustering".
    .. [2] Mallapragada, Jin, Jain (2008), "Active Query Selection for Semi-supervised Clustering".

    Examples
    --------
    >>> X = [[0.0], [1.0], [4.6], [9.0], [10.0]]
    >>> suggest_pairs(X, 2, ask=1, random_state=0).tolist()
    [[2, 1]]
    """
    if ask < 1:
        raise ValueError(f"ask must be at least 1, got {ask}")
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    rng = check_random_state(random_state)
    links = {"must_link": must_link, "cannot_link": cannot_link}
    model = ConstrainedKMeans(
        n_clusters, size_min=size_min, size_max=size_max, random_state=rng.randint(np.iinfo(np.int32).max)
    ).fit(X, sample_weight=sample_weight, demand=demand, **links)
    known = Known(X, n_clusters, *(read_links(kind, pairs, len(X)).hard for kind, pairs in links.items()))
    questions = STRATEGIES[strategy](known, model, rng)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < ask:
        pair = next(questions(known), None)
        if pair is None:
            break
        chosen.append(pair)
        known = known.assuming(*pair, together=bool(model.labels_[pair[0]] == model.labels_[pair[1]]))
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)
