"""Run examples and keep their pictures: `python examples/_draw.py FOLDER [SCRIPT ...]`, all scripts by default."""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

HERE = Path(__file__).parent


def draw(script: Path, folder: Path) -> list[Path]:
    """Run a script and save its figures: under their labels, or under the script's name."""
    shown, plt.show = plt.show, lambda: None
    try:
        runpy.run_path(str(script), run_name="__main__")
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(number, script, folder) for number in plt.get_fignums()]
    finally:
        plt.show = shown
        plt.close("all")


def _save(number: int, script: Path, folder: Path) -> Path:
    figure = plt.figure(number)
    path = folder / f"{figure.get_label() or script.stem}.png"
    figure.savefig(path, dpi=80)
    return path


if __name__ == "__main__":
    into, *chosen = sys.argv[1:]
    for script in map(Path, chosen or sorted(HERE.glob("[!_]*.py"))):
        print(f"== {script.name}")
        for picture in draw(script, Path(into)):
            print(f"picture: {picture}")
