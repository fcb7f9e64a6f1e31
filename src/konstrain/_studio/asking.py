"""The next question to the person: the most informative pair, never one that was answered or is implied."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from konstrain._memory import SEARCHED_ROWS
from konstrain._studio.data import PARAMS, StudioData
from konstrain._studio.fitting import arguments
from konstrain._studio.session import APART, TOGETHER, UNSURE, Pair, SessionState, ordered
from konstrain.suggest import suggest_pairs


def choose_pairs(X: NDArray[Any], state: SessionState, ask: int, **constraints: Any) -> NDArray[np.int64]:
    """Return the most informative pairs by the default strategy of the library."""
    params = arguments(state.settings)
    return suggest_pairs(X, params.pop("n_clusters"), ask=ask, **params, **constraints)


class Asker:
    """Questions waiting to be asked."""

    def __init__(self, rows: StudioData) -> None:
        self._rows = rows
        self._waiting: deque[Pair] = deque()

    def next(self, state: SessionState) -> Pair | None:
        """Return the next question that is still open, or None when more have to be searched for."""
        closed = Implied(state)
        while self._waiting and closed.covers(self._waiting[0]):
            self._waiting.popleft()
        return self._waiting[0] if self._waiting else None

    def ask_again(self, pair: Pair) -> None:
        """Put a question first, because its answer was taken back."""
        self._waiting.appendleft(pair)

    def replace(self, pairs: Iterable[Pair]) -> None:
        """Take over newly found questions, behind the one that the person may be reading."""
        first = list(self._waiting)[:1]
        self._waiting = deque(dict.fromkeys([*first, *pairs]))

    def search(self, X: NDArray[Any], state: SessionState) -> list[Pair]:
        """Return questions; changes nothing, so it may run beside everything else."""
        at = self._sample(state)
        place = np.full(self._rows.n_samples, -1)
        place[at] = np.arange(at.size)
        links = {}
        for kind, table in state.constraints.items():
            moved = table.copy()
            moved[:, :2] = place[table[:, :2].astype(np.int64)]
            links[kind] = moved
        for name in ("demand", "sample_weight"):
            values = getattr(self._rows, name)
            if values is not None:
                links[name] = values[at]
        # Pairs that a person was unsure of may be suggested again: search for as many more.
        ask = PARAMS.questions + len(state.of_kind(UNSURE))
        found = choose_pairs(X[at], _scaled(state, at.size / self._rows.n_samples), ask, **links)
        closed = Implied(state)
        pairs = [ordered(int(at[a]), int(at[b])) for a, b in found]
        return [pair for pair in pairs if not closed.covers(pair)]

    def _sample(self, state: SessionState) -> NDArray[np.int64]:
        n = self._rows.n_samples
        if n <= SEARCHED_ROWS:
            return np.arange(n)
        drawn = np.random.default_rng(state.settings.random_state).choice(n, SEARCHED_ROWS, replace=False)
        linked = [row for link in state.of_kind(TOGETHER, APART) for row in link.pair]
        return np.unique(np.concatenate([drawn, np.array(linked, dtype=np.int64)]))


def _scaled(state: SessionState, share: float) -> SessionState:
    """Drop the bounds on sizes for a sample: they do not bound a part of the rows."""
    if share == 1.0:
        return state
    return SessionState(replace(state.settings, size_min=None, size_max=None), state.links)


class Implied:
    """Pairs whose answer follows from the links."""

    def __init__(self, state: SessionState) -> None:
        self._links = state.links
        must, cannot = ([link.pair for link in state.of_kind(kind)] for kind in (TOGETHER, APART))
        rows = np.unique(np.array([*must, *cannot], dtype=np.int64).ravel())
        self._place = {row: at for at, row in enumerate(rows.tolist())}
        ends = np.array([[self._place[a], self._place[b]] for a, b in must], dtype=np.int64).reshape(-1, 2)
        graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(rows.size, rows.size))
        self._block = connected_components(graph, directed=False)[1] if rows.size else np.zeros(0, dtype=np.int32)
        self._apart = {self._blocks(pair) for pair in cannot}

    def _blocks(self, pair: Pair) -> Pair:
        a, b = (int(self._block[self._place[row]]) for row in pair)
        return ordered(a, b)

    def covers(self, pair: Pair) -> bool:
        """Return whether a pair was answered, or is in one block, or in blocks that are apart."""
        if pair in self._links:
            return True
        if any(row not in self._place for row in pair):
            return False
        blocks = self._blocks(pair)
        return blocks[0] == blocks[1] or blocks in self._apart
