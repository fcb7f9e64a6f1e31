"""How near the semidefinite bound comes to the best clustering known, at the root, and what it costs.

Usage: python perf/sdp_bound.py --data FOLDER [--quick] [--gap 1e-4] [--limit SECONDS] [instance ...]

FOLDER holds one folder per data set with data.txt and constraint files; an instance is a data set, or
"set/constraint file" without its suffix. Upper bounds come from ConstrainedKMeans; seconds are of one core, without
those for the upper bound.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from konstrain import ConstrainedKMeans
from konstrain.constraints import Problem
from konstrain.exact.sdp.bound import SdpBound
from konstrain.stop import Budget

QUICK = ("iris", "iris/ml_50_cl_50_0", "wine", "seeds", "glass", "glass/ml_50_cl_50_0")
KINDS = {
    "ml_50_cl_50_0": ("iris", "wine", "seeds", "glass", "connectionist", "vertebral", "heart", "ecoli", "accent"),
    "ml_0_cl_100_0": ("iris", "wine", "seeds", "glass", "connectionist", "vertebral", "heart"),
    "ml_100_cl_0_0": ("iris", "wine", "seeds", "glass", "connectionist", "vertebral", "heart"),
    "ml_75_cl_75_1": ("heart", "ecoli", "accent"),
    "ml_0_cl_150_0": ("heart", "ecoli", "accent"),
    "ml_150_cl_0_0": ("ecoli", "accent"),
}
COLUMNS = (
    f"{'instance':30} {'m':>4} {'k':>2} {'UB':>14} {'LB':>14} {'gap':>8} {'its':>5} {'cuts':>6} {'seconds':>7} status"
)


def load(folder: Path, instance: str) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Rows, number of clusters, must-links and cannot-links of one instance."""
    name, _, pairs = instance.partition("/")
    with (folder / name / "data.txt").open() as lines:
        n_clusters = int(next(lines).split()[2])
        X = np.loadtxt(lines)
    words = [line.split() for line in (folder / name / f"{pairs}.txt").open()] if pairs else []
    must, cannot = ([w[1:] for w in words if w and w[0] == kind] for kind in ("ML", "CL"))
    return X, n_clusters, np.array(must, dtype=int).reshape(-1, 2), np.array(cannot, dtype=int).reshape(-1, 2)


def measure(folder: Path, instance: str, gap: float, limit: float | None) -> str:
    """One line of the table."""
    X, k, must_link, cannot_link = load(folder, instance)
    model = ConstrainedKMeans(k, random_state=0).fit(X, must_link=must_link, cannot_link=cannot_link)
    problem = Problem.build(X, k, must_link=must_link, cannot_link=cannot_link)
    upper = model.inertia_
    start = time.process_time()
    result = SdpBound(problem).run(upper, gap, Budget(limit))
    seconds = time.process_time() - start
    return (
        f"{instance:30} {problem.n_blocks:4} {k:2} {upper:14.6f} {result.lower_bound:14.6f} "
        f"{1 - result.lower_bound / upper:8.1e} {result.n_iterations:5} {result.n_cuts:6} "
        f"{seconds:7.2f} {result.status}"
    )


def every_instance() -> list[str]:
    """The data sets without constraints, then one draw of each kind."""
    plain = ("iris", "wine", "seeds", "connectionist", "vertebral", "heart", "glass", "ecoli", "accent")
    return [*plain, *(f"{name}/{kind}" for kind, names in KINDS.items() for name in names)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="*")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--limit", type=float, default=None)
    arguments = parser.parse_args()
    chosen = arguments.instances or (QUICK if arguments.quick else every_instance())
    print(COLUMNS)
    with threadpool_limits(1):
        for instance in chosen:
            print(measure(arguments.data, instance, arguments.gap, arguments.limit), flush=True)


if __name__ == "__main__":
    main()
