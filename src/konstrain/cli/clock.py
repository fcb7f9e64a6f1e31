"""How long a person has waited for a command: from its first line, so with all that it imports."""

import time

_began = time.perf_counter()


def start() -> None:
    """Count from now on; for processes that imported all this long before they run a command."""
    global _began
    _began = time.perf_counter()


def seconds() -> float:
    """Seconds since the command began."""
    return time.perf_counter() - _began
