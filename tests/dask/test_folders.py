"""`konstrain fit` on folders of Parquet: every id once, sizes as reported, whole or not at all."""

import json
import os
import re
from pathlib import Path

import fsspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import konstrain as library
from command_line import konstrain
from konstrain.dask import parquet
from konstrain.dask.parquet import MARK, Folder
from konstrain.exceptions import FileError
from konstrain.files.choice import Request

N = 600


@pytest.fixture(scope="module")
def client():
    """Return a client of a cluster in this process, which sees what tests change."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


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


def test_a_pattern_of_files_on_a_given_scheduler_replaces_a_folder_by_force(folder, cluster):
    (folder / "labels").mkdir()
    old = pa.table({"row": [0]}).replace_schema_metadata(MARK)
    pq.write_table(old, folder / "labels" / "part-00007.parquet")
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
    assert not (folder / "labels" / "part-00007.parquet").exists()


@pytest.mark.parametrize(
    ("data", "output"),
    [
        ("rows", "rows"),
        ("rows/p*.parquet", "rows"),
        ("rows", "."),
        ("rows", "link"),
    ],
)
def test_no_force_replaces_what_is_read_or_what_others_have_written(data, output, folder):
    (folder / "thesis.txt").write_text("mine")
    (folder / "link").symlink_to("rows")
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    done = konstrain("fit", data, "--id", "key", "-k", 3, "-o", output, "--force", folder=folder)
    assert done.code == 2
    assert f"cannot replace {output}: " in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before


def test_labels_that_are_the_rows_of_the_next_run_stay(folder):
    (folder / "labels").mkdir()
    earlier = pa.table({"key": ["a", "b"], "label": [0, 1], "distance": [0.5, 0.25]}).replace_schema_metadata(MARK)
    pq.write_table(earlier, folder / "labels" / "part-00000.parquet")
    for data in ("labels", (folder / "labels").as_uri()):
        done = konstrain("fit", data, "--id", "key", "-k", 2, "-o", "labels", "--force", folder=folder)
        assert done.code == 2
        assert "is read from; write to another folder" in done.err
    assert pq.read_table(folder / "labels").equals(earlier)


@pytest.mark.parametrize("kind", ["twice", "missing", "blank", "across types"])
@pytest.mark.parametrize("most", [parquet.KEPT_NUMBERS, 200])
def test_ids_that_are_missing_or_shared_are_refused_as_in_files(kind, most, folder, client, monkeypatch):
    monkeypatch.setattr(parquet, "KEPT_NUMBERS", most)
    frame = pl.read_parquet(folder / "rows" / "part-1.parquet")[:5]
    keys = {
        "twice": pl.Series(["a", "b", frame["key"][0], "c", "d"]),
        "missing": pl.Series(["a", "b", "c", None, "d"]),
        "blank": pl.Series(["a", "b", "c", "  ", "d"]),
        "across types": pl.Series([7, 8, 9, 10, 11]),
    }[kind]
    frame.with_columns(key=keys).write_parquet(folder / "rows" / "part-3.parquet")
    if kind == "across types":
        frame.with_columns(key=pl.Series([1.5, 2.5, 3.5, 4.5, 9.0])).write_parquet(folder / "rows" / "part-4.parquet")
    rows = Folder.open(folder / "rows", Request(["x", "y"], "key", [], [], ()))
    words = {
        "twice": r"rows: id 'k\d+' in column 'key' occurs in rows 250 and 602; no two rows may share one",
        "missing": "rows, row 603 has no id in column 'key'",
        "blank": "rows, row 603 has no id in column 'key'",
        "across types": "rows: id '9' in column 'key' occurs in rows 602 and 609; no two rows may share one",
    }[kind]
    with pytest.raises(FileError, match=words):
        rows.refuse_bad_ids(client)


def test_codes_that_ids_share_by_chance_are_no_shared_ids(folder, client, monkeypatch):
    monkeypatch.setattr(parquet, "_code", lambda names: np.zeros(len(names), dtype=np.uint64))
    rows = Folder.open(folder / "rows", Request(["x", "y"], "key", [], [], ()))
    assert rows.refuse_bad_ids(client) is None  # it raises where two rows do share an id


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rows", "-k", 3, "--id", "key", "--plot", "a.png"), "--plot needs all rows in memory"),
        (
            ("rows", "-k", 3, "--id", "key", "--share-min", "0.1"),
            "--share-min is about groups of rows: give category",
        ),
        (("rows", "-k", 3, "--id", "key", "--category", "sex"), "has no column 'sex'"),
        (("none", "-k", 3), "there is no file or folder none"),
        (("s3://bucket/part-*.parquet", "-k", 3), "s3://bucket/part-*.parquet needs s3fs: pip install s3fs"),
        (("s3://bucket/rows", "-k", 3), "s3://bucket/rows needs s3fs: pip install s3fs"),
        (("nowhere://rows", "-k", 3), "cannot read nowhere://rows: Protocol not known: nowhere"),
        (("s3://bucket/rows.csv", "-k", 3), "is an address; konstrain reads files of this machine"),
        (
            ("rows", "-k", 3, "--id", "key", "-o", "s3://bucket/labels"),
            "cannot write s3://bucket/labels: labels appear",
        ),
        (("rows", "-k", 3), "column 'key' holds no numbers"),
        (("empty", "-k", 3), "there is no Parquet file in empty"),
        (("none-*.parquet", "-k", 3), "no file is called none-*.parquet"),
        (("rowless", "-k", 3), "rowless has no rows"),
        (("odd", "-k", 3), "pipe.parquet is a pipe or a device, not a file of Parquet; remove or rename it"),
        (("all.parquet", "-k", 3, "--id", "key", "--force"), "--force is for folders of Parquet"),
        (("rows", "-k", 3, "--id", "key", "-o", "no/labels"), "there is no folder no"),
        (("rows", "-k", 3, "--id", "key", "-o", "all.parquet"), "it is there and is no folder"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, words, folder):
    for name in ("empty", "rowless", "odd"):
        (folder / name).mkdir()
    frame = pl.DataFrame({"x": [1.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]})
    frame[:0].write_parquet(folder / "rowless" / "a.parquet")
    frame.write_parquet(folder / "odd" / "a.parquet")
    os.mkfifo(folder / "odd" / "pipe.parquet")
    done = konstrain("fit", *arguments, folder=folder)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_shared_ids_are_refused_in_one_line(folder, cluster):
    (folder / "shared").mkdir()
    pl.DataFrame({"x": [1.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]}).write_parquet(folder / "shared" / "a.parquet")
    where = ("--scheduler", cluster.scheduler_address)
    done = konstrain("fit", "shared", "-k", 3, "--id", "x", *where, folder=folder)
    assert done.code == 2
    assert "shared: id '1' in column 'x' occurs in rows 0 and 1; no two rows may" in done.err
    assert done.err.count("\n") == 1


def test_a_folder_by_its_address_gives_what_it_gives_by_its_path(folder, cluster):
    asked = ("--id", "key", "-k", 3, "--size-min", 190, "--json", "--scheduler", cluster.scheduler_address)
    by_path = konstrain("fit", "rows", *asked, folder=folder)
    address = (folder / "rows").resolve().as_uri()
    by_address = konstrain("fit", address, *asked, "-o", "labels", "--force", folder=folder)
    assert (by_address.code, by_address.err) == (0, "")
    assert json.loads(by_address.out)["sse"] == json.loads(by_path.out)["sse"]
    assert pl.read_parquet(folder / "labels" / "*.parquet")["key"].n_unique() == N
    request = Request(None, "key", [], [], ())
    by_pattern = Folder.open(Path(f"{address}/part-*.parquet"), request)
    assert by_pattern.files == Folder.open(Path(address), request).files


def test_files_are_read_from_any_file_system_that_fsspec_knows(folder):
    memory = fsspec.filesystem("memory")
    memory.put(str(folder / "rows"), "/rows", recursive=True)
    request = Request(["x", "y"], "key", [], [], ())
    here, there = Folder.open(folder / "rows", request), Folder.open(Path("memory://rows"), request)
    assert [piece.path for piece in there.pieces][:1] == ["memory:///rows/part-0.parquet"]
    assert there.n_samples == N
    for number in range(len(here.pieces)):
        np.testing.assert_array_equal(there.rows(number, ()).values, here.rows(number, ()).values)
    with pytest.raises(FileError, match=r"no Parquet file is called memory://none, or is in it"):
        Folder.open(Path("memory://none"), request)


@pytest.mark.parametrize("place", ["rows/part-9.parquet", "ml.csv"])
def test_pipes_and_devices_are_refused_without_waiting_for_them(folder, place):
    (folder / place).unlink(missing_ok=True)
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(folder / place)
        done = konstrain("fit", "rows", "--id", "key", "-k", 3, "--must-link", "ml.csv", folder=folder)
        assert done.code == 2
        assert re.search(rf"{place} is a pipe (or a device|that nobody writes into)", done.err)
        (folder / place).unlink()


def test_shares_and_several_demands_are_kept_over_a_folder(folder, cluster):
    rng = np.random.default_rng(1)
    frame = pl.read_parquet(folder / "all.parquet").with_columns(
        sex=pl.Series(np.where(rng.random(N) < 0.4, "F", "M")),
        money=pl.Series(rng.uniform(1, 3, N)),
        people=pl.Series(rng.integers(1, 5, N)),
    )
    (folder / "more").mkdir()
    for number in range(3):
        frame[200 * number : 200 * (number + 1)].write_parquet(folder / "more" / f"part-{number}.parquet")
    bounds = ("--category", "sex", "--share-min", "F=0.35", "--share-max", "F=0.45")
    demands = ("--demand", "money,people", "--size-max", "450,600")
    done = konstrain(
        *("fit", "more", "--id", "key", "-k", 3, *bounds, *demands, "--json", "-o", "labels"),
        *("--scheduler", cluster.scheduler_address),
        folder=folder,
    )
    assert done.code == 0, done.err
    told = json.loads(done.out)
    joined = frame.join(pl.read_parquet(folder / "labels" / "*.parquet"), on="key", maintain_order="left")
    by_label = (
        joined.group_by("label", maintain_order=False)
        .agg((pl.col("sex") == "F").mean().alias("share"), pl.col("money").sum(), pl.col("people").sum())
        .sort("label")
    )
    assert by_label["share"].min() >= 0.35
    assert by_label["share"].max() <= 0.45
    assert by_label["money"].max() <= 450
    assert by_label["people"].max() <= 600
    np.testing.assert_allclose(told["sizes"], by_label.select("money", "people").to_numpy())
    np.testing.assert_allclose(told["shares"]["F"], by_label["share"])


def test_no_scheduler_at_an_address_is_one_line(folder):
    done = konstrain("fit", "rows", "-k", 3, "--id", "key", "--scheduler", "tcp://127.0.0.1:9", folder=folder)
    assert done.code == 2
    assert "cannot reach a scheduler at tcp://127.0.0.1:9" in done.err
    assert done.err.count("\n") == 1
