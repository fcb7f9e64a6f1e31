"""Rows far from all known ones first: Basu et al. (2004) and Mallapragada et al. (2008)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.estimators import ConstrainedKMeans
from konstrain.suggest.known import Known, Questions


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
