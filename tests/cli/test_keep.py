"""`konstrain fit --keep`: clusters keep their numbers, few rows move, and rows that came and left are counted."""

import json

import numpy as np
import pytest

from command_line import konstrain


@pytest.fixture
def folder(tmp_path):
    """A table of 30 rows with its labels, and one of the same rows but two, and three others."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(10, 2)) + place for place in ((0, 0), (6, 0), (0, 6))])
    rows = [f"r{i},{x:.4f},{y:.4f}" for i, (x, y) in enumerate(X)]
    new = [f"n{i},{x:.4f},{y:.4f}" for i, (x, y) in enumerate(rng.normal(size=(3, 2)))]
    (tmp_path / "old.csv").write_text("\n".join(["name,x,y", *rows, ""]))
    (tmp_path / "new.csv").write_text("\n".join(["name,x,y", *rows[2:], *new, ""]))
    labels = [f"r{i},{label}" for i, label in enumerate(np.repeat([2, 0, 1], 10))]
    (tmp_path / "labels.csv").write_text("\n".join(["name,label", *labels, ""]))
    return tmp_path


def fit(folder, *options):
    return konstrain("fit", "new.csv", "--id", "name", "-k", "3", *options, folder=folder)


def test_clusters_keep_their_numbers_and_rows_that_came_and_left_are_counted(folder):
    done = fit(folder, "--keep", "labels.csv", "--json", "-o", "again.csv")
    assert done.code == 0
    assert "note: since labels.csv: 3 rows came, 2 left" in done.err
    report = json.loads(done.out)
    assert report["moves"] == {"n_moved": 0, "n_new": 3, "causes": {}}
    labels = dict(line.split(",")[:2] for line in (folder / "again.csv").read_text().splitlines()[1:])
    assert [labels[name] for name in ("r5", "r15", "r25", "n0")] == ["2", "0", "1", "2"]


def test_the_report_says_how_many_rows_moved_and_why(folder):
    done = fit(folder, "--keep", "labels.csv", "--size-max", "2,12,19", "--max-moved", "50%", "--move-cost", "1e6")
    assert done.code == 0
    assert "8 rows moved: 8 to keep --size-max of cluster 0; 3 rows are new" in done.out


def test_too_few_moves_are_infeasible_with_the_least_number(folder):
    done = fit(folder, "--keep", "labels.csv", "--size-max", "2,12,19", "--max-moved", "20%")
    assert done.code == 3
    assert "--max-moved allows 5 rows to move, but at least 8 have to" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-moved", "3"], "--max-moved is about moves since an earlier clustering; give its labels as --keep"),
        (["--move-cost", "3"], "--move-cost is about moves"),
        (["--keep", "labels.csv", "--move-cost", "-1"], "'-1' is neither auto nor a number of at least 0"),
        (["--keep", "labels.csv", "--max-moved", "3.5"], "is no number of rows; write 12 or 5%"),
        (["--keep", "labels.csv", "--method", "cop-kmeans"], "cop-kmeans has no --keep"),
        (["--keep", "new.csv"], "has no column 'label'"),
        (["--keep", "labels.csv", "-k", "2"], "labels.csv has a cluster 2, and -k 2 has 0 to 1; raise -k"),
        (["--keep", "labels.csv", "-o", "labels.csv"], "labels.csv is read from; write to another file"),
    ],
)
def test_what_is_no_earlier_clustering_is_refused(folder, options, message):
    done = fit(folder, *options)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


def test_without_ids_labels_belong_to_rows_only_where_there_are_as_many(folder):
    rng = np.random.default_rng(0)
    np.savetxt(folder / "plain.csv", rng.normal(size=(25, 2)), delimiter=",", header="x,y", comments="")
    (folder / "old_labels.csv").write_text("\n".join(["row,label", *(f"{i},{i % 3}" for i in range(30)), ""]))
    done = konstrain("fit", "plain.csv", "-k", "3", "--keep", "old_labels.csv", folder=folder)
    assert done.code == 2
    assert "has 30 labels and the table 25 rows: without ids nothing tells which rows came and left" in done.err


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("name,label\nr5,a\n", "row 0, column 'label' has 'a', which is no number of a cluster"),
        ("name,label\nr5,\n", "row 0, column 'label' has no label"),
        ("name,label\nq,0\n", "names no row of the table"),
    ],
)
def test_labels_that_are_no_clusters_are_refused_by_row(folder, contents, message):
    (folder / "labels.csv").write_text(contents)
    done = fit(folder, "--keep", "labels.csv")
    assert done.code == 2
    assert message in done.err


def test_the_page_begins_with_the_labels_to_keep(folder):
    pytest.importorskip("panel", reason="needs Panel and Bokeh: pip install 'konstrain[studio]'")
    options = ["--id", "name", "--no-browser", "--keep", "labels.csv"]
    done = konstrain("studio", "new.csv", "-k", "2", *options, folder=folder)
    assert "labels.csv has a cluster 2, and -k 2 has 0 to 1; raise -k" in done.err
