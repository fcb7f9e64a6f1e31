"""Neighbours by borders of polygons, beside libpysal's."""

from pathlib import Path

import numpy as np
import pytest

from konstrain import ConstrainedKMeans
from konstrain.constraints import edges_from_polygons
from konstrain.constraints.polygons import import_geopandas, in_kilometres

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

BOXES = [shapely.box(x, y, x + 1, y + 1) for y in range(3) for x in range(4)]
GRID = geopandas.GeoDataFrame(geometry=BOXES, crs=4326)


def test_rook_needs_a_border_and_queen_a_point():
    rook, queen = edges_from_polygons(GRID), edges_from_polygons(GRID, "queen")
    assert len(rook) == 3 * 3 + 4 * 2
    assert len(queen) == len(rook) + 2 * 3 * 2
    assert (rook[:, 0] < rook[:, 1]).all()


def test_corners_need_not_be_common():
    wide = [shapely.box(0, 0, 2, 1), shapely.box(0.5, 1, 1.5, 2), shapely.box(0, 1.9, 2, 3)]
    assert edges_from_polygons(wide).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("rule", ["rook", "queen"])
@pytest.mark.parametrize("name", ["virginia/virginia.shp", "us_income/us48.shp", "10740/10740.shp"])
def test_neighbours_are_those_of_libpysal(name, rule):
    libpysal = pytest.importorskip("libpysal")
    areas = geopandas.read_file(Path(libpysal.__file__).parent / "examples" / name)
    theirs = libpysal.graph.Graph.build_contiguity(areas, rook=rule == "rook").sparse.tocoo()
    expected = {(a, b) for a, b in zip(theirs.row.tolist(), theirs.col.tolist(), strict=True) if a < b}
    assert {tuple(pair) for pair in edges_from_polygons(areas, rule).tolist()} == expected


def test_edges_are_connectivity():
    plane = in_kilometres(GRID)
    middles = np.column_stack([plane.geometry.centroid.x, plane.geometry.centroid.y])
    model = ConstrainedKMeans(3, size_min=4, random_state=0).fit(middles, connectivity=edges_from_polygons(GRID))
    assert model.n_pieces_.tolist() == [1, 1, 1]


def test_kilometres_are_true_areas():
    square = geopandas.GeoSeries([shapely.box(10, 59, 11, 60)], crs=4326)
    assert in_kilometres(square).area[0] == pytest.approx(6_280, rel=0.01)
    feet = square.to_crs("EPSG:3857")
    assert in_kilometres(feet).area[0] == pytest.approx(in_kilometres(square).area[0], rel=1e-6)


@pytest.mark.parametrize(
    ("polygons", "message"),
    [
        ([shapely.box(0, 0, 1, 1), None], "row 1 has no polygon"),
        ([shapely.Point(0, 0)], "row 0 is a Point, and areas are polygons; of points give the coordinates"),
    ],
)
def test_what_is_no_polygon_is_named(polygons, message):
    with pytest.raises(ValueError, match=message):
        edges_from_polygons(polygons)


def test_unknown_rules_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(ValueError, match="rule='bishop' is none of rook, queen"):
        edges_from_polygons(GRID, "bishop")
    monkeypatch.setitem(__import__("sys").modules, "geopandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'konstrain\[geo\]'"):
        import_geopandas()
