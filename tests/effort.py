"""How many random examples a property gets, by one setting for all tests."""

import os

# Hypothesis draws this many. Fewer where every example takes long, as under the sanitizers; 200 in `make test-slow`.
EXAMPLES = int(os.environ.get("KONSTRAIN_EXAMPLES", "10"))


def examples(n: int) -> int:
    """Return how many of `n` random examples this run takes: all of them where Hypothesis draws 40 or more."""
    return max(1, n * min(EXAMPLES, 40) // 40)
