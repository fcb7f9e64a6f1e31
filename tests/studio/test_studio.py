"""Everything behind the page, without the page."""

import json
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from clusterings import keeps_links, sse
from command_line import konstrain as run
from konstrain import ConstrainedKMeans, FileError, studio
from konstrain._studio import asking, exporting, hub, view
from konstrain._studio.data import StudioParams, read_rows
from konstrain._studio.session import Link, read_session
from konstrain.cli.given import read_given, with_earlier
from konstrain.cli.options import ConstraintOptions, DataOptions
from konstrain.cli.studio import rows_of, settings_of

X, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def open_studio():
    """Make studios that are closed after the test."""
    opened = []

    def make(*args, **kwargs):
        opened.append(studio(*args, **kwargs))
        opened[-1].wait()
        return opened[-1]

    yield make
    for desk in opened:
        desk.close()


def test_after_each_answer_the_clustering_keeps_all_links_and_is_what_the_seed_gives(open_studio):
    desk = open_studio(X, 3, random_state=1)
    for a, b in [(0, 60), (51, 140), (70, 120), (10, 99)]:
        desk.answer([(a, b)], "together" if SPECIES[a] == SPECIES[b] else "apart")
        desk.wait()
        assert keeps_links(desk.labels_, desk.must_link, desk.cannot_link)
        assert not desk.fit.is_preview
        assert desk.fit.sse == pytest.approx(sse(X, desk.labels_))
    links = {"must_link": desk.must_link, "cannot_link": desk.cannot_link}
    fresh = ConstrainedKMeans(3, n_init=8, random_state=1).fit(X, **links)
    assert adjusted_rand_score(fresh.labels_, desk.labels_) == 1.0


def test_a_preview_comes_before_the_clustering_from_scratch(open_studio):
    desk = open_studio(X, 3)
    seen = []
    forget = desk.listen(lambda: seen.append(desk.fit.is_preview))
    desk.answer([(0, 60)], "together")
    desk.wait()
    forget()
    assert seen[0] is True
    assert seen[-1] is False


def test_clusters_keep_their_numbers_as_far_as_they_are_the_same(open_studio):
    desk = open_studio(X, 3)
    before = desk.labels_
    desk.answer([(50, 51)], "together")
    desk.wait()
    assert (desk.labels_ == before).mean() > 0.9
    desk.set(n_clusters=2)
    desk.wait()
    assert set(desk.labels_.tolist()) == {0, 1}
    desk.set(n_clusters=5)
    desk.wait()
    assert set(desk.labels_.tolist()) == {0, 1, 2, 3, 4}


def test_sizes_of_each_cluster_hold_for_their_own_numbers(open_studio):
    desk = open_studio(X, 3, size_min=[20, 30, 70], size_max=[25, 60, 100])
    desk.answer([(0, 60)], "together")
    desk.wait()
    sizes = np.bincount(desk.labels_)
    assert (sizes >= [20, 30, 70]).all()
    assert (sizes <= [25, 60, 100]).all()


def test_impossible_links_are_explained_with_their_path_and_the_last_clustering_stays(open_studio):
    frame = pd.DataFrame(X).assign(name=[f"f{i}" for i in range(150)])
    desk = open_studio(frame, 3, id="name", must_link=[(0, 4), (4, 7)])
    good = desk.fit
    desk.answer([(7, 0)], "apart")
    desk.wait()
    assert "f0 – f4 – f7" in desk.trouble.message or "f7 – f4 – f0" in desk.trouble.message
    assert {pair for pair, _ in desk.trouble.links} == {(0, 4), (4, 7), (0, 7)}
    assert desk.fit is good
    desk.remove([(4, 7)])
    desk.wait()
    assert desk.trouble is None
    assert desk.labels_[0] != desk.labels_[7]


def test_too_many_rows_apart_name_the_links_among_which_one_goes(open_studio):
    desk = open_studio(X, 2)
    desk.answer([(0, 60), (60, 120), (0, 120)], "apart")
    desk.wait()
    clash = "Rows 0, 60, 120 must all be in different clusters, but k = 2."
    assert desk.trouble.message == f"{clash} Raise k to at least 3 or remove one of these links."
    assert {pair for pair, _ in desk.trouble.links} == {(0, 60), (60, 120), (0, 120)}


def test_sizes_that_cannot_add_up_are_told_and_undone(open_studio):
    desk = open_studio(X, 3)
    desk.set(size_min=60.0)
    desk.wait()
    assert desk.trouble.reason == "sizes"
    desk.undo()
    desk.wait()
    assert desk.trouble is None


def test_no_pair_is_asked_twice_nor_when_links_tell_it(open_studio):
    desk = open_studio(X, 3)
    asked = set()
    for n in range(25):
        pair = desk.question
        assert pair is not None
        assert pair not in asked
        assert not asking.Implied(desk.session.state).covers(pair)
        asked.add(pair)
        desk.answer_question(
            "unsure" if n % 4 == 3 else "together" if SPECIES[pair[0]] == SPECIES[pair[1]] else "apart"
        )
        desk.wait()
    assert adjusted_rand_score(SPECIES, desk.labels_) > 0.75


def test_the_guess_of_the_clustering_is_kept_with_the_answer_and_back_asks_again(open_studio):
    desk = open_studio(X, 3)
    pair, guess = desk.question, desk.fit.guess(desk.question)
    desk.answer_question("apart")
    assert desk.session.done[-1].guess == guess
    desk.undo()
    assert desk.question == pair


def test_questions_among_many_rows_are_looked_for_in_a_sample(open_studio, monkeypatch):
    monkeypatch.setattr(asking, "SEARCHED_ROWS", 40)
    looked_at = []
    monkeypatch.setattr(
        asking, "suggest_pairs", lambda rows, *a, **k: looked_at.append(len(rows)) or np.array([[0, 1]])
    )
    desk = open_studio(X, 3, must_link=[(148, 149)], size_min=45)
    assert desk.question is not None
    assert all(40 <= n <= 42 for n in looked_at)


def test_when_all_is_told_nothing_is_asked(open_studio):
    desk = open_studio([[0.0], [1.0], [9.0]], 2, must_link=[(0, 1)], cannot_link=[(1, 2)])
    assert desk.question is None
    assert desk.is_asking_done


@pytest.mark.parametrize("k", [1, 3])
def test_tiny_data_is_shown_too(open_studio, k):
    assert len(set(open_studio([[0.0], [1.0], [9.0]], k).labels_.tolist())) == k


def test_standardise_and_features_change_what_is_clustered(open_studio):
    scaled = X * [1.0, 1.0, 1.0, 1000.0]
    desk = open_studio(scaled, 3)
    desk.set(standardize=True)
    desk.wait()
    expected = ConstrainedKMeans(3, n_init=8, random_state=0).fit((scaled - scaled.mean(axis=0)) / scaled.std(axis=0))
    assert adjusted_rand_score(expected.labels_, desk.labels_) == 1.0
    desk.set(standardize=False, features=("column 0", "column 1"))
    desk.wait()
    expected = ConstrainedKMeans(3, n_init=8, random_state=0).fit(X[:, :2])
    assert adjusted_rand_score(expected.labels_, desk.labels_) == 1.0


def test_python_lines_give_the_same_clustering(open_studio):
    desk = open_studio(
        X, 3, must_link=[(0, 60)], cannot_link=[(1, 2, 0.5), (60, 120, np.inf)], size_min=20, standardize=True
    )
    names = {"X": X}
    exec(exporting.python_lines(desk), names)
    assert adjusted_rand_score(names["labels"], desk.labels_) == 1.0


def test_a_proof_is_found_in_the_background_and_ends_with_a_change(open_studio):
    desk = open_studio(X[::3], 3)
    ended = threading.Event()
    desk.listen(lambda: desk.proof is not None and desk.proof.state.status != "running" and ended.set())
    desk.prove(60.0)
    assert ended.wait(120)
    assert desk.proof.state.is_optimal
    desk.answer([(0, 40)], "apart")
    assert desk.proof is None


def test_a_proof_can_be_stopped_at_any_moment(open_studio):
    rows, _ = make_blobs(300, centers=6, n_features=6, cluster_std=6.0, random_state=0)
    desk = open_studio(rows, 6)
    desk.prove(600.0)
    assert desk.proof.state.status == "running"
    desk.stop_proof()
    assert desk.proof.state.status == "stopped"
    assert not desk.proof.state.is_optimal


def test_links_with_confidences_count_in_the_proof(open_studio):
    desk = open_studio(X[::6], 3, must_link=[(0, 20, 0.5)])
    desk.wait()
    ended = threading.Event()
    desk.listen(lambda: desk.proof is not None and desk.proof.state.status != "running" and ended.set())
    desk.prove()
    assert ended.wait(120)
    # Rows 0 and 20 are far apart: the link is broken, and its price is a part of what is proved.
    assert desk.fit.link_price > 0
    assert desk.proof.state.status == "done"
    assert desk.proof.state.lower_bound > desk.fit.sse


def test_the_session_file_is_whole_after_every_answer_and_goes_on(open_studio, tmp_path):
    path = tmp_path / "s.json"
    desk = open_studio(X, 3, session=path)
    desk.answer([(0, 60)], "together")
    desk.wait()
    desk.close()
    assert len(json.loads(path.read_text())["done"]) == 1
    again = open_studio(X, 5, session=path)
    assert again.must_link.tolist() == [[0, 60]]
    assert again.session.state.settings.n_clusters == 3
    assert "s.json" in again.note


def test_a_file_that_cannot_be_written_is_told_and_tried_again(open_studio, tmp_path, monkeypatch):
    monkeypatch.setattr("konstrain._studio.session.PARAMS", StudioParams(quick_limit=0.01))
    folder = tmp_path / "later"
    desk = open_studio(X, 3, session=folder / "s.json")
    saved, failed = threading.Event(), threading.Event()
    desk.listen(lambda: (failed if desk.saver.problem else saved).set())
    desk.answer([(0, 60)], "together")
    assert failed.wait(60)
    assert "there is no folder" in desk.saver.problem
    saved.clear()
    folder.mkdir()
    assert saved.wait(60)
    desk.close()
    assert len(json.loads((folder / "s.json").read_text())["done"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_clusters": 200}, "200 clusters for 150 rows"),
        ({"must_link": [(0, 1)], "cannot_link": [(1, 0)]}, "rows 0 and 1 are in must_link and in cannot_link"),
        ({"must_link": [(0, 150)]}, "150"),
        ({"id": "name"}, "no named columns"),
        ({"demand": [1.0]}, "demand must have one value per row"),
        ({"size_min": [1, 2]}, "size_min has 2 sizes for 3 clusters"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(arguments, words):
    with pytest.raises(ValueError, match=words):
        studio(X, **arguments)


def test_frames_give_features_names_and_what_is_only_shown():
    frame = pd.DataFrame({"name": ["a", "b"], "height": [1.0, 2.0], "note": ["x", "y"]})
    rows = read_rows(frame, id="name", title="people")
    assert rows.features == ("height",)
    assert rows.names.number_of("b") == 1
    assert list(rows.shown) == ["height", "note"]
    assert rows.numbers == []
    with pytest.raises(ValueError, match="'a' in column 'name' occurs in rows 0 and 1"):
        read_rows(frame.assign(name="a"), id="name", title="people")
    with pytest.raises(ValueError, match="no column of numbers"):
        read_rows(frame[["name", "note"]], title="people")
    with pytest.raises(ValueError, match="no column 'nome'"):
        read_rows(frame, id="nome", title="people")


def as_on_the_page(path, k, **options):
    """Rows and settings of the page on a table, as the command line makes them."""
    given = read_given(DataOptions(path, **options), ConstraintOptions(), quiet=True, n_clusters=k)
    rows = rows_of(given)
    return rows, settings_of(given, rows, k, 0)


def customers(path):
    """A table as people have it: names, a date, a text of few values, numbers of different units, a gap."""
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2017-08-01") + pd.to_timedelta(rng.integers(0, 2000, 60), "D")
    table = pd.DataFrame(
        {
            "name": [f"Anna {i}" for i in range(60)],
            "since": days.strftime("%Y-%m-%d"),
            "sex": np.where(rng.random(60) < 0.3, "m", "f"),
            "revenue": rng.lognormal(8, 1, 60).round(2),
            "visits": np.where(np.arange(60) == 7, np.nan, rng.integers(1, 9, 60)),
        }
    )
    table.to_csv(path, index=False)


@pytest.mark.parametrize("options", [{}, {"id": "name"}, {"standardize": False}, {"missing": "drop"}], ids=str)
def test_the_page_gives_what_fit_gives_for_the_same_table_and_options(tmp_path, options):
    customers(tmp_path / "c.csv")
    options = {"missing": "median", **options}
    words = {"id": ["--id", "name"], "standardize": ["--no-standardize"]}
    given = [word for name in options for word in words.get(name, [])]
    done = run(
        *("fit", "c.csv", "-k", 4, "--missing", options["missing"], *given, "--json", "-q", "-o", "labels.csv"),
        folder=tmp_path,
    )
    rows, settings = as_on_the_page(tmp_path / "c.csv", 4, **options)
    desk = hub.open_studio(rows, settings)
    desk.wait()
    desk.close()
    assert desk.fit.sse == pytest.approx(json.loads(done.out)["sse"], rel=1e-12)
    labels = pd.read_csv(tmp_path / "labels.csv")["label"]
    assert adjusted_rand_score(labels, desk.labels_) == 1.0


def test_questions_show_the_cells_of_the_table_names_and_dates_and_text_as_they_stand(tmp_path):
    customers(tmp_path / "c.csv")
    rows, _ = as_on_the_page(tmp_path / "c.csv", 4, columns="since,sex,visits", missing="drop")
    table = pd.read_csv(tmp_path / "c.csv", dtype=str).drop(index=7)
    fields = view.record(rows, 10)["fields"]
    assert {field["name"]: field["text"] for field in fields} == table.iloc[10].to_dict()
    asked = {field["name"]: field for field in view._question(rows, (0, 10))["fields"]}
    assert asked["name"]["away"] is None
    assert asked["since"]["away"] > 0
    assert asked["sex"]["clearly"] == (table["sex"].iloc[0] != table["sex"].iloc[10])


def test_a_session_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "s.json").write_text("[]")
    with pytest.raises(FileError, match=r"s\.json is no session"):
        studio(X, session=tmp_path / "s.json")


def test_given_links_keep_their_confidence():
    rows = read_rows(X, title="iris")
    links = hub.given_links(rows, [(1, 0), (2, 2)], [(3, 2, 0.5)])
    assert links == (Link((0, 1), "together"), Link((2, 3), "apart", 0.5))


def test_clusters_that_are_kept_lose_no_more_rows_than_have_to_leave(open_studio):
    desk = open_studio(load_iris().data, 3)
    desk.wait()
    before = desk.labels_
    assert desk.fit.n_moved is None
    desk.keep()
    desk.set(size_max=55)
    desk.wait()
    least = np.maximum(np.bincount(before) - 55, 0).sum()
    assert least > 0
    assert desk.fit.n_moved == (desk.labels_ != before).sum() == least
    names = {"X": load_iris().data}
    exec(exporting.python_lines(desk), names)
    assert (names["labels"] == desk.labels_).all()
    # A saved session keeps the same clusters, and letting them go is taken back like any setting.
    again, _ = read_session(desk._text(), desk.rows, "s.json")
    assert again.state.settings.previous == tuple(before.tolist())
    desk.set(previous=None)
    desk.wait()
    assert desk.fit.n_moved is None
    desk.undo()
    desk.wait()
    assert desk.fit.n_moved == least


def test_the_command_line_hands_over_the_labels_to_keep(tmp_path):
    (tmp_path / "data.csv").write_text("name,x\na,0\nb,1\nc,9\nd,8\n")
    (tmp_path / "labels.csv").write_text("name,label\nd,0\na,1\nb,1\ngone,1\n")
    given = read_given(DataOptions(tmp_path / "data.csv", id="name"), ConstraintOptions(), quiet=True, n_clusters=2)
    given = with_earlier(given, tmp_path / "labels.csv", 2, quiet=True)
    assert settings_of(given, rows_of(given), 2, 0).previous == (1, 1, -1, 0)
