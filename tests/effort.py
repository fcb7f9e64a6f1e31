"""How many random examples a property gets, by one setting for all tests."""

import os
import random
from collections.abc import Iterable
from typing import Any

# Hypothesis draws this many. Fewer where every example takes long, as under the sanitizers; 200 in `make test-slow`.
EXAMPLES = int(os.environ.get("KONSTRAIN_EXAMPLES", "10"))


def examples(n: int) -> int:
    """Return how many of `n` random examples this run takes: all of them where Hypothesis draws 40 or more."""
    return max(1, n * min(EXAMPLES, 40) // 40)


def some(cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a long list that this run takes, in their order: drawn once and for all."""
    every = list(cases)
    taken = random.Random(0).sample(range(len(every)), examples(len(every)))
    return [every[i] for i in sorted(taken)]
