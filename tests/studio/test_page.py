"""What messages of the browser do, and what the page then shows; without a browser."""

import base64
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from konstrain import studio

pytest.importorskip("panel", reason="needs Panel and Bokeh: pip install 'konstrain[studio]'")

from konstrain._studio import picture
from konstrain._studio.page import Page
from konstrain._studio.view import _cell

X = load_iris().data
HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=alert(1)>"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


@pytest.fixture
def make_page():
    """Make pages on studios that are closed after the test."""
    opened = []

    def make(*args, **kwargs):
        opened.append(studio(*args, **kwargs))
        opened[-1].wait()
        return Page(opened[-1])

    yield make
    for desk in opened:
        desk.close()


def act(page, what, **values):
    page.act({"act": what, **values})
    page.studio.wait()
    page.refresh()
    return page.desk.state


def test_rows_are_picked_by_name_linked_and_the_list_has_them(make_page):
    page = make_page(X, 3)
    act(page, "pick", name=" 0 ")
    state = act(page, "pick", name="60")
    assert state["pickedNames"] == ["0", "60"]
    state = act(page, "link", kind="together")
    assert state["pickedNames"] == []
    assert [(link["a"], link["b"], link["kind"]) for link in state["links"]] == [("0", "60", "together")]
    state = act(page, "remove", pair=[0, 60])
    assert state["links"] == []
    assert act(page, "undo")["counts"]["together"] == 1


def test_a_chain_ties_many_rows_and_apart_links_each_two(make_page):
    page = make_page(X, 3)
    page.picked = [4, 2, 9]
    assert act(page, "link", kind="together")["counts"]["together"] == 2
    page.picked = [50, 100, 0]
    assert act(page, "link", kind="apart")["counts"]["apart"] == 3
    page.picked = [50, 100, 0, 7]
    assert "4 rows cannot all be apart in 3 clusters" in act(page, "link", kind="apart")["error"]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"act": "explode"}, "unknown action"),
        ({"act": "pick", "name": "nobody"}, "no row 'nobody'"),
        ({"act": "pick"}, "name"),
        ({"act": "link", "kind": "together"}, "pick two rows first"),
        ({"act": "set", "name": "k", "value": 0}, "0 clusters"),
        ({"act": "set", "name": "k", "value": 1e9}, "clusters for 150 rows"),
        ({"act": "set", "name": "size_min", "value": "many"}, "neither a number"),
        ({"act": "set", "name": "features", "value": []}, "no feature is left"),
        ({"act": "set", "name": "colour", "value": 1}, "unknown setting"),
        ({"act": "axes", "axes": ["column 0", "column 9"]}, "none of"),
        ({"act": "export", "what": "../secrets"}, "none of"),
        ({"act": "open", "name": "x.json", "text": "{"}, "x.json is no session"),
        ({"act": "remove", "pair": [0, 999]}, "rows are 0 to 149"),
        ({"act": "remove", "pair": [0]}, "not enough values"),
    ],
)
def test_messages_that_make_no_sense_are_told_and_change_nothing(make_page, message, words):
    page = make_page(X, 3)
    page.act(message)
    assert words in page.desk.state["error"]
    assert page.studio.session.done == []


def test_an_answer_to_a_question_that_is_no_longer_asked_does_not_count(make_page):
    page = make_page(X, 3)
    asked = list(page.studio.question)
    act(page, "answer", kind="apart", pair=asked)
    act(page, "answer", kind="apart", pair=asked)
    assert len(page.studio.session.done) == 1


def test_another_number_of_clusters_drops_sizes_of_each(make_page):
    page = make_page(X, 3, size_min=[20, 30, 40])
    state = act(page, "set", name="k", value=4)
    assert state["settings"]["sizeMin"] == ""
    assert len(state["fit"]["sizes"]) == 4


def test_what_sizes_and_links_cost_is_shown(make_page):
    sizes = act(make_page(X, 3, size_min=50), "unpick")["fit"]["sizes"]
    assert [row["size"] for row in sizes] == [50, 50, 50]
    assert any("held by its min" in row["note"] for row in sizes)
    price = act(make_page(X, 3, must_link=[(0, 60)]), "unpick")["fit"]["prices"][0]
    assert (price["a"], price["b"], price["kind"]) == ("0", "60", "together")
    assert price["price"] > 0


def test_the_picture_is_of_all_rows_up_to_a_limit_and_of_a_sample_beyond(make_page, monkeypatch):
    monkeypatch.setattr(picture, "DRAWN_ROWS", 100)
    page = make_page(X, 3)
    state = page.desk.state
    assert (state["rows"], state["drawn"]) == (150, 100)
    assert len(page.picture.points.data["x"]) == 100
    labels = page.studio.labels_[page.picture.drawn]
    assert page.picture.points.data["cluster"].tolist() == labels.tolist()


def test_a_click_means_the_nearest_row_within_reach(make_page):
    page = make_page(X[:, :2], 3)
    assert page.picture.row_at(*X[7, :2]) is None  # nothing is on the screen yet
    for side in ("inner_width", "inner_height"):
        page.picture.figure.set_from_json(side, 500)  # as the browser tells it
    assert page.picture.row_at(*X[7, :2]) in {row for row in range(150) if (X[row, :2] == X[7, :2]).all()}
    assert page.picture.row_at(1000.0, 1000.0) is None


def test_few_links_are_drawn_and_many_on_request_only(make_page):
    few = [(i, i + 1) for i in range(50)]
    page = make_page(X, 3, must_link=few)
    drawn = page.picture._links.data
    assert (len(drawn["xs"]), page.desk.state["linksDrawn"]) == (50, True)
    state = act(page, "draw-links", on=False)
    assert (len(page.picture._links.data["xs"]), state["linksDrawn"]) == (0, False)

    page = make_page(X, 3, must_link=[*few, (60, 61)])
    assert (len(page.picture._links.data["xs"]), page.desk.state["linksDrawn"]) == (0, False)
    state = act(page, "draw-links", on=True)
    assert (len(page.picture._links.data["xs"]), state["linksDrawn"]) == (51, True)


def test_axes_can_be_two_columns(make_page):
    page = make_page(X, 3)
    act(page, "axes", axes=["column 3", "column 0"])
    assert page.picture.points.data["x"].tolist() == X[:, 3].tolist()
    assert page.picture.figure.xaxis[0].axis_label == "column 3"
    act(page, "axes", axes=None)
    assert "component 1" in page.picture.figure.xaxis[0].axis_label


def test_cells_and_columns_that_are_html_stay_text(make_page):
    frame = pd.DataFrame({HOSTILE: np.arange(6.0), "note": [HOSTILE] * 6, "id": [f"{HOSTILE}{i}" for i in range(6)]})
    page = make_page(frame, 2, id="id")
    question = page.desk.state["question"]
    assert question["fields"][0]["name"] == HOSTILE
    assert question["fields"][1]["a"]["text"] == HOSTILE
    # Nothing that Bokeh would read as an instruction is left in its own texts.
    assert "$" not in picture._plain("$$x$$ @name \\(y\\)")
    assert "@" not in picture._plain("@{secret}{safe}")


def test_pictures_in_cells_are_shown_and_only_from_beside_the_data(make_page, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.png").write_bytes(PIXEL)
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (folder / "fake.png").write_text(HOSTILE)
    cells = [
        "a.png",
        "../secret.png",
        "fake.png",
        "http://elsewhere.example/x.png",
        "data:image/svg+xml;base64,AAAA",
        "missing.png",
    ]

    shown = [_cell(cell, folder) for cell in cells]
    assert shown[0]["picture"].startswith("data:image/png;base64,")
    assert ["picture" in cell for cell in shown] == [True, False, False, False, False, False]
    assert [cell["text"] for cell in shown] == cells
    inline = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    assert _cell(inline, None)["picture"] == inline


@pytest.mark.parametrize("cell", ["x" * 300 + ".png", "a\0b.png", "closed/a.png"], ids=["long", "null", "closed"])
def test_a_cell_that_names_no_file_that_can_be_opened_stays_text(cell, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "a.png").write_bytes(PIXEL)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert _cell(cell, tmp_path) == {"text": cell}


def test_dark_and_light_change_all_colours_of_the_picture(make_page):
    page = make_page(X, 3)
    light = page.picture._mapper.palette, page.picture.figure.background_fill_color
    act(page, "theme", dark=True)
    dark = page.picture._mapper.palette, page.picture.figure.background_fill_color
    assert light[0] != dark[0]
    assert light[1] != dark[1]


@pytest.mark.parametrize("theme", [picture.LIGHT, picture.DARK], ids=["light", "dark"])
def test_colours_stand_out_from_their_ground(theme):
    """Accessibility rules ask for 4.5 to 1 in text and 3 to 1 in marks; on white, orange and light blue have 2."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        return float(
            np.dot(
                [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts], [0.2126, 0.7152, 0.0722]
            )
        )

    def contrast(color):
        high, low = sorted([luminance(color), luminance(theme.ground)], reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert contrast(theme.ink) > 7
    assert contrast(theme.faint) > 4.5
    assert min(map(contrast, theme.palette)) > (3 if theme is picture.DARK else 2)


def test_clusters_are_kept_and_let_go_by_a_box(make_page):
    page = make_page(X, 4)
    page.act({"act": "keep"})
    page.studio.wait()
    page.refresh()
    assert page.desk.state["settings"]["keeps"]
    assert page.desk.state["fit"]["moved"] == 0
    # Another cluster may come, but labels of four clusters cannot be kept in three.
    page.act({"act": "set", "name": "k", "value": 5})
    assert page.desk.state["settings"]["keeps"]
    page.act({"act": "set", "name": "k", "value": 3})
    assert not page.desk.state["settings"]["keeps"]
    page.act({"act": "undo"})
    page.act({"act": "let-go"})
    page.studio.wait()
    page.refresh()
    assert page.desk.state["fit"]["moved"] is None


class ForgetfulDocument:
    """A document that loses what other threads ask it to do, and calls what is periodic when told."""

    def __init__(self):
        self.template, self.periodic = "", []

    def add_next_tick_callback(self, callback):
        pass

    def add_periodic_callback(self, callback, period):
        assert period <= 1000
        self.periodic.append(callback)

    def on_session_destroyed(self, callback):
        pass


def test_a_clustering_that_the_document_was_told_of_in_vain_is_shown_soon(make_page):
    page = make_page(X, 3)
    document = ForgetfulDocument()
    page.attach(document)
    page.studio.set(n_clusters=4)
    page.studio.wait()
    before = page.desk.state["fit"]["sse"]
    for callback in document.periodic:
        callback()
    assert page.desk.state["fit"]["sse"] < before
