"""Time whole runs of BLPKMeans against the same runs with every assignment step given whole to HiGHS.

Usage: python perf/blp.py [--data folder with iris.csv ... vehicle.csv] [--starts 5]
       python perf/blp.py --sets [--data folder] [--quick] [--time-limit 60]

"blocks" is the binary program over blocks of must-linked rows (konstrain's `milp` engine, which tries the linear
relaxation first), "printed" the program (1)-(6) of the paper over objects, through scipy.optimize.milp. Same starts,
same links (CS10: with q = ceil(0.1 n), q (q - 1) / 2 pairs drawn uniformly), CPU time on one thread. A run begins
with the checked and merged problem, the same on both sides; "fit" is a run with all checks around it. Without
--data Iris and Wine are scikit-learn's, and Haberman is two overlapping clouds of its size; larger sets are left out.

With --sets: all 25 data sets of the paper that can be had, CS10 to CS20, one constraint set and one start each. HiGHS
gets the blocks of each step of our run, at most --time-limit seconds per step; ">=" where that was not enough once,
its later steps of that run left out. --quick: four of the sets.
"""

import argparse
import math
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import Bounds, LinearConstraint
from scipy.optimize import milp as scipy_milp
from scipy.sparse import coo_array
from sklearn.datasets import load_iris, load_wine
from threadpoolctl import threadpool_limits

from konstrain import BLPKMeans, Problem
from konstrain.assignment import Assignment, milp
from konstrain.estimators.blp_kmeans import DistanceSteps, while_distance_falls
from konstrain.kmeans.loop import Loop
from report import table_of
from sections.blp_sets import set_rows
from timing import cpu_seconds


class BlockSteps(DistanceSteps):
    """Each step as one binary program over blocks."""

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Hand the whole step to HiGHS."""
        return milp.solve(self.problem.assignment_problem(costs))


class PrintedSteps(DistanceSteps):
    """Each step as the program of the paper, over rows."""

    links: dict[str, np.ndarray]

    def assign(self, costs: np.ndarray, warm: Assignment | None) -> Assignment:
        """Hand the whole step to HiGHS, must-links as equations."""
        distances = self._buffer
        rows = solve_printed(distances, **PrintedSteps.links).reshape(distances.shape).argmax(axis=1)
        labels = rows[self.problem.first_rows].astype(np.int32)
        return Assignment(labels, np.nan, np.nan, True, "printed")


def solve_printed(distances: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray) -> np.ndarray:
    """Write down (1)-(6) and solve it to proved optimality."""
    n, k = distances.shape
    variable = np.arange(n * k).reshape(n, k)
    ones = np.ones(n * k)
    each_row = coo_array((ones, (np.repeat(np.arange(n), k), variable.ravel())), shape=(n, n * k))
    each_cluster = coo_array((ones, (np.tile(np.arange(k), n), variable.ravel())), shape=(k, n * k))
    constraints = [LinearConstraint(each_row, 1, 1), LinearConstraint(each_cluster, 1, np.inf)]
    if must_link.size:
        constraints.append(LinearConstraint(pair_rows(variable, must_link, -1.0), 0, 0))
    if cannot_link.size:
        constraints.append(LinearConstraint(pair_rows(variable, cannot_link, 1.0), -np.inf, 1))
    answer = scipy_milp(
        distances.ravel(),
        integrality=ones,
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0},
    )
    return answer.x


def pair_rows(variable: np.ndarray, pairs: np.ndarray, sign: float) -> coo_array:
    """One row per pair and cluster: the first plus `sign` times the second."""
    first, second = variable[pairs[:, 0]].ravel(), variable[pairs[:, 1]].ravel()
    numbers = np.arange(first.size)
    values = np.concatenate([np.ones(first.size), np.full(first.size, sign)])
    places = (np.concatenate([numbers, numbers]), np.concatenate([first, second]))
    return coo_array((values, places), shape=(first.size, variable.size))


def cases(folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows and classes of each data set."""
    if folder is not None:
        for name in ("iris", "wine", "haberman", "glass", "ecoli", "vehicle"):
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


def time_start(X: np.ndarray, y: np.ndarray, start: int) -> dict[str, float]:
    """CPU seconds of one start by each way; raises if two ways do not cost the same."""
    k, rng = np.unique(y).size, np.random.default_rng(start)
    links = PrintedSteps.links = cs10(y, rng)
    centers = X[rng.choice(len(X), k, replace=False)]
    problem = Problem.build(X, k, **links)
    seconds = {"fit": cpu_seconds(lambda: BLPKMeans(k, init=centers).fit(X, **links), repeats=9)[0]}
    kinds: dict[str, type[DistanceSteps]] = {"run": DistanceSteps, "blocks": BlockSteps, "printed": PrintedSteps}
    costs = []
    for way, steps in kinds.items():
        repeats = 9 if way == "run" else 3
        loop = Loop(while_distance_falls, steps(problem, rows=X))
        seconds[way], found = cpu_seconds(partial(loop.run, centers), repeats)
        costs.append(found.objective)
    np.testing.assert_allclose(costs, costs[0], rtol=1e-7)
    return seconds


def time_starts(folder: Path | None, n_starts: int) -> Table:
    """Medians over starts and link sets under CS10, per data set."""
    table = Table(title=f"BLPKMeans, CS10, medians over {n_starts} starts and link sets; same cost everywhere")
    for column in ("data", "fit ms", "run ms", "blocks ms", "ratio", "printed ms", "ratio"):
        table.add_column(column, justify="left" if column == "data" else "right")
    for name, X, y in cases(folder):
        starts = [time_start(X, y, start) for start in range(n_starts)]
        seconds = {way: statistics.median(each[way] for each in starts) for way in starts[0]}
        own = seconds["run"]
        cells = [f"{1e3 * seconds['fit']:.2f}", f"{1e3 * own:.2f}"]
        for way in ("blocks", "printed"):
            cells += [f"{1e3 * seconds[way]:.1f}", f"{seconds[way] / own:.0f}"]
        table.add_row(name, *cells)
    return table


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.sets:
            rows = set_rows(folder=options.data, time_limit=options.time_limit, quick=options.quick)
            table = table_of("BLPKMeans, one run per data set and size; same cost in every step", list(rows))
        else:
            table = time_starts(options.data, options.starts)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
