"""A session is what a person did: replayed, taken back, written and read again."""

import json

import numpy as np
import pytest

from hostile import tampered
from konstrain import FileError, InfeasibleError, UndecidedError
from konstrain._studio.data import read_rows
from konstrain._studio.fitting import Fitter
from konstrain._studio.session import Answer, Link, Removal, Session, Setting, Settings, read_session

SETTINGS = Settings(2, ("column 0", "column 1"))


def make(given=(), n=6):
    rows = read_rows(np.arange(2.0 * n).reshape(n, 2), title="six rows")
    return Session(rows, SETTINGS, tuple(given))


def kinds(session):
    return {link.pair: link.kind for link in session.state.links.values()}


def test_the_latest_word_on_a_pair_holds_and_stands_last():
    session = make([Link((0, 1), "together"), Link((2, 3), "apart")])
    session.do(Answer(((0, 1),), "apart"))
    assert list(kinds(session).items()) == [((2, 3), "apart"), ((0, 1), "apart")]
    session.do(Removal(((2, 3),)))
    assert kinds(session) == {(0, 1): "apart"}


def test_undo_and_redo_walk_the_history_and_a_new_action_ends_the_way_forward():
    session = make()
    states = [session.state]
    actions = [Answer(((0, 1),), "together"), Setting(Settings(3, ("column 0",))), Answer(((1, 2), (2, 3)), "apart")]
    for action in actions:
        session.do(action)
        states.append(session.state)
    for state, action in zip(states[-2::-1], reversed(actions), strict=True):
        assert session.undo() == action
        assert session.state == state
    assert session.undo() is None
    assert session.redo() == actions[0]
    session.do(Answer(((4, 5),), "unsure"))
    assert session.redo() is None


def test_unsure_is_kept_and_links_nothing():
    session = make()
    session.do(Answer(((0, 1),), "unsure"))
    assert kinds(session) == {(0, 1): "unsure"}
    assert session.state.constraints == {}


def test_confidences_make_a_third_column():
    session = make([Link((0, 1), "together", 0.5)])
    session.do(Answer(((1, 2),), "together"))
    assert session.state.constraints["must_link"].tolist() == [[0, 1, 0.5], [1, 2, np.inf]]


def test_a_session_read_again_is_the_same_with_its_way_back_and_forward():
    session = make([Link((0, 5), "apart", 0.25)])
    session.do(Answer(((0, 1),), "together", "apart"))
    session.do(Setting(Settings(2, ("column 0",), size_min=(1.0, 2.0), size_max=4.0, standardize=True)))
    session.do(Answer(((2, 3),), "unsure"))
    session.undo()
    again, changed = read_session(session.to_json(), session.rows, "a file")
    assert changed == ""
    assert again.state == session.state
    assert (again.done, again.undone, again.given) == (session.done, session.undone, session.given)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Answer(((0, 6),), "together"), "rows are 0 to 5"),
        (Answer(((2, 2),), "apart"), "smaller one stands first"),
        (Answer(((0, 1),), "maybe"), "one of together, apart, unsure"),
        (Setting(Settings(7, ("column 0",))), "7 clusters for 6 rows"),
        (Setting(Settings(2, ())), "no feature is left"),
        (Setting(Settings(2, ("height",))), "no feature 'height'"),
        (Setting(Settings(2, ("column 0",), size_min=(1.0, 2.0, 3.0))), "size_min has 3 sizes for 2 clusters"),
        (Setting(Settings(2, ("column 0",), size_max=-1.0)), "not negative"),
        (Setting(Settings(2, ("column 0",), previous=(0, 1, 0))), "labels to keep are one per row, -1 to 1"),
        (Setting(Settings(2, ("column 0",), previous=(0, 1, 0, 1, 0, 2))), "labels to keep are one per row, -1 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(action, words):
    session = make()
    with pytest.raises(ValueError, match=words):
        session.do(action)
    assert session.done == []


def test_sessions_of_other_data_are_refused_and_changed_numbers_are_noted():
    text = make().to_json()
    with pytest.raises(FileError, match=r"s.json is of 6 rows, but six rows has 5"):
        read_session(text, make(n=5).rows, "s.json")
    with pytest.raises(FileError, match="other columns"):
        read_session(text, read_rows(np.zeros((6, 3)), title="wide"), "s.json")
    _, changed = read_session(text, read_rows(np.ones((6, 2)), title="six rows"), "s.json")
    assert changed == "numbers in six rows have changed since s.json"


def damaged():
    good = json.loads(make().to_json())
    yield "{", "not JSON"
    yield "[" * 100_000, "not JSON"
    yield "[]", "no session of konstrain studio"
    yield json.dumps({**good, "version": 2}), "version 2"
    for change in (
        {"done": [{"action": "answer", "pairs": [[0, 99]], "kind": "apart"}]},
        {"done": [{"action": "answer", "pairs": [["0", 1]], "kind": "apart"}]},
        {"done": [{"action": "explode"}]},
        {"undone": [{"action": "answer", "pairs": [[0, 99]], "kind": "apart"}]},
        {"settings": {"n_clusters": "three", "features": []}},
        {"settings": {**good["settings"], "color": "red"}},
        {"given": [{"pair": [3, 1], "kind": "apart"}]},
        {"given": 4},
        {"data": None},
        {"settings": {**good["settings"], "size_min": 10**400}},
        {"settings": {**good["settings"], "size_max": [1, 10**400, 3]}},
        {"settings": {**good["settings"], "random_state": -1}},
        {"settings": {**good["settings"], "random_state": 2**32}},
        {"given": [{"pair": [1, 3], "kind": "apart", "confidence": 10**400}]},
    ):
        yield json.dumps({**good, **change}), "damaged"


@pytest.mark.parametrize(("text", "words"), list(damaged()), ids=range(18))
def test_damaged_sessions_are_refused_with_one_line(text, words):
    with pytest.raises(FileError, match=words) as raised:
        read_session(text, make().rows, "s.json")
    assert "\n" not in str(raised.value)


def test_a_session_with_anything_changed_is_refused_or_can_be_gone_on_with(seed):
    session = make([Link((0, 5), "apart", 0.25), Link((1, 2), "together")])
    session.do(Answer(((0, 1), (2, 4)), "together", "apart"))
    session.do(Removal(((1, 2),)))
    session.do(Setting(Settings(2, ("column 0",), (1.0, 2.0), 4.0, standardize=True, random_state=7, metric="itml")))
    session.do(Setting(Settings(2, ("column 0",), previous=(0, 1, -1, 1, 0, 0))))
    session.do(Answer(((2, 3),), "unsure"))
    session.undo()
    values, rng, n_refused = json.loads(session.to_json()), np.random.default_rng(seed), 0
    for _ in range(300):
        edited, how = tampered(rng, values)
        try:
            read, _ = read_session(json.dumps(edited), session.rows, "s.json")
        except FileError as error:
            n_refused += 1
            if "\n" in str(error) or not str(error).startswith("s.json"):
                raise
            continue
        again, _ = read_session(read.to_json(), session.rows, "s.json")
        assert (again.state, again.done, again.undone) == (read.state, read.done, read.undone), how
        if read.settings != session.settings or read.state != session.state:
            try:
                Fitter(read.rows).preview(read.state, None)
            except (InfeasibleError, UndecidedError, ValueError):
                continue  # the page shows these beside the links
    assert n_refused > 150
