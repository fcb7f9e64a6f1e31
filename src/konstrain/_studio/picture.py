"""The rows on a plane: Bokeh's figure with its layers, each changed by itself and only when it has to be."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    CustomJS,
    GlyphRenderer,
    HoverTool,
    LassoSelectTool,
    LinearColorMapper,
    PanTool,
    Range1d,
    ResetTool,
    SaveTool,
    WheelZoomTool,
)
from bokeh.plotting import figure
from numpy.typing import NDArray

from konstrain._studio.data import DRAWN_ROWS, SINGLE_MARKS, StudioData
from konstrain._studio.session import APART, TOGETHER, Pair
from konstrain.plotting import MapAreas, Projection
from konstrain.plotting._style import BROKEN, COLORS, COLORS_ON_DARK

# Columns that a hover shows, and letters of each.
HOVERED_COLUMNS: Final = 12
HOVERED_LETTERS: Final = 80
# Pixels around a click within which a row counts as meant.
REACH: Final = 14
# Bokeh's marks in the order of those of the plots.
MARKS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "hex")


@dataclass(frozen=True)
class Theme:
    """Colours of everything but the rows."""

    ground: str
    ink: str
    faint: str
    line: str
    palette: tuple[str, ...]


LIGHT = Theme("#ffffff", "#1d2430", "#5b6472", "#dfe3e8", COLORS)
DARK = Theme("#161b22", "#e8ecf1", "#a3adba", "#2e3641", COLORS_ON_DARK)


class Picture:
    """A figure of some rows."""

    def __init__(self, rows: StudioData) -> None:
        self._rows = rows
        self.drawn = _sample(rows.n_samples)
        self._is_map = False
        self._place: NDArray[Any] = np.zeros((rows.n_samples, 2))
        n = len(self.drawn)
        self.points = ColumnDataSource({"x": np.zeros(n), "y": np.zeros(n), **_hovered(rows, self.drawn)})
        self._links = ColumnDataSource({"xs": [], "ys": [], "dash": []})
        self._borders = ColumnDataSource({"xs": [], "ys": []})
        self._path = ColumnDataSource({"xs": [], "ys": []})
        self._picked = ColumnDataSource({"x": [], "y": []})
        self._asked = ColumnDataSource({"x": [], "y": [], "name": [], "below": []})
        self._centers = ColumnDataSource({"x": [], "y": [], "name": []})
        # Where the data begins and ends, with a margin; empty where the axes have scales of their own.
        self._extent = ColumnDataSource({"x": [], "y": []})
        self._mapper = LinearColorMapper(palette=list(COLORS), low=-0.5, high=len(COLORS) - 0.5)
        self.figure = self._make()
        self.apply(LIGHT)

    def _make(self) -> figure:
        p = figure(
            sizing_mode="stretch_both",
            min_height=320,
            x_range=Range1d(0.0, 1.0),
            y_range=Range1d(0.0, 1.0),
            tools=[],
            toolbar_location="above",
            x_axis_label="",
            y_axis_label="",
        )
        self._map = [] if self._rows.areas is None else self._draw_map(p, self._rows.areas)
        self._lines = p.multi_line("xs", "ys", source=self._links, line_dash="dash", line_width=1.5, line_alpha=0.85)
        self._lines.level = "underlay" if self._rows.areas is None else "glyph"
        self._dots = (Marks if len(self.drawn) <= SINGLE_MARKS else Image)(p, self.points, self._mapper)
        self._draw_above(p)
        found = [self._dots.renderer]
        tools = [
            PanTool(),
            WheelZoomTool(),
            BoxSelectTool(renderers=found),
            LassoSelectTool(continuous=False, renderers=found),
            ResetTool(),
            SaveTool(),
            HoverTool(
                renderers=self._map[:1] or found,
                tooltips=_tooltips(self._rows),
                limit=1,
                point_policy="follow_mouse",
            ),
        ]
        p.add_tools(*tools)
        p.toolbar.active_scroll = tools[1]
        p.toolbar.logo = None
        # Bokeh's dividers between tools are as light as text on a dark page.
        p.toolbar.stylesheets = [":host .bk-divider { opacity: 0.3; }"]
        keep_scale = CustomJS.from_file(Path(__file__).with_name("scale.mjs"), figure=p, extent=self._extent)
        for model, attribute in ((p, "inner_width"), (p, "inner_height"), (self._extent, "data")):
            model.js_on_change(attribute, keep_scale)
        return p

    def _draw_map(self, p: figure, areas: MapAreas) -> list[GlyphRenderer]:
        """Add the areas of rows, filled by cluster, and the borders between clusters."""
        for i, name in enumerate(("areas_x", "areas_y")):
            self.points.data[name] = [[[ring[:, i] for ring in rings] for rings in area] for area in areas.polygons]
        self.points.data["cluster"] = np.zeros(len(areas.polygons))
        fill = {"field": "cluster", "transform": self._mapper}
        filled = p.multi_polygons(
            "areas_x",
            "areas_y",
            source=self.points,
            fill_color=fill,
            line_width=0.5,
            fill_alpha=0.85,
            nonselection_fill_alpha=0.85,
        )
        return [filled, p.multi_line("xs", "ys", source=self._borders, line_width=2.5)]

    def _draw_above(self, p: figure) -> None:
        """Add what is drawn over the rows."""
        p.multi_line("xs", "ys", source=self._path, line_width=5, line_color=BROKEN, line_alpha=0.9)
        self._rings = [
            p.scatter("x", "y", source=self._asked, marker="circle", size=22, fill_color=None, line_width=3),
            p.scatter("x", "y", source=self._picked, marker="square", size=18, fill_color=None, line_width=2.5),
        ]
        style = {"text_align": "center", "text_baseline": "middle", "text_font_style": "bold"}
        self._badges = p.scatter(
            "x", "y", source=self._centers, marker="circle", size=22, fill_alpha=0.85, line_width=1.5
        )
        self._numbers = p.text("x", "y", "name", source=self._centers, text_font_size="13px", **style)
        self._asked_names = p.text(
            "x", "y", "name", source=self._asked, y_offset="below", text_font_size="13px", padding=3, **style
        )

    def apply(self, theme: Theme) -> None:
        """Take the colours of a light or a dark page."""
        p = self.figure
        p.background_fill_color = theme.ground
        # The page's own ground shows around it; filled, its edges would shimmer.
        p.border_fill_color = p.outline_line_color = None
        for axis in p.axis:
            axis.axis_label_text_color = axis.major_label_text_color = theme.faint
            axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = theme.line
            axis.axis_label_text_font_style = "normal"
        for grid in p.grid:
            grid.grid_line_color = theme.line
            grid.grid_line_alpha = 0.6
        self._mapper.palette = list(theme.palette)
        self._lines.glyph.line_color = theme.faint if not self._map else theme.ink
        for layer, color in zip(self._map, (theme.ground, theme.ink), strict=False):
            layer.glyph.line_color = color
        for ring in self._rings:
            ring.glyph.line_color = theme.ink
        self._numbers.glyph.text_color = self._asked_names.glyph.background_fill_color = theme.ink
        self._asked_names.glyph.text_color = theme.ground
        self._badges.glyph.fill_color, self._badges.glyph.line_color = theme.ground, theme.faint

    def place(self, plane: Projection) -> None:
        """Put the rows where they are on a plane."""
        self._is_map = plane is self._rows.map_plane
        for layer in self._map:
            layer.visible = self._is_map
        self._dots.show(not self._is_map)
        self._place = plane.rows.astype(np.float64, copy=False)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = (_plain(name) for name in plane.names)
        shown = self._place[self.drawn]
        self.points.data.update({"x": shown[:, 0].copy(), "y": shown[:, 1].copy()})
        self._fit_ranges(shown, has_one_scale=plane.has_one_scale)

    def _fit_ranges(self, shown: NDArray[Any], *, has_one_scale: bool) -> None:
        low, high = shown.min(axis=0), shown.max(axis=0)
        margin = np.where(high > low, 0.05 * (high - low), 1.0)
        ends = np.column_stack([low - margin, high + margin]).tolist()
        # First: a browser that lays the figure out between two messages must not restore ranges by the old extent.
        self._extent.data = {"x": [], "y": []}
        for axis, (start, end) in zip((self.figure.x_range, self.figure.y_range), ends, strict=True):
            axis.update(start=start, end=end, reset_start=start, reset_end=end)
        # Only the browser has the shape of the frame, and with it the ranges that give one scale.
        if has_one_scale:
            self._extent.data = {"x": ends[0], "y": ends[1]}

    def color(self, labels: NDArray[np.int32], n_clusters: int) -> None:
        """Colour rows by cluster, and number the clusters."""
        self._dots.color(labels[self.drawn])
        if self._is_map and self._rows.areas is not None:
            lines = self._rows.areas.borders_of(labels)
            self._borders.data = {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}
            middle = list(self._rows.areas.numbers(labels, n_clusters).T)
        else:
            counts = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
            middle = [np.bincount(labels, self._place[:, i], n_clusters) / counts for i in (0, 1)]
        self._centers.data = {"x": middle[0], "y": middle[1], "name": [str(j) for j in range(n_clusters)]}

    def link(self, links: Sequence[tuple[Pair, str]]) -> None:
        """Draw lines of links: solid together, dashed apart."""
        shown = [(pair, kind) for pair, kind in links if kind in (TOGETHER, APART)][-SINGLE_MARKS:]
        dash = [[] if kind == TOGETHER else [6, 4] for _, kind in shown]
        self._links.data = {**self._segments([pair for pair, _ in shown]), "dash": dash}

    def trace(self, pairs: Sequence[Pair]) -> None:
        """Draw what makes the links impossible."""
        self._path.data = self._segments(pairs)

    def pick(self, rows: Sequence[int]) -> None:
        """Frame the rows that were picked."""
        at = self._place[np.asarray(rows, dtype=np.int64)]
        self._picked.data = {"x": at[:, 0], "y": at[:, 1]}

    def ask(self, pair: Pair | None) -> None:
        """Circle the rows of the question."""
        at = self._place[np.asarray(pair or (), dtype=np.int64)]
        # Names stand on the side of their rows that is away from the number of the nearest cluster.
        centers = np.column_stack([self._centers.data["x"], self._centers.data["y"]])
        nearest = [centers[((centers - place) ** 2).sum(axis=1).argmin()] if len(centers) else place for place in at]
        below = [24 if center[1] >= place[1] else -24 for center, place in zip(nearest, at, strict=True)]
        self._asked.data = {"x": at[:, 0], "y": at[:, 1], "name": ["A", "B"][: len(at)], "below": below}

    def row_at(self, x: float, y: float) -> int | None:
        """Return the drawn row nearest to a click, if it is near; on a map the one in whose area it is."""
        if self._is_map and self._rows.areas is not None:
            return self._rows.areas.row_at(x, y)
        p = self.figure
        ranges = np.array([p.x_range.end - p.x_range.start, p.y_range.end - p.y_range.start], dtype=float)
        try:
            pixels = np.array([p.inner_width, p.inner_height]) / ranges
        except UnsetValueError:
            return None  # nobody has seen the picture yet
        away = (((self._place[self.drawn] - [x, y]) * pixels) ** 2).sum(axis=1)
        nearest = int(away.argmin())
        return int(self.drawn[nearest]) if away[nearest] <= REACH**2 else None

    def _segments(self, pairs: Sequence[Pair]) -> dict[str, Any]:
        ends = self._place[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
        return {"xs": list(ends[:, :, 0]), "ys": list(ends[:, :, 1])}


class Dots(ABC):
    """The rows in a figure: as marks, which differ by cluster, or, when they are many, as one image.

    `points` has their places and what else a hover shows, `mapper` the colours of clusters; `renderer` is what the
    mouse finds.
    """

    renderer: GlyphRenderer

    def __init__(self, p: figure, points: ColumnDataSource, mapper: LinearColorMapper) -> None:
        self._points, self._mapper = points, mapper
        n = len(points.data["x"])
        self._size = float(np.clip(130 / np.sqrt(n), 4.0 if n < 20_000 else 2.5, 10.0))
        self._alpha = float(np.clip(np.sqrt(5_000 / n), 0.35, 0.9))
        self.renderer = self._draw(p, n)

    def show(self, is_shown: bool) -> None:
        """Show the rows, or leave only what the mouse finds: on a map their areas are there to be seen."""
        for glyph in (self.renderer.glyph, self.renderer.nonselection_glyph, self.renderer.selection_glyph):
            if glyph is not None and glyph != "auto":
                glyph.update(fill_alpha=self._alpha * is_shown, line_alpha=self._alpha * is_shown)

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
    """Rows as pixels of one image, which the browser redraws when anything moves or changes its colour."""

    def _draw(self, p: figure, n: int) -> GlyphRenderer:
        # Apart from the points: only this is sent and read when clusters change.
        self._clusters = ColumnDataSource({"cluster": np.zeros(n, dtype=np.uint8)})
        image = ColumnDataSource(
            {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1.0], "dh": [1.0]}
        )
        p.image_rgba("image", "x", "y", "dw", "dh", source=image)
        self._redraw_on_change(p, image)
        # Turned by an angle that is no number: found by the mouse, but not drawn.
        return p.scatter("x", "y", source=self._points, size=max(self._size, 4.0), angle=np.nan)

    def _redraw_on_change(self, p: figure, image: ColumnDataSource) -> None:
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


def _sample(n_samples: int) -> NDArray[np.int64]:
    if n_samples <= DRAWN_ROWS:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, DRAWN_ROWS, replace=False))


def _hovered(rows: StudioData, drawn: NDArray[np.int64]) -> dict[str, Any]:
    """Columns for the hover under names of our own: those of files may hold anything."""
    columns: dict[str, Any] = {"name": [rows.names.name_of(row) for row in drawn.tolist()]}
    for i, name in enumerate(_hovered_names(rows)):
        if name in rows.shown:
            columns[f"f{i}"] = [
                "" if (cell := rows.shown[name][row]) is None else str(cell)[:HOVERED_LETTERS]
                for row in drawn.tolist()
            ]
        else:
            columns[f"f{i}"] = np.ascontiguousarray(rows.X[drawn, rows.features.index(name)])
    return columns


def _hovered_names(rows: StudioData) -> list[str]:
    return [*rows.shown, *rows.numbers][:HOVERED_COLUMNS]


def _tooltips(rows: StudioData) -> list[tuple[str, str]]:
    first = [(_plain(rows.names.column or "row"), "@name")]
    return [*first, *((_plain(name), f"@f{i}") for i, name in enumerate(_hovered_names(rows)))]


def _plain(text: str) -> str:
    """Take from a name what Bokeh would read as an instruction."""
    return text.replace("@", "(at)").replace("$", "(dollar)").replace("\\", "/")
