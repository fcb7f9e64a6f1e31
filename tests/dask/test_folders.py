"""`konstrain fit` on folders of Parquet: every id once, sizes as reported, whole or not at all."""

import json

import numpy as np
import polars as pl
import pytest
from distributed import LocalCluster

import konstrain as library
from command_line import konstrain

N = 600


@pytest.fixture
def folder(tmp_path):
    """Return a folder with rows in three files of Parquet, and links by key."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 2)) + 4 * rng.integers(0, 3, size=(N, 1))
    frame = pl.DataFrame({"key": [f"k{i}" for i in rng.permutation(N)], "x": rows[:, 0], "y": rows[:, 1]})
    (tmp_path / "rows").mkdir()
    for number, part in enumerate((frame[:250], frame[250:300], frame[300:])):
        part.write_parquet(tmp_path / "rows" / f"part-{number}.parquet", row_group_size=100)
    keys = frame["key"].to_list()
    (tmp_path / "ml.csv").write_text(f"{keys[3]},{keys[280]}\n{keys[280]},{keys[555]}\n")
    (tmp_path / "cl.csv").write_text(f"a,b\n{keys[3]},{keys[400]}\n")
    frame.write_parquet(tmp_path / "all.parquet")
    return tmp_path


def test_labels_are_written_by_id_and_keep_sizes_and_links(folder):
    asked = ("--id", "key", "-k", 3, "--size-min", 190, "--must-link", "ml.csv", "--cannot-link", "cl.csv", "--json")
    done = konstrain("fit", "rows", *asked, "-o", "labels", folder=folder)
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    written = pl.read_parquet(folder / "labels" / "*.parquet")
    frame = pl.read_parquet(folder / "all.parquet")
    joined = frame.join(written, on="key", how="left", maintain_order="left")
    assert written["key"].n_unique() == N == len(written)
    labels = joined["label"].to_numpy()
    assert np.bincount(labels).tolist() == told["sizes"]
    assert min(told["sizes"]) >= 190
    keys = {key: row for row, key in enumerate(frame["key"])}
    pairs = [line.split(",") for line in (folder / "ml.csv").read_text().split()]
    assert library.count_violations(labels, must_link=[(keys[a], keys[b]) for a, b in pairs]).total == 0
    assert told["violations"] == {"must_link": 0, "cannot_link": 0}
    X = joined.select("x", "y").to_numpy()
    centers = np.stack([X[labels == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(joined["distance"], np.linalg.norm(X - centers[labels], axis=1), atol=1e-9)
    assert told["sse"] == pytest.approx((joined["distance"].to_numpy() ** 2).sum())
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith((".out", ".err"))) == [
        "all.parquet",
        "cl.csv",
        "labels",
        "ml.csv",
        "rows",
    ]
    again = konstrain("fit", "rows", *asked, "-o", "labels", folder=folder)
    assert again.code == 2
    assert "labels: it is there already; write to another folder, or give --force" in again.err


def test_a_pattern_of_files_on_a_given_scheduler_replaces_a_folder_by_force(folder):
    (folder / "labels").mkdir()
    (folder / "labels" / "old.txt").write_text("old")
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        done = konstrain(
            *("fit", "rows/part-[02].parquet", "--ignore", "key", "-k", 2, "-o", "labels", "--force"),
            *("--scheduler", cluster.scheduler_address),
            folder=folder,
        )
    assert (done.code, done.err) == (0, "")
    assert "550 rows in 2 clusters" in done.out
    written = pl.read_parquet(folder / "labels" / "*.parquet")
    assert written.columns == ["row", "label", "distance"]
    assert written["row"].to_list() == list(range(550))
    assert not (folder / "labels" / "old.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rows", "-k", 3, "--id", "key", "--plot", "a.png"), "--plot needs all rows in memory"),
        (("rows", "-k", 3, "--category", "key"), "--category needs all rows in memory"),
        (("rows", "-k", 3, "--share-min", "0.1"), "--share-min needs all rows in memory"),
        (("rows", "-k", 3, "--share-max", "0.9"), "--share-max needs all rows in memory"),
        (("rows", "-k", 3, "--share-tolerance", "0"), "--share-tolerance needs all rows in memory"),
        (("rows", "-k", 3, "--demand", "x,y"), "--demand with several columns needs all rows in memory"),
        (("none", "-k", 3), "there is no file or folder none"),
        (("s3://bucket/part-*.parquet", "-k", 3), "is an address; konstrain reads files of this machine"),
        (("rows", "-k", 3), "column 'key' holds no numbers"),
        (("empty", "-k", 3), "there is no Parquet file in empty"),
        (("none-*.parquet", "-k", 3), "no file is called none-*.parquet"),
        (("all.parquet", "-k", 3, "--id", "key", "--force"), "--force is for folders of Parquet"),
        (("rows", "-k", 3, "--id", "key", "-o", "no/labels"), "there is no folder no"),
        (("rows", "-k", 3, "--id", "key", "-o", "all.parquet"), "it is there and is no folder"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, words, folder):
    (folder / "empty").mkdir()
    done = konstrain("fit", *arguments, folder=folder)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_no_scheduler_at_an_address_is_one_line(folder):
    done = konstrain("fit", "rows", "-k", 3, "--id", "key", "--scheduler", "tcp://127.0.0.1:9", folder=folder)
    assert done.code == 2
    assert "cannot reach a scheduler at tcp://127.0.0.1:9" in done.err
    assert done.err.count("\n") == 1
