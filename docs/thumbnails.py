"""Thumbnails of the gallery that can be read: one panel of a picture, the last one, instead of all side by side."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper

# Pixels, twice as wide as the page shows them.
SIZE = (480, 360)
# Part of the figure left around a panel.
EDGE = 0.01

# Of each script that ran: the last panel of its last figure, as parts of the figure's width and height.
_panels: dict[str, tuple[float, float, float, float]] = {}


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Keep the figures as Sphinx-Gallery does, and remember where the last panel is."""
    if plt.get_fignums():
        figure = plt.figure(plt.get_fignums()[-1])
        figure.draw_without_rendering()
        box = figure.axes[-1].get_tightbbox().transformed(figure.transFigure.inverted())
        # A legend may reach beyond the figure; a little around the panel keeps its letters whole.
        left, below, right, above = np.clip([box.x0 - EDGE, box.y0 - EDGE, box.x1 + EDGE, box.y1 + EDGE], 0.0, 1.0)
        _panels[Path(block_vars["src_file"]).stem] = (left, below, right, above)
    found: str = matplotlib_scraper(block, block_vars, gallery_conf)
    return found


def crop(app: Sphinx) -> None:
    """Replace the thumbnails of the scripts that ran by their panels; the others have theirs from before."""
    images = Path(app.srcdir, "gallery", "images")
    for script, (left, below, right, above) in _panels.items():
        with Image.open(sorted(images.glob(f"sphx_glr_{script}_0*.png"))[-1]) as picture:
            wide, high = picture.size
            panel = picture.convert("RGB").crop(
                (round(left * wide), round((1 - above) * high), round(right * wide), round((1 - below) * high))
            )
        panel.thumbnail(SIZE)
        thumbnail = Image.new("RGB", SIZE, "white")
        thumbnail.paste(panel, ((SIZE[0] - panel.width) // 2, (SIZE[1] - panel.height) // 2))
        thumbnail.save(images / "thumb" / f"sphx_glr_{script}_thumb.png")


def setup(app: Sphinx) -> None:
    """Run once Sphinx-Gallery has made its own."""
    app.connect("builder-inited", crop, priority=900)
