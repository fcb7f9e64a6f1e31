"""Set regions of ours beside spopt's SKATER: ``python perf/regions.py`` (needs ``pip install spopt``).

Areas of a square map with three attributes that change smoothly, in regions of alike areas, each of at least so many.
SKATER keeps every region in one piece and has no upper bound; konstrain is run with sizes and without `connectivity`,
as users do to whom attributes are all that counts. Printed per method: the sum of squares of the attributes, the
least and the largest region, the share of areas cut off from the main piece of their region, and CPU seconds.
"""

import json
import time

import numpy as np

from konstrain import ConstrainedKMeans
from region_cases import N_REGIONS, SIDE, SIZE_MIN, attributes, cut_off, positions
from timing import run_alone

HEADINGS = ("sum of squares", "least, largest region", "areas cut off", "CPU s")


def line(name: str, labels: np.ndarray, seconds: float) -> str:
    """One row of the table."""
    rows, sizes = attributes(), np.bincount(labels)
    means = np.stack([rows[labels == j].mean(axis=0) for j in range(len(sizes))])
    sse = ((rows - means[labels]) ** 2).sum()
    return f"| {name} | {sse:.1f} | {sizes.min()}, {sizes.max()} | {cut_off(labels):.1%} | {seconds:.2f} |"


def ours(pull: float, **sizes: int) -> tuple[np.ndarray, float]:
    """Labels and seconds of our fit; `pull` is how much a position counts beside the attributes."""
    rows = np.hstack([attributes(), pull * positions()])
    begin = time.process_time()
    labels = ConstrainedKMeans(N_REGIONS, **sizes, random_state=0).fit(rows).labels_
    return labels, time.process_time() - begin


def main() -> None:
    """Print one table."""
    print(f"{SIDE} x {SIDE} areas, {N_REGIONS} regions of at least {SIZE_MIN}\n")
    print("| way | " + " | ".join(HEADINGS) + " |")
    print("|---|" + "---|" * len(HEADINGS))
    told = json.loads(run_alone("peers/spopt_skater.py"))
    print(line("spopt, SKATER", np.array(told["labels"]), told["cpu_seconds"]))
    print(line("konstrain, attributes", *ours(0.0, size_min=SIZE_MIN)))
    print(line("konstrain, attributes and positions", *ours(1.0, size_min=SIZE_MIN)))
    print(line("konstrain, the same, regions of equal size", *ours(1.0, size_min=SIDE**2 // N_REGIONS)))


if __name__ == "__main__":
    main()
