"""The rows themselves in the picture: as marks, which differ by cluster, or, when they are many, as one image."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJS, GlyphRenderer, LinearColorMapper
from bokeh.plotting import figure
from numpy.typing import NDArray

# Up to so many rows clusters also differ by their marks. Beyond, marks are too small to tell apart, and an image is
# drawn sooner.
MOST_MARKED = 5_000
# Bokeh's marks in the order of those of the plots.
MARKS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "hex")


class Dots(ABC):
    """The rows in a figure.

    Parameters
    ----------
    p : figure
        Where they are drawn.
    points : ColumnDataSource
        Their places, ``x`` and ``y``, and what else a hover shows.
    mapper : LinearColorMapper
        The colours of clusters.

    Attributes
    ----------
    renderer : GlyphRenderer
        What the mouse finds.
    """

    renderer: GlyphRenderer

    def __init__(self, p: figure, points: ColumnDataSource, mapper: LinearColorMapper) -> None:
        self._points, self._mapper = points, mapper
        n = len(points.data["x"])
        self._size = float(np.clip(130 / np.sqrt(n), 4.0 if n < 20_000 else 2.5, 10.0))
        self._alpha = float(np.clip(np.sqrt(5_000 / n), 0.35, 0.9))
        self.renderer = self._draw(p, n)

    @abstractmethod
    def color(self, clusters: NDArray[np.int32]) -> None:
        """Colour each row by its cluster."""

    @abstractmethod
    def _draw(self, p: figure, n: int) -> GlyphRenderer:
        """Draw them, all in one colour, and return what the mouse finds."""


class Marks(Dots):
    """Rows as marks, another one for each cluster."""

    def _draw(self, p: figure, n: int) -> GlyphRenderer:
        self._points.data.update({"cluster": np.zeros(n), "mark": ["circle"] * n})
        return p.scatter(
            "x",
            "y",
            source=self._points,
            marker={"field": "mark"},
            size=self._size,
            color={"field": "cluster", "transform": self._mapper},
            alpha=self._alpha,
            nonselection_alpha=self._alpha,
        )

    def color(self, clusters: NDArray[np.int32]) -> None:
        """Colour and mark each row by its cluster."""
        colors = (clusters % len(self._mapper.palette)).astype(np.float64)
        self._points.data.update(
            {"cluster": colors, "mark": [MARKS[cluster % len(MARKS)] for cluster in clusters.tolist()]}
        )


class Image(Dots):
    """Rows as pixels of one image, which the browser makes anew when anything moves or changes its colour."""

    def _draw(self, p: figure, n: int) -> GlyphRenderer:
        # Beside the points: all that is sent, and looked at, when clusters change.
        self._clusters = ColumnDataSource({"cluster": np.zeros(n, dtype=np.uint8)})
        image = ColumnDataSource(
            {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1.0], "dh": [1.0]}
        )
        p.image_rgba("image", "x", "y", "dw", "dh", source=image)
        self._make_anew_on_change(p, image)
        # Turned by an angle that is no number: found by the mouse, but not drawn.
        return p.scatter("x", "y", source=self._points, size=max(self._size, 4.0), angle=np.nan)

    def _make_anew_on_change(self, p: figure, image: ColumnDataSource) -> None:
        draw = CustomJS.from_file(
            Path(__file__).with_name("dots.mjs"),
            figure=p,
            points=self._points,
            clusters=self._clusters,
            image=image,
            mapper=self._mapper,
            diameter=self._size,
            alpha=self._alpha,
        )
        changes: list[tuple[Any, str]] = [
            *((ends, end) for ends in (p.x_range, p.y_range) for end in ("start", "end")),
            *((p, side) for side in ("inner_width", "inner_height")),
            (self._points, "data"),
            (self._clusters, "data"),
            (self._mapper, "palette"),
        ]
        for model, attribute in changes:
            model.js_on_change(attribute, draw)

    def color(self, clusters: NDArray[np.int32]) -> None:
        """Colour each row by its cluster."""
        self._clusters.data = {"cluster": (clusters % len(self._mapper.palette)).astype(np.uint8)}
