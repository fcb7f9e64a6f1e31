"""Best-first branch and bound: a node is the problem with more must-links or cannot-links."""

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from konstrain.exact.nodes import Node, Verdict
from konstrain.exact.task import ProofTask
from konstrain.gap import relative_gap
from konstrain.stop import Budget

# After so many nodes in a row in which nothing better was found, a better clustering is looked for in every so many:
# under sizes and links the search takes longer than the bound, and the first clustering is mostly the best one.
FRUITLESS, THEN_EVERY = 8, 4


class TracePoint(NamedTuple):
    """State of the search at some moment."""

    seconds: float
    lower_bound: float
    upper_bound: float
    n_nodes: int
    n_open: int

    @property
    def gap(self) -> float:
        """Relative distance of the bounds."""
        return relative_gap(self.lower_bound, self.upper_bound)


@dataclass(eq=False)
class Tree:
    """The search for the best clustering, and the proof that it is.

    Parameters
    ----------
    task : ProofTask
        What is asked.
    gap : float
        Relative gap at which a clustering counts as proved.
    budget : Budget
        When to end at the latest.
    node_limit : int or None
        Most nodes to look at.
    n_jobs : int or None
        Nodes looked at together; the answer is the same up to the gap.
    on_progress : callable or None
        Told a `TracePoint` after each round of nodes; returning True ends the search.
    improve : callable or None
        Looks for a better clustering of a node's branch: labels of rows, or None.
    """

    task: ProofTask
    gap: float
    budget: Budget
    node_limit: int | None = None
    n_jobs: int | None = None
    on_progress: Callable[[TracePoint], object] | None = None
    improve: Callable[[Node], NDArray[np.int32] | None] | None = None

    def __post_init__(self) -> None:
        self.labels: NDArray[np.int32] | None = None
        self.upper_bound = np.inf
        self.prover = ""  # the bound of the nodes
        self.n_nodes = 0
        self.interrupted = False
        self.trace: list[TracePoint] = []
        self._n_fruitless = 0
        self._pruned = np.inf  # least bound of a node that was set aside
        self._heap: list[tuple[float, int, Node]] = []
        self._count = itertools.count()
        self._began = time.perf_counter()

    def offer(self, labels: NDArray[np.int32] | None) -> None:
        """Keep labels if they keep all constraints and cost less than what is known."""
        if labels is None:
            return
        cost = self.task.cost_of(labels)
        if cost < self.upper_bound:
            self.labels, self.upper_bound = labels, cost

    @property
    def lower_bound(self) -> float:
        """No clustering costs less, whatever is still open."""
        waiting = min((bound for bound, _, _ in self._heap), default=np.inf)
        return float(min(self.upper_bound, self._pruned, waiting))

    @property
    def is_closed(self) -> bool:
        """Whether the best clustering is proved, within the gap."""
        return relative_gap(self.lower_bound, self.upper_bound) <= self.gap

    def search(self, root: Node, verdict: Verdict | None = None) -> None:
        """Look at nodes, least bound first, until nothing better can be left or a limit is reached.

        `verdict` is what a run of the root has said already, if it was run.
        """
        self.prover = root.prover
        if verdict is None:
            self._push(root)
        elif self._judge([root], [verdict]):
            return
        workers = effective_n_jobs(self.n_jobs)
        try:
            while self._heap and not self._is_over():
                if self._look_at([self._pop() for _ in range(min(workers, len(self._heap)))]):
                    break
        except KeyboardInterrupt:
            self.interrupted = True

    def _is_over(self) -> bool:
        out_of_nodes = self.node_limit is not None and self.n_nodes >= self.node_limit
        return self.is_closed or out_of_nodes or self.budget.expired()

    def _look_at(self, nodes: list[Node]) -> bool:
        """Run some nodes and act on what they say, in order; returns whether the search has to end."""
        # Put back first: should the run be interrupted, their bounds still count.
        waiting = [(node.lower_bound, next(self._count), node) for node in nodes]
        self._heap.extend(waiting)
        verdicts = self._run(nodes)
        self._heap = [entry for entry in self._heap if all(entry[2] is not node for node in nodes)]
        heapq.heapify(self._heap)
        return self._judge(nodes, verdicts)

    def _judge(self, nodes: list[Node], verdicts: list[Verdict]) -> bool:
        ended = False
        for at, (node, verdict) in enumerate(zip(nodes, verdicts, strict=True)):
            self.n_nodes += 1
            try:
                self.offer(verdict.labels)
                ended |= self._act(node, verdict)
            except KeyboardInterrupt:
                # Their children may be missing: without them the bound would speak of a part of the tree only.
                for unfinished in nodes[at:]:
                    self._push(unfinished)
                self.interrupted = ended = True
                break
        if self._note():
            self.interrupted = ended = True
        return ended

    def _run(self, nodes: list[Node]) -> list[Verdict]:
        if len(nodes) == 1:
            return [nodes[0].run(self.upper_bound, self.gap, self.budget)]
        calls = (delayed(node.run)(self.upper_bound, self.gap, self.budget) for node in nodes)
        return list(Parallel(n_jobs=len(nodes), prefer="threads")(calls))

    def _act(self, node: Node, verdict: Verdict) -> bool:
        if verdict.status in ("limit", "interrupted"):
            self._push(node)
            self.interrupted |= verdict.status == "interrupted"
            return True
        if self._is_settled(node):
            self._pruned = min(self._pruned, node.lower_bound)
            return False
        pair = node.pair()
        self._improve(node, is_last=pair is None)
        if pair is None:
            # One clustering is left in here, and it was offered, unless time ran out while it was looked for.
            if self.budget.expired():
                self._push(node)
            return self.budget.expired()
        for child in node.children(pair):
            self._push(child)
        return False

    def _improve(self, node: Node, *, is_last: bool) -> None:
        """Look for a better clustering of a node's branch: always in the last one, elsewhere as long as it pays."""
        is_due = self._n_fruitless < FRUITLESS or self.n_nodes % THEN_EVERY == 0
        if self.improve is None or not (is_last or is_due):
            return
        before = self.upper_bound
        self.offer(self.improve(node))
        self._n_fruitless = 0 if self.upper_bound < before else self._n_fruitless + 1

    def _is_settled(self, node: Node) -> bool:
        return node.lower_bound == np.inf or relative_gap(node.lower_bound, self.upper_bound) <= self.gap

    def _push(self, node: Node) -> None:
        heapq.heappush(self._heap, (node.lower_bound, next(self._count), node))

    def _pop(self) -> Node:
        return heapq.heappop(self._heap)[2]

    def _note(self) -> bool:
        """Write the state down and tell it to `on_progress`; returns whether that asks the search to end."""
        seconds = time.perf_counter() - self._began
        point = TracePoint(seconds, self.lower_bound, self.upper_bound, self.n_nodes, len(self._heap))
        self.trace.append(point)
        return self.on_progress is not None and bool(self.on_progress(point))
