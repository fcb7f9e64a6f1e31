"""`fit --connected`: neighbours from a file, by nearest rows, by a triangulation."""

import pytest

from command_line import konstrain

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
    assert "--join-components" in refused.err
    joined = konstrain(*FIT, "--connected", "apart.csv", "--join-components", folder=folder)
    assert joined.code == 0
    assert "every cluster is in one piece" in joined.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--connected", "knn:x"), "--connected knn:x: give knn:8 or another number below that of the rows, 8"),
        (("--connected", "knn:8"), "another number below that of the rows, 8"),
        (("--connected", "none.csv"), "cannot read none.csv"),
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
