"""Time OR-tools' minimum-cost flow on one case: ``python perf/peers/ortools_flow.py 10000x20``.

Runs in a process of its own because ortools and highspy do not load in one. The network is the one
k-means-constrained builds: a node per row, a node per cluster, a sink; costs times 1000, rounded. Prints one JSON
line; only ``solve()`` is timed.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from ortools.graph.python import min_cost_flow
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from transport_cases import CASES, Case

SCALE = 1000


def build(case: Case, costs: np.ndarray) -> min_cost_flow.SimpleMinCostFlow:
    """Return the network of a case: rows supply one unit, clusters pass on between their bounds."""
    n_rows, n_clusters = costs.shape
    lower, upper = (bound.astype(np.int64) for bound in case.bounds())
    flow = min_cost_flow.SimpleMinCostFlow()
    tails = np.repeat(np.arange(n_rows, dtype=np.int32), n_clusters)
    heads = np.tile(np.arange(n_rows, n_rows + n_clusters, dtype=np.int32), n_rows)
    ones = np.ones(tails.size, dtype=np.int64)
    flow.add_arcs_with_capacity_and_unit_cost(tails, heads, ones, np.rint(costs * SCALE).astype(np.int64).ravel())
    # A cluster keeps its lower bound and passes the rest on.
    hubs = np.arange(n_rows, n_rows + n_clusters, dtype=np.int32)
    sink = np.full(n_clusters, n_rows + n_clusters, dtype=np.int32)
    flow.add_arcs_with_capacity_and_unit_cost(hubs, sink, upper - lower, np.zeros(n_clusters, dtype=np.int64))
    supplies = np.concatenate([np.ones(n_rows, dtype=np.int64), -lower, [lower.sum() - n_rows]])
    flow.set_nodes_supplies(np.arange(supplies.size, dtype=np.int32), supplies)
    return flow


def main(name: str, repeats: int) -> None:
    """Print case, median CPU seconds of solve() and the unrounded cost of its labels."""
    case = CASES[name]
    # Idle threads of the linear algebra library spin for a while, and their CPU time would count as the solver's.
    with threadpool_limits(1):
        costs = case.costs()
    seconds = []
    for _ in range(repeats):
        flow = build(case, costs)
        start = time.process_time()
        status = flow.solve()
        seconds.append(time.process_time() - start)
        if status != flow.OPTIMAL:
            raise RuntimeError(f"{name}: status {status}")
    taken = flow.flows(np.arange(costs.size, dtype=np.int32)).reshape(costs.shape)
    cost = float(costs[taken > 0].sum())
    print(json.dumps({"case": name, "cpu_seconds": statistics.median(seconds), "cost": cost}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
