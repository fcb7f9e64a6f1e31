"""Small experiments for the runner: importable by name, because rows run in other processes."""

import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from konstrain.comparison.measures import CLOCKED
from konstrain.experiments import Case, Contender, Experiment, Instance

MEASURES = ("ari", "nmi", "sse", "broken", "sizes", *CLOCKED)


def blobs(pause: float, folder: Path | None, seed: int) -> Instance:
    """Two blobs with one must-link and one cannot-link; takes a while to build if so asked."""
    time.sleep(pause)
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], 15)
    X = rng.normal(size=(30, 2)) + 4 * labels[:, None]
    return Instance(X, 2, labels, {"must_link": [(0, 1)], "cannot_link": [(0, 29)]})


def hungry(folder: Path | None, seed: int) -> Instance:
    """Ask for a gigabyte."""
    return Instance(np.ones((2**27, 1)), 2)


def deadly(folder: Path | None, seed: int) -> Instance:
    """End the process as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return blobs(0.0, folder, seed)


def contradictory(folder: Path | None, seed: int) -> Instance:
    """Links that no clustering keeps."""
    instance = blobs(0.0, folder, seed)
    return Instance(instance.X, 2, None, {"must_link": [(0, 1)], "cannot_link": [(0, 1)]})


def absent(folder: Path | None, seed: int) -> Instance:
    """Data that are not there."""
    raise FileNotFoundError(f"data set 'absent' cannot be had here; {folder} has no absent.csv")


def incomplete() -> Experiment:
    """Two data sets, of which one is not there."""
    makers = {"blobs": partial(blobs, 0.0), "absent": absent}
    return replace(
        toy(),
        cases=lambda: iter([Case.of(make, seed=seed, data=name) for name, make in makers.items() for seed in (0, 1)]),
    )


def toy(pause: float = 0.0, n_sets: int = 6) -> Experiment:
    """Two methods, two runs each, on some sets of blobs."""
    return Experiment(
        name="toy",
        title="Blobs",
        reference="nobody (2000)",
        cases=partial(_cases, pause, n_sets),
        contenders=(
            Contender("plain", "kmeans", n_runs=2),
            Contender("ours", "constrained-kmeans", n_runs=2),
        ),
        measures=MEASURES,
        quick=({"set": 0},),
    )


def troubled() -> Experiment:
    """Rows that fail, each in its own way, after one that does not."""
    makers = {"fine": partial(blobs, 0.0), "hungry": hungry, "contradictory": contradictory, "deadly": deadly}
    return Experiment(
        name="troubled",
        title="Trouble",
        reference="nobody (2000)",
        cases=lambda: iter([Case.of(make, seed=0, data=name) for name, make in makers.items()]),
        contenders=(Contender("ours", "constrained-kmeans", memory_limit=300.0),),
        measures=MEASURES,
    )


def _cases(pause: float, n_sets: int):
    for seed in range(n_sets):
        yield Case.of(partial(blobs, pause), seed=seed, data="blobs")
