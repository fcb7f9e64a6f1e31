"""Regions on a map: areas filled by cluster, borders between clusters, loads against their bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from konstrain._tolerances import TOTAL_RELATIVE
from konstrain.constraints.inputs import read_amounts
from konstrain.constraints.polygons import polygons_of, shared_borders
from konstrain.plotting._style import (
    BROKEN,
    COLORS,
    INK,
    as_written,
    axes_or_new,
    color,
    documented,
    halo,
    read_clusters,
)
from konstrain.plotting.sizes import size_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ring = NDArray[np.float64]

# Corners of the circle in which the cell of a place ends where no other place is near.
CIRCLE_CORNERS: Final = 24
# Areas up to which each has a thin outline, and clusters up to which each has a line in the legend.
OUTLINED_AREAS: Final = 5_000
LISTED_CLUSTERS: Final = 40


@dataclass(frozen=True, eq=False)
class MapAreas:
    """What is drawn of a map: the area of each row, and the borders between areas.

    Parameters
    ----------
    polygons : list
        The polygons of each row; each is a list of rings, its outline first, then its holes.
    pairs : ndarray of shape (n_borders, 2)
        The rows on both sides of each border.
    borders : list of ndarray of shape (n_points, 2)
        The borders as lines.

    Examples
    --------
    >>> areas = map_areas([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> len(areas.polygons), sorted(areas.pairs.tolist())
    (4, [[0, 1], [0, 2], [1, 3], [2, 3]])
    """

    polygons: list[list[list[Ring]]]
    pairs: NDArray[np.int64]
    borders: list[Ring]

    @property
    def figure_size(self) -> tuple[float, float]:
        """Inches across and up in which map and legend fit."""
        corners = np.concatenate([ring for area in self.polygons for rings in area for ring in rings])
        across, up = np.ptp(corners, axis=0)
        width = 7.0 * min(1.0, across / up)
        return width + 2.4, max(2.5, 7.0 * min(1.0, up / across))

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """Middle of the largest polygon of each row."""
        return np.stack([middle for middle, _ in self._middles_and_sizes])

    @cached_property
    def _middles_and_sizes(self) -> list[tuple[NDArray[np.float64], float]]:
        return [_middle_and_size(area) for area in self.polygons]

    def numbers(self, codes: NDArray[Any], n_clusters: int) -> NDArray[np.float64]:
        """Return where the number of each cluster stands: in the area nearest to the middle of its areas."""
        sizes = np.array([size for _, size in self._middles_and_sizes])
        places = np.zeros((n_clusters, 2))
        for j in np.unique(codes):
            own = np.flatnonzero(codes == j)
            middle = np.average(self.middles[own], axis=0, weights=sizes[own])
            places[j] = self.middles[own[((self.middles[own] - middle) ** 2).sum(axis=1).argmin()]]
        return places

    def row_at(self, x: float, y: float) -> int | None:
        """Return the row in whose area a point is; None where it is in no area."""
        order = ((self.middles - [x, y]) ** 2).sum(axis=1).argsort()
        return next((int(row) for row in order if _contains(self.polygons[row], x, y)), None)

    def borders_of(self, labels: NDArray[Any]) -> list[Ring]:
        """Return the borders between areas of different labels."""
        first, second = labels[self.pairs].T
        return [self.borders[i] for i in np.flatnonzero(first != second)]


def map_areas(areas: Any) -> MapAreas:
    """Return what a map draws of polygons, or of places: their Voronoi cells.

    Parameters
    ----------
    areas : GeoDataFrame, GeoSeries, sequence of shapely polygons, or array-like of shape (n_samples, 2)
        Polygons (extra ``konstrain[geo]``), or places: to the east, to the north. Cells end at the convex hull of all
        places, and where no place is near: as far away as the two nearest groups of places are from each other.

    Returns
    -------
    MapAreas

    Examples
    --------
    >>> map_areas([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]).polygons[0][0][0].shape
    (5, 2)
    """
    if hasattr(areas, "geometry") or (len(areas) and hasattr(areas[0], "geom_type")):
        return _of_polygons(areas)
    places = check_array(areas, dtype=np.float64, input_name="areas")
    if places.shape[1] != 2:
        raise ValueError(f"a map needs two columns, east and north, or polygons; got {places.shape[1]} columns")
    return _of_places(places)


def _of_polygons(areas: Any) -> MapAreas:
    import shapely

    pairs, shared = shared_borders(areas)
    lines, border_of = shapely.get_parts(shapely.line_merge(shared), return_index=True)
    is_line = shapely.get_dimensions(lines) == 1
    polygons = [
        [[shapely.get_coordinates(ring) for ring in shapely.get_rings(part)] for part in shapely.get_parts(area)]
        for area in polygons_of(areas)
    ]
    borders = [shapely.get_coordinates(line) for line in lines[is_line]]
    return MapAreas(polygons, pairs[border_of[is_line]], borders)


def _of_places(places: NDArray[np.float64]) -> MapAreas:
    from scipy.spatial import ConvexHull, QhullError, Voronoi

    distinct, cell_of = np.unique(places, axis=0, return_inverse=True)
    cell_of = cell_of.ravel()
    try:
        hull = ConvexHull(distinct)
    except (QhullError, ValueError):
        raise ValueError("a map needs at least three places that are not on one line") from None
    # Four places far away close the outer cells.
    middle, extent = (hull.max_bound + hull.min_bound) / 2, (hull.max_bound - hull.min_bound).max()
    around = middle + 10.0 * extent * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    diagram = Voronoi(np.concatenate([distinct, around]))
    limits = _Limits(distinct, hull)
    cells = [
        limits.clip(diagram.vertices[diagram.regions[diagram.point_region[i]]], distinct[i])
        for i in range(len(distinct))
    ]
    row_of = np.unique(cell_of, return_index=True)[1]
    pairs, borders = [], []
    for (first, second), ends in zip(diagram.ridge_points, diagram.ridge_vertices, strict=True):
        if max(first, second) < len(distinct):
            line = limits.clip(diagram.vertices[ends], distinct[first])
            if len(line):
                pairs.append(sorted((row_of[first], row_of[second])))
                borders.append(line)
    rings = [np.concatenate([cell, cell[:1]]) for cell in cells]
    return MapAreas([[[rings[cell]]] for cell in cell_of], np.array(pairs, dtype=np.int64).reshape(-1, 2), borders)


class _Limits:
    """Where cells end: at the hull of all places, a little widened, and at a distance from their own place.

    The distance is the longest edge of the shortest tree that connects all places: no gap opens between near ones.
    """

    def __init__(self, places: NDArray[np.float64], hull: Any) -> None:
        self.reach = _longest_edge(places)
        turns = np.linspace(0.0, 2 * np.pi, CIRCLE_CORNERS, endpoint=False)
        self._circle = np.column_stack([np.cos(turns), np.sin(turns)])
        self._sides, margin = hull.equations[:, :2], 0.3 * np.sqrt(hull.volume / len(places))
        self._offsets = hull.equations[:, 2] - margin

    def clip(self, cell: Ring, place: NDArray[np.float64]) -> Ring:
        """Cut off what lies beyond the limits; an empty ring where nothing is left."""
        if (np.abs(cell - place) > self.reach / 2).any():
            cell = _clip(cell, self._circle, -self._circle @ place - self.reach)
        return _clip(cell, self._sides, self._offsets)


def _longest_edge(places: NDArray[np.float64]) -> float:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial import Delaunay

    triangles = Delaunay(places).simplices
    first, second = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2)), axis=0).T
    lengths = np.linalg.norm(places[first] - places[second], axis=1)
    tree = minimum_spanning_tree(csr_array((lengths, (first, second)), shape=(len(places), len(places))))
    return float(tree.data.max())


def _clip(cell: Ring, normals: NDArray[np.float64], offsets: NDArray[np.float64]) -> Ring:
    """Cut a convex ring, or a line, by half-planes ``normal @ point + offset <= 0``."""
    crossed = (cell @ normals.T + offsets > 0).any(axis=0)
    for normal, offset in zip(normals[crossed], offsets[crossed], strict=True):
        height = cell @ normal + offset
        points = []
        for i, here in enumerate(height):
            before = height[i - 1]
            if (here > 0) != (before > 0):
                points.append(cell[i - 1] + before / (before - here) * (cell[i] - cell[i - 1]))
            if here <= 0:
                points.append(cell[i])
        cell = np.array(points).reshape(-1, 2)
    return cell


@documented
def plot_map(
    areas: Any,
    labels: Any,
    *,
    demand: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw regions on a map: areas filled by cluster, borders, numbers, and loads against their bounds.

    Parameters
    ----------
    areas : GeoDataFrame, GeoSeries, sequence of shapely polygons, or array-like of shape (n_samples, 2)
        The area of each row: a polygon (extra ``konstrain[geo]``), or a place (to the east, to the north), of which
        the Voronoi cell is drawn. `MapAreas` are taken as they are.
    demand : array-like of shape (n_samples,), optional
        What each row counts towards the load of its cluster; default 1.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the loads, for all clusters or for each its own.

    Examples
    --------
    >>> ax = plot_map([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 0, 0, 1], size_max=2)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0: 3, too much', '1: 1']
    """
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.path import Path

    shown = areas if isinstance(areas, MapAreas) else map_areas(areas)
    names, codes = read_clusters(shown.polygons, labels)
    counted = read_amounts("demand", demand, codes.size)
    loads = np.bincount(codes, counted).astype(np.float64)
    low, high = size_bound("size_min", size_min, names.size), size_bound("size_max", size_max, names.size)
    ax = axes_or_new(ax, figsize=shown.figure_size)
    fills = region_colors(shown, codes, names.size)
    paths = [
        Path.make_compound_path(*(Path(ring, closed=False) for rings in area for ring in rings if len(ring)))
        for area in shown.polygons
    ]
    is_outlined = len(paths) <= OUTLINED_AREAS
    ax.add_collection(
        PathCollection(
            paths,
            facecolors=[fills[code] for code in codes],
            edgecolors=[("white", 0.5) if is_outlined else fills[code] for code in codes],
            linewidths=0.2,
            rasterized=not is_outlined,
        )
    )
    borders = shown.borders_of(codes)
    # Light beside dark: the border shows on every fill.
    ax.add_collection(LineCollection(borders, colors="white", linewidths=2.6, capstyle="round", zorder=2))
    ax.add_collection(LineCollection(borders, colors=INK, linewidths=1.2, capstyle="round", zorder=3))
    _write_numbers(ax, shown, codes, names)
    _write_loads(ax, names, fills, loads, low, high)
    # To the left of its space: what is left is for the legend, and its letters are not cut off.
    ax.set_aspect("equal", anchor="W")
    ax.autoscale_view()
    ax.set_axis_off()
    return ax


def region_colors(areas: MapAreas, codes: NDArray[np.intp], n_clusters: int) -> list[str]:
    """Return the colour of each cluster; where colours repeat, neighbours differ."""
    if n_clusters <= len(COLORS):
        return [color(i) for i in range(n_clusters)]
    touches = np.zeros((n_clusters, n_clusters), dtype=bool)
    first, second = codes[areas.pairs].T
    touches[first, second] = touches[second, first] = True
    chosen = np.full(n_clusters, -1)
    for i in range(n_clusters):
        taken = set(chosen[:i][touches[i, :i]].tolist())
        # Beginning at the cluster's number, so that all colours are used.
        wheel = [(i + step) % len(COLORS) for step in range(len(COLORS))]
        chosen[i] = next((number for number in wheel if number not in taken), wheel[0])
    return [color(int(number)) for number in chosen]


def _contains(area: list[list[Ring]], x: float, y: float) -> bool:
    """Return whether a ray from a point crosses the rings of an area an odd number of times."""
    n_crossed = 0
    for rings in area:
        for ring in rings:
            (x0, y0), (x1, y1) = ring[:-1].T, ring[1:].T
            passes = (y0 > y) != (y1 > y)
            at = x0[passes] + (y - y0[passes]) / (y1[passes] - y0[passes]) * (x1[passes] - x0[passes])
            n_crossed += int((at > x).sum())
    return n_crossed % 2 == 1


def _middle_and_size(area: list[list[Ring]]) -> tuple[NDArray[np.float64], float]:
    """Return the centroid of the largest polygon of an area, and its size."""
    outlines = [rings[0] for rings in area]
    corner = outlines[0][0]
    found = []
    for outline in outlines:
        here = outline - corner  # Small numbers: products of coordinates far from the origin lose digits.
        following = np.roll(here, -1, axis=0)
        cross = here[:, 0] * following[:, 1] - following[:, 0] * here[:, 1]
        size = cross.sum() / 2
        middle = ((here + following) * cross[:, None]).sum(axis=0) / (6 * size) if size else here.mean(axis=0)
        found.append((corner + middle, max(abs(size), np.finfo(np.float64).tiny)))
    return max(found, key=lambda middle_and_size: middle_and_size[1])


def _write_numbers(ax: "Axes", areas: MapAreas, codes: NDArray[np.intp], names: NDArray[Any]) -> None:
    size = 13 if names.size <= 20 else 8
    for name, place in zip(names, areas.numbers(codes, names.size), strict=True):
        text = ax.text(
            *place,
            str(name),
            ha="center",
            va="center",
            fontsize=size,
            fontweight="bold",
            color=INK,
            path_effects=halo(3),
            zorder=4,
        )
        as_written(text)


def _write_loads(
    ax: "Axes",
    names: NDArray[Any],
    fills: list[str],
    loads: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """List what each cluster holds beside the map, and the bounds where they are the same for all."""
    from matplotlib.patches import Patch

    if names.size > LISTED_CLUSTERS:
        return
    slack = TOTAL_RELATIVE * np.abs(loads).sum()
    spans = [_span(*ends) for ends in zip(low, high, strict=True)]
    has_one_span = len(set(spans)) == 1
    lines = []
    for i, name in enumerate(names):
        outside = ", too little" if loads[i] < low[i] - slack else ", too much" if loads[i] > high[i] + slack else ""
        own = "" if has_one_span or not spans[i] else f" ({spans[i]})"
        lines.append(f"{name}: {_amount(loads[i])}{own}{outside}")
    legend = ax.legend(
        [Patch(facecolor=fill) for fill in fills],
        lines,
        title=f"bounds {spans[0]}" if has_one_span and spans[0] else None,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        fontsize=10,
        title_fontsize=9,
        frameon=False,
        alignment="left",
        handlelength=1.2,
        handleheight=1.2,
    )
    as_written(*legend.get_texts())
    for text, line in zip(legend.get_texts(), lines, strict=True):
        text.set_color(BROKEN if "too " in line.rpartition(",")[2] else INK)


def _span(low: float, high: float) -> str:
    """Return bounds in words; empty where there are none."""
    if np.isfinite(low) and np.isfinite(high):
        return f"{_amount(low)} to {_amount(high)}"
    return f"at least {_amount(low)}" if np.isfinite(low) else f"at most {_amount(high)}" if np.isfinite(high) else ""


def _amount(value: float) -> str:
    """Return an amount in few letters: thousands without decimals."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
