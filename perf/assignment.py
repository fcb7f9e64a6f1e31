"""Time the assignment engines against their peers: ``python perf/assignment.py [--quick | --full] [section ...]``.

CPU time of one process, medians; read ratios rather than milliseconds. A section is a function that yields rows
(`perf/sections/`); to add one, list its module here.
"""

from report import main
from sections import conflicts, coupled, transport

MODULES = (transport, conflicts, coupled)

if __name__ == "__main__":
    main(__doc__, {title: rows for module in MODULES for title, rows in module.SECTIONS.items()})
