"""Time ConstrainedKMeans against its peers: ``python perf/kmeans.py [--quick | --full] [section ...]``.

Same rows and same starting centers for both sides; peers run in processes of their own. CPU time unless a column says
wall. Read ratios rather than seconds.
"""

from report import main
from sections import (
    kmeans_large,
    kmeans_links,
    kmeans_many,
    kmeans_plain,
    kmeans_sizes,
    kmeans_steps,
    kmeans_together,
)

MODULES = (kmeans_sizes, kmeans_steps, kmeans_plain, kmeans_links, kmeans_together, kmeans_many, kmeans_large)

if __name__ == "__main__":
    main(__doc__, {title: rows for module in MODULES for title, rows in module.SECTIONS.items()})
