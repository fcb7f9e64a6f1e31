"""Best-first branch and bound: a node is the problem with more must-links or cannot-links."""

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from konstrain.exact.nodes import Node, Outcome
from konstrain.exact.sdp.spectral import one_blas_thread
from konstrain.exact.task import ProofTask
from konstrain.gap import relative_gap
from konstrain.stop import Budget

# Most nodes of one round. All of them are below the upper bound, so nearly every one has to be bounded in any order,
# and rounds of a fixed size make the tree the same for any number of workers. Larger: more workers have work.
ROUND = 8


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
    """Branch and bound for the best clustering."""

    task: ProofTask  # Rows and constraints.
    gap: float  # Relative gap at which a clustering counts as proved.
    budget: Budget  # When to end at the latest.
    node_limit: int | None = None  # Most nodes to bound.
    n_jobs: int | None = None  # Nodes bounded at the same time; without a time limit the result is the same.
    # Called with a `TracePoint` after each round of nodes, and within a node where its bound rises by iterations;
    # returning True ends the search.
    on_progress: Callable[[TracePoint], object] | None = None
    # Searches for a better clustering of a node's branch; returns labels of rows, or None.
    improve: Callable[[Node], NDArray[np.int32] | None] | None = None

    def __post_init__(self) -> None:
        self.labels: NDArray[np.int32] | None = None
        self.upper_bound = np.inf
        self.prover = ""  # the bound of the nodes
        self.n_nodes = 0
        self.interrupted = False
        self.trace: list[TracePoint] = []
        self._pruned = np.inf  # least bound of a pruned node
        self._heap: list[tuple[float, int, Node]] = []
        self._count = itertools.count()
        self._began = time.perf_counter()

    def offer(self, labels: NDArray[np.int32] | None) -> None:
        """Store labels if they satisfy all constraints and cost less than the incumbent."""
        if labels is None:
            return
        cost = self.task.cost_of(labels)
        if cost < self.upper_bound:
            self.labels, self.upper_bound = labels, cost

    @property
    def lower_bound(self) -> float:
        """Lower bound on the cost of every clustering, over open and pruned nodes."""
        # The bound of a node that is being run rises.
        waiting = min((node.lower_bound for _, _, node in self._heap), default=np.inf)
        return float(min(self.upper_bound, self._pruned, waiting))

    @property
    def is_closed(self) -> bool:
        """Whether the best clustering is proved, within the gap."""
        return relative_gap(self.lower_bound, self.upper_bound) <= self.gap

    def search(self, root: Node, outcome: Outcome | None = None) -> None:
        """Bound nodes, least bound first, until the gap is closed or a limit is reached.

        `outcome` is that of the root, if it was run already.
        """
        self.prover = root.prover
        if outcome is None:
            self._push(root)
        elif self._act_on_all([root], [outcome]):
            return
        try:
            while self._heap and not self._is_over():
                if self._process(self._round()):
                    break
        except KeyboardInterrupt:
            self.interrupted = True

    def probe(self, root: Node, share: float) -> Outcome:
        """Run a root for a share of the remaining time; what it proves counts only in a `search`."""
        self._push(root)
        outcome = root.run(self.upper_bound, self.gap, self.budget.part(share), self._report)
        self._heap.clear()
        self.offer(outcome.labels)
        return outcome

    def interrupt(self) -> None:
        """End before the root is bounded: no clustering costs less than 0."""
        self.interrupted, self._pruned = True, 0.0
        self._report()

    def _is_over(self) -> bool:
        out_of_nodes = self.node_limit is not None and self.n_nodes >= self.node_limit
        return self.is_closed or out_of_nodes or self.budget.expired()

    def _round(self) -> list[Node]:
        """Take the open nodes to bound next: those of least bound, as far as they are not pruned by it."""
        most = ROUND if self.node_limit is None else min(ROUND, self.node_limit - self.n_nodes)
        nodes = [self._pop()]
        while len(nodes) < most and self._heap and not self._is_pruned(self._heap[0][2]):
            nodes.append(self._pop())
        return nodes

    def _process(self, nodes: list[Node]) -> bool:
        """Run some nodes and act on their outcomes, in order; return whether the search has to end."""
        # The nodes stay in the heap until they are acted on, so that their bounds count at any time.
        for node in nodes:
            self._push(node)
        return self._act_on_all(nodes, self._run(nodes))

    def _act_on_all(self, nodes: list[Node], outcomes: list[Outcome]) -> bool:
        ended = False
        for node, outcome in zip(nodes, outcomes, strict=True):
            self.n_nodes += 1
            self._heap = [entry for entry in self._heap if entry[2] is not node]
            heapq.heapify(self._heap)
            try:
                self.offer(outcome.labels)
                ended |= self._act(node, outcome)
            except KeyboardInterrupt:
                # Its children may be missing, so the node stays open: the bound must cover the whole tree.
                self._push(node)
                self.interrupted = True
            self.interrupted |= self._report()
            if self.interrupted:
                return True
        return ended

    def _run(self, nodes: list[Node]) -> list[Outcome]:
        if len(nodes) == 1 or effective_n_jobs(self.n_jobs) == 1:
            return list(self._run_in_turn(nodes))
        # Held here, too: the first node to end would give the others all threads again.
        with one_blas_thread(), ThreadPoolExecutor(effective_n_jobs(self.n_jobs)) as pool:
            try:
                return list(pool.map(lambda node: node.run(self.upper_bound, self.gap, self.budget), nodes))
            except KeyboardInterrupt:
                # Threads cannot be ended from outside; those that outlive Python abort it.
                self.budget.end()
                raise

    def _run_in_turn(self, nodes: list[Node]) -> Iterator[Outcome]:
        """Run nodes one after the other; after an interrupt the others stay as they are."""
        is_over = False
        for node in nodes:
            if is_over:
                yield Outcome("interrupted")
                continue
            outcome = node.run(self.upper_bound, self.gap, self.budget, self._report)
            is_over = outcome.status == "interrupted"
            yield outcome

    def _act(self, node: Node, outcome: Outcome) -> bool:
        if outcome.status in ("limit", "interrupted"):
            self._push(node)
            self.interrupted |= outcome.status == "interrupted"
            return True
        if self._is_pruned(node):
            self._pruned = min(self._pruned, node.lower_bound)
            return False
        if self.budget.expired():
            # Stays open: its children, which take time to build, would not be bounded.
            self._push(node)
            return True
        pair = node.pair()
        self._improve(node, is_last=pair is None)
        if pair is None:
            # One clustering is left in this branch, and it was offered, unless time ran out during the search.
            if self.budget.expired():
                self._push(node)
            return self.budget.expired()
        for child in node.children(pair):
            self._push(child)
        return False

    def _improve(self, node: Node, *, is_last: bool) -> None:
        """Search for a better clustering of a node's branch: at leaves, and at nodes 1, 2, 4, 8, ...

        Under sizes and links the search takes longer than the bound, and the first clustering is mostly optimal.
        """
        is_power_of_two = self.n_nodes & (self.n_nodes - 1) == 0
        if self.improve is not None and (is_last or is_power_of_two):
            self.offer(self.improve(node))

    def _is_pruned(self, node: Node) -> bool:
        return node.lower_bound == np.inf or relative_gap(node.lower_bound, self.upper_bound) <= self.gap

    def _push(self, node: Node) -> None:
        heapq.heappush(self._heap, (node.lower_bound, next(self._count), node))

    def _pop(self) -> Node:
        return heapq.heappop(self._heap)[2]

    def _report(self) -> bool:
        """Append to the trace and call `on_progress`; return whether it ends the search."""
        seconds = time.perf_counter() - self._began
        point = TracePoint(seconds, self.lower_bound, self.upper_bound, self.n_nodes, len(self._heap))
        self.trace.append(point)
        return self.on_progress is not None and bool(self.on_progress(point))
