"""Every way constraints can clash that is known before clustering, in the order in which they are told."""

from collections.abc import Iterator
from itertools import islice

from konstrain.constraints.closure import Blocks, Conflicts
from konstrain.constraints.coloring import ColoringVerdict, judge_coloring
from konstrain.constraints.constraints import Constraints
from konstrain.constraints.explain import contradiction
from konstrain.constraints.paths import must_link_path
from konstrain.constraints.sizes import size_findings
from konstrain.constraints.witness import Finding
from konstrain.stop import Deadline


def find_clashes(
    constraints: Constraints, blocks: Blocks, conflicts: Conflicts, deadline: Deadline, *, cap: int
) -> tuple[list[Finding], ColoringVerdict]:
    """Return at most `cap` findings of each kind (contradictions, sizes, colouring).

    With ``cap=1`` the search ends with the first finding: that is all an error can say.
    """
    found = list(_contradictions(constraints, blocks, conflicts, cap=cap))
    if cap > 1 or not found:
        found += list(islice(size_findings(constraints, blocks), cap))
    left = cap if cap > 1 or not found else 0
    coloring = judge_coloring(constraints, blocks, conflicts.graph, deadline, cap=left)
    return found + coloring.findings, coloring


def _contradictions(constraints: Constraints, blocks: Blocks, conflicts: Conflicts, *, cap: int) -> Iterator[Finding]:
    for source, a, b in conflicts.broken[:cap]:
        yield contradiction(constraints, must_link_path(constraints, blocks, source, a, b))
