"""Instances with random links: blobs and digits, run through a few k-means steps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from konstrain import Problem
from konstrain.assignment import Assignment, AssignmentProblem
from linked_pairs import random_pairs


@dataclass(frozen=True, eq=False)
class LinkedCase:
    """A problem and the centers a k-means run on it starts from."""

    problem: Problem
    centers: np.ndarray

    def run(self, iterations: int) -> Iterator[tuple[AssignmentProblem, Callable[[Assignment], None]]]:
        """Yield one assignment problem per iteration and the function that takes its answer."""
        means, weight, centers = self.problem.mean, self.problem.weight, self.centers
        answers: list[Assignment] = []
        for _ in range(iterations):
            squared = (means**2).sum(1)[:, None] - 2 * means @ centers.T + (centers**2).sum(1)
            costs = np.ascontiguousarray(weight[:, None] * np.maximum(squared, 0.0))
            yield self.problem.assignment_problem(costs), answers.append
            labels, n_clusters = answers[-1].labels, len(centers)
            sums = [np.bincount(labels, weight * column, n_clusters) for column in means.T]
            totals = np.bincount(labels, weight, n_clusters)
            centers = np.where(totals[:, None] > 0, np.stack(sums, 1) / np.maximum(totals, 1e-9)[:, None], centers)


def _case(X: np.ndarray, y: np.ndarray, k: int, n_pairs: int, seed: int, size_slack: float | None) -> LinkedCase:
    rng = np.random.default_rng(seed)
    sizes = {}
    if size_slack is not None:
        mean = len(X) / k
        sizes = {"size_min": np.floor((1 - size_slack) * mean), "size_max": np.ceil((1 + size_slack) * mean)}
    problem = Problem.build(
        X,
        k,
        must_link=random_pairs(y, True, n_pairs, rng),
        cannot_link=random_pairs(y, False, n_pairs, rng),
        nonempty=False,
        **sizes,
    )
    return LinkedCase(problem, X[rng.choice(len(X), k, replace=False)])


def blobs(n_rows: int, k: int, n_pairs: int) -> LinkedCase:
    """Overlapping Gaussian blobs in ten dimensions with as many must-links as cannot-links."""
    X, y = make_blobs(n_rows, 10, centers=k, cluster_std=3.0, random_state=0)
    return _case(X, y, k, n_pairs, 0, None)


def digits(n_pairs: int, seed: int = 0, size_slack: float | None = None) -> LinkedCase:
    """scikit-learn's digits with as many must-links as cannot-links, sizes within `size_slack` of equal."""
    X, y = load_digits(return_X_y=True)
    return _case(X, y, 10, n_pairs, seed, size_slack)
