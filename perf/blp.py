"""Time whole runs of BLPKMeans against the same runs with every assignment step given whole to HiGHS.

Usage: python perf/blp.py [--data folder with iris.csv, wine.csv, haberman.csv] [--starts 5]

"blocks" is the binary program over blocks of must-linked rows (konstrain's `milp` engine), "printed" the program
(1)-(6) of the paper, one row of it per object and per link. Same starts, same links (CS10: with q = ceil(0.1 n),
q (q - 1) / 2 pairs drawn uniformly), CPU time on one thread. Without --data Iris and Wine are scikit-learn's, and
Haberman is two overlapping clouds of its size.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import coo_array, csr_array, vstack
from sklearn.datasets import load_iris, load_wine
from threadpoolctl import threadpool_limits

from konstrain import BLPKMeans
from konstrain._highs import BinaryProgram, solve_binary
from konstrain.assignment import Assignment, milp
from konstrain.estimators.blp_kmeans import DistanceLloyd
from konstrain.estimators.constrained_kmeans import Run
from timing import cpu_seconds


class BlockLloyd(DistanceLloyd):
    """Each step as one binary program over blocks."""

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Hand the whole step to HiGHS."""
        return milp.solve(self.problem.assignment_problem(costs))


class PrintedLloyd(DistanceLloyd):
    """Each step as the program of the paper, over rows."""

    links: dict[str, np.ndarray]

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Hand the whole step to HiGHS, must-links as equations."""
        distances = self._buffer
        answer = solve_binary(printed_program(distances / distances.max(), **PrintedLloyd.links))
        rows = answer.x.reshape(distances.shape).argmax(axis=1)
        labels = rows[self.problem.block_rows[self.problem.block_indptr[:-1]]].astype(np.int32)
        return Assignment(labels, answer.value, answer.bound, True, "printed")


def printed_program(distances: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray) -> BinaryProgram:
    """Write down (1)-(6)."""
    n, k = distances.shape
    variable = np.arange(n * k).reshape(n, k)
    ones = np.ones(n * k)
    each_row = coo_array((ones, (np.repeat(np.arange(n), k), variable.ravel())), shape=(n, n * k))
    each_cluster = coo_array((ones, (np.tile(np.arange(k), n), variable.ravel())), shape=(k, n * k))
    must, cannot = (pair_rows(variable, pairs, sign) for pairs, sign in ((must_link, -1.0), (cannot_link, 1.0)))
    zeros, free = np.zeros(must.shape[0]), np.full(cannot.shape[0], np.inf)
    return BinaryProgram(
        cost=distances.ravel(),
        rows=csr_array(vstack([each_row, each_cluster, must, cannot])),
        row_low=np.concatenate([np.ones(n), np.ones(k), zeros, -free]),
        row_high=np.concatenate([np.ones(n), np.full(k, np.inf), zeros, np.ones(cannot.shape[0])]),
        integer=np.ones(n * k, dtype=bool),
    )


def pair_rows(variable: np.ndarray, pairs: np.ndarray, sign: float) -> coo_array:
    """One row per pair and cluster: the first plus `sign` times the second."""
    first, second = variable[pairs[:, 0]].ravel(), variable[pairs[:, 1]].ravel()
    numbers = np.arange(first.size)
    values = np.concatenate([np.ones(first.size), np.full(first.size, sign)])
    places = (np.concatenate([numbers, numbers]), np.concatenate([first, second]))
    return coo_array((values, places), shape=(first.size, variable.size))


@dataclass
class Whole(BLPKMeans):
    """BLPKMeans with another loop."""

    loop: type[DistanceLloyd]
    n_clusters: int
    init: np.ndarray

    def __post_init__(self) -> None:
        super().__init__(self.n_clusters, init=self.init)

    def _make_run(self, *args: object) -> Run:
        run = super()._make_run(*args)
        own = run.lloyd
        fields = {name: getattr(own, name) for name in ("max_iter", "deadline", "n_threads", "rows", "totals")}
        return Run(self.loop(own.problem, **fields), run.start, search=False)


def cases(folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows and classes of each data set."""
    if folder is not None:
        for name in ("iris", "wine", "haberman"):
            table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
            yield name, np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)
        return
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    y = (rng.random(306) < 0.26).astype(int)
    yield "306 x 3", rng.normal(size=(306, 3)) + 0.8 * y[:, None], y


def cs10(y: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the links."""
    q = math.ceil(0.1 * y.size)
    first, second = np.triu_indices(y.size, 1)
    chosen = rng.choice(first.size, q * (q - 1) // 2, replace=False)
    pairs = np.column_stack([first, second])[chosen]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def time_case(X: np.ndarray, y: np.ndarray, n_starts: int) -> dict[str, np.ndarray]:
    """CPU seconds of each start by each way; stops if two ways do not cost the same."""
    k = np.unique(y).size
    seconds: dict[str, list[float]] = {"konstrain": [], "blocks": [], "printed": []}
    for start in range(n_starts):
        rng = np.random.default_rng(start)
        links = PrintedLloyd.links = cs10(y, rng)
        centers = X[rng.choice(len(X), k, replace=False)]
        costs = []
        for way, loop in (("konstrain", DistanceLloyd), ("blocks", BlockLloyd), ("printed", PrintedLloyd)):
            model = Whole(loop, k, centers)
            spent, fitted = cpu_seconds(lambda model=model, links=links: model.fit(X, **links))
            seconds[way].append(spent)
            costs.append(fitted.objective_)
        np.testing.assert_allclose(costs, costs[0], rtol=1e-7)
    return {way: np.array(values) for way, values in seconds.items()}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    table = Table(title=f"BLPKMeans, CS10, medians over {options.starts} starts and link sets; same cost everywhere")
    for column in ("data", "konstrain ms", "blocks ms", "ratio", "printed ms", "ratio"):
        table.add_column(column, justify="left" if column == "data" else "right")
    with threadpool_limits(1):
        for name, X, y in cases(options.data):
            seconds = {way: np.median(values) for way, values in time_case(X, y, options.starts).items()}
            own = seconds["konstrain"]
            cells = [f"{1e3 * own:.2f}"]
            for way in ("blocks", "printed"):
                cells += [f"{1e3 * seconds[way]:.1f}", f"{seconds[way] / own:.0f}"]
            table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
