"""Where the examples put their pictures: the folder given on the command line, else build/examples."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

DEFAULT = Path("build/examples")


def panels(n: int, width: float = 4.6, height: float = 4.0) -> list[Axes]:
    """Make a figure with n axes side by side."""
    _, axes = plt.subplots(1, n, figsize=(n * width, height), layout="constrained", squeeze=False)
    return list(axes[0])


def save(ax: Axes, name: str) -> None:
    """Write the picture that `ax` belongs to and say where it is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    folder.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(folder / f"{name}.png", dpi=80)
    plt.close(ax.figure)
    print(f"picture: {folder / name}.png")
