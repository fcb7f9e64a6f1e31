"""Running `konstrain` in a process of its own: real files, real exit codes, real signals.

Processes are forked from one that has imported scikit-learn already, which saves seconds each; `start_script` starts
the installed script as a shell would.
"""

import multiprocessing
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("konstrain")


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int | None
    out: str
    err: str


def konstrain(*arguments: object, folder: Path) -> Done:
    """Run `konstrain` in a folder, to its end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["konstrain.cli.app", "konstrain.cli.clustering", "polars"])
    process = context.Process(target=_run, args=([str(argument) for argument in arguments], str(folder)))
    process.start()
    process.join(120)
    out, err = (_taken(folder / name) for name in (".out", ".err"))
    return Done(process.exitcode, out, err)


def start_script(*arguments: object, folder: Path, **pipes: object) -> subprocess.Popen:
    """Start the installed script."""
    return subprocess.Popen([SCRIPT, *map(str, arguments)], cwd=folder, **pipes)


def _run(arguments: list[str], folder: str) -> None:
    os.chdir(folder)
    for number, name in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["konstrain", *arguments]
    from konstrain.cli import main

    main()


def _taken(path: Path) -> str:
    text = path.read_text()
    path.unlink()
    return text
