"""Size bounds: cold calls against OR-tools' flow solver, warm calls against a plain minimum, memory."""

import json
import subprocess
from collections.abc import Iterator

import numpy as np

from konstrain.assignment import Assignment, AssignmentProblem, transport
from report import Row
from timing import cpu_seconds, peak_megabytes, run_alone
from transport_cases import CASES, Case, slices, squared_distances


def problem_of(case: Case, costs: np.ndarray) -> AssignmentProblem:
    """Balanced assignment at these costs."""
    lower, upper = case.bounds()
    return AssignmentProblem(costs, size_min=lower, size_max=upper)


def cold_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: ours, the peer's, and how far its rounded optimum is from ours."""
    for case in CASES.values():
        problem = problem_of(case, case.costs())
        seconds, answer = cpu_seconds(lambda problem=problem: transport.solve(problem))
        row = {"case": case.name, "ours ms": f"{1e3 * seconds:.2f}", "proven": str(answer.proven)}
        if not quick and (full or not case.is_slow_for_peers):
            row |= _peer(case, seconds, answer)
        yield row


def _peer(case: Case, seconds: float, answer: Assignment) -> Row:
    try:
        peer = json.loads(run_alone("peers/ortools_flow.py", case.name, "1" if case.is_slow_for_peers else "3"))
    except subprocess.CalledProcessError as error:
        return {"OR-tools ms": error.stderr.strip().splitlines()[-1]}
    return {
        "OR-tools ms": f"{1e3 * peer['cpu_seconds']:.1f}",
        "ratio": f"{peer['cpu_seconds'] / seconds:.1f}",
        "OR-tools cost": f"{peer['cost'] / answer.cost - 1:+.1e}",
    }


def warm_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: mean over the iterations of balanced k-means after the first."""
    names = ["10000x20", "23000x10", "100000x20"] + ([] if quick else ["1000000x50"])
    for name in names:
        case = CASES[name]
        points = case.points()
        centers = case.centers(points)
        answer: Assignment | None = None
        ours, plain = [], []
        for iteration in range(30):
            costs = squared_distances(points, centers)
            problem = problem_of(case, costs)
            seconds, answer = cpu_seconds(lambda p=problem, warm=answer: transport.solve(p, warm=warm), repeats=1)
            if iteration > 0:
                ours.append(seconds)
                plain.append(cpu_seconds(lambda costs=costs: costs.argmin(axis=1), repeats=1)[0])
            centers = _means(points, answer.labels, case.n_clusters)
        yield {
            "case": name,
            "warm ms": f"{1e3 * np.mean(ours):.3f}",
            "argmin ms": f"{1e3 * np.mean(plain):.3f}",
            "ratio": f"{np.sum(ours) / np.sum(plain):.2f}",
            "last ten": f"{np.sum(ours[-10:]) / np.sum(plain[-10:]):.2f}",
        }


def _means(points: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    sums = np.stack([np.bincount(labels, weights=column, minlength=n_clusters) for column in points.T], axis=1)
    return sums / np.bincount(labels, minlength=n_clusters)[:, None]


def memory_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield the largest case's memory beyond its cost matrix, measured in a fresh process."""
    if not quick:
        yield json.loads(run_alone("sections/transport_memory.py", "1000000x50"))


def measure_memory(name: str) -> Row:
    """Growth of this process' peak memory by one cold call."""
    case = CASES[name]
    points = np.random.default_rng(0).normal(size=(case.n_rows, 8))
    centers = points[: case.n_clusters]
    costs = np.empty((case.n_rows, case.n_clusters))
    for part in slices(case.n_rows):
        costs[part] = squared_distances(points[part], centers)
    before = peak_megabytes()
    transport.solve(problem_of(case, costs))
    return {
        "case": name,
        "matrix MB": f"{costs.nbytes / 1024**2:.0f}",
        "beyond MB": f"{peak_megabytes() - before:.0f}",
    }


SECTIONS = {"transport": cold_rows, "warm k-means": warm_rows, "memory": memory_rows}
