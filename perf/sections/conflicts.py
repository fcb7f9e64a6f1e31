"""Cannot-links without sizes: calls of a k-means run against the whole model in HiGHS and a plain minimum."""

from collections.abc import Iterator

import numpy as np

from konstrain.assignment import assign, milp, nearest
from konstrain.stop import Budget
from linked_cases import LinkedCase, blobs, digits
from report import Row
from timing import cpu_seconds

ITERATIONS = 8


def conflict_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per instance: our calls after the first iteration, and HiGHS on the same problems."""
    cases = {
        "blobs 10,000, k=10, 5,000 + 5,000": blobs(10_000, 10, 5_000),
        "digits, k=10, 449 + 449": digits(449),
        "digits, k=10, 898 + 898": digits(898),
    }
    for name, case in cases.items():
        calls = list(_calls(case))
        row = {
            "instance": name,
            "first ms": f"{1e3 * calls[0][0]:.2f}",
            "median ms": f"{1e3 * np.median([seconds for seconds, *_ in calls[1:]]):.3f}",
            "argmin ms": f"{1e3 * np.median([plain for _, plain, *_ in calls[1:]]):.3f}",
            "proven": str(all(answer.proven for *_, answer, _ in calls)),
        }
        if not quick:
            row |= _against_highs(calls)
        yield row


def _calls(case: LinkedCase) -> Iterator[tuple]:
    for problem, answer_with in case.run(ITERATIONS):
        seconds, answer = cpu_seconds(lambda problem=problem: assign(problem))
        plain, _ = cpu_seconds(lambda problem=problem: problem.costs.argmin(axis=1))
        yield seconds, plain, answer, problem
        answer_with(answer)


def _against_highs(calls: list[tuple]) -> Row:
    ratios, differences = [], []
    for seconds, _, answer, problem in calls[1::3]:
        slow, referee = cpu_seconds(lambda problem=problem: milp.solve(problem, budget=Budget(120)), repeats=1)
        ratios.append(slow / seconds)
        differences.append(answer.cost / referee.cost - 1)
    return {
        "HiGHS / ours, least": f"{min(ratios):.0f}",
        "median": f"{np.median(ratios):.0f}",
        "cost": f"{max(differences, key=abs):+.0e}",
    }


def large_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield a million rows with 100,000 + 100,000 pairs against one pass that takes every block's minimum."""
    if quick:
        return
    for seconds, plain, answer, problem in _calls(blobs(1_000_000, 10, 100_000)):
        own, _ = cpu_seconds(lambda problem=problem: nearest.solve(problem))
        yield {
            "instance": "blobs 1,000,000, k=10",
            "ours ms": f"{1e3 * seconds:.1f}",
            "numpy argmin ms": f"{1e3 * plain:.1f}",
            "ratio": f"{seconds / plain:.2f}",
            "our argmin ms": f"{1e3 * own:.1f}",
            "proven": str(answer.proven),
        }


SECTIONS = {"conflicts": conflict_rows, "conflicts, a million rows": large_rows}
