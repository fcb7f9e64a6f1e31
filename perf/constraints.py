"""Time and memory of building a Problem: a million rows with half a million must-links and as many cannot-links."""

import argparse
import resource
import threading
import time
from pathlib import Path

import numpy as np

from konstrain import Problem, check


class PeakMemory:
    """Largest resident memory while the block runs, beyond what there was before, in MB."""

    def __enter__(self) -> "PeakMemory":
        self._before = self._resident()
        self._peak = self._before
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()
        self._peak = max(self._peak, self._resident())
        self.megabytes = (self._peak - self._before) / 1e6

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self._peak = max(self._peak, self._resident())


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="half must-links, half cannot-links")
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--clusters", type=int, default=10)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.features))
    must_link = rng.integers(0, args.rows, (args.pairs // 2, 2))
    # Ends of a cannot-link must not lie in one block: drop those that do, so that the problem is feasible.
    block_of = Problem.build(args.rows, 1, must_link=must_link, nonempty=False).block_of
    cannot_link = rng.integers(0, args.rows, (args.pairs, 2))
    cannot_link = cannot_link[block_of[cannot_link[:, 0]] != block_of[cannot_link[:, 1]]][: args.pairs // 2]
    soft = np.column_stack([cannot_link, rng.uniform(0.1, 1.0, cannot_link.shape[0])])

    questions = {
        "Problem.build": lambda: Problem.build(X, args.clusters, must_link=must_link, cannot_link=cannot_link),
        "Problem.build, cannot-links soft": lambda: Problem.build(
            X, args.clusters, must_link=must_link, cannot_link=soft
        ),
        "Problem.build, 2 clusters": lambda: Problem.build(args.rows, 2, cannot_link=cannot_link[: args.rows // 4]),
        "check": lambda: check(args.rows, args.clusters, must_link=must_link, cannot_link=cannot_link),
    }
    for name, ask in questions.items():
        start = time.perf_counter()
        try:
            with PeakMemory() as memory:
                answer = ask()
            outcome = f"{answer.n_blocks} blocks"
        except ValueError as error:
            outcome = str(error)[:60] + "..."
        print(f"{name:34s} {time.perf_counter() - start:6.2f} s {memory.megabytes:6.0f} MB  {outcome}")


if __name__ == "__main__":
    main()
