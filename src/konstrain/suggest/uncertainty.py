"""Normalised point-based uncertainty (Xiong, Azimi, Fern 2014): the row that tells most per expected question.

A forest learns the present clusters. How often rows share a leaf with the known rows of a neighborhood says how
likely they belong to it; the entropy of that, over the questions that finding out would take, is what a row is worth.

With a metric learned from links, distances show where a row belongs: its worth is then multiplied by how
near the second center is. On Wine, of the six rows in a wrong cluster of the first metric one was among the ten that
the forest doubts most, and five among the ten that distances do. Plain distances did worse than the forest: rows
between two clusters were asked about, and none of those that make the clusters.

Where the paper is silent: it starts from a random row and meets other clusters by chance. We also weigh the middle
row of each cluster that nothing is known of, by the chance that it belongs to none of the known ones.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from konstrain import _core
from konstrain._memory import SAMPLE_ROWS
from konstrain.estimators import ConstrainedKMeans
from konstrain.suggest.known import Known, Questions
from konstrain.suggest.strategies import medoid, squared_distances

# As in the paper.
N_TREES: Final = 50


def uncertainty(known: Known, model: ConstrainedKMeans, rng: Any) -> Questions:
    """Rows whose neighborhood is least clear, by how soon the answers would tell."""
    leaves = leaves_of(known.X, model.labels_, int(rng.randint(np.iinfo(np.int32).max)))
    squared = squared_distances(known, model)
    # Of the largest cluster first.
    by_size = np.argsort(-np.bincount(model.labels_, minlength=squared.shape[1]), kind="stable")
    middle = [medoid(squared, model.labels_, int(cluster)) for cluster in by_size]
    doubt = doubt_of_rows(squared) if model.link_metric_ is not None else np.ones(len(squared))

    def questions(now: Known) -> Iterator[tuple[int, int]]:
        if not now.neighborhoods:
            yield from ((row, middle[0]) for row in middle[1:])
            return
        chances = chance_of_each(leaves, now.members)
        worth = doubt * worth_of_rows(chances, now.is_complete)
        unmet = _in_unmet_clusters(now, model.labels_, middle)
        worth[unmet] = worth_of_new(chances[unmet], len(now.neighborhoods) / (len(now.placed) + 1))
        # Rows whose questions have begun come before new ones.
        worth[now.begun_rows()] = np.inf
        worth[now.placed] = -np.inf
        for row in np.argsort(-worth, kind="stable")[: (worth > -np.inf).sum()].tolist():
            yield from now.against_neighborhoods(row, chances[row])

    return questions


def leaves_of(X: NDArray[Any], labels: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """The leaf that each tree of a forest that learned the labels puts each row in, a line per tree."""
    leaves = np.empty((N_TREES, len(X)), dtype=np.int32)
    rows = np.ascontiguousarray(X, dtype=np.float64)
    # A sample for each tree: more rows only take longer, for the clusters have simple shapes.
    n_drawn = min(len(X), SAMPLE_ROWS)
    _core.grow_forest(rows, labels, int(labels.max()) + 1, n_drawn, seed, leaves)
    return leaves


def _in_unmet_clusters(now: Known, labels: NDArray[np.int32], middle: list[int]) -> list[int]:
    """The middle row of each cluster that has no known row, as long as there are clusters to be met."""
    met = set(labels[now.placed].tolist())
    return [] if now.is_complete else [row for row in middle if int(labels[row]) not in met]


def chance_of_each(leaves: NDArray[np.int32], members: list[NDArray[Any]]) -> NDArray[np.float64]:
    """How likely each row belongs to each neighborhood: the mean share of trees that put it with its rows."""
    similarity = np.zeros((leaves.shape[1], len(members)))
    for leaf_of in leaves:
        n_leaves = int(leaf_of.max()) + 1
        for i, rows in enumerate(members):
            similarity[:, i] += np.bincount(leaf_of[rows], minlength=n_leaves)[leaf_of] / len(rows)
    total = similarity.sum(axis=1, keepdims=True)
    # A row that shares no leaf with any known one may be anywhere.
    chances: NDArray[np.float64] = np.divide(
        similarity, total, out=np.full_like(similarity, 1.0 / len(members)), where=total > 0
    )
    return chances


def doubt_of_rows(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near the second center of each row is: 1 when as near as the first, towards 0 the further it is."""
    if squared.shape[1] < 2:
        return np.ones(len(squared))
    nearest = np.partition(squared, 1, axis=1)
    doubt: NDArray[np.float64] = nearest[:, 0] / np.maximum(nearest[:, 1], np.finfo(float).tiny)
    return doubt


def worth_of_rows(chances: NDArray[np.float64], is_complete: bool) -> NDArray[np.float64]:
    """Entropy over the expected number of questions, asked in the order of the chances."""
    n_neighborhoods = chances.shape[1]
    n_questions = np.arange(1.0, n_neighborhoods + 1)
    if is_complete and n_neighborhoods > 1:
        # Not in any other of all clusters: the last question need not be asked.
        n_questions[-1] -= 1
    return _per_question(chances, n_questions)


def worth_of_new(chances: NDArray[np.float64], novelty: float) -> NDArray[np.float64]:
    """Worth of rows that may belong to a cluster not met yet, with this chance; else where `chances` say.

    The chance is the share of known rows that were the first of their cluster, so that looking for new clusters takes
    fewer questions the longer none was found.
    """
    with_new = np.column_stack([(1.0 - novelty) * chances, np.full(len(chances), novelty)])
    # Not with any of those known: that is final, after as many questions as there are neighborhoods.
    n_questions = np.minimum(np.arange(1.0, with_new.shape[1] + 1), chances.shape[1])
    return _per_question(with_new, n_questions)


def _per_question(chances: NDArray[np.float64], n_questions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy over the expected number of questions, given how many each place in the order of chances takes."""
    worth: NDArray[np.float64] = entr(chances).sum(axis=1) / (-np.sort(-chances, axis=1) @ n_questions)
    return worth
