"""The page in a real browser: what a person sees after what they do."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import konstrain
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


def test_the_page_shows_rows_by_cluster_and_loads_nothing_from_elsewhere(iris, open_page):
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
    assert not page.complaints


def test_linking_two_rows_by_clicks_changes_labels_and_undo_brings_them_back(iris, open_page):
    page = open_page(iris)
    before = page.labels()
    first, second = 0, int(np.flatnonzero(np.array(before) != before[0])[0])
    page.click_row(first)
    page.click_row(second)
    page.wait_for(lambda: page.text(".picked .names") == f"f{first}, f{second}")
    page.page.keyboard.press("t")
    page.wait_for(lambda: page.labels()[first] == page.labels()[second])
    page.turn_to("links")
    assert page.text("#panel-links h2") == "1 link"
    page.page.locator("#undo").click()
    page.wait_for(lambda: page.labels() == before)
    page.page.locator("#redo").click()
    page.wait_for(lambda: page.labels()[first] == page.labels()[second])


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


def test_ten_questions_are_answered_by_keys_each_asked_once_and_back_asks_again(iris, open_page):
    species = load_iris().target
    page = open_page(iris)
    asked = []
    for n in range(10):
        page.wait_for(page.question)
        pair = page.question()
        first, second = (int(name[1:]) for name in pair)
        asked.append(pair)
        page.page.keyboard.press("u" if n == 3 else "y" if species[first] == species[second] else "n")
        page.wait_for(lambda n=n: f"; {n + 1 - (n >= 3)} question" in page.text(".sure"))
        page.wait_for(lambda pair=pair: page.question() not in ((), pair))
    assert len(set(asked)) == 10
    assert "1 unsure" in page.text(".sure")
    page.page.keyboard.press("b")
    page.wait_for(lambda: page.question() == asked[-1])


def test_settings_change_the_clustering_at_once(iris, open_page):
    page = open_page(iris)
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


def test_a_proof_is_found_and_told(iris, open_page):
    page = open_page(iris)
    page.turn_to("clusters")
    page.page.locator("#prove").click()
    page.page.locator("#proved", has_text="best clustering that exists").wait_for()
    assert "best clustering that exists" in page.text("#proved")


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
        assert adjusted_rand_score(page.labels(), labels) == 1.0
        page.turn_to("links")
        assert page.text("#panel-links h2") == "2 links"
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
    session = page.taken("session")
    page.page.locator("#undo").click()
    page.page.locator("#open").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": session.encode()}
    )
    page.turn_to("links")
    page.wait_for(lambda: page.text("#panel-links h2") == "2 links")


@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_in_light_and_dark(iris, open_page, width, scheme):
    page = open_page(iris, width=width, scheme=scheme)
    page.page.locator(".records").wait_for()
    assert page.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    inside = page.page.locator(".right").bounding_box()
    assert inside["x"] + inside["width"] <= width
    assert page.page.locator(".plot").bounding_box()["width"] > 400
    ground = page.page.locator(".plot").evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == ("rgb(22, 27, 34)" if scheme == "dark" else "rgb(255, 255, 255)")
    page.wait_for(lambda: page.ground() == ("#161b22" if scheme == "dark" else "#ffffff"))
