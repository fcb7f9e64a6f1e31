"""Links from answers, and what follows from them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints import Problem


@dataclass(frozen=True, eq=False)
class Known:
    """Links from answers so far: which rows belong together, and which do not."""

    X: NDArray[Any]
    n_clusters: int | None
    must_link: NDArray[Any]
    cannot_link: NDArray[Any]

    @cached_property
    def problem(self) -> Problem:
        """Blocks and conflicts that follow from the answers."""
        # Fewer clusters may be known to be possible than guesses ask for; here only blocks and conflicts count.
        n = len(self.X)
        return Problem.build(n, n, must_link=self.must_link, cannot_link=self.cannot_link, nonempty=False)

    def assuming(self, first: int, second: int, *, together: bool) -> "Known":
        """Return the links with one more answer."""
        pair = np.array([[first, second]])
        if together:
            return Known(self.X, self.n_clusters, np.concatenate([self.must_link, pair]), self.cannot_link)
        return Known(self.X, self.n_clusters, self.must_link, np.concatenate([self.cannot_link, pair]))

    def is_open(self, first: int, second: int) -> bool:
        """Return whether neither links nor what follows from them relate two rows."""
        a, b = self.problem.block_of[first], self.problem.block_of[second]
        return bool(a != b) and b not in self._conflicts_of(int(a))

    def _conflicts_of(self, block: int) -> NDArray[np.int32]:
        graph = self.problem.conflicts
        return np.zeros(0, dtype=np.int32) if graph is None else graph.neighbours(block)

    @cached_property
    def linked_blocks(self) -> list[int]:
        """Blocks that some answer was about, largest first."""
        rows = np.concatenate([self.must_link.ravel(), self.cannot_link.ravel()])
        blocks = np.unique(self.problem.block_of[rows.astype(np.int64)])
        return sorted(blocks.tolist(), key=lambda block: (-self.problem.rows_of(block).size, block))

    @cached_property
    def neighborhoods(self) -> list[int]:
        """Blocks known to be in different clusters: one of each cluster that was met so far."""
        taken: list[int] = []
        for block in self.linked_blocks:
            is_full = self.n_clusters is not None and len(taken) >= self.n_clusters
            if not is_full and set(taken) <= set(self._conflicts_of(block).tolist()):
                taken.append(block)
        return taken

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """Rows of the neighborhoods."""
        return np.concatenate([self.problem.rows_of(b) for b in self.neighborhoods] or [np.zeros(0, dtype=np.int32)])

    def representative(self, block: int, near: int) -> int:
        """The row of a block nearest to a row."""
        rows = self.problem.rows_of(block)
        return int(rows[np.argmin(((self.X[rows] - self.X[near]) ** 2).sum(axis=1))])

    @property
    def is_complete(self) -> bool:
        """Whether there is a neighborhood of each cluster; never known to be when their number is unknown."""
        return len(self.neighborhoods) == self.n_clusters

    @cached_property
    def _implied(self) -> dict[int, int]:
        """Blocks that are apart from all clusters but one, which they therefore belong to: block and neighborhood."""
        if not self.is_complete:
            return {}
        open_to = {block: self._open_neighborhoods(block) for block in self.linked_blocks}
        return {b: open_[0] for b, open_ in open_to.items() if len(open_) == 1 and b not in self.neighborhoods}

    def _open_neighborhoods(self, block: int) -> list[int]:
        apart = set(self._conflicts_of(block).tolist())
        return [other for other in self.neighborhoods if other != block and other not in apart]

    @cached_property
    def members(self) -> list[NDArray[np.int32]]:
        """Rows known to belong to each neighborhood, by must-links or because no other cluster is left."""
        blocks: dict[int, list[int]] = {neighborhood: [neighborhood] for neighborhood in self.neighborhoods}
        for block, neighborhood in self._implied.items():
            blocks[neighborhood].append(block)
        return [np.concatenate([self.problem.rows_of(b) for b in together]) for together in blocks.values()]

    @cached_property
    def placed(self) -> NDArray[np.int32]:
        """Rows whose neighborhood is known."""
        return np.concatenate([*self.members, np.zeros(0, dtype=np.int32)])

    def begun_rows(self) -> list[int]:
        """A row of each block that is known to be apart from some neighborhood, but not yet where it belongs."""
        rest = [b for b in self.linked_blocks if b not in self.neighborhoods and b not in self._implied]
        return [
            int(self.problem.rows_of(b)[0])
            for b in rest
            if len(self._open_neighborhoods(b)) < len(self.neighborhoods)
        ]

    def against_neighborhoods(
        self, row: int, chances: NDArray[np.float64] | None = None
    ) -> Iterator[tuple[int, int]]:
        """Ask a row against each neighborhood that it may belong to, likeliest first; without chances, nearest."""
        block = int(self.problem.block_of[row])
        # Apart from all but one of all clusters it is in that one: no need to ask.
        if block in self._implied:
            return
        if chances is None:
            means = [self.X[self.problem.rows_of(other)].mean(axis=0) for other in self.neighborhoods]
            chances = -np.array([((self.X[row] - mean) ** 2).sum() for mean in means])
        open_ = self._open_neighborhoods(block)
        for i in np.argsort(-chances, kind="stable"):
            if self.neighborhoods[i] in open_:
                yield row, self.representative(self.neighborhoods[i], row)

    def distance_to_known(self) -> NDArray[np.float64]:
        """Squared distance of each row to the nearest row of a neighborhood; -1 for rows that are linked already."""
        nearest = np.full(len(self.X), np.inf)
        for row in self.rows:
            np.minimum(nearest, ((self.X - self.X[row]) ** 2).sum(axis=1), out=nearest)
        nearest[np.isin(self.problem.block_of, self.linked_blocks)] = -1.0
        return nearest


# What comes next, given what is known; the first one is asked.
Questions = Callable[[Known], Iterator[tuple[int, int]]]
