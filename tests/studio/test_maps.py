"""Regions on the page: the map, and rows that are moved by hand where constraints allow it."""

import io
import json

import numpy as np
import pytest

from konstrain import studio
from konstrain._studio import exporting
from konstrain.constraints.connectivity import count_pieces, read_connectivity
from konstrain.exceptions import FileError

# Places on a grid of 4 x 6, neighbours where they share a side.
GRID = np.array([(x, y) for y in range(4) for x in range(6)], dtype=float)
EDGES = [(i, i + 1) for i in range(24) if i % 6 < 5] + [(i, i + 6) for i in range(18)]


@pytest.fixture
def open_map():
    """Make studios of the grid in two halves; closed after the test."""
    opened = []

    def make(n_clusters=2, **given):
        opened.append(studio(GRID, n_clusters, connectivity=EDGES, **given))
        opened[-1].wait()
        return opened[-1]

    yield make
    for desk in opened:
        desk.close()


def at(x, y):
    return 6 * y + x


def pieces(desk):
    return count_pieces(read_connectivity(EDGES, 24), desk.labels_, desk.fit.settings.n_clusters).tolist()


def test_clusters_are_in_one_piece_and_a_row_at_the_border_is_moved(open_map):
    desk = open_map()
    assert pieces(desk) == [1, 1]
    before, sse = desk.labels_.copy(), desk.fit.sse
    desk.move(at(2, 0), at(3, 0))
    desk.wait()
    assert np.flatnonzero(desk.labels_ != before).tolist() == [at(2, 0)]
    assert desk.labels_[at(2, 0)] == before[at(3, 0)]
    assert sorted(desk.fit.sizes) == [11, 13]
    assert desk.fit.sse > sse
    rows = [GRID[desk.labels_ == j] for j in (0, 1)]
    assert desk.fit.sse == pytest.approx(sum(((own - own.mean(axis=0)) ** 2).sum() for own in rows))
    np.testing.assert_allclose(desk.fit.centers, [own.mean(axis=0) for own in rows])
    assert desk.report is not None


def test_a_move_is_undone_done_again_and_ends_with_the_next_link(open_map):
    desk = open_map()
    before = desk.labels_.copy()
    desk.move(at(2, 0), at(3, 0))
    moved = desk.labels_.copy()
    desk.move(at(2, 1), at(3, 1))
    desk.undo()
    assert (desk.labels_ == moved).all()
    desk.undo()
    assert (desk.labels_ == before).all()
    desk.redo()
    assert (desk.labels_ == moved).all()
    desk.answer([(at(0, 0), at(0, 1))], "together")
    desk.wait()
    assert (desk.labels_ == before).all()
    desk.undo()
    desk.wait()
    assert (desk.labels_ == moved).all()


@pytest.mark.parametrize(
    ("row", "beside", "given", "message"),
    [
        (at(2, 0), at(1, 0), {}, "2 is in cluster . already"),
        (at(0, 0), at(3, 0), {}, "0 has no neighbour in cluster .*, which would then be in two pieces"),
        (at(2, 0), at(3, 0), {"size_min": 12}, "Cluster . would hold 11, and its least size is 12"),
        (at(2, 0), at(3, 0), {"size_max": 12}, "Cluster . would hold 13, and its largest size is 12"),
        (at(2, 0), at(3, 0), {"must_link": [(1, 2)]}, "1 and 2 are to be together"),
        (at(2, 0), at(3, 0), {"cannot_link": [(2, 5)]}, "2 and 5 are to be apart"),
        (
            at(2, 0),
            at(3, 0),
            {"size_max": 120, "demand": np.full(24, 10.0)},
            "Cluster . would hold 130, and its largest size is 120",
        ),
    ],
)
def test_a_move_that_breaks_a_constraint_is_refused_with_the_reason(open_map, row, beside, given, message):
    desk = open_map(**given)
    before = desk.labels_.copy()
    with pytest.raises(ValueError, match=f"Not moved. {message}"):
        desk.move(row, beside)
    assert (desk.labels_ == before).all()
    assert not desk.session.done


def test_a_cluster_does_not_fall_into_pieces_by_a_move(open_map):
    desk = open_map()
    for y in (0, 1):
        desk.move(at(2, y), at(3, y))
        desk.move(at(1, y), at(2, y))
    # One column is left at the top: its place below holds both parts together.
    desk.move(at(2, 2), at(3, 2))
    desk.move(at(1, 2), at(2, 2))
    with pytest.raises(ValueError, match=r"Without 12 cluster . would be in 2 pieces"):
        desk.move(at(0, 2), at(1, 2))
    assert pieces(desk) == [1, 1]


def test_the_last_row_of_a_cluster_stays(open_map):
    desk = open_map(24)
    with pytest.raises(ValueError, match=r"0 is all of cluster .*, which would be empty"):
        desk.move(0, 1)


def test_moves_are_in_the_session_and_in_what_is_taken_away(open_map, tmp_path):
    desk = open_map(session=tmp_path / "session.json")
    desk.move(at(2, 0), at(3, 0))
    labels = desk.labels_.copy()
    desk.close()
    again = open_map(session=tmp_path / "session.json")
    assert (again.labels_ == labels).all()
    lines = exporting.python_lines(again)
    assert "model.fit(X, connectivity=connectivity)" in lines
    space = {"X": GRID, "connectivity": EDGES}
    exec(lines, space)
    from sklearn.metrics import adjusted_rand_score

    assert adjusted_rand_score(space["labels"], labels) == 1.0
    values = json.loads(again.session.to_json())
    assert values["done"] == [{"action": "move", "row": 2, "beside": 3}]
    values["done"][0]["row"] = 99
    with pytest.raises(FileError, match="damaged"):
        again.open_text(json.dumps(values), "bad.json")


def test_a_map_is_taken_away_as_a_picture(open_map):
    import matplotlib.pyplot as plt

    picture = plt.imread(io.BytesIO(exporting.picture_bytes(open_map(size_min=10))))
    assert picture.shape[1] > picture.shape[0]  # a map is as wide as its areas, with the legend beside it


def test_many_rows_and_rows_that_are_no_places_have_no_map(open_map, monkeypatch):
    assert open_map().rows.map_plane is not None
    monkeypatch.setattr("konstrain._studio.data.SINGLE_MARKS", 20)
    assert open_map().rows.map_plane is None
    desk = studio(np.column_stack([GRID, GRID]), 2, connectivity=EDGES)
    desk.wait()
    assert desk.rows.map_plane is None
    desk.move(at(2, 0), at(3, 0))
    desk.close()


def test_buttons_offer_the_clusters_that_a_picked_row_borders_on(open_map):
    pytest.importorskip("panel")
    from konstrain._studio.page import Page

    page = Page(open_map())
    labels = page.studio.labels_

    def act(what, **values):
        page.act({"act": what, **values})
        page.studio.wait()
        page.refresh()
        return page.desk.state

    assert page.desk.state["isMap"]
    inside = act("pick", name="0")
    assert inside["moves"] == []
    act("unpick")
    (move,) = act("pick", name="2")["moves"]
    assert (move["cluster"], move["row"]) == (int(labels[at(3, 0)]), 2)
    state = act("move", **move)
    assert (state["pickedCount"], state["error"], state["canUndo"]) == (0, "", True)
    assert page.studio.labels_[2] == move["cluster"]
    state = act("move", **move)
    assert state["error"] == f"Not moved. 2 is in cluster {move['cluster']} already."
    # Areas are filled by cluster, and the border runs around the row.
    assert page.picture.points.data["cluster"].tolist() == page.studio.labels_.tolist()
    assert len(page.picture._borders.data["xs"]) == 5
    assert page.picture.row_at(2.2, 0.3) == 2
    # Columns as axes: dots, no map.
    act("axes", axes=["column 0", "column 1"])
    assert [layer.visible for layer in page.picture._map] == [False, False]


def test_an_area_is_clicked_and_moved_in_the_browser_which_says_why_not(open_map, open_page):
    desk = open_map(size_min=11)
    page = open_page(desk.show(open_browser=False))
    before = page.labels()
    page.click_row(at(0, 0))
    page.wait_for(lambda: "borders on no other cluster" in page.text(".picked"))
    page.page.locator("#unpick").click()
    page.click_row(at(2, 0))
    page.page.locator("[id^=move-]").click()
    page.wait_for(lambda: page.labels() != before)
    assert [row for row in range(24) if page.labels()[row] != before[row]] == [at(2, 0)]
    page.click_row(at(2, 1))
    page.page.locator("[id^=move-]").click()
    page.wait_for(lambda: "would hold 10, and its least size is 11" in page.text(".error"))
    page.page.locator("#undo").click()
    page.wait_for(lambda: page.labels() == before)
    assert not page.complaints
