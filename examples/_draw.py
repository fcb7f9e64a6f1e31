"""Run examples and keep their pictures: `python examples/_draw.py FOLDER [SCRIPT ...]`, all scripts by default.

A page of the documentation may stand for a script: `docs/tour.md` is run as printed.
"""

import doctest
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

HERE = Path(__file__).parent


PAGES = [HERE.parent / "docs" / "tour.md"]


def draw(script: Path, folder: Path) -> list[Path]:
    """Run a script, or a page, and save its figures: under their labels, or under its name."""
    shown, plt.show = plt.show, lambda: None
    try:
        if script.suffix == ".md":
            _run_page(script)
        else:
            runpy.run_path(str(script), run_name="__main__")
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(number, script, folder) for number in plt.get_fignums()]
    finally:
        plt.show = shown
        plt.close("all")


def _run_page(page: Path) -> None:
    """Run the sessions of a page; what they refuse on purpose is passed over."""
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page.read_text()):
        if example.exc_msg is None:
            exec(example.source, names)


def _save(number: int, script: Path, folder: Path) -> Path:
    figure = plt.figure(number)
    name = f"{script.stem}_{number}" if script.suffix == ".md" else script.stem
    path = folder / f"{figure.get_label() or name}.png"
    figure.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    into, *chosen = sys.argv[1:]
    for script in map(Path, chosen or [*sorted(HERE.glob("[!_]*.py")), *PAGES]):
        print(f"== {script.name}")
        for picture in draw(script, Path(into)):
            print(f"picture: {picture}")
