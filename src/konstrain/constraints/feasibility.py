"""Every way constraints can clash that is known before clustering, in the order in which they are told."""

from itertools import islice

from konstrain.constraints.arguments import Constraints
from konstrain.constraints.closure import Blocks, Conflicts
from konstrain.constraints.coloring import ColoringVerdict, judge_coloring
from konstrain.constraints.explain import contradiction
from konstrain.constraints.paths import must_link_paths
from konstrain.constraints.resources import resource_findings
from konstrain.constraints.sizes import size_findings
from konstrain.constraints.witness import Finding
from konstrain.stop import Deadline


def find_clashes(
    constraints: Constraints, blocks: Blocks, conflicts: Conflicts, deadline: Deadline, *, cap: int
) -> tuple[list[Finding], ColoringVerdict]:
    """Return at most `cap` findings of each kind (contradictions, sizes, resources and shares, colouring).

    With ``cap=1`` the search ends with the first finding: that is all an error can say.
    """
    paths = must_link_paths(constraints, blocks, conflicts.broken[:cap], deadline)
    found = [contradiction(constraints, path) for path in paths]
    if cap > 1 or not found:
        found += list(islice(size_findings(constraints, blocks), cap))
    if cap > 1 or not found:
        found += list(islice(resource_findings(constraints, blocks), cap))
    left = cap if cap > 1 or not found else 0
    coloring = judge_coloring(constraints, blocks, conflicts.graph, deadline, cap=left)
    return found + coloring.findings, coloring
