"""Blocks without weight cost nothing anywhere: they go to the nearest center that the constraints allow."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.assignment import AssignmentProblem, assign_by
from konstrain.constraints import Problem
from konstrain.exceptions import UndecidedError
from konstrain.kmeans import distances
from konstrain.kmeans.result import Clustering
from konstrain.links import LinkGraph
from konstrain.stop import Budget


def place_weightless(problem: Problem, best: Clustering, budget: Budget) -> Clustering:
    """Put blocks of weight zero where they are nearest, all others staying; no soft link more is broken.

    Centers and costs do not depend on these blocks, so assignment steps leave them anywhere.
    """
    weightless = np.flatnonzero(problem.weight == 0)
    if not weightless.size:
        return best
    labels = best.block_labels.copy()
    moving = weightless[~_last_ones(problem, labels, weightless)]
    to_place = _assignment_problem(problem, labels, moving, best.centers)
    try:
        labels[moving] = assign_by(to_place, budget=budget).labels
    except UndecidedError:
        return best  # Time is up; where they are they break nothing.
    if problem.homes is None:
        return replace(best, block_labels=labels)
    fewer = problem.homes.n_moved(best.block_labels) - problem.homes.n_moved(labels)
    if fewer < 0 and problem.homes.most < np.inf:
        return best  # a step without a proof
    return replace(best, block_labels=labels, objective=best.objective - problem.homes.cost * fewer)


def _last_ones(problem: Problem, labels: NDArray[np.int32], weightless: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mark one block of each cluster that would be empty without blocks of weight zero, and must not be."""
    held = np.bincount(labels[problem.weight > 0], minlength=problem.n_clusters) > 0
    _, first = np.unique(labels[weightless], return_index=True)
    last = np.zeros(weightless.size, dtype=bool)
    last[first] = problem.nonempty & ~held[labels[weightless[first]]]
    return last


def _assignment_problem(
    problem: Problem, labels: NDArray[np.int32], moving: NDArray[np.intp], centers: NDArray[np.float64]
) -> AssignmentProblem:
    """Return the problem of placing these blocks at least squared distance while all others stay."""
    costs = distances.block_costs(problem.mean[moving], None, centers)
    is_moving = np.zeros(problem.n_blocks, dtype=bool)
    is_moving[moving] = True
    if problem.homes is not None and (problem.homes.cost > 0 or problem.homes.most < np.inf):
        # Moves, which the objective or a bound counts, come first.
        costs += problem.homes.moved[moving] * (1.0 + costs.sum())
    links = None
    if problem.links is not None:
        links = _charge_links(problem.links, labels, is_moving, costs)
    staying = ~is_moving
    held = np.bincount(labels[staying], problem.demand[staying], problem.n_clusters)
    low, high = problem.widened_bounds
    resources = None
    if problem.resources is not None:
        others = replace(problem.resources, amounts=problem.resources.amounts[staying]).sums(labels[staying])
        resources = problem.resources.restricted_to(moving, others)
    return AssignmentProblem(
        costs,
        links,
        np.ascontiguousarray(problem.demand[moving]),
        None if problem.size_min is None else low - held,
        None if problem.size_max is None else np.maximum(high - held, 0.0),
        resources=resources,
    )


def _charge_links(
    links: LinkGraph, labels: NDArray[np.int32], is_moving: NDArray[np.bool_], costs: Any
) -> LinkGraph | None:
    """Return the links among moving blocks; those to staying ones go into the costs, in place."""
    u, v, w = links.edges
    # Any soft link outweighs all distances together, and a hard one these and all soft links.
    distances_together = float((costs.max(axis=1) - costs.min(axis=1)).sum()) + 1.0
    soft = np.isfinite(w)
    scale = distances_together / float(np.abs(w[soft & (w != 0)]).min(initial=np.inf)) if soft.any() else 1.0
    charge = np.where(soft, w, 0.0) * scale
    charge[~soft] = distances_together + float(np.abs(charge).sum())
    place = np.cumsum(is_moving) - 1
    for mover, other in ((u, v), (v, u)):
        half = is_moving[mover] & ~is_moving[other]
        row, cluster, paid = place[mover[half]], labels[other[half]], charge[half]
        # Sharing the cluster costs a positive charge, and saves a negative one that is paid everywhere else.
        np.add.at(costs, row, -np.minimum(paid, 0.0)[:, None])
        np.add.at(costs, (row, cluster), paid)
    inside = is_moving[u] & is_moving[v]
    if not inside.any():
        return None
    weights = np.where(soft, charge, np.inf)[inside]
    return LinkGraph.from_edges(int(is_moving.sum()), place[u[inside]], place[v[inside]], weights)
