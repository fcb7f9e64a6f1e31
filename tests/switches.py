"""Every constant at which the package takes another way, with values that force one side and the other.

Kernels have switches of their own, which no test can set; problems of sizes on both sides of those are drawn in
`test_switches.py`.
"""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

ALWAYS, NEVER = 0, 10**12

# What may change the answer of a k-means search, though never whether it is right: effort and order of the search.
SEARCH = {
    "konstrain.kmeans.plan.SEARCH_LIMIT": (ALWAYS, NEVER),
    "konstrain.kmeans.plan.STEP_NODES": (1, 1000),
    "konstrain.kmeans.steps.PATIENT_LOOKS": (1, 100),
    "konstrain.kmeans.plan.AUTO_WORK": (1.0, 1e7),
    "konstrain.kmeans.plan.AUTO_LEAST": (1, 100),
    "konstrain.kmeans.start.MANY_CLUSTERS": (1, NEVER),
    "konstrain.kmeans.start.ROUNDS": (1, 20),
    "konstrain.kmeans.start.OVERSAMPLING": (0.1, 10.0),
    "konstrain.kmeans.thorough.SMALL_PROBLEM": (ALWAYS, NEVER),
    "konstrain.kmeans.thorough.RELOCATE_ANYWAY": (ALWAYS, NEVER),
    "konstrain.kmeans.thorough.RULED_SEARCH": (ALWAYS, NEVER),
    "konstrain.kmeans.thorough.ROUGH_GAP": (-1.0, 1e9),
    "konstrain.kmeans.relaxed.RELOCATIONS": (ALWAYS, 100),
    "konstrain.kmeans.relaxed.MOST_STEPS": (ALWAYS, 1000),
    "konstrain.kmeans.relaxed.ALL_STEPS": (1, NEVER),
    "konstrain.kmeans.relaxed.PATIENCE": (0.0, 1e9),
    "konstrain.kmeans.brief.EARLY_LOOK": (1, 50),
    "konstrain.kmeans.brief.LITTLE_EXPLAINED": (0.0, 1.0),
    "konstrain.kmeans.brief.CLEARLY_MORE": (0.0, float("inf")),
    "konstrain.kmeans.brief.LITTLE_ROOM": (0.0, 1e9),
    "konstrain.kmeans.brief.FEW_AT_ONCE": (0.0, 1.0),
    "konstrain.kmeans.momentum.MOST_CANCELLED": (-1.0, 2.0),
    "konstrain.kmeans.restarts.BATCH": (1, 50),
    "konstrain.kmeans.last_step.LAST_WORK": (1, NEVER),
    "konstrain.kmeans.last_step.RULES_WORK": (1, NEVER),
    "konstrain.kmeans.last_step.MOST_CHOICES": (ALWAYS, NEVER),
}
# What may not change anything but the time it takes.
SAME = {
    "konstrain.kmeans.linked_part.MIN_COSTS": (ALWAYS, NEVER),
    "konstrain.kmeans.linked_part.MAX_SHARE": (-1.0, 2.0),
    "konstrain.kmeans.linked_part.LITTLE_LEFT": (-1.0, 2.0),
    "konstrain.kmeans.plan.CHUNK": (1, NEVER),
    "konstrain.kmeans.sized_part.CHUNK": (1, NEVER),
    "konstrain.constraints.packing._MAX_STEPS": (ALWAYS, NEVER),
}
# Inside the assignment engines: labels may differ where several are best, costs may not.
ENGINES = {
    "konstrain.assignment.linked.NODE_LIMIT": (1, 100_000),
    "konstrain.assignment.linked.FEW_BRANCHINGS": (1, 100_000),
    "konstrain.assignment.linked.CLIQUE_LIMIT": (1, 100_000),
    "konstrain.assignment.linked.CLASS_LIMIT": (0, 100_000),
    "konstrain.assignment.prove.FIRST_CORE": (1, NEVER),
    "konstrain.assignment.priced.MOST_CHOICES": (ALWAYS, NEVER),
    "konstrain.assignment.priced.FEW_NODES": (ALWAYS, NEVER),
    "konstrain.assignment.free_blocks.POOR_GAP": (0.0, 1e9),
    "konstrain.assignment.free_blocks.MOST_SIFTED": (ALWAYS, NEVER),
    "konstrain.assignment.free_blocks.FEW_KINDS": (ALWAYS, NEVER),
    "konstrain.assignment.free_blocks.COUNTED_GAP": (0.0, 1e9),
    "konstrain.assignment.counted.MOST_PAIRS": (ALWAYS, NEVER),
    "konstrain.assignment.counted.BLOCKS_PER_KIND": (ALWAYS, NEVER),
    "konstrain.assignment.counted.MOST_PROGRAMS": (1, 20),
    "konstrain.assignment.counted.ENOUGH": (0.0, 1.0),
    "konstrain.assignment.counted.WITHIN_REACH": (0.0, 1e9),
    "konstrain.assignment.dearest_total.MOST_TOTALS": (ALWAYS, NEVER),
    "konstrain.assignment.dearest_total.MOST_COUNTED": (1, 100),
    "konstrain.assignment.whole_bound.MOST_MOVED": (1, NEVER),
    "konstrain.assignment.whole_totals.DRIFT": (1, 50),
    "konstrain.assignment.sifting.CHOICES_PER_PRICE": (1, NEVER),
    "konstrain.assignment.sifting.FIRST_DEAREST": (0.1, 1000.0),
    "konstrain.assignment.sifting.ROOM": (1.1, 10.0),
    "konstrain.assignment.sifting.DEARER": (2.0, 100.0),
    "konstrain.assignment.sifting.MOST_PROGRAMS": (1, 100),
    "konstrain.assignment.lagrangian.MAX_STEPS": (1, 200),
    "konstrain.assignment.lagrangian.FEW_STEPS": (1, 50),
    "konstrain.assignment.lagrangian.FAR_OFF": (0.0, 1e9),
    "konstrain.assignment.lagrangian.REPAIR_EVERY": (1, 1000),
    "konstrain.assignment.lagrangian.MAX_START_ENTRIES": (1, NEVER),
    "konstrain.assignment.lagrangian.MOST_UNITS": (ALWAYS, 1000),
    "konstrain.assignment.lagrangian.MOSTLY_FREE": (0.0, 2.0),
    "konstrain.assignment.decided.MIN_BLOCKS": (ALWAYS, NEVER),
    "konstrain.assignment.decided.MOST_LEFT": (0.0, 2.0),
    "konstrain.assignment.model.MOST_CUT_ROUNDS": (50, 100),
    "konstrain.assignment.narrow.MIN_COSTS": (ALWAYS, NEVER),
    "konstrain.assignment.narrow.MIN_EVEN": (0.0, 2.0),
    "konstrain.assignment.narrow.PER_MISPLACED": (ALWAYS, NEVER),
    "konstrain.assignment.narrow.LEAST_NEAR": (0.0, 0.5),
    "konstrain.assignment.narrow.MOST_NEAR": (0.1, 0.9),
    "konstrain.assignment.mend.MOST_PAIRS": (ALWAYS, NEVER),
    "konstrain.assignment.mend.MOST_CHEAPER_PAIRS": (ALWAYS, NEVER),
    "konstrain.assignment.transport.MANY_CLUSTERS": (1, NEVER),
}
# Inside the proofs: bounds may be better or worse, but never above the optimum.
PROOFS = {
    "konstrain.exact.solve.FEW_BLOCKS": (ALWAYS, NEVER),
    "konstrain.exact.solve.FEW_BLOCKS_PER_CLUSTER": (ALWAYS, NEVER),
    "konstrain.exact.solve.RACE_NODES": (1, 50_000),
    "konstrain.exact.solve.MANY_CLUSTERS": (1, NEVER),
    "konstrain.exact.sdp_spectral.FOLLOW_FROM": (4, NEVER),
    "konstrain.exact.sdp_spectral.RENEW_EVERY": (1, 1000),
    "konstrain.exact.sdp_bound.MANY_CLUSTERS": (1, NEVER),
}
# Over a cluster: from given centers labels are those of a fit in memory, whatever comes to the client and when.
REMOTE = {
    "konstrain.dask.cluster.FAN_IN": (2, 1000),
    "konstrain.dask.passes.CHUNK": (7, NEVER),
    "konstrain.dask.passes.LEAST_SENT": (1, NEVER),
    "konstrain.dask.parquet.MOST_NUMBERS": (1, NEVER),
    "konstrain.dask.prices.MOST_CHANGES": (1, 1000),
    "konstrain.dask.prices.RIDGE": (1e-9, 1e-2),
    "konstrain.dask.prices.WIDEST_SHARE": (0.001, 1.0),
    "konstrain.dask.prices.ENOUGH_ROWS": (20, NEVER),
    "konstrain.dask.sample.SHARE": (0.0, 1.0),
    "konstrain.dask.sample.LEAST_ROWS": (30, NEVER),
    "konstrain.dask.sample.MOST_NUMBERS": (1, NEVER),
    "konstrain.dask.sample.MOST_COSTS": (1, NEVER),
    "konstrain.dask.steps.NEAR_SHARE": (0.0, 1.0),
    "konstrain.dask.steps.LEAST_NEAR": (20, NEVER),
    "konstrain.dask.steps.MOST_COSTS": (1, NEVER),
    "konstrain.dask.steps.MOST_SENT": (1, 1000),
    "konstrain.dask.steps.LOOKS_TO_WIDEN": (1, 1000),
    "konstrain.dask.steps.TRUST": (0.0, 1e9),
    "konstrain.dask.steps.MORE_THAN_ENOUGH": (0.0, 10.0),
    "konstrain.dask.steps.SHORTENED": (0.01, 0.9),
    "konstrain.dask.steps.MOST_CANCELLED": (-1.0, 2.0),
}
# Where runs over a cluster begin.
REMOTE_START = {
    "konstrain.dask.start.MANY_CLUSTERS": (1, NEVER),
    "konstrain.dask.start.ROUNDS": (1, 20),
    "konstrain.dask.start.OVERSAMPLING": (0.1, 10.0),
}
SWITCHES = {**SEARCH, **SAME, **ENGINES, **PROOFS, **REMOTE, **REMOTE_START}


@contextmanager
def set_to(values):
    """Set switches, given by their names, for a while."""
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(patch(name, value))
        yield
