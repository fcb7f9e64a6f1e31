"""What the command line reads is what the files say, and what it says is in its own words."""

import json
import signal
import sqlite3
import sys
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

import konstrain.experiments
from command_line import konstrain as run
from command_line import run_script, start
from konstrain._messages import term, using_terms
from konstrain.cli import main, running
from konstrain.cli.running import OPTIONS
from konstrain.estimators._conventions import warn_not_converged
from konstrain.experiments import run_experiment
from konstrain.experiments.store import VERSION, open_store
from toy_experiments import incomplete, toy

ROWS = "name,x,y\nanna,1,2\nbert,1.5,2\ncarl,9,9\ndora,8,9\n"
HASHED = "id,x\n#1,0\n#2,1\n#3,5.4\n#4,9\n#5,10\n"


def fitted(folder, *options, k=2):
    """Run `fit` and return its summary."""
    done = run("fit", *options, "-k", k, "--json", folder=folder)
    assert done.code == 0, done.err
    return json.loads(done.out) | {"err": done.err}


def refused(folder, *arguments, code=2):
    """Run a command that ends with one line and no new file; returns the line."""
    before = sorted(path.name for path in folder.iterdir())
    done = run(*arguments, folder=folder)
    assert (done.code, done.out) == (code, ""), done
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before
    return done.err


def test_a_name_with_brackets_is_no_pattern(tmp_path):
    (tmp_path / "data[1].csv").write_text("x\n1\n2\n9\n")
    (tmp_path / "data1.csv").write_text("x\n1\n2\n9\n10\n")
    assert fitted(tmp_path, "data[1].csv")["n_samples"] == 3
    assert "cannot read data*.csv: No such file" in refused(tmp_path, "fit", "data*.csv", "-k", 2)


@pytest.mark.parametrize("blank", ['""', "", "NA", "-1"])
def test_rows_without_a_group_are_not_tied_together(tmp_path, blank):
    lines = [f"{x},{team}" for x, team in zip((0, 1, 9, 10), ("a", blank, blank, "a"), strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["x,team", *lines]))
    found = fitted(tmp_path, "d.csv", "--group", "team")
    assert found["n_must_link"] == 1
    assert ("'NA' in 2 rows is read as no value" in found["err"]) == (blank == "NA")


def test_links_on_ids_that_begin_with_a_hash_are_kept_and_come_back_from_suggest(tmp_path):
    (tmp_path / "d.csv").write_text(HASHED)
    (tmp_path / "ml.csv").write_text("#1,#5\n")
    assert fitted(tmp_path, "d.csv", "--id", "id", "--must-link", "ml.csv")["n_must_link"] == 1
    run("suggest", "d.csv", "--id", "id", "-k", 2, "--ask", 2, "-o", "ask.csv", folder=tmp_path)
    asked = (tmp_path / "ask.csv").read_text()
    (tmp_path / "ask.csv").write_text(asked.replace(",\n", ",must\n"))
    found = fitted(tmp_path, "d.csv", "--id", "id", "--answers", "ask.csv")
    assert found["n_must_link"] == asked.count("\n") - 1 > 0


def test_labels_that_differ_in_writing_are_different_clusters_to_certify(tmp_path):
    (tmp_path / "d.csv").write_text("x\n0\n1\n9\n10\n")
    (tmp_path / "l.csv").write_text("row,label\n0,01\n1,01\n2,1\n3,1\n")
    done = run("certify", "d.csv", "l.csv", "--json", folder=tmp_path)
    assert (done.code, json.loads(done.out)["cost"]) == (0, pytest.approx(1.0))


def test_a_row_without_a_class_is_refused_before_any_work(tmp_path):
    (tmp_path / "d.csv").write_text("x,kind\n1,a\n2,\n9,b\n")
    line = refused(tmp_path, "fit", "d.csv", "-k", 2, "--label", "kind", "-o", "labels.csv")
    assert "d.csv, row 1, column 'kind' has no class; fill it in, or leave the column out with --ignore kind" in line


@pytest.mark.parametrize("option", ["--demand", "--weight"])
def test_decimals_and_truth_values_count(tmp_path, option):
    frame = pl.DataFrame(
        {
            "x": [0.0, 1.0, 9.0, 10.0],
            "d": pl.Series([Decimal("1.5")] * 4),
            "b": [True, True, None, True],
            "t": [True] * 4,
        }
    )
    frame.write_parquet(tmp_path / "d.parquet")
    assert fitted(tmp_path, "d.parquet", option, "d", "--ignore", "b,t")["sse"] > 0
    assert fitted(tmp_path, "d.parquet", option, "t", "--ignore", "b,d")["sse"] == pytest.approx(1.0)
    words = "d.parquet, row 2, column 'b' has no value"
    assert words in refused(tmp_path, "fit", "d.parquet", "-k", 2, option, "b", "--ignore", "d,t")


def test_a_dead_end_of_a_greedy_method_is_told_in_options(tmp_path):
    # A five-cycle of cannot-links in three clusters: some orders of the rows leave a row nowhere to go.
    rng = np.random.default_rng(0)
    pl.DataFrame(rng.random((40, 2)), schema=["x", "y"]).write_csv(tmp_path / "d.csv")
    pairs = {tuple(sorted(rng.choice(40, 2, replace=False).tolist())) for _ in range(110)}
    (tmp_path / "cl.csv").write_text("".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    line = refused(tmp_path, "fit", "d.csv", "-k", 5, "--method", "cop-kmeans", "--cannot-link", "cl.csv")
    assert "has no cluster left for row" in line
    assert (
        "Another start or order may succeed (--n-init, --seed); --method constrained-kmeans keeps all links" in line
    )


def test_the_library_advises_in_options():
    def warned():
        with pytest.warns(ConvergenceWarning) as record:
            warn_not_converged(300)
        return str(record[0].message)

    assert warned() == "the best run did not converge within max_iter=300 iterations; raise max_iter"
    with using_terms(options=OPTIONS):
        assert warned() == "the best run did not converge within 300 iterations"
        assert (term("random_state"), term("n_clusters", 3)) == ("--seed", "-k 3")


@pytest.mark.parametrize("verb", ["run", "report"])
def test_files_of_results_that_cannot_be_used_are_refused_in_words(tmp_path, verb):
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at\n" * 50)
    with open_store(tmp_path / "cut.db"):
        pass
    (tmp_path / "cut.db").write_bytes((tmp_path / "cut.db").read_bytes()[:5000])
    with sqlite3.connect(tmp_path / "older.db") as older:
        older.execute("CREATE TABLE rows (experiment TEXT, key TEXT)")
    older.close()
    with sqlite3.connect(tmp_path / "newer.db") as newer:
        newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()
    (tmp_path / "folder.db").mkdir()
    for name, words in (
        ("text.db", "text.db is damaged, or is no file of results; give another one with --results"),
        ("cut.db", "cut.db is damaged, or is no file of results"),
        ("older.db", "older.db was written by another version of konstrain"),
        ("newer.db", "newer.db was written by a newer version of konstrain"),
        ("folder.db", "cannot use folder.db: unable to open database file"),
        *([("text.db/x.db", "cannot use text.db/x.db: ")] if verb == "run" else []),
    ):
        assert words in refused(tmp_path, "bench", verb, "jia2023", "--results", name)


def test_results_on_a_full_disk_end_with_one_line(tmp_path):
    process = start("bench", "run", "jia2023", "--quick", folder=tmp_path, largest_file=3_000)
    process.join(120)
    err = (tmp_path / ".err").read_text()
    assert process.exitcode == 2
    assert err.startswith("konstrain: cannot use konstrain-bench.db: ")
    assert err.count("\n") == 1


def test_bench_names_the_data_that_are_not_there(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(konstrain.experiments, "PAPERS", {"toy": incomplete()})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["konstrain", "bench", "run", "toy", "--quick"])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 2
    said = capfd.readouterr()
    assert said.out.startswith("8 rows of the quick form, out of 16 in all: 0 were there, 4 done now")
    assert said.err == (
        "4 skipped without the data of absent. data set 'absent' cannot be had here; None has no absent.csv\n"
    )


def test_an_interrupted_run_of_experiments_tells_what_is_kept(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(konstrain.experiments, "PAPERS", {"toy": toy()})
    monkeypatch.setattr(running, "interrupts", running.Interrupts())
    monkeypatch.setattr("konstrain.cli.bench.interrupts", running.interrupts)
    monkeypatch.chdir(tmp_path)

    def run_some(name, *, quick, **options):
        run_experiment(name, quick=True, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(konstrain.experiments, "run_experiment", run_some)
    monkeypatch.setattr(sys, "argv", ["konstrain", "bench", "run", "toy"])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130
    assert capfd.readouterr().err.splitlines()[-1] == (
        "konstrain: interrupted; 4 of 24 rows are kept; the same command goes on with the others; "
        "wrote konstrain-bench.db"
    )


def test_a_terminal_without_an_umlaut_shows_the_rest(tmp_path):
    (tmp_path / "d.csv").write_text("name,x\nJürgen,1\nAnna,2\nBert,9\n")
    (tmp_path / "ml.csv").write_text("Jürgen,Bert\n")
    options = ("--id", "name", "-k", 2, "--must-link", "ml.csv", "-o", "o.csv")
    done = run_script("fit", "d.csv", *options, folder=tmp_path, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert r"must-link J\xfcrgen, Bert" in done.out
    done = run_script("suggest", "d.csv", "--id", "name", "-k", 2, folder=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.code, done.out) == (2, "")
    assert "cannot be printed here; write the pairs to a file with -o" in done.err


def test_pictures_show_names_as_they_are(tmp_path):
    (tmp_path / "d.csv").write_text("$a$b$,cost $,name\n1,2,$1$\n2,1,x\n9,9,y\n")
    (tmp_path / "l.csv").write_text("name,label\n$1$,$a$\nx,$a$\ny,$b_$\n")
    for kind in ("clusters", "sizes", "silhouette"):
        done = run("plot", "d.csv", "l.csv", "--id", "name", "--kind", kind, "-o", f"{kind}.svg", folder=tmp_path)
        assert (done.code, done.err) == (0, "")
    assert "<!-- $a$b$ -->" in (tmp_path / "clusters.svg").read_text()
    for kind in ("sizes", "silhouette"):
        assert "<!-- $b_$ -->" in (tmp_path / f"{kind}.svg").read_text()


def test_the_picture_of_a_clash_speaks_of_options_and_ids(tmp_path):
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "cl.csv").write_text("anna,bert\nbert,carl\nanna,carl\n")
    options = ("--id", "name", "--cannot-link", "cl.csv", "--plot", "p.svg")
    assert run("check", "d.csv", "-k", 2, *options, folder=tmp_path).code == 3
    drawn = (tmp_path / "p.svg").read_text()
    assert "n_clusters" not in drawn
    assert "<!-- anna -->" in drawn
    assert "<!-- carl -->" in drawn


def test_no_two_outputs_are_one_file(tmp_path):
    (tmp_path / "d.csv").write_text(ROWS)
    both = ("--plot", "p.png", "--plot-bounds", "./p.png")
    assert "p.png would be written twice" in refused(tmp_path, "exact", "d.csv", "--id", "name", "-k", 2, *both)


def test_columns_with_commas_are_named_in_quotes(tmp_path):
    (tmp_path / "d.csv").write_text('"a,b",c,d\n1,2,u\n2,1,v\n9,9,w\n')
    assert fitted(tmp_path, "d.csv", "--columns", '"a,b",c')["features"] == ["a,b", "c"]
    assert "--columns names no column" in refused(tmp_path, "fit", "d.csv", "-k", 2, "--columns", ",")


def test_constant_features_become_zero_and_huge_ones_are_scaled(tmp_path):
    lines = [f"{x},0.1,{x}e200" for x in (0, 1, 9, 10)]
    (tmp_path / "d.csv").write_text("\n".join(["x,same,huge", *lines]))
    one = fitted(tmp_path, "d.csv", "--standardize", "--columns", "x")["sse"]
    assert fitted(tmp_path, "d.csv", "--standardize")["sse"] == pytest.approx(2 * one)
