"""Sizes and links together: calls of a k-means run against the whole model in HiGHS."""

from collections.abc import Iterator

from konstrain.assignment import milp, priced
from konstrain.stop import Budget
from linked_cases import digits
from report import Row
from timing import cpu_seconds


def coupled_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per step: digits in ten clusters, sizes within 10% of equal, n/2 random pairs."""
    for seed in range(1 if quick else 3):
        warm = None
        for step, (problem, answer_with) in enumerate(digits(449, seed=seed, size_slack=0.1).run(5), 1):
            seconds, answer = cpu_seconds(lambda problem=problem, warm=warm: priced.solve(problem, warm=warm))
            warm = answer
            row = {
                "instance": f"digits, seed {seed}, step {step}",
                "ours ms": f"{1e3 * seconds:.1f}",
                "proven": str(answer.proven),
            }
            if not quick:
                slow, referee = cpu_seconds(
                    lambda problem=problem: milp.solve(problem, budget=Budget(120)), repeats=1
                )
                row |= {
                    "HiGHS ms": f"{1e3 * slow:.0f}",
                    "ratio": f"{slow / seconds:.1f}",
                    "cost": f"{answer.cost / referee.cost - 1:+.0e}",
                }
            yield row
            answer_with(answer)


SECTIONS = {"coupled": coupled_rows}
