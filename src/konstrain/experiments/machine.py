"""What figures were measured on: processor, memory, versions, and the command."""

import os
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("konstrain", "numpy", "scipy", "scikit-learn", "highspy", "joblib")


def describe_machine() -> dict[str, str]:
    """Name the processor, cores, memory, system and versions.

    Examples
    --------
    >>> sorted(describe_machine())[:4]
    ['cores', 'highspy', 'joblib', 'konstrain']
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        names = [line.partition(":")[2].strip() for line in known.read_text().splitlines() if "model name" in line]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def command_line() -> str:
    """The command that started this process, without the folders of the machine it ran on."""
    program = Path(sys.argv[0])
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name
    if program.parent.name == "experiments":
        name = "python -m konstrain.experiments"
    return " ".join([name, *(shlex.quote(argument) for argument in sys.argv[1:])])
