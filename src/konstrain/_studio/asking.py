"""The next question to the person: a pair whose answer tells most, never one that was answered or is implied."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from konstrain._studio.data import Rows
from konstrain._studio.fitting import arguments
from konstrain._studio.session import APART, TOGETHER, UNSURE, Known, Pair, ordered
from konstrain.suggest import suggest_pairs

# Questions looked for at once: while one is answered, the next ones are there.
AHEAD = 5
# Among more rows than this, questions are looked for in a sample: choosing takes a fit of its own.
LOOKED_AT = 20_000


def choose_pairs(X: NDArray[Any], known: Known, ask: int, **constraints: Any) -> NDArray[np.int64]:
    """Ask the library which pairs tell most, by its default strategy."""
    params = arguments(known.settings)
    return suggest_pairs(X, params.pop("n_clusters"), ask=ask, **params, **constraints)


class Asker:
    """Questions waiting to be asked.

    Parameters
    ----------
    rows : Rows
        The data.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._waiting: deque[Pair] = deque()

    def next(self, known: Known) -> Pair | None:
        """Return the next question that is still open, or None when more have to be looked for."""
        closed = Implied(known)
        while self._waiting and closed.tells(self._waiting[0]):
            self._waiting.popleft()
        return self._waiting[0] if self._waiting else None

    def ask_again(self, pair: Pair) -> None:
        """Put a question first, because its answer was taken back."""
        self._waiting.appendleft(pair)

    def replace(self, pairs: Iterable[Pair]) -> None:
        """Take over newly found questions, behind the one that the person may be looking at."""
        first = list(self._waiting)[:1]
        self._waiting = deque(dict.fromkeys([*first, *pairs]))

    def look(self, X: NDArray[Any], known: Known) -> list[Pair]:
        """Look for questions; changes nothing, so it may run beside everything else."""
        at = self._sample(known)
        place = np.full(self._rows.n_samples, -1)
        place[at] = np.arange(at.size)
        links = {}
        for kind, table in known.constraints.items():
            moved = table.copy()
            moved[:, :2] = place[table[:, :2].astype(np.int64)]
            links[kind] = moved
        for name in ("demand", "sample_weight"):
            values = getattr(self._rows, name)
            if values is not None:
                links[name] = values[at]
        # What a person was unsure of may be suggested again and again: ask for as many more.
        ask = AHEAD + len(known.of_kind(UNSURE))
        found = choose_pairs(X[at], _scaled(known, at.size / self._rows.n_samples), ask, **links)
        closed = Implied(known)
        pairs = [ordered(int(at[a]), int(at[b])) for a, b in found]
        return [pair for pair in pairs if not closed.tells(pair)]

    def _sample(self, known: Known) -> NDArray[np.int64]:
        n = self._rows.n_samples
        if n <= LOOKED_AT:
            return np.arange(n)
        drawn = np.random.default_rng(known.settings.random_state).choice(n, LOOKED_AT, replace=False)
        linked = [row for link in known.of_kind(TOGETHER, APART) for row in link.pair]
        return np.unique(np.concatenate([drawn, np.array(linked, dtype=np.int64)]))


def _scaled(known: Known, share: float) -> Known:
    """Drop the bounds on sizes for a sample: what a part of the rows may hold, they do not say."""
    if share == 1.0:
        return known
    return Known(replace(known.settings, size_min=None, size_max=None), known.links)


class Implied:
    """What links tell of pairs, also of those that nobody was asked about.

    Examples
    --------
    >>> from konstrain._studio.session import Link, Settings
    >>> links = [Link((0, 1), "together"), Link((1, 2), "together"), Link((2, 3), "apart")]
    >>> told = Implied(Known(Settings(2, ("a",)), {link.pair: link for link in links}))
    >>> told.tells((0, 2)), told.tells((0, 3)), told.tells((0, 4))
    (True, True, False)
    """

    def __init__(self, known: Known) -> None:
        self._links = known.links
        must, cannot = ([link.pair for link in known.of_kind(kind)] for kind in (TOGETHER, APART))
        rows = np.unique(np.array([*must, *cannot], dtype=np.int64).ravel())
        self._place = {row: at for at, row in enumerate(rows.tolist())}
        ends = np.array([[self._place[a], self._place[b]] for a, b in must], dtype=np.int64).reshape(-1, 2)
        graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(rows.size, rows.size))
        self._block = connected_components(graph, directed=False)[1] if rows.size else np.zeros(0, dtype=np.int32)
        self._apart = {self._blocks(pair) for pair in cannot}

    def _blocks(self, pair: Pair) -> Pair:
        a, b = (int(self._block[self._place[row]]) for row in pair)
        return ordered(a, b)

    def tells(self, pair: Pair) -> bool:
        """Whether nothing is to be learnt from asking: answered, of one block, or of blocks that are apart."""
        if pair in self._links:
            return True
        if any(row not in self._place for row in pair):
            return False
        blocks = self._blocks(pair)
        return blocks[0] == blocks[1] or blocks in self._apart
