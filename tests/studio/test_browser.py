"""The page in a real browser: what a person sees after what they do."""

import base64
import io
import json
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

import konstrain
from konstrain._studio.data import read_rows
from konstrain._studio.hub import open_studio
from konstrain._studio.session import Settings
from studio_page import Server


@pytest.fixture(scope="session")
def flowers():
    """Iris with names, and a column that is only shown."""
    X, species = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    return frame.assign(name=[f"f{i}" for i in range(150)], found=[f"in place {kind}" for kind in species])


@pytest.fixture
def iris(flowers):
    """A page on Iris, with a session of its own."""
    desk = konstrain.studio(flowers, 3, id="name")
    yield desk.show(open_browser=False)
    desk.close()


def test_rows_show_by_cluster_and_are_linked_by_clicks_and_nothing_loads_from_elsewhere(iris, open_page):
    page = open_page(iris)
    model = konstrain.ConstrainedKMeans(3, n_init=8, random_state=0).fit(load_iris().data)
    assert page.text("h1") == "rows"
    assert "150 rows" in page.text(".facts")
    assert f"{model.inertia_:.4f}" in page.text(".facts .sse")
    shown = np.array(page.labels(), dtype=int)
    assert sorted(np.bincount(shown)) == sorted(model.cluster_sizes_.astype(int))
    own = iris.rsplit("/", 1)[0]
    assert page.requests
    assert all(url.startswith((own, "blob:", "data:")) for url in page.requests), page.requests
    # Linking two rows by clicks changes labels, and undo brings them back.
    before = page.labels()
    first, second = 0, int(np.flatnonzero(np.array(before) != before[0])[0])
    page.click_row(first)
    page.click_row(second)
    page.wait_for(lambda: page.text(".picked .names") == f"f{first}, f{second}")
    page.page.keyboard.press("t")
    page.wait_for(lambda: page.labels()[first] == page.labels()[second])
    page.turn_to("links")
    page.wait_for(lambda: page.text("#panel-links h2") == "1 link")
    page.page.locator("#undo").click()
    page.wait_for(lambda: page.labels() == before)
    page.page.locator("#redo").click()
    page.wait_for(lambda: page.labels()[first] == page.labels()[second])
    assert not page.complaints


def test_a_contradiction_is_explained_drawn_and_ended_by_removing_a_link(iris, open_page):
    page = open_page(iris)
    page.link("together", "f0", "f60", "f120")
    page.wait_settled()
    possible = page.labels()
    page.link("apart", "f0", "f120")
    page.page.locator(".trouble", has_text="f0 – f60 – f120").wait_for()
    assert page.labels() == possible
    page.wait_for(lambda: page.lines_of_the_clash() == 3)
    page.page.locator(".trouble #bin-trouble-0-60").click()
    page.wait_for(lambda: not page.text(".trouble"))
    page.wait_for(lambda: page.labels()[0] != page.labels()[120])


def test_questions_are_answered_by_keys_each_asked_once_and_back_asks_again(iris, open_page):
    species = load_iris().target
    page = open_page(iris)
    asked = []
    for n in range(5):
        page.wait_for(page.question)
        pair = page.question()
        first, second = (int(name[1:]) for name in pair)
        asked.append(pair)
        page.page.keyboard.press("u" if n == 3 else "y" if species[first] == species[second] else "n")
        page.wait_for(lambda n=n: f"; {n + 1 - (n >= 3)} question" in page.text(".sure"))
        page.wait_for(lambda pair=pair: page.question() not in ((), pair))
    assert len(set(asked)) == 5
    page.wait_for(lambda: "1 unsure" in page.text(".sure"))
    page.page.keyboard.press("b")
    page.wait_for(lambda: page.question() == asked[-1])


def test_settings_change_the_clustering_at_once(iris, open_page):
    page = open_page(iris)
    page.turn_to("settings")
    # Distances are learned from the links when asked for.
    X = load_iris().data
    page.page.locator("#metric").select_option("itml")
    page.turn_to("clusters")
    page.page.locator(".measured", has_text="learned from the links (itml)").wait_for()
    page.wait_settled()
    learned = konstrain.ConstrainedKMeans(3, metric="itml", n_init=8, random_state=0).fit(X)
    page.wait_for(lambda: adjusted_rand_score(page.labels(), learned.labels_) == 1.0)
    page.wait_for(lambda: f"{learned.inertia_:.4f}"[:6] in page.text(".facts .sse"))
    page.page.locator("#undo").click()
    page.page.locator(".measured").wait_for(state="detached")
    page.wait_settled()
    plain = konstrain.ConstrainedKMeans(3, n_init=8, random_state=0).fit(X)
    page.wait_for(lambda: adjusted_rand_score(page.labels(), plain.labels_) == 1.0)
    page.turn_to("settings")
    page.page.locator("#size_min").fill("50")
    page.page.locator("#size_min").press("Enter")
    page.wait_for(lambda: np.bincount(np.array(page.labels(), dtype=int)).tolist() == [50, 50, 50])
    page.turn_to("clusters")
    page.page.locator("#panel-clusters", has_text="held by its min").wait_for()
    assert np.bincount(np.array(page.labels(), dtype=int)).tolist() == [50, 50, 50]
    page.turn_to("settings")
    page.page.locator("#size_min").fill("60")
    page.page.locator("#size_min").press("Enter")
    page.page.locator(".trouble", has_text="size").wait_for()
    assert len(set(page.labels())) == 3  # the last clustering stays while settings cannot be kept
    page.page.locator("#size_min").fill("")
    page.page.locator("#size_min").press("Enter")
    page.wait_for(lambda: not page.text(".trouble"))
    page.page.locator("#k").focus()
    page.page.keyboard.press("ArrowRight")
    page.wait_for(lambda: len(set(page.labels())) == 4)
    assert not page.text(".trouble")
    page.page.locator("#axis-x").select_option("petal width")
    page.wait_for(lambda: "petal width" in page.axis_names())


def test_a_proof_that_takes_long_is_stopped_and_one_that_is_found_is_shown(open_page):
    rows, _ = make_blobs(300, centers=6, n_features=6, cluster_std=6.0, random_state=0)
    desk = konstrain.studio(rows, 6)
    try:
        page = open_page(desk.show(open_browser=False))
        page.turn_to("clusters")
        page.page.locator("#prove").click()
        page.page.locator("#stop").click()
        page.page.locator("#proved", has_text="Stopped after").wait_for()
        assert not desk.proof.state.is_optimal
        desk.set(n_clusters=1)
        page.wait_settled()
        page.page.locator("#prove").click()
        # A process of its own proves: on a busy machine it takes long to start.
        page.page.locator("#proved", has_text="best clustering that exists").wait_for(timeout=180_000)
    finally:
        desk.close()


def test_a_lasso_picks_the_rows_inside_it(iris, open_page):
    """Around the species that stands alone: its rows are picked, no others, and one key ties them together."""
    page = open_page(iris)
    places = np.array([page.place_of(row) for row in range(0, 150, 5)])
    alone = places[:10]
    low, high = alone.min(axis=0) - 12, alone.max(axis=0) + 12
    page.page.locator("[title='Lasso Select']").click()
    page.draw([(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]), (low[0], low[1])])
    page.page.locator(".picked .names").wait_for()
    before = page.labels()
    picked = [name.strip(" …") for name in page.text(".picked .names").split(",")][:4]
    assert all(int(name[1:]) < 50 for name in picked), picked
    n_picked = int(page.text(".picked .names").rsplit("(", 1)[1].rstrip(")"))
    assert 40 <= n_picked <= 50
    page.page.keyboard.press("t")
    page.turn_to("links")
    page.wait_for(lambda: page.text("#panel-links h2") == f"{n_picked - 1} links")
    page.wait_settled()
    assert page.labels() == before


def test_many_rows_are_drawn_as_an_image_that_follows_all_changes(open_page, monkeypatch):
    monkeypatch.setattr("konstrain._studio.picture.SINGLE_MARKS", 5)
    desk = konstrain.studio([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [30.0, 30.0], [34.0, 30.0], [30.0, 34.0]], 2)
    try:
        page = open_page(desk.show(open_browser=False))

        def is_in_its_colour(row):
            return page.colour_of(row) == page.colours()[int(page.labels()[row])]

        page.wait_for(lambda: all(map(is_in_its_colour, range(6))))
        assert page.colour_of(0) != page.colour_of(3)
        page.page.mouse.move(*page.place_of(5))
        page.page.locator(".bk-Tooltip, [class*=tooltip]", has_text="34").first.wait_for()
        page.link("apart", 0, 1)
        page.wait_for(lambda: page.labels()[0] != page.labels()[1])
        page.wait_for(lambda: all(map(is_in_its_colour, range(6))))
        before = page.place_of(4)
        page.frames_of("pan", 5)
        page.wait_for(lambda: page.place_of(4) != before)
        page.wait_for(lambda: is_in_its_colour(4))
        blue = page.labels().index(0)  # some colours are the same on light and dark ground
        light = page.colour_of(blue)
        page.page.locator("[aria-label='light or dark']").click()
        page.wait_for(lambda: page.colour_of(blue) != light)
        assert not page.complaints
    finally:
        desk.close()


def test_pictures_in_cells_are_shown_and_what_only_claims_to_be_one_is_text(open_page, tmp_path):
    """Cells that hold a picture, name a file of one, or name a file that is something else."""
    red, blue = (dot_of(color) for color in ((255, 0, 0), (0, 0, 255)))
    (tmp_path / "red.png").write_bytes(red)
    (tmp_path / "page.png").write_text("<script>window.hacked = 1</script>")
    held = f"data:image/png;base64,{base64.b64encode(blue).decode()}"
    cells = np.tile(["red.png", held, "page.png"], 4)
    frame = pd.DataFrame({"x": np.arange(12.0), "look": cells, "name": [f"r{i}" for i in range(12)]})
    rows = replace(read_rows(frame, id="name", title="cells"), folder=tmp_path)
    desk = open_studio(rows, Settings(2, rows.features))
    try:
        page = open_page(desk.show(open_browser=False))
        for _ in range(3):
            page.wait_for(page.question)
            pair = page.question()
            of_pictures = sum(cells[int(name[1:])] != "page.png" for name in pair)
            images = page.page.locator(".records img")
            page.wait_for(lambda images=images, n=of_pictures: images.count() == n)
            assert images.evaluate_all("nodes => nodes.every(node => node.naturalWidth === 3)")
            page.page.keyboard.press("u")
            page.wait_for(lambda pair=pair: page.question() not in ((), pair))
        assert page.page.evaluate("() => window.hacked") is None
    finally:
        desk.close()


def dot_of(color):
    """A picture of 3 x 3 pixels."""
    content = io.BytesIO()
    plt.imsave(content, np.full((3, 3, 3), color, dtype=np.uint8), format="png")
    return content.getvalue()


def test_killing_the_server_loses_nothing_that_was_answered(flowers, tmp_path, open_page):
    flowers.to_csv(tmp_path / "iris.csv", index=False)
    arguments = ("iris.csv", "--id", "name", "--ignore", "found")
    with Server(*arguments, folder=tmp_path) as server:
        page = open_page(server.address)
        page.link("together", "f0", "f60")
        page.link("apart", "f60", "f120")
        page.wait_for(lambda: "saved" in page.text(".facts"))
        page.wait_settled()
        labels = page.labels()
        server.kill()
    assert len(json.loads((tmp_path / "iris.studio.json").read_text())["done"]) == 2
    with Server(*arguments, folder=tmp_path) as server:
        page = open_page(server.address)
        page.wait_for(lambda: adjusted_rand_score(page.labels(), labels) == 1.0)
        page.turn_to("links")
        page.wait_for(lambda: page.text("#panel-links h2") == "2 links")
        page.page.locator("#undo").click()
        page.wait_for(lambda: page.text("#panel-links h2") == "1 link")


def test_what_is_taken_away_gives_the_same_clustering(iris, open_page, tmp_path):
    page = open_page(iris)
    page.link("together", "f0", "f60")
    page.link("apart", "f60", "f120")
    page.wait_settled()
    shown = page.labels()
    assert page.taken("links") == "a,b,answer\nf0,f60,must\nf60,f120,cannot\n"
    labels = [line.split(",") for line in page.taken("labels").splitlines()]
    assert labels[0] == ["name", "label"]
    assert [int(label) for _, label in labels[1:]] == shown
    names = {"X": load_iris().data}
    exec(page.taken("lines"), names)
    assert adjusted_rand_score(names["labels"], shown) == 1.0
    content = page.taken_bytes("picture")
    assert content.startswith(b"\x89PNG")
    pixels = plt.imread(io.BytesIO(content))
    assert pixels.shape[1] > 800
    # Colours of three clusters, not an empty page.
    assert len(np.unique((255 * pixels[..., :3]).astype(int).reshape(-1, 3), axis=0)) > 50
    session = page.taken("session")
    page.page.locator("#undo").click()
    page.page.locator("#open").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": session.encode()}
    )
    page.turn_to("links")
    page.wait_for(lambda: page.text("#panel-links h2") == "2 links")


def test_a_phone_lays_the_page_out_as_wide_as_it_is(flowers, open_page, tmp_path, monkeypatch):
    monkeypatch.setattr("konstrain._studio.picture.DRAWN_ROWS", 100)
    desk = konstrain.studio(flowers, 3, id="name", session=tmp_path / "s.json")
    page = open_page(desk.show(open_browser=False), width=400, height=800, is_mobile=True)
    page.page.locator(".records").wait_for()
    assert page.page.evaluate("() => [innerWidth, document.documentElement.scrollWidth]") == [400, 400]
    for part in (".plot", ".right", ".answers", ".pickbar", "header", ".facts .good"):
        box = page.page.locator(part).first.bounding_box()
        assert box["x"] >= 0, part
        assert box["x"] + box["width"] <= 400, part
    # That a sample is drawn shows on narrow screens too, and no text is cut off.
    assert "150 rows, a sample of 100 drawn" in page.text(".facts")
    assert page.page.locator(".facts .sample").is_visible()
    assert page.page.locator(".facts").evaluate("node => node.scrollWidth <= node.clientWidth")
    desk.close()


def test_the_page_fits_its_window_in_light_and_dark_and_follows_changes_of_both(iris, open_page):
    page = open_page(iris)
    page.page.locator(".records").wait_for()
    for width, scheme in ((1280, "light"), (1280, "dark"), (800, "dark"), (800, "light")):
        page.page.set_viewport_size({"width": width, "height": 800})
        page.page.emulate_media(color_scheme=scheme)
        page.wait_for(lambda dark=scheme == "dark": page.ground() == ("#161b22" if dark else "#ffffff"))
        page.wait_for(lambda: page.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"))
        inside = page.page.locator(".right").bounding_box()
        assert inside["x"] + inside["width"] <= width
        page.wait_for(lambda: page.page.locator(".plot").bounding_box()["width"] > 400)
        ground = page.page.locator(".plot").evaluate("node => getComputedStyle(node).backgroundColor")
        assert ground == ("rgb(22, 27, 34)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_places_are_drawn_to_one_scale_in_every_window_and_other_columns_fill_it(open_page):
    rng = np.random.default_rng(0)
    east, north = rng.uniform(0, 9, 40), rng.uniform(0, 3, 40)
    desk = konstrain.studio(pd.DataFrame({"east": east, "north": north, "euro": 1000 * east}), 2)
    page = open_page(desk.show(open_browser=False))
    page.turn_to("settings")
    page.page.locator("#axis-x").select_option("east")
    page.page.locator("#axis-y").select_option("north")
    page.wait_for(lambda: page.axis_names() == ["east", "north"])

    def is_map() -> bool:
        return abs(page.stretch() - 1) < 1e-3

    def has_all_rows() -> bool:
        frame = page.page.locator(".plot").bounding_box()
        x, y = np.array([page.place_of(row) for row in range(40)]).T - [[frame["x"]], [frame["y"]]]
        return x.min() > 0 and x.max() < frame["width"] and y.min() > 0 and y.max() < frame["height"]

    page.wait_for(is_map)
    for width, height in ((800, 800), (1280, 500), (400, 800)):
        page.page.set_viewport_size({"width": width, "height": height})
        page.wait_for(lambda: is_map() and has_all_rows())
    # A zoom by the wheel keeps it, and so does another window after that.
    page.frames_of("wheel", 4)
    page.wait_for(is_map)
    page.page.set_viewport_size({"width": 1000, "height": 800})
    page.wait_for(is_map)
    # Columns of different units have scales of their own.
    page.page.locator("#axis-y").select_option("euro")
    page.wait_for(lambda: page.stretch() < 0.01)
    desk.close()
