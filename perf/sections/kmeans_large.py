"""Large rows under sizes: the hard cases that users of k-means-constrained reported, each in a process of its own."""

import json
import subprocess
from collections.abc import Iterator

from report import Row
from timing import run_alone

CASES = ("sparse", "wide")


def large_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield seconds and peak memory of each case."""
    if quick:
        return
    for case in CASES:
        try:
            yield json.loads(run_alone("large_fit.py", case))
        except subprocess.CalledProcessError as error:
            yield {"case": case, "seconds (wall)": error.stderr.strip().splitlines()[-1]}


SECTIONS = {"large": large_rows}
