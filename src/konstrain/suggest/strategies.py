"""Rows between two clusters, most doubtful first."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.estimators import ConstrainedKMeans
from konstrain.kmeans.distances import block_costs
from konstrain.suggest.known import Known, Questions


def margin(known: Known, model: ConstrainedKMeans, rng: Any) -> Questions:
    """Rows between two clusters, most doubtful first, against the middle row of the nearer one, then the other."""
    del rng
    squared = squared_distances(known, model)
    best_two = np.argsort(squared, axis=1, kind="stable")[:, :2]
    nearest, second = (np.take_along_axis(squared, best_two, axis=1)[:, i] for i in (0, -1))
    doubt = np.argsort((second - nearest) / np.maximum(second, np.finfo(float).tiny), kind="stable")
    medoids = [medoid(squared, model.labels_, j) for j in range(squared.shape[1])]

    def questions(now: Known) -> Iterator[tuple[int, int]]:
        for row in doubt.tolist():
            # One question per row: the next row tells more.
            if now.problem.rows_of(int(now.problem.block_of[row])).size > 1:
                continue
            for cluster in best_two[row].tolist():
                anchor = medoids[cluster]
                if row not in medoids and now.is_open(row, anchor):
                    yield row, anchor

    return questions


def squared_distances(known: Known, model: ConstrainedKMeans) -> NDArray[np.float64]:
    """Squared distance of each row to each center, as the model measures."""
    return block_costs(known.X, None, model._measured_centers())


def medoid(squared: NDArray[np.float64], labels: NDArray[np.int32], cluster: int) -> int:
    """The row of a cluster nearest to its center."""
    return int(np.argmin(np.where(labels == cluster, squared[:, cluster], np.inf)))


def explore_consolidate(known: Known, model: ConstrainedKMeans, rng: Any) -> Questions:
    """Farthest-first until all clusters are met, then random rows (Basu et al. 2004)."""
    del model
    order = rng.permutation(len(known.X))

    def next_row(now: Known, distance: NDArray[np.float64]) -> int:
        if not now.is_complete:
            return int(distance.argmax())
        return int(next(row for row in order if distance[row] >= 0))

    return _explore_first(known, order, next_row)


def min_max(known: Known, model: ConstrainedKMeans, rng: Any) -> Questions:
    """Farthest-first throughout: the row least like anything known (Mallapragada et al. 2008)."""
    del model
    order = rng.permutation(len(known.X))
    return _explore_first(known, order, lambda now, distance: int(distance.argmax()))


def _explore_first(
    known: Known, order: NDArray[Any], next_row: Callable[[Known, NDArray[np.float64]], int]
) -> Questions:
    first = int(order[0])

    def questions(now: Known) -> Iterator[tuple[int, int]]:
        if not now.neighborhoods:
            yield int(((now.X - now.X[first]) ** 2).sum(axis=1).argmax()), first
        # Rows whose questions have begun come before new ones.
        for block in now.linked_blocks:
            if block not in now.neighborhoods:
                yield from now.against_neighborhoods(int(now.problem.rows_of(block)[0]))
        distance = now.distance_to_known()
        while (distance >= 0).any():
            row = next_row(now, distance)
            yield from now.against_neighborhoods(row)
            distance[row] = -1.0

    return questions
