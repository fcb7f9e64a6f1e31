"""The most memory that this process has held, as the operating system counts it."""

import resource
import sys
from pathlib import Path

_MEGABYTE = 2**20


def reset_peak() -> None:
    """Start measuring the peak of memory anew, where the system can."""
    marks = Path("/proc/self/clear_refs")
    if marks.exists():
        marks.write_text("5")


def peak_megabytes() -> float:
    """Most memory that this process has held since `reset_peak`, or ever where that does nothing."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return float(lines["VmHWM"].split()[0]) * 1024 / _MEGABYTE
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _MEGABYTE
