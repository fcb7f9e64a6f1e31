"""`--connected`: neighbours from a file, by nearest rows, by a triangulation; which verbs take it."""

import json
import re
import sys

import numpy as np
import pytest

from command_line import konstrain
from konstrain.exceptions import FileError
from konstrain.files import read_table

# Two rows of four places; ids in the file of neighbours.
PLACES = "name,x,y\n" + "".join(f"{'ab'[y]}{x},{x},{3 * y}\n" for y in range(2) for x in range(4))
NEIGHBOURS = "first,second\na0,a1\na1,a2\na2,a3\nb0,b1\nb1,b2\nb2,b3\na3,b3\n"
FIT = ("fit", "places.csv", "-k", 2, "--id", "name", "--columns", "x,y", "--prepare", "none", "--size-min", 4)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "places.csv").write_text(PLACES)
    (tmp_path / "edges.csv").write_text(NEIGHBOURS)
    (tmp_path / "apart.csv").write_text(NEIGHBOURS.replace("a3,b3\n", "").replace("b1,b2\n", ""))
    return tmp_path


@pytest.mark.parametrize("neighbours", ["edges.csv", "knn:4", "delaunay"])
def test_every_cluster_is_in_one_piece_and_the_report_says_so(folder, neighbours):
    done = konstrain(*FIT, "--connected", neighbours, "-o", "labels.csv", "--report", "page.html", folder=folder)
    assert done.code == 0, done.err
    assert "every cluster is in one piece" in done.out + done.err
    assert "every cluster is in one piece" in (folder / "page.html").read_text()


def test_components_are_explained_by_options_and_joined_when_asked(folder):
    refused = konstrain(*FIT, "--connected", "apart.csv", folder=folder)
    assert refused.code == 3
    assert "the graph of --connected has 3 components (rows 4, 2, 2; with rows a0, b0, b2)" in refused.err
    assert "or pass --join-components, or" in refused.err
    joined = konstrain(*FIT, "--connected", "apart.csv", "--join-components", folder=folder)
    assert joined.code == 0
    assert "every cluster is in one piece" in joined.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--connected", "knn:x"), "--connected knn:x: give knn:8 or another number below that of the rows, 8"),
        (("--connected", "knn:8"), "another number below that of the rows, 8"),
        (("--connected", "none.csv"), "cannot read none.csv"),
        (("--connected", "rook"), "--connected rook is about polygons (.geojson, .shp, .gpkg)"),
        (("--connected", "delaunay.csv"), "cannot read delaunay.csv"),
        (("--connected", "delaunay", "--columns", "x"), "is about points in a plane, and rows have 1 features"),
        (("--join-components",), "--join-components is about --connected; give both or leave it out"),
    ],
)
def test_what_is_no_graph_is_refused_in_one_line(folder, options, message):
    done = konstrain(*FIT, *options, folder=folder)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_method_without_neighbours_counts_pieces(folder):
    done = konstrain(*FIT, "--connected", "edges.csv", "--method", "bc-kmeans", folder=folder)
    assert done.code == 0, done.err
    assert "bc-kmeans has no connected" in done.err
    assert "piece" in done.out


CHECK = ("check", *FIT[1:])


@pytest.mark.parametrize("neighbours", ["edges.csv", "knn:4", "delaunay"])
def test_check_takes_neighbours_before_any_search(folder, neighbours):
    done = konstrain(*CHECK, "--connected", neighbours, folder=folder)
    assert done.code in (0, 4), done.err
    assert "graph of --connected: 1 component" in done.out


def test_check_explains_components_in_the_words_of_fit(folder):
    fitted = konstrain(*FIT, "--connected", "apart.csv", folder=folder)
    checked = konstrain(*CHECK, "--connected", "apart.csv", folder=folder)
    assert (fitted.code, checked.code) == (3, 3)
    message = fitted.err.strip().removeprefix("konstrain: infeasible (components): ")
    assert f"- components: {message}" in checked.out
    joined = konstrain(*CHECK, "--connected", "apart.csv", "--join-components", folder=folder)
    assert "graph of --connected: 1 component" in joined.out
    assert "without neighbours" not in joined.out


def test_check_names_rows_without_neighbours_and_links_across_components(folder):
    (folder / "lonely.csv").write_text("a0,a1\na1,a2\na2,a3\nb0,b1\nb1,b2\n")
    done = konstrain(*CHECK, "--connected", "lonely.csv", folder=folder)
    assert (done.code, "(without neighbours: b3)" in done.out) == (3, True)
    (folder / "same.csv").write_text("a0,b0\n")
    done = konstrain(
        *CHECK, "--connected", "apart.csv", "--must-link", "same.csv", "-k", 3, "--size-min", 1, folder=folder
    )
    assert done.code == 3
    assert "rows a0 and b0 are in different components of the graph of --connected" in done.out


def test_certify_checks_pieces_and_says_that_the_bound_leaves_neighbours_out(folder):
    konstrain(*FIT, "--connected", "edges.csv", "-o", "labels.csv", folder=folder)
    given = ("places.csv", "labels.csv", *FIT[4:], "--connected", "edges.csv")
    done = konstrain("certify", *given, folder=folder)
    assert "not seen by the bound: connectivity" in done.out, done.err
    (folder / "torn.csv").write_text("name,label\n" + "".join(f"{p}{x},{x % 2}\n" for p in "ab" for x in range(4)))
    torn = konstrain("certify", "places.csv", "torn.csv", *given[2:], folder=folder)
    assert (torn.code, "labels are to be certified under --connected: cluster 0 has 4 pieces" in torn.err) == (
        2,
        True,
    )


def test_neighbours_of_rows_that_are_left_out_do_not_count(folder):
    (folder / "places.csv").write_text(PLACES.replace("b1,1,3", "b1,,3"))
    done = konstrain(*FIT[:-2], "--connected", "edges.csv", "--missing", "drop", "--size-min", 2, folder=folder)
    assert done.code == 3
    assert "has 2 components (rows 6, 1; with rows a0, b0)" in done.err


@pytest.mark.parametrize("option", [("--connected", "edges.csv"), ("--join-components",)])
@pytest.mark.parametrize("verb", ["choose", "suggest", "mix", "exact", "predict"])
def test_verbs_that_keep_no_pieces_refuse_neighbours(folder, verb, option):
    number = {"mix": ("-k", 2), "exact": ("-k", 2), "predict": ("--model", "none.skops")}.get(verb, ())
    done = konstrain(verb, "places.csv", *number, *option, folder=folder)
    assert (done.code, done.out) == (2, "")
    assert f"'{verb}' does not keep clusters in one piece; leave out {option[0]}" in done.err
    assert "--connected" not in konstrain(verb, "--help", folder=folder).out


def test_fit_draws_a_map_of_places_that_are_connected(folder):
    done = konstrain(*FIT, "--connected", "edges.csv", "--plot", "map.svg", folder=folder)
    assert done.code == 0, done.err
    picture = (folder / "map.svg").read_text()
    assert "<!-- 0: 4 -->" in picture
    assert "<!-- bounds at least 4 -->" in picture


@pytest.mark.parametrize("places", [("--columns", "x,y", "--prepare", "none"), ("--geo", "y,x")])
def test_the_page_draws_the_map(folder, places):
    fit = ("fit", "places.csv", "-k", 2, "--id", "name", *places, "--connected", "edges.csv")
    assert konstrain(*fit, "--report", "page.html", "-o", "labels.csv", folder=folder).code == 0
    page = (folder / "page.html").read_text()
    assert (page.count('class="area"'), page.count("<circle"), "<h2>Map</h2>" in page) == (8, 0, True)
    labels = dict(line.split(",")[:2] for line in (folder / "labels.csv").read_text().splitlines()[1:])
    assert all(f"<title>{name}: cluster {label}</title>" in page for name, label in labels.items())
    assert re.search(r'class="border" d="M[\d., ]+', page)
    assert re.findall(r'class="name"[^>]*>(\d+)<', page) == ["0", "1"]


def test_the_page_has_dots_where_places_lie_on_one_line(folder):
    (folder / "line.csv").write_text("name,x,y\n" + "".join(f"p{i},{i},{i}\n" for i in range(6)))
    fit = ("fit", "line.csv", "-k", 2, "--id", "name", "--connected", "knn:2", "--plot", "map.png")
    assert konstrain(*fit, "--report", "page.html", folder=folder).code == 0
    assert (folder / "page.html").read_text().count("<circle") == 6


def test_plot_draws_a_map_of_labels(folder):
    konstrain(*FIT, "--connected", "edges.csv", "-o", "labels.csv", folder=folder)
    plot = ("plot", "places.csv", "labels.csv", *FIT[4:-2], "--kind", "map", "-o", "map.svg")
    assert konstrain(*plot, "--size-max", 3, folder=folder).code == 0
    assert "<!-- 1: 4, too much -->" in (folder / "map.svg").read_text()
    assert konstrain(*plot, "--size-tolerance", "25%", folder=folder).code == 0
    assert "<!-- bounds 3 to 5 -->" in (folder / "map.svg").read_text()
    refused = konstrain(*plot, "--columns", "x", folder=folder)
    assert (refused.code, refused.out) == (2, "")
    assert "a map needs places: give --geo LAT,LON, name two columns in --columns, or give a file" in refused.err


def test_links_are_drawn_where_places_need_not_be_connected(folder):
    places = "".join(f"p{i},{50 + i % 3},{8 + i // 3}\n" for i in range(9))
    (folder / "globe.csv").write_text("name,lat,lon\n" + places)
    (folder / "same.csv").write_text("p0,p8\n")
    fit = ("fit", "globe.csv", "-k", 2, "--id", "name", "--geo", "lat,lon", "--plot", "map.svg")
    konstrain(*fit, folder=folder)
    assert "<!-- 0: " in (folder / "map.svg").read_text()
    konstrain(*fit, "--must-link", "same.csv", folder=folder)
    assert "1 must-link" in (folder / "map.svg").read_text()


@pytest.fixture
def areas(folder):
    """Files of 14 boxes around an empty one, with people in them."""
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    at = [(x, y) for y in range(3) for x in range(5) if (x, y) != (2, 1)]
    columns = {"name": [f"{x}{y}" for x, y in at], "people": 10 + np.arange(14), "empty": [None] * 14}
    boxes = [shapely.box(8 + x, 50 + y, 9 + x, 51 + y) for x, y in at]
    geopandas.GeoDataFrame(columns, geometry=boxes, crs=4326).to_file(folder / "areas.geojson")
    geopandas.GeoDataFrame(columns, geometry=boxes, crs=4326).to_crs(3035).to_file(folder / "areas.gpkg")
    geopandas.GeoDataFrame(columns, geometry=boxes, crs=4326).to_file(folder / "nowhere.shp")
    (folder / "nowhere.prj").unlink()
    return folder


@pytest.mark.parametrize(("file", "rule"), [("areas.geojson", "rook"), ("areas.gpkg", "queen")])
def test_polygons_are_a_table_with_neighbours_and_a_map(areas, file, rule):
    fit = ("fit", file, "-k", 3, "--id", "name", "--demand", "people", "--size-min", 70, "--connected", rule)
    done = konstrain(*fit, "--plot", "map.svg", "--report", "page.html", "-o", "labels.csv", "--json", folder=areas)
    assert done.code == 0, done.err
    assert "distances in kilometres, from latitude 'centroid_lat' and longitude 'centroid_lon'" in done.err
    assert json.loads(done.out)["n_pieces"] == [1, 1, 1]
    assert "bounds at least 70" in (areas / "map.svg").read_text()
    assert (areas / "page.html").read_text().count('class="area"') == 14
    assert konstrain("check", *fit[1:], folder=areas).code in (0, 4)
    plot = ("plot", file, "labels.csv", "--id", "name", "--kind", "map", "-o", "again.png")
    assert konstrain(*plot, folder=areas).code == 0


def test_columns_of_polygons_may_be_features(areas):
    fit = ("fit", "areas.geojson", "-k", 3, "--id", "name", "--columns", "people", "--connected", "rook")
    done = konstrain(*fit, "--plot", "map.svg", folder=areas)
    assert done.code == 0, done.err
    assert "every cluster is in one piece" in done.out
    assert "<!-- 0: " in (areas / "map.svg").read_text()


def test_neighbours_of_polygons_that_are_left_out_do_not_count(areas):
    file = json.loads((areas / "areas.geojson").read_text())
    for row in (2, 11):  # above and below the empty box: what is left are two pieces
        file["features"][row]["properties"]["people"] = None
    (areas / "areas.geojson").write_text(json.dumps(file))
    fit = ("fit", "areas.geojson", "-k", 2, "--id", "name", "--demand", "people", "--connected", "rook")
    done = konstrain(*fit, "--missing", "drop", "--plot", "map.png", "--json", "-o", "labels.csv", folder=areas)
    assert done.code == 0, done.err
    assert "2 rows of 14 left out" in done.err
    labels = dict(line.split(",")[:2] for line in (areas / "labels.csv").read_text().splitlines()[1:])
    assert len({labels[name] for name in labels if name[0] in "01"}) == 1


def test_polygons_that_cannot_be_measured_are_refused(areas):
    done = konstrain("fit", "nowhere.shp", "-k", 2, folder=areas)
    assert (done.code, done.out) == (2, "")
    assert "nowhere.shp names no coordinate system" in done.err
    (areas / "broken.geojson").write_text('{"type": "FeatureCollection", "feat')
    done = konstrain("fit", "broken.geojson", "-k", 2, folder=areas)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "broken.geojson is damaged, or holds no polygons" in done.err


def test_polygons_say_what_to_install(folder, monkeypatch):
    (folder / "areas.geojson").write_text('{"type": "FeatureCollection", "features": []}')
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(
        FileError, match=r"areas.geojson: polygons need geopandas; run: pip install 'konstrain\[geo\]'"
    ):
        read_table(folder / "areas.geojson")
