"""Set regions of ours beside spopt's SKATER: ``python perf/regions.py`` (needs ``pip install spopt``).

Areas of a square map with three attributes that change smoothly, in regions of alike areas, each of at least so many.
SKATER keeps every region in one piece and has no upper bound; konstrain is run with `connectivity`, and without it,
for users to whom attributes are all that counts. Printed per method: the sum of squares of the attributes, the
least and the largest region, the share of areas cut off from the main piece of their region, and CPU seconds.
Without spopt (``--ours``) SKATER is left out.
"""

import json
import sys
import time

import numpy as np

from konstrain import ConstrainedKMeans
from region_cases import N_REGIONS, SIDE, SIZE_MIN, attributes, cut_off, neighbours
from timing import run_alone

HEADINGS = ("sum of squares", "least, largest region", "areas cut off", "CPU s")


def line(name: str, labels: np.ndarray, seconds: float) -> str:
    """One row of the table."""
    rows, sizes = attributes(), np.bincount(labels)
    means = np.stack([rows[labels == j].mean(axis=0) for j in range(len(sizes))])
    sse = ((rows - means[labels]) ** 2).sum()
    return f"| {name} | {sse:.1f} | {sizes.min()}, {sizes.max()} | {cut_off(labels):.1%} | {seconds:.2f} |"


def ours(edges: np.ndarray | None, size_min: int) -> tuple[np.ndarray, float]:
    """Labels and seconds of our fit."""
    begin = time.process_time()
    model = ConstrainedKMeans(N_REGIONS, size_min=size_min, random_state=0).fit(attributes(), connectivity=edges)
    return model.labels_, time.process_time() - begin


def main() -> None:
    """Print one table."""
    print(f"{SIDE} x {SIDE} areas, {N_REGIONS} regions of at least {SIZE_MIN}\n")
    print("| method | " + " | ".join(HEADINGS) + " |")
    print("|---|" + "---|" * len(HEADINGS))
    if "--ours" not in sys.argv:
        told = json.loads(run_alone("peers/spopt_skater.py"))
        print(line("spopt, SKATER", np.array(told["labels"]), told["cpu_seconds"]))
    print(line("konstrain", *ours(neighbours(), SIZE_MIN)))
    print(line("konstrain, regions of equal size", *ours(neighbours(), SIDE**2 // N_REGIONS)))
    print(line("konstrain without `connectivity`", *ours(None, SIZE_MIN)))


if __name__ == "__main__":
    main()
