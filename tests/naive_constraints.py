"""Slow and obvious versions of what the package derives from constraints, and a generator of small inputs."""

import itertools
from collections import deque

import numpy as np


def random_arguments(rng, n, *, soft=False):
    """Random must-links, cannot-links, groups and labels over n rows, with repeats and swapped ends."""

    def pairs(count):
        drawn = rng.integers(0, n, (count, 2))
        return drawn[drawn[:, 0] != drawn[:, 1]]

    arguments = {"must_link": pairs(rng.integers(0, n)), "cannot_link": pairs(rng.integers(0, 2 * n))}
    if rng.random() < 0.5:
        arguments["groups"] = np.where(rng.random(n) < 0.4, rng.integers(0, n, n), -1)
    if rng.random() < 0.4:
        arguments["labels"] = np.where(rng.random(n) < 0.3, rng.integers(0, 3, n), -1)
    if soft:
        for name in ("must_link", "cannot_link"):
            given = arguments[name]
            confidence = rng.choice([0.25, 0.5, 1.0, np.inf], len(given), p=[0.3, 0.3, 0.3, 0.1])
            arguments[name] = np.column_stack([given, confidence])
    return arguments


def neighbours_of(n, must_link=(), groups=None, labels=None, **_):
    """Rows tied to each row in one step: pairs, and all pairs within a group or label."""
    ties = [set() for _ in range(n)]
    for a, b, *confidence in np.asarray(must_link).tolist():
        if not confidence or np.isinf(confidence[0]):
            ties[int(a)].add(int(b))
            ties[int(b)].add(int(a))
    for values in (groups, labels):
        if values is not None:
            for a, b in itertools.combinations(range(n), 2):
                if values[a] == values[b] != -1:
                    ties[a].add(b)
                    ties[b].add(a)
    return ties


def distance(ties, start, end):
    """Count the steps between two rows, by breadth-first search; None when there is no way."""
    steps, queue = {start: 0}, deque([start])
    while queue:
        row = queue.popleft()
        for other in ties[row] - steps.keys():
            steps[other] = steps[row] + 1
            queue.append(other)
    return steps.get(end)


def blocks_of(n, **arguments):
    """Block of each row, numbered by first rows."""
    ties = neighbours_of(n, **arguments)
    block_of, count = [-1] * n, 0
    for row in range(n):
        if block_of[row] < 0:
            for other in range(n):
                if distance(ties, row, other) is not None:
                    block_of[other] = count
            count += 1
    return block_of


def apart(n, cannot_link=(), labels=None, **_):
    """All pairs of rows that must be apart."""
    pairs = {(int(a), int(b)) for a, b, *c in np.asarray(cannot_link).tolist() if not c or np.isinf(c[0])}
    if labels is not None:
        pairs |= {
            (a, b)
            for a, b in itertools.combinations(range(n), 2)
            if -1 not in (labels[a], labels[b]) and labels[a] != labels[b]
        }
    return pairs


def is_colorable(n_nodes, edges, n_colors):
    """Whether some labelling gives no edge the same colour twice, by trying all."""
    return any(
        all(colors[u] != colors[v] for u, v in edges) for colors in itertools.product(range(n_colors), repeat=n_nodes)
    )
