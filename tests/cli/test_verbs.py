"""Every verb, run as a process on real files."""

import json
import struct
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from command_line import konstrain, run_script
from konstrain import count_violations

IRIS = load_iris()


@pytest.fixture
def folder(tmp_path):
    """Return a folder with Iris as CSV, with names of flowers, species and links."""
    frame = pl.DataFrame(IRIS.data, schema=["sl", "sw", "pl", "pw"]).with_columns(
        name=pl.Series([f"flower{i}" for i in range(150)]), species=pl.Series(IRIS.target_names[IRIS.target])
    )
    frame.write_csv(tmp_path / "iris.csv")
    (tmp_path / "ml.csv").write_text("a,b\nflower0,flower1\nflower50,flower120\n")
    (tmp_path / "cl.csv").write_text("flower70,flower52\n")
    return tmp_path


IRIS_FILE = ("iris.csv", "--id", "name", "--label", "species")
LINKS = ("--must-link", "ml.csv", "--cannot-link", "cl.csv")
PAIRS = {"must_link": [(0, 1), (50, 120)], "cannot_link": [(70, 52)]}


def test_fit_keeps_links_and_sizes_and_writes_labels_beside_ids(folder):
    done = konstrain("fit", *IRIS_FILE, "-k", 3, *LINKS, "--size-min", "45,46,47", "-o", "out.csv", folder=folder)
    assert (done.code, done.err) == (0, "")
    assert "150 rows in 3 clusters" in done.out
    assert "2 must-links (all kept), 1 cannot-link (all kept)" in done.out
    assert "agreement with the true classes (ARI)" in done.out
    written = pl.read_csv(folder / "out.csv")
    assert written.columns == ["name", "label", "distance"]
    assert written["name"].to_list() == [f"flower{i}" for i in range(150)]
    labels = written["label"].to_numpy()
    assert count_violations(labels, **PAIRS).total == 0
    assert (np.bincount(labels) >= [45, 46, 47]).all()
    centers = np.stack([IRIS.data[labels == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(written["distance"], np.linalg.norm(IRIS.data - centers[labels], axis=1))


def test_fit_prints_json_and_the_same_answer_for_the_same_seed(folder):
    first, second = (
        json.loads(konstrain("fit", *IRIS_FILE, "-k", 3, "--json", "--seed", 3, folder=folder).out) for _ in range(2)
    )
    assert first["sizes"] == second["sizes"]
    assert first["sse"] == second["sse"] == pytest.approx(78.851441)
    assert first["features"] == ["sl", "sw", "pl", "pw"]
    assert first["violations"] == {"must_link": 0, "cannot_link": 0}


def test_fit_standardizes_groups_and_counts_demand(folder):
    groups = ["g" if i % 50 == 0 else None for i in range(150)]
    pl.read_csv(folder / "iris.csv").with_columns(
        need=pl.Series(1.0 + (np.arange(150) % 3)), team=pl.Series(groups)
    ).write_parquet(folder / "more.parquet")
    options = ("--ignore", "species", "--id", "name", "--demand", "need", "--group", "team", "--size-max", 110)
    done = konstrain("fit", "more.parquet", "-k", 3, "--standardize", *options, "--json", folder=folder)
    found = json.loads(done.out)
    assert sum(found["sizes"]) == 300
    assert max(found["sizes"]) <= 110
    assert found["n_must_link"] == 2
    scaled = (IRIS.data - IRIS.data.mean(axis=0)) / IRIS.data.std(axis=0)
    assert found["sse"] < ((scaled - scaled.mean(axis=0)) ** 2).sum()


def test_a_method_that_knows_no_constraints_says_so(folder):
    done = konstrain("fit", *IRIS_FILE, "-k", 3, "--method", "kmeans", "--size-min", 49, folder=folder)
    assert done.code == 0
    assert "note: kmeans has no size-min" in done.err
    assert "out of bounds" in done.out


def test_exact_proves_and_certify_confirms(folder):
    pl.read_csv(folder / "iris.csv").gather_every(3).write_csv(folder / "few.csv")
    rows = ("few.csv", "--id", "name", "--ignore", "species")
    done = konstrain(
        "exact", *rows, "-k", 3, "-o", "best.parquet", "--json", "--plot-bounds", "bounds.png", folder=folder
    )
    assert done.code == 0
    assert min(size_of_png(folder / "bounds.png")) > 300
    best = json.loads(done.out)
    assert best["gap"] <= 1e-6
    done = konstrain("certify", rows[0], "best.parquet", *rows[1:], "--json", folder=folder)
    assert done.code == 0
    proof = json.loads(done.out)
    assert proof["is_optimal"]
    assert proof["cost"] == pytest.approx(best["sse"])
    assert proof["prover"] == "columns"


def test_a_fit_in_the_plane_is_certified_as_a_whole(folder):
    rows = pl.DataFrame(np.random.default_rng(1).normal(size=(950, 2)), schema=["x", "y"])
    rows.write_csv(folder / "plane.csv")
    done = konstrain("fit", "plane.csv", "-k", 12, "--certify", 1, "-o", "l.csv", folder=folder)
    assert "no clustering under these constraints is below" in done.out
    assert "bound by parts" not in done.err


def test_exact_out_of_time_ends_with_4_and_the_best_so_far(folder):
    rows = pl.DataFrame(np.random.default_rng(0).random((120, 5)), schema=list("vwxyz"))
    rows.write_csv(folder / "random.csv")
    limits = ("--time-limit", 2, "--gap", 1e-9, "--size-min", 17)
    done = konstrain("exact", "random.csv", "-k", 7, *limits, "-o", "best.csv", folder=folder)
    assert done.code == 4
    assert "before the optimum was proved" in done.err
    assert "no clustering under these constraints is below" in done.out
    assert np.bincount(pl.read_csv(folder / "best.csv")["label"]).min() >= 17
    done = konstrain("certify", "random.csv", "best.csv", *limits, folder=folder)
    assert done.code == 4
    assert "not proved optimal within 2 s" in done.out


def test_certify_tells_labels_that_are_not_the_best(folder):
    pl.DataFrame({"name": [f"flower{i}" for i in range(150)], "label": np.arange(150) % 3}).write_csv(
        folder / "l.csv"
    )
    done = konstrain("certify", *IRIS_FILE[:3], "l.csv", "--ignore", "species", folder=folder)
    assert done.code == 4
    assert "not optimal: one of 78.8514 was found; --better FILE writes its labels" in done.out
    assert not (folder / "better.csv").exists()
    done = konstrain(
        "certify", *IRIS_FILE[:3], "l.csv", "--ignore", "species", "--better", "better.csv", folder=folder
    )
    assert "78.8514 was found; wrote better.csv" in done.out
    again = konstrain("certify", *IRIS_FILE[:3], "better.csv", "--ignore", "species", folder=folder)
    assert again.code == 0
    assert "SSE of better.csv: 78.8514" in again.out
    for name in ("better.doc", "l.csv"):
        refused = konstrain("certify", *IRIS_FILE[:3], "l.csv", "--better", name, folder=folder)
        assert refused.code == 2


def test_certify_writes_better_labels_of_many_rows(many_rows):
    labels = pl.read_csv(many_rows / "truth.csv")
    labels[:30].with_columns(label=(pl.col("label") + 1) % 3).extend(labels[30:]).write_csv(many_rows / "l.csv")
    options = ("--gap", 0.02, "--part-size", 100, "--better", "better.csv")
    done = konstrain("certify", "many.csv", "l.csv", *options, folder=many_rows)
    assert done.code == 4
    assert "wrote better.csv" in done.out
    assert konstrain("certify", "many.csv", "better.csv", *options[:4], folder=many_rows).code == 0


@pytest.fixture
def many_rows(tmp_path):
    """A file of more rows than one bound can take together, and labels of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1000)
    X = rng.normal(size=(1000, 2)) + 9.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    pl.DataFrame(X, schema=["x", "y"]).write_csv(tmp_path / "many.csv")
    pl.DataFrame({"row": np.arange(1000), "label": truth}).write_csv(tmp_path / "truth.csv")
    return tmp_path


def test_certify_bounds_many_rows_by_parts_and_keeps_them(many_rows):
    options = ("--gap", 0.02, "--part-size", 100, "--resume", "parts.jsonl", "--size-min", 10)
    command = ("certify", "many.csv", "truth.csv", *options)
    done = konstrain(*command, folder=many_rows)
    assert done.code == 0
    assert "bound by parts: 10 of 10 done, up to 100 blocks each" in done.out
    assert "not seen by the bound: size-min" in done.out
    assert len((many_rows / "parts.jsonl").read_text().splitlines()) == 11
    proof = json.loads(konstrain(*command, "--json", folder=many_rows).out)
    assert proof["n_parts"] == proof["n_nodes"] == 10
    assert proof["gap"] == proof["projected_gap"] < 0.02
    assert proof["left_out"] == ["size_min"]


def test_certify_out_of_time_tells_what_is_proved_and_what_is_estimated(many_rows):
    done = konstrain("certify", "many.csv", "truth.csv", "--part-size", 100, "--time-limit", 0, folder=many_rows)
    assert done.code == 4
    assert "gap 1\n" in done.out
    assert "bound by parts: 0 of 10 done" in done.out
    assert "estimate, not proved" in done.out


def test_fit_certifies_soft_links_with_their_price(folder):
    (folder / "soft.csv").write_text("flower0,flower100,0.5\nflower1,flower2,0.5\n")
    done = konstrain("fit", *IRIS_FILE, "-k", 3, "--must-link", "soft.csv", "--certify", 30, folder=folder)
    assert done.code == 0
    assert "note: with broken soft links" in done.err
    assert "no clustering under these constraints is below" in done.err


def test_suggested_pairs_are_printed_as_csv(tmp_path):
    (tmp_path / "d.csv").write_text('name,x\n"Doe, John",1\nanna,2\nbert,9\n')
    done = konstrain("suggest", "d.csv", "--id", "name", "-k", 2, "--ask", 1, folder=tmp_path)
    assert '"Doe, John"' in done.out


def test_check_tells_what_constraints_imply(folder):
    done = konstrain("check", *IRIS_FILE, "-k", 3, *LINKS, "--size-min", 45, folder=folder)
    assert (done.code, done.err) == (0, "")
    assert "feasible: 150 rows, 3 clusters" in done.out
    assert "blocks: 148" in done.out


def test_suggested_pairs_are_answered_and_given_back(folder):
    asked = konstrain("suggest", *IRIS_FILE, "-k", 3, "--ask", 4, "-o", "ask.csv", folder=folder)
    assert asked.code == 0
    lines = (folder / "ask.csv").read_text().splitlines()
    assert lines[0] == "a,b,answer"
    assert len(lines) == 5
    answers = [lines[0], f"{lines[1]}must", f"{lines[2]}cannot", *lines[3:]]
    (folder / "ask.csv").write_text("\n".join(answers))
    done = konstrain("fit", *IRIS_FILE, "-k", 3, "--answers", "ask.csv", "--json", folder=folder)
    found = json.loads(done.out)
    assert (found["n_must_link"], found["n_cannot_link"]) == (1, 1)
    again = konstrain("suggest", *IRIS_FILE, "-k", 3, "--answers", "ask.csv", "--json", folder=folder)
    assert set(map(tuple, json.loads(again.out)["pairs"])).isdisjoint(
        {tuple(line.split(",")[:2]) for line in lines[1:3]}
    )


def test_without_a_number_of_clusters_questions_look_for_it(tmp_path):
    (tmp_path / "d.csv").write_text("x\n1\n2\n9\n10\n20\n21\n")
    done = konstrain("suggest", "d.csv", "--ask", 1, "--json", folder=tmp_path)
    assert (done.code, len(json.loads(done.out)["pairs"])) == (0, 1)


def test_a_doubtful_answer_is_asked_once_more_with_noise(tmp_path):
    (tmp_path / "d.csv").write_text("x\n" + "\n".join(map(str, [*range(10), *range(90, 100)])))
    (tmp_path / "said.csv").write_text("a,b,answer\n0,1,must\n10,11,must\n4,14,cannot\n0,19,must\n")
    asked = {}
    for noise in (0.0, 0.1):
        options = ("-k", 2, "--ask", 1, "--answers", "said.csv", "--noise", noise, "--json")
        asked[noise] = json.loads(konstrain("suggest", "d.csv", *options, folder=tmp_path).out)["pairs"]
    assert asked[0.1] == [["0", "19"]] or asked[0.1] == [[0, 19]]
    assert asked[0.0] != asked[0.1]


@pytest.mark.parametrize("kind", ["clusters", "sizes", "silhouette"])
def test_plot_draws_labels_of_a_file(folder, kind):
    pl.DataFrame({"name": [f"flower{i}" for i in range(150)], "label": IRIS.target}).reverse().write_csv(
        folder / "labels.csv"
    )
    done = konstrain(
        "plot", "iris.csv", "labels.csv", *IRIS_FILE[1:], *LINKS, "--kind", kind, "-o", "p.png", folder=folder
    )
    assert (done.code, done.out) == (0, "wrote p.png\n")
    assert min(size_of_png(folder / "p.png")) > 300


def test_two_columns_are_drawn_under_their_names(tmp_path):
    (tmp_path / "d.csv").write_text("east,north\n1,2\n2,1\n9,9\n")
    assert konstrain("fit", "d.csv", "-k", 2, "--plot", "p.svg", folder=tmp_path).code == 0
    drawn = (tmp_path / "p.svg").read_text()
    assert "<!-- east -->" in drawn
    assert "<!-- north -->" in drawn


def test_demo_reports_and_draws(tmp_path):
    done = konstrain("demo", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "contradicts must-link path 0-7-60-99" in done.out
    assert "with links, 45 to 55 each" in done.out
    assert min(size_of_png(tmp_path / "konstrain-demo.png")) > 300


def test_version_is_an_option_too(tmp_path):
    done = konstrain("--version", folder=tmp_path)
    assert (done.code, done.out) == (0, f"konstrain {version('konstrain')}\n")


def test_help_tells_defaults_and_breaks_no_line_within_a_paragraph(tmp_path):
    done = run_script("exact", "--help", folder=tmp_path, COLUMNS="200")
    assert "Features, separated by commas. (default: all others)" in done.out
    assert "Ctrl-C prints the bounds so far and writes nothing" in done.out


def test_methods_are_listed(tmp_path):
    done = konstrain("methods", folder=tmp_path)
    assert done.code == 0
    assert "constrained-kmeans" in done.out
    assert "Baumann 2020" in done.out
    assert "exact" in json.loads(konstrain("methods", "--json", folder=tmp_path).out)


def size_of_png(path):
    """Width and height, from the header: that it is there shows that it is a picture."""
    header = path.read_bytes()[:24]
    assert header.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", header[16:24])


def test_bench_lists_and_refuses_what_is_not_there(tmp_path):
    listed = konstrain("bench", "list", folder=tmp_path)
    assert listed.code == 0
    assert "baumann2020" in listed.out
    done = konstrain("bench", "run", "nobody1900", folder=tmp_path)
    assert done.code == 2
    assert "there is no experiment 'nobody1900'; there are: baumann2020" in done.err
    done = konstrain("bench", "report", "baumann2020", "--results", "none.db", folder=tmp_path)
    assert (done.code, done.out) == (2, "")
    done = konstrain("bench", "run", "jia2023", "--data", "nowhere", folder=tmp_path)
    assert (done.code, done.err) == (2, "konstrain: data names 'nowhere', which is not a folder\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_bench_runs_a_tenth_goes_on_and_reports(tmp_path, data_folder):
    ask = ("bench", "run", "jia2023", "--quick", "--data", str(data_folder / "sets"), "-j", "2")
    done = konstrain(*ask, folder=tmp_path)
    assert done.code == 0, done.err
    assert "0 failed" in done.out + done.err
    again = konstrain(*ask, folder=tmp_path)
    assert " 0 done now" in again.out + again.err
    assert konstrain("bench", "report", "jia2023", "--output", "out", folder=tmp_path).code == 0
    assert {"jia2023.md", "jia2023.parquet"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.fixture
def customers(tmp_path):
    """Return a folder with 60 customers: two features, sex, revenue and clients."""
    rng = np.random.default_rng(0)
    sex = np.array(["F", "M", "M"] * 20)
    frame = pl.DataFrame(rng.normal(size=(60, 2)) + (sex == "F")[:, None], schema=["x", "y"]).with_columns(
        sex=pl.Series(sex),
        revenue=pl.Series(rng.uniform(1, 9, 60).round(1)),
        clients=pl.Series(rng.integers(1, 5, 60)),
    )
    frame.write_csv(tmp_path / "customers.csv")
    return tmp_path


SHARES = ("--columns", "x,y", "--category", "sex", "--share-min", "F=0.3", "--share-max", "F=0.4")


def test_fit_keeps_shares_and_plot_draws_them(customers):
    done = konstrain("fit", "customers.csv", "-k", 3, *SHARES, "-o", "out.csv", "-q", folder=customers)
    assert done.code == 0, done.err
    assert "cluster share of sex=F" in done.out
    labels = pl.read_csv(customers / "out.csv")["label"].to_numpy()
    sex = pl.read_csv(customers / "customers.csv")["sex"].to_numpy()
    for j in range(3):
        assert 0.3 <= (sex[labels == j] == "F").mean() <= 0.4
    drawn = konstrain(
        "plot", "customers.csv", "out.csv", "--kind", "shares", *SHARES, "-o", "shares.png", folder=customers
    )
    assert (drawn.code, drawn.out) == (0, "wrote shares.png\n")


def test_fit_keeps_several_demands(customers):
    sizes = ("--size-max", "130,60")
    options = ("--columns", "x,y", "--demand", "revenue,clients", *sizes, "--json", "-q")
    done = konstrain("fit", "customers.csv", "-k", 3, *options, folder=customers)
    held = {rule["about"]: rule["values"] for rule in json.loads(done.out)["held"]}
    assert max(held["revenue"]) <= 130
    assert max(held["clients"]) <= 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--category", "sex", "--share-min", "X=0.3"), "--share-min names 'X', but no row of sex has it"),
        (("--share-tolerance", "0.1"), "--share-tolerance is about groups of rows: give category"),
        (("--category", "sex", "--share-min", "F=0.9"), "--share-min"),
        (("--demand", "revenue,clients", "--size-max", "130"), "has 1 size for 2 columns of --demand"),
    ],
)
def test_shares_and_demands_that_cannot_be_are_told_in_one_line(customers, options, words):
    done = konstrain("fit", "customers.csv", "-k", 3, "--columns", "x,y", *options, "-q", folder=customers)
    assert done.code != 0
    assert words in done.err


def test_directions_are_clustered_saved_and_predicted(tmp_path):
    rng = np.random.default_rng(0)
    angles = np.repeat([0.1, 0.8, 1.5], 12) + rng.normal(0, 0.02, 36)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    lengths = rng.choice([0.01, 1.0, 100.0], 36)
    rows = [f"r{i},{x},{y}" for i, (x, y) in enumerate(lengths[:, None] * X)]
    (tmp_path / "data.csv").write_text("\n".join(["name,x,y", *rows, ""]))
    options = ["--id", "name", "-k", "3", "--metric", "cosine"]
    done = konstrain("fit", "data.csv", *options, "-o", "l.csv", "--save", "m.joblib", "--json", folder=tmp_path)
    labels = pl.read_csv(tmp_path / "l.csv")
    found = labels["label"].to_numpy()
    assert [len(set(found[i : i + 12])) for i in (0, 12, 24)] == [1, 1, 1]
    centers = np.array([X[found == c].sum(axis=0) for c in range(3)])
    centers /= np.linalg.norm(centers, axis=1)[:, None]
    np.testing.assert_allclose(labels["distance"], np.linalg.norm(X - centers[found], axis=1), rtol=1e-6)
    assert json.loads(done.out)["sse"] == pytest.approx(2 * (1 - (X * centers[found]).sum(axis=1)).sum())
    konstrain("predict", "data.csv", "--model", "m.joblib", "--trust", "-o", "again.csv", folder=tmp_path)
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "l.csv").read_text()
    (tmp_path / "data.csv").write_text("\n".join(["name,x,y", *rows, "nowhere,0,0", ""]))
    assert (
        "these rows have length zero, or nearly: nowhere"
        in konstrain("fit", "data.csv", *options, folder=tmp_path).err
    )
    refused = konstrain("fit", "data.csv", *options, "--certify", "1", folder=tmp_path)
    assert "no lower bound for --metric cosine yet" in refused.err
