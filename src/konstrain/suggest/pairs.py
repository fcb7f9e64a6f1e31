"""Which pairs are worth asking a person about? Four published ways to choose, one loop.

Each strategy says which question to put next, given what is known. Several at once are found by assuming that the
person will answer as the present clustering has it; asked one by one, the strategies are the published ones. What is
known is read off the links alone, so the answers of one round, given as links, start the next.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from konstrain.estimators import ConstrainedKMeans
from konstrain.exceptions import InfeasibleError
from konstrain.kmeans.search import PARAMS as SEARCH
from konstrain.suggest.answers import Answers, refuse_bad_noise
from konstrain.suggest.known import Known, Questions
from konstrain.suggest.strategies import explore_consolidate, margin, min_max
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
    n_clusters: int | None = None,
    *,
    ask: int = 10,
    strategy: str = "uncertainty",
    noise: float = 0.0,
    metric: str | None = None,
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
    n_clusters : int or None, default=None
        Number of clusters. None: unknown; one more is sought than the answers separate, until what is left
        resembles the clusters that are known.
    ask : int, default=10
        Number of pairs.
    strategy : {"uncertainty", "margin", "explore-consolidate", "min-max"}, default="uncertainty"
        "uncertainty" [1]_: the row that tells most per question it is expected to take, by a forest over the present
        clusters, asked against the known rows of each cluster, likeliest first.
        "margin": rows that stand between two clusters, most doubtful first, each asked against the middle row of the
        nearer cluster, and of the other one once that was denied.
        "explore-consolidate" [2]_: rows far from all known ones until there is one of each cluster, then random
        rows, each asked against the known ones of every cluster, nearest first. "min-max" [3]_: the same, but with
        the row furthest from all known ones instead of a random one.
    noise : float, default=0.0
        Share of the answers expected to be wrong, below 0.5. Above 0 answers are soft (`soften`), and one that the
        clustering contradicts is asked once more, before anything else: give both answers to the next round.
    metric : {"cosine", "learned", "itml", "rca", "diagonal", "standard"} or None, default=None
        How distances are measured, as in `ConstrainedKMeans`.
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
    .. [1] Xiong, Azimi, Fern (2014), "Active Learning of Constraints for Semi-Supervised Clustering".
    .. [2] Basu, Banerjee, Mooney (2004), "Active Semi-Supervision for Pairwise Constrained Clustering".
    .. [3] Mallapragada, Jin, Jain (2008), "Active Query Selection for Semi-supervised Clustering".

    Examples
    --------
    >>> X = [[0.0], [1.0], [4.6], [9.0], [10.0]]
    >>> suggest_pairs(X, 2, ask=1, strategy="margin", random_state=0).tolist()
    [[2, 1]]
    """
    _refuse_bad_options(ask, strategy, noise)
    X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    rng = check_random_state(random_state)
    answers = Answers.read(len(X), must_link, cannot_link, noise)
    model = ConstrainedKMeans(
        2 if n_clusters is None else n_clusters,
        size_min=size_min,
        size_max=size_max,
        metric=metric,
        n_init=SEARCH.n_starts,
        local_search=False,
        random_state=rng.randint(np.iinfo(np.int32).max),
    )
    constraints = {"sample_weight": sample_weight, "demand": demand, **answers.links}
    if n_clusters is None:
        _fit_with_one_more(model, X, answers, constraints)
    else:
        model.fit(X, **constraints)
    known = Known(model._measured(X), n_clusters, *answers.kept(model.labels_))
    chosen = answers.doubted(model.labels_)[:ask]
    questions = STRATEGIES[strategy](known, model, rng)
    while len(chosen) < ask:
        pair = next(questions(known), None)
        if pair is None:
            break
        chosen.append(pair)
        known = known.assuming(*pair, together=bool(model.labels_[pair[0]] == model.labels_[pair[1]]))
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def _refuse_bad_options(ask: int, strategy: str, noise: float) -> None:
    if ask < 1:
        raise ValueError(f"ask must be at least 1, got {ask}")
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    refuse_bad_noise(noise)


def _fit_with_one_more(
    model: ConstrainedKMeans, X: NDArray[Any], answers: Answers, constraints: dict[str, Any]
) -> None:
    """Fit with one cluster more than answers separate, so that a cluster not met yet shows itself."""
    n_met = answers.n_clusters_met
    for k in range(min(max(n_met + 1, 2), len(X)), len(X) + 1):
        try:
            model.set_params(n_clusters=k).fit(X, **constraints)
        except InfeasibleError as error:
            # Answers may need more clusters than the largest set of rows known to be all apart shows.
            if error.reason != "too few clusters" or k == len(X):
                raise
        else:
            return
