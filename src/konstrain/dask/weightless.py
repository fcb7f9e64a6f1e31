"""Rows without weight under sizes: where the client has put them does not matter to costs, only to people."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from konstrain.dask.steps import RemoteLabels, RemoteSteps
from konstrain.kmeans import weightless
from konstrain.kmeans.result import Clustering


def place_weightless(steps: RemoteSteps, best: Clustering) -> Clustering:
    """Put the gathered rows of weight zero where they are nearest, in the room that sizes leave them."""
    tied = steps.problem.tied
    if tied is None or not steps.problem.has_bounds:
        return best
    labels = cast("RemoteLabels", best.block_labels)
    demand, k = tied.problem.demand, steps.problem.n_clusters
    others = labels.sizes - np.bincount(labels.tied, demand, k)
    here = steps.with_room_for_tied(labels)
    placed = weightless.place_weightless(here, replace(best, block_labels=labels.tied), steps.deadline).block_labels
    rule, own = labels.labelling, labels.labelling.labels.copy()
    own[np.searchsorted(rule.numbers, tied.numbers)] = tied.problem.expand(placed)
    sizes = others + np.bincount(placed, demand, k)
    settled = replace(labels, tied=placed, sizes=sizes, labelling=replace(rule, labels=own))
    settled = replace(settled, amounts=steps.amounts_with(labels, placed))
    # Loops hand labels on without looking into them.
    return replace(best, block_labels=cast("Any", settled))
