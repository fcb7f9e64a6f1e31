"""Every constant at which the package takes another way, with values that force one side and the other.

Kernels have switches of their own, which no test can set; problems of sizes on both sides of those are drawn in
`test_switches.py`.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from unittest.mock import patch

ALWAYS, NEVER = 0, 10**12

# What may change the answer of a k-means search, though never whether it is right: effort and order of the search.
SEARCH = {
    "konstrain.kmeans.search.PARAMS.n_starts": (1, 10),
    "konstrain.kmeans.search.PARAMS.work": (0.0, 1e4),
    "konstrain.kmeans.search.PARAMS.most_work": (0.0, 1e8),
    "konstrain.kmeans.search.PARAMS.patience": (0, 40),
    "konstrain.kmeans.search.PARAMS.runs_per_search": (1, 1000),
    "konstrain.stop.PARAMS.work": (0.0, 1e8),
    "konstrain.stop.PARAMS.step_work": (0.0, 1e9),
    "konstrain.stop.PARAMS.per_choice": (0.1, 1e9),
    "konstrain.kmeans.restarts.KEPT_NUMBERS": (ALWAYS, NEVER),
    "konstrain.kmeans.loop.MOST_CANCELLED": (-1.0, 2.0),
    "konstrain.kmeans.moves.PROOF_WORK": (0.0, 1e8),
}
# What may not change anything but the time it takes.
SAME = {
    "konstrain.kmeans.linked_part.MOST_CANCELLED": (-1.0, 2.0),
    "konstrain.kmeans.sized_part.KEPT_NUMBERS": (ALWAYS, NEVER),
    "konstrain._memory.CELLS": (1, NEVER),
    "konstrain.constraints.check.CELLS": (ALWAYS, NEVER),
}
# Inside the assignment engines: labels may differ where several are best, costs may not.
ENGINES = {
    "konstrain.assignment.linked.PARAMS.branchings": (1, 100_000),
    "konstrain.assignment.linked.PARAMS.clique_branchings": (1, 100_000),
    "konstrain.assignment.priced.duals.PARAMS.counted_share": (0.0, 2.0),
    "konstrain.assignment.priced.duals.CELLS": (1, NEVER),
    "konstrain.assignment.priced.search.PARAMS.steps": (1, 200),
    "konstrain.assignment.priced.search.PARAMS.far_off": (0.0, 1e9),
    "konstrain.assignment.priced.search.PARAMS.window": (1, 1000),
    "konstrain.assignment.priced.reduced.PARAMS.first_choices": (1, NEVER),
    "konstrain.assignment.transport.PARAMS.many_clusters": (1, NEVER),
}
# Inside the proofs: bounds may be better or worse, but never above the optimum.
PROOFS = {
    "konstrain.exact.solve.PARAMS.blocks_per_cluster": (ALWAYS, NEVER),
    "konstrain.exact.columns.pricing.PARAMS.few_nodes": (1, 50_000),
    "konstrain.exact.solve.PARAMS.few_features": (0, 4),
    "konstrain.exact.solve.PARAMS.most_pairs": (0.0, 1e9),
    "konstrain.exact.columns.boxes.PARAMS.per_round": (5, 600),
    "konstrain.exact.columns.boxes.PARAMS.columns_per_point": (2, 8),
    "konstrain.exact.sdp.bound.PARAMS.iterations": (5, 200),
}
# Over a cluster: from given centers labels are those of a fit in memory, whatever comes to the client and when.
REMOTE = {
    "konstrain.dask.parquet.KEPT_NUMBERS": (1, NEVER),
    "konstrain.dask.steps.KEPT_NUMBERS": (1, NEVER),
    "konstrain.dask.start.SEARCHED_ROWS": (30, NEVER),
    "konstrain.dask.steps.MOST_CANCELLED": (-1.0, 2.0),
}
# Where runs over a cluster begin.
REMOTE_START = {
    "konstrain.dask.start.MANY_CLUSTERS": (1, NEVER),
    "konstrain.dask.start.ROUNDS": (1, 20),
}
SWITCHES = {**SEARCH, **SAME, **ENGINES, **PROOFS, **REMOTE, **REMOTE_START}


def owner_of(name):
    """The module of a switch, the name in it, and the field where that is a dataclass of parameters."""
    module, constant = name.rsplit(".", 1)
    if not module.endswith(".PARAMS"):
        return import_module(module), constant, None
    return import_module(module.removesuffix(".PARAMS")), "PARAMS", constant


@contextmanager
def set_to(values):
    """Set switches, given by their names, for a while."""
    with ExitStack() as stack:
        for name, value in values.items():
            module, constant, field = owner_of(name)
            if field is not None:
                value = replace(getattr(module, constant), **{field: value})
            stack.enter_context(patch.object(module, constant, value))
        yield
