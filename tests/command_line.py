"""Running `konstrain` in a process of its own: real files, real exit codes, real signals.

Processes are forked from one that has imported scikit-learn already, which saves seconds each; `run_script` runs the
installed script as a shell would.
"""

import multiprocessing
import multiprocessing.forkserver
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# What verbs import when they need it, which takes seconds.
PRELOADED = [
    "konstrain.cli.app",
    "konstrain.cli.clustering",
    "konstrain.estimators.constrained_kmeans",
    "konstrain.exact.certificate",
    "konstrain.plotting",
    "konstrain.suggest",
    "sklearn.compose",
    "sklearn.metrics",
    "polars",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "geopandas",
    "narwhals._polars.namespace",
    "konstrain.cli.folders",
    "konstrain.mixing",
    "konstrain.tables.models",
    "konstrain._studio.page",
    "konstrain._studio.server",
    "skops.io",
    "typer._adapters",
    "typer.rich_utils",
    # What workers of a cluster import.
    "distributed",
    "konstrain.dask",
]
# Seconds after which a command has failed.
PATIENCE = 120
SCRIPT = Path(sys.executable).with_name("konstrain")


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int | None
    out: str
    err: str


def prepare() -> None:
    """Start the process that all others are forked from, with our imports; once it runs, nobody changes them."""
    multiprocessing.set_forkserver_preload(PRELOADED)
    multiprocessing.forkserver.ensure_running()


def konstrain(*arguments: object, folder: Path) -> Done:
    """Run `konstrain` in a folder, to its end."""
    process = start(*arguments, folder=folder)
    process.join(PATIENCE)
    if process.is_alive():
        # Else the tests would wait for it at their end.
        process.kill()
        process.join()
    out, err = (_taken(folder / name) for name in (".out", ".err"))
    return Done(process.exitcode, out, err)


def start(
    *arguments: object, folder: Path, err: str = ".err", largest_file: int | None = None
) -> multiprocessing.Process:
    """Start `konstrain` in a folder; output goes to files there, errors also to a terminal if `err` is one."""
    prepare()
    process = multiprocessing.get_context("forkserver").Process(
        target=_run, args=(list(map(str, arguments)), str(folder), err, largest_file)
    )
    process.start()
    return process


def run_script(*arguments: object, folder: Path, **environment: str) -> Done:
    """Run the installed script to its end."""
    env = {**os.environ, **environment}
    done = subprocess.run(
        [SCRIPT, *map(str, arguments)], cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _run(arguments: list[str], folder: str, err: str, largest_file: int | None) -> None:
    os.chdir(folder)
    if largest_file is not None:
        # What the system answers beyond this is what it answers on a full disk, but for the words.
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for number, name in ((1, ".out"), (2, err)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["konstrain", *arguments]
    from konstrain.cli import main

    main()


def _taken(path: Path) -> str:
    """What a file holds; it is gone afterwards."""
    text = path.read_text()
    path.unlink()
    return text
