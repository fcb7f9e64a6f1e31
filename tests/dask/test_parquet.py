"""Folders of labels: only what a run has written is replaced, and whatever happens one of old and new is there."""

import os
import signal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from konstrain.dask import parquet
from konstrain.dask.parquet import Folder, folder_in_making
from konstrain.exceptions import FileError
from konstrain.files.choice import Request


def write_part(folder: Path, value: int, number: int = 0) -> None:
    """Write a file of labels as a run does."""
    table = pa.table({"row": [value], "label": [0], "distance": [0.0]})
    pq.write_table(table.replace_schema_metadata(parquet.MARK), folder / f"part-{number:05}.parquet")


@pytest.fixture
def labels(tmp_path):
    """Return a folder that an earlier run has written."""
    folder = tmp_path / "labels"
    folder.mkdir()
    write_part(folder, 1)
    return folder


def replaced(target: Path, **given) -> None:
    with folder_in_making(target, force=True, **given) as making:
        write_part(making, 2)


def value_in(folder: Path) -> int:
    return pl.read_parquet(folder / "*.parquet")["row"].item()


def test_labels_of_an_earlier_run_are_replaced_by_force_only(labels):
    with pytest.raises(FileError, match="it is there already"), folder_in_making(labels, force=False):
        pass
    assert value_in(labels) == 1
    replaced(labels)
    assert value_in(labels) == 2
    assert os.listdir(labels.parent) == ["labels"]


@pytest.mark.parametrize(
    "put",
    [
        lambda folder: (folder / "thesis.txt").write_text("mine"),
        lambda folder: (folder / "inside").mkdir(),
        lambda folder: pl.DataFrame({"x": [1.0]}).write_parquet(folder / "part-00001.parquet"),
        lambda folder: (folder / "part-00001.parquet").write_text("no Parquet"),
        lambda folder: (
            write_part(folder, 3, number=1) or (folder / "part-00001.parquet").rename(folder / "my.parquet")
        ),
        lambda folder: (folder / "part-00001.parquet").symlink_to(folder / "part-00000.parquet"),
        lambda folder: os.mkfifo(folder / "part-00001.parquet"),
    ],
    ids=["text", "folder", "rows", "damaged", "renamed", "link", "pipe"],
)
def test_a_folder_that_holds_anything_else_is_not_replaced(put, labels):
    put(labels)
    before = sorted(os.listdir(labels))
    with pytest.raises(FileError, match=r"cannot replace .*labels: it holds .*, which .*; write to another folder"):
        replaced(labels)
    assert sorted(os.listdir(labels)) == before
    assert os.listdir(labels.parent) == ["labels"]


def test_what_came_into_the_folder_during_the_run_is_not_lost(labels):
    making = folder_in_making(labels, force=True)
    write_part(making.__enter__(), 2)
    (labels / "thesis.txt").write_text("mine")
    with pytest.raises(FileError, match=r"it holds thesis\.txt"):
        making.__exit__(None, None, None)
    assert (labels / "thesis.txt").read_text() == "mine"
    assert value_in(labels.parent / "labels") == 1


@pytest.mark.parametrize(
    "given",
    [
        lambda labels: labels,
        lambda labels: labels / "part-00000.parquet",
        lambda labels: labels.parent,
        lambda labels: (labels / "part-00000.parquet").as_uri(),
        lambda labels: Path(labels.as_uri()),
        lambda labels: linked(labels.parent / "other", labels),
    ],
    ids=["the folder", "a file in it", "a folder around it", "an address", "its address", "a link to it"],
)
def test_a_folder_that_is_holds_or_lies_in_an_input_is_not_replaced(given, labels):
    with pytest.raises(FileError, match=r"cannot replace .*labels: .* is read from; write to another folder"):
        replaced(labels, inputs=[given(labels)])
    assert value_in(labels) == 1


def linked(link: Path, target: Path) -> Path:
    link.symlink_to(target)
    return link


@pytest.mark.parametrize("failing", [1, 2])
def test_an_interrupt_between_the_renames_puts_the_old_labels_back(failing, labels, monkeypatch):
    rename, calls = os.rename, []

    def interrupted(source, target):
        calls.append(target)
        if len(calls) == failing:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replaced(labels)
    assert value_in(labels) == 1
    assert os.listdir(labels.parent) == ["labels"]


def test_a_key_pressed_while_the_old_folder_has_moved_puts_it_back(labels, monkeypatch):
    rename = os.rename

    def pressed(source, target):
        rename(source, target)
        if Path(source) == labels:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "rename", pressed)
    with pytest.raises(KeyboardInterrupt):
        replaced(labels)
    assert value_in(labels) == 1
    assert os.listdir(labels.parent) == ["labels"]


def test_behind_a_link_the_folder_that_it_leads_to_is_written(labels, tmp_path):
    link = linked(tmp_path / "link", labels)
    replaced(link)
    assert link.is_symlink()
    assert value_in(labels) == 2
    assert sorted(os.listdir(tmp_path)) == ["labels", "link"]
    linked(tmp_path / "loop", tmp_path / "loop")
    with pytest.raises(FileError, match="leads back to itself"):
        replaced(tmp_path / "loop")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("by", ["folder", "pattern", "address"])
def test_what_is_no_file_in_a_folder_is_refused_and_not_waited_for(kind, by, tmp_path):
    pl.DataFrame({"x": [1.0]}).write_parquet(tmp_path / "a.parquet")
    odd = tmp_path / "b.parquet"
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](odd)
    given = {"folder": tmp_path, "pattern": tmp_path / "*.parquet", "address": Path(tmp_path.as_uri())}[by]
    with pytest.raises(FileError, match=r"b\.parquet is a (pipe or a device|folder), not a file of Parquet"):
        Folder.open(given, Request(None, None, [], [], ()))


@pytest.mark.parametrize("n_files", [1, 3])
def test_a_folder_without_rows_is_refused(n_files, tmp_path):
    for number in range(n_files):
        pl.DataFrame({"x": []}, schema={"x": pl.Float64}).write_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(FileError, match="has no rows"):
        Folder.open(tmp_path, Request(None, None, [], [], ()))
