"""Code on pages of the documentation, taken out and run as printed: Python, sessions, command lines, import lines."""

import doctest
import os
import re
import shlex
import shutil
import signal
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import command_line

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "examples" / "data"
FENCE = re.compile(r"^```(python|pycon|console|diff)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# How a page says that a command ends with something else than 0.
ENDS_WITH = re.compile(r"# exit code (\d+)$")
# Output may stand wrapped, and dots stand for what differs from run to run.
LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Snippet:
    """One fenced block and where it stands."""

    language: str
    code: str
    place: str


def snippets_of(page: Path) -> list[Snippet]:
    """Return the blocks of a page that can be run, in its order."""
    text = page.read_text()
    return [
        Snippet(found[1], found[2], f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}")
        for found in FENCE.finditer(text)
    ]


def run_page(page: Path, folder: Path) -> list[Snippet]:
    """Run the blocks of a page where its reader stands, names carried over; return those that ran.

    Who reads a page of the checkout stands there, who reads one of the site has the sample files beside them. The
    folder is the current one; `cd` on a page leads on from there.
    """
    command_line.prepare()
    where = folder / SAMPLES.relative_to(ROOT) if page.parent == ROOT else folder
    shutil.copytree(SAMPLES, where, dirs_exist_ok=True)
    names: dict[str, object] = {"__name__": "__main__"}
    ran = []
    for snippet in snippets_of(page):
        RUN[snippet.language](snippet, names, folder)
        ran.append(snippet)
    return ran


def _run_python(snippet: Snippet, names: dict[str, object], folder: Path) -> None:
    exec(compile(snippet.code, snippet.place, "exec"), names)


def _run_session(snippet: Snippet, names: dict[str, object], folder: Path) -> None:
    session = doctest.DocTestParser().get_doctest(snippet.code, names, snippet.place, snippet.place, 0)
    runner = doctest.DocTestRunner(optionflags=LENIENT)
    told: list[str] = []
    runner.run(session, out=told.append, clear_globs=False)
    names.update(session.globs)
    assert not runner.failures, "".join(told)


def _run_changed_lines(snippet: Snippet, names: dict[str, object], folder: Path) -> None:
    """Run the lines that a page says to write instead of others."""
    written = [line[1:] for line in snippet.code.splitlines() if line.startswith("+")]
    exec(compile("\n".join(written), snippet.place, "exec"), names)


def _run_console(snippet: Snippet, names: dict[str, object], folder: Path) -> None:
    joined = snippet.code.replace("\\\n", " ")
    assert joined.startswith("$ "), f"{snippet.place}: commands begin with '$ '"
    for entry in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, printed = entry.partition("\n")
        program, *arguments = shlex.split(command, comments=True)
        where = f"{snippet.place}: {command}"
        if program == "konstrain":
            _run_command(arguments, command, printed, Path.cwd(), where)
        else:
            KNOWN[program](arguments, where)


def _run_command(arguments: list[str], command: str, printed: str, folder: Path, where: str) -> None:
    if arguments[0] == "studio":
        _serve_until_it_listens(arguments, folder, where)
        return
    done = command_line.konstrain(*arguments, folder=folder)
    asked = ENDS_WITH.search(command)
    assert done.code == (int(asked[1]) if asked else 0), f"{where}\n{done.out}{done.err}"
    if printed.strip():
        shown = done.out + done.err
        assert doctest.OutputChecker().check_output(printed, shown, LENIENT), f"{where} prints\n{shown}"


def _serve_until_it_listens(arguments: list[str], folder: Path, where: str) -> None:
    """Start a page as printed and end it as a person would, once it says where it is."""
    process = command_line.start(*arguments, folder=folder)
    address = folder / ".out"
    while process.is_alive() and not (address.exists() and "http" in address.read_text()):
        time.sleep(0.05)
    assert process.is_alive(), f"{where}\n{(folder / '.err').read_text()}"
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert process.exitcode == 0, f"{where}\n{(folder / '.err').read_text()}"


def _check_install(arguments: list[str], where: str) -> None:
    """Look whether what pip is to install is ours, with extras that there are: nothing is installed."""
    asked = re.fullmatch(r"install (?:konstrain|\.)(?:\[([\w,]+)\])?", " ".join(arguments))
    assert asked, where
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(filter(None, (asked[1] or "").split(","))) <= set(extras), where


def _go(arguments: list[str], where: str) -> None:
    os.chdir(*arguments)


def _check_activated(arguments: list[str], where: str) -> None:
    """Look whether what is to be activated is what `make` sets up."""
    made = re.search(r"^VENV *:= *(\S+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert made
    assert arguments == [f"{made[1]}/bin/activate"], where


def _check_target(arguments: list[str], where: str) -> None:
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(arguments) <= set(rules), where


RUN = {"python": _run_python, "pycon": _run_session, "diff": _run_changed_lines, "console": _run_console}
KNOWN = {"pip": _check_install, "make": _check_target, "cd": _go, "source": _check_activated}
