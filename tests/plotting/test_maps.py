"""Maps: cells of places, polygons, borders between regions, loads against bounds."""

import io

import numpy as np
import pytest

from konstrain.plotting import map_areas, plot_map

GRID = np.array([(x, y) for y in range(4) for x in range(5)], dtype=float)
LEFT = (GRID[:, 0] > 1).astype(int)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def size_of(ring):
    x, y = ring[:-1].T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_cells_of_places_are_voronoi_cells_without_gaps_or_overlaps():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(200, 2))
    areas = map_areas(places)
    rings = [area[0][0] for area in areas.polygons]
    # Corners of a cell are no nearer to any other place.
    for place, ring in zip(places, rings, strict=True):
        away = np.linalg.norm(ring[:, None] - places, axis=2)
        assert (np.linalg.norm(ring - place, axis=1) <= away.min(axis=1) + 1e-9).all()
    from scipy.spatial import ConvexHull

    assert sum(map(size_of, rings)) == pytest.approx(ConvexHull(np.concatenate(rings)).volume, rel=0.02)


def test_cells_end_at_the_hull_and_where_no_place_is_near():
    bow = np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, np.pi, 30)])
    areas = map_areas(bow)
    corners = np.concatenate([area[0][0] for area in areas.polygons])
    assert np.linalg.norm(corners, axis=1).min() > 0.85  # the inside of the bow stays empty
    assert np.linalg.norm(corners, axis=1).max() < 1.1


def test_borders_are_drawn_between_regions_only(ax):
    areas = map_areas(GRID)
    borders = areas.borders_of(LEFT)
    ends = np.array([[border.min(axis=0), border.max(axis=0)] for border in borders])
    np.testing.assert_allclose(ends[:, :, 0], 1.5)
    assert ends[:, 0, 1].min() < 0.0
    assert ends[:, 1, 1].max() > 3.0
    assert plot_map(areas, LEFT, ax=ax) is ax
    assert ax.get_aspect() == 1.0
    assert not ax.axison


def test_numbers_stand_in_their_regions_and_loads_beside_the_bounds(ax):
    demand = np.ones(20)
    plot_map(GRID, LEFT, demand=1000 * demand, size_min=8000, size_max=11000, ax=ax)
    assert legend(ax) == ["0: 8,000", "1: 12,000, too much"]
    assert ax.get_legend().get_title().get_text() == "bounds 8,000 to 11,000"
    assert {text.get_text(): text.get_position()[0] <= 1 for text in ax.texts} == {"0": True, "1": False}


@pytest.mark.parametrize("across", [0.8, 1.0, 1.6])
def test_loads_beside_a_map_are_not_cut_off(across):
    """A figure that is drawn once, as on the command line."""
    figure_of = pytest.importorskip("matplotlib.figure").Figure
    areas = map_areas(GRID * [across, 1.0])
    figure = figure_of(layout="constrained", figsize=areas.figure_size)
    plot_map(areas, LEFT, demand=np.full(20, 71_000.0), size_min=706_673, size_max=713_775, ax=figure.subplots())
    figure.savefig(io.BytesIO(), format="png")
    assert figure.axes[0].get_legend().get_window_extent().x1 <= figure.bbox.x1


def test_bounds_of_single_clusters_stand_at_their_loads(ax):
    plot_map(GRID, LEFT, size_min=[9, 1], ax=ax)
    assert legend(ax) == ["0: 8 (at least 9), too little", "1: 12 (at least 1)"]


def test_neighbours_differ_in_colour_where_colours_repeat(ax):
    places = np.array([(x, y) for y in range(8) for x in range(8)], dtype=float)
    areas = map_areas(places)
    plot_map(areas, np.arange(64), ax=ax)
    fills = ax.collections[0].get_facecolor()
    assert all((fills[a] != fills[b]).any() for a, b in areas.pairs)
    assert ax.get_legend() is None


def test_places_may_stand_twice(ax):
    plot_map(np.concatenate([GRID, GRID[:3]]), np.concatenate([LEFT, LEFT[:3]]), ax=ax)
    assert legend(ax) == ["0: 10", "1: 13"]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], "at least three places that are not on one line"),
        ([[0.0, 0.0], [1.0, 1.0]], "at least three places"),
        ([[0.0], [1.0], [2.0]], "two columns, east and north, or polygons; got 1 columns"),
    ],
)
def test_what_has_no_map_is_refused(places, message):
    with pytest.raises(ValueError, match=message):
        plot_map(places, [0] * len(places))


def test_polygons_are_drawn_as_they_are_with_their_holes(ax):
    shapely = pytest.importorskip("shapely")
    hole = shapely.box(0, 0, 3, 3) - shapely.box(1, 1, 2, 2)
    polygons = [hole, shapely.box(1, 1, 2, 2), shapely.union_all([shapely.box(3, 0, 4, 1), shapely.box(6, 0, 7, 1)])]
    areas = map_areas(polygons)
    assert [[len(rings) for rings in area] for area in areas.polygons] == [[2], [1], [1, 1]]
    assert areas.pairs.tolist() == [[0, 1], [0, 2]]
    assert sum(len(border) for border in areas.borders_of(np.array([0, 1, 0]))) == 5  # all around the hole
    plot_map(polygons, ["a", "b", "a"], ax=ax)
    assert legend(ax) == ["a: 2", "b: 1"]


def test_large_amounts_are_listed_without_decimals():
    places = [[0, 0], [1, 0], [0, 1], [1, 1]]
    ax = plot_map(places, [0, 0, 1, 1], demand=[1e5, 1e5, 2e5, 1e4], size_min=74_651.8849, size_max=754_021.55)
    assert ax.get_legend().get_title().get_text() == "bounds 74,652 to 754,022"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0: 200,000", "1: 210,000"]
