"""Many clusters under sizes: ten iterations beside those of KMeans, which knows no sizes, from the same centers."""

import json
from collections.abc import Iterator

from many_clusters_fit import CASES
from report import Row
from timing import run_alone


def many_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case; each runs alone, so that its memory is its own."""
    for case in CASES.values():
        if full or case.n_rows <= (20_000 if quick else 100_000):
            yield json.loads(run_alone("many_clusters_fit.py", case.name))


SECTIONS = {"many clusters": many_rows}
