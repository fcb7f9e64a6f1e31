"""Draw the first table of docs/performance.md: how many times as fast, beside each peer."""

import re
from pathlib import Path

from matplotlib import pyplot as plt

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
PICTURE = PAGE.parent / "pictures" / "performance.png"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|", flags=re.MULTILINE)


def rows() -> list[tuple[str, str, float, float]]:
    """What, beside whom, the least and the largest ratio, as the page has them."""
    return [(what, peer, float(least), float(most)) for what, peer, least, most in ROW.findall(PAGE.read_text())]


def draw() -> None:
    """Bars from the least ratio to the largest, from 1 to the right: faster, to the left: slower."""
    figure, ax = plt.subplots(figsize=(9.2, 4.4), layout="constrained")
    found = rows()[::-1]
    for y, (_, _, least, most) in enumerate(found):
        ax.barh(y, most - least, left=least, height=0.5, color="#0072B2" if least >= 1 else "#E69F00")
        words = f"{least:,g} to {most:,g}"
        ax.annotate(words, (max(most, 1.0), y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=10)
    ax.set_yticks(range(len(found)), [f"{what}\nbeside {peer}" for what, peer, _, _ in found], fontsize=9)
    ax.axvline(1, color="#222222", linewidth=1)
    ax.set(xscale="log", xlim=(0.2, 8000), xlabel="times as fast (1: the same)")
    ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    draw()
    print(f"wrote {PICTURE}")
