"""Rows without weight that the client places: where does not matter to costs, only to people."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from konstrain.constraints import Problem
from konstrain.dask.steps import RemoteLabels, RemoteSteps
from konstrain.kmeans import weightless
from konstrain.kmeans.result import Clustering


def place_weightless(steps: RemoteSteps, best: Clustering) -> Clustering:
    """Put the gathered rows of weight zero where they are nearest, in the room that links and sizes leave them."""
    tied = steps.problem.tied
    if tied is None:
        return best
    labels = cast("RemoteLabels", best.block_labels)
    demand, k = tied.problem.demand, steps.problem.n_clusters
    others = labels.sizes - np.bincount(labels.tied, demand, k)
    here = steps.with_room_for_tied(labels) if steps.problem.has_bounds else _free_to_move(tied.problem, labels)
    placed = weightless.place_weightless(here, replace(best, block_labels=labels.tied), steps.budget).block_labels
    rule, own = labels.labelling, labels.labelling.labels.copy()
    own[np.searchsorted(rule.numbers, tied.numbers)] = tied.problem.expand(placed)
    sizes = others + np.bincount(placed, demand, k)
    settled = replace(labels, tied=placed, sizes=sizes, labelling=replace(rule, labels=own))
    settled = replace(settled, amounts=steps.amounts_with(labels, placed))
    # Loops hand labels on without looking into them.
    return replace(best, block_labels=cast("Any", settled))


def _free_to_move(problem: Problem, labels: RemoteLabels) -> Problem:
    """Return the problem of the tied rows without bounds; who stands in a cluster without any weight stays there."""
    # Such a cluster might be empty otherwise.
    return replace(problem, weight=np.where(labels.weights[labels.tied] > 0, problem.weight, 1.0))
