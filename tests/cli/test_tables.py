"""A table as people have it, from the first command to labels of new rows."""

import csv
import json
import re
import shlex
import subprocess

import numpy as np
import polars as pl
import pytest

from command_line import SCRIPT, konstrain

PLANS, CITIES = ["free", "gold"], ["Köln", "Oslo"]


def shop(folder, name="shop.csv", n=40, missing=(), encoding="utf-8", first=0):
    """Write customers of two kinds; returns the kind of each."""
    rng = np.random.default_rng(first)
    lines = ["CustomerID;name;age;income;city;plan;since"]
    kinds = [i % 2 for i in range(n)]
    for i, kind in enumerate(kinds):
        age = "" if i in missing else f"{25 + 30 * kind + rng.normal():.0f}"
        income = f"{20_000 + 40_000 * kind + 900 * rng.normal():.2f}".replace(".", ",")
        day = f"{1 + i % 27:02d}.0{1 + 5 * kind}.2021"
        lines.append(f"{1000 + 7 * (i + first)};p{i + first};{age};{income};{CITIES[kind]};{PLANS[kind]};{day}")
    (folder / name).write_bytes("\n".join([*lines, ""]).encode(encoding))
    return kinds


def rows_of(path):
    lines = path.read_text().splitlines()
    return list(csv.DictReader(lines, delimiter=";" if ";" in lines[0] else ","))


def labels_of(path):
    return [int(row["label"]) for row in rows_of(path)]


def are_the_same(labels, kinds):
    return labels in (kinds, [1 - kind for kind in kinds])


def test_a_mixed_table_is_clustered_and_every_decision_is_said_in_one_line(tmp_path):
    kinds = shop(tmp_path)
    done = konstrain("fit", "shop.csv", "-k", 2, "-o", "labels.csv", folder=tmp_path)
    assert done.code == 0, done
    assert are_the_same(labels_of(tmp_path / "labels.csv"), kinds)
    for words in (
        r"numbers have decimal commas: '\d+,\d+' is read as",
        "column 'CustomerID' seems to be an identifier",
        "column 'name' is text with 40 different values: left out",
        r"column 'since' holds dates \(31.12.2024\): counted in days",
        "text with few values as 0/1 columns, one per value: 'city', 'plan'",
        "spreads differ by more than 100 .*--no-standardize",
    ):
        assert len(re.findall(f"^note: .*{words}", done.err, flags=re.MULTILINE)) == 1, words
    assert re.search(r"city=(Köln|Oslo) 100%", done.out)
    assert "silhouette" in done.out
    assert re.search(r"center +age +income +city +plan +since", done.out)


def test_missing_values_are_refused_together_dropped_or_filled_in(tmp_path):
    kinds = shop(tmp_path, missing=(3, 8))
    refused = konstrain("fit", "shop.csv", "-k", 2, "-q", folder=tmp_path)
    assert refused.code == 2
    assert "values are missing in 2 of 40 rows, first in row 3; 'age' 2; --missing drop" in refused.err
    (tmp_path / "links.csv").write_text("who,whom\np3,p5\np0,p2\n")
    options = ("--id", "name", "--must-link", "links.csv", "-o", "out.csv")
    dropped = konstrain("fit", "shop.csv", "-k", 2, *options, "--missing", "drop", "--join", folder=tmp_path)
    assert dropped.code == 0, dropped
    assert "note: 2 rows of 40 left out: values are missing" in dropped.err
    assert "note: rows that are left out have 1 link: only what they imply between other rows counts" in dropped.err
    assert "links.csv, line 1 is read as a header" in dropped.err
    rows = rows_of(tmp_path / "out.csv")
    assert [i for i, row in enumerate(rows) if row["label"] == ""] == [3, 8]
    assert rows[4]["since"] == "05.01.2021"
    filled = konstrain("fit", "shop.csv", "-k", 2, *options, "--missing", "median", folder=tmp_path)
    assert filled.code == 0, filled
    assert are_the_same(labels_of(tmp_path / "out.csv"), kinds)


def test_a_saved_model_does_about_empty_cells_of_new_rows_what_the_fit_did(tmp_path):
    (tmp_path / "rows.csv").write_text("name,value\na,0\nb,\nc,1\nd,50\ne,51\nf,52\ng,2\n")
    for missing, n_rows in (("median", 7), ("drop", 6)):
        fitted = ("fit", "rows.csv", "-k", 2, "--id", "name", "--missing", missing, "--save", "m.joblib")
        assert konstrain(*fitted, folder=tmp_path).code == 0
        predicted = ("predict", "rows.csv", "--model", "m.joblib", "--trust", "--id", "name", "--json")
        assert json.loads(konstrain(*predicted, folder=tmp_path).out)["n_samples"] == n_rows
        assert "--missing drop leaves" in konstrain(*predicted, "--missing", "error", folder=tmp_path).err


@pytest.mark.parametrize("tied", [("--must-link", "must.csv", "--ignore", "team"), ("--group", "team")])
def test_what_links_of_a_row_that_is_left_out_imply_between_the_others_is_kept(tmp_path, tied):
    # b and c are tied to x, whose value is missing; left to themselves they would go to the two ends.
    rows = ["a,0,", "b,1,g", "x,,g", "c,9,g", "d,10,"]
    (tmp_path / "rows.csv").write_text("\n".join(["name,value,team", *rows, ""]))
    (tmp_path / "must.csv").write_text("b,x\nx,c\n")
    (tmp_path / "cannot.csv").write_text("x,d\n")
    options = ("--id", "name", "--missing", "drop", *tied, "--cannot-link", "cannot.csv", "-o", "out.csv")
    done = konstrain("fit", "rows.csv", "-k", 2, *options, folder=tmp_path)
    assert done.code == 0, done
    assert "rows that are left out have 3 links: only what they imply between other rows counts" in done.err
    _, b, c, d = labels_of(tmp_path / "out.csv")
    assert b == c != d


def test_a_saved_model_labels_new_rows_as_the_fit_would(tmp_path):
    pytest.importorskip("skops")
    shop(tmp_path, encoding="latin1")
    fitted = ("fit", "shop.csv", "-k", 2, "--id", "name", "--encoding", "latin1", "-q")
    assert konstrain(*fitted, "--save", "m.skops", "--save", "m.skops", folder=tmp_path).code == 0
    kinds = shop(tmp_path, "new.csv", n=9, first=50)
    done = konstrain("predict", "new.csv", "--model", "m.skops", "--id", "name", "-o", "new.json", folder=tmp_path)
    assert done.code == 0, done
    assert are_the_same([row["label"] for row in json.loads((tmp_path / "new.json").read_text())], kinds)
    sized = konstrain(
        "predict", "new.csv", "--model", "m.skops", "--size-max", 5, "--size-min", 4, "--json", folder=tmp_path
    )
    assert sorted(json.loads(sized.out)["sizes"]) == [4, 5]
    text = (tmp_path / "new.csv").read_text()
    (tmp_path / "new.csv").write_text(text.replace("gold", "vip").replace(";since", ";day"))
    assert (
        "new.csv has no column 'since'" in konstrain("predict", "new.csv", "--model", "m.skops", folder=tmp_path).err
    )
    (tmp_path / "new.csv").write_text(text.replace("gold", "vip"))
    unseen = konstrain("predict", "new.csv", "--model", "m.skops", folder=tmp_path)
    assert "note: column 'plan': the fit never saw 'vip'; such rows have no value there" in unseen.err
    assert konstrain(*fitted, "--save", "m.joblib", folder=tmp_path).code == 0
    refused = konstrain("predict", "new.csv", "--model", "m.joblib", folder=tmp_path)
    assert refused.code == 2
    assert "is a pickle: opening it may run any program" in refused.err
    assert konstrain("predict", "new.csv", "--model", "m.joblib", "--trust", folder=tmp_path).code == 0


def test_methods_that_cannot_label_new_rows_are_not_saved_and_that_is_said_first(tmp_path):
    shop(tmp_path)
    done = konstrain("fit", "shop.csv", "-k", 2, "--method", "dils", "--save", "m.joblib", folder=tmp_path)
    assert done.code == 2
    assert "dils labels only the rows it was fitted on; leave out --save" in done.err


def test_labels_to_standard_output_leave_the_report_to_the_other_stream(tmp_path):
    shop(tmp_path)
    done = konstrain("fit", "shop.csv", "-k", 2, "-q", "-o", "-", folder=tmp_path)
    assert done.out.splitlines()[0] == "row,label,distance"
    assert len(done.out.splitlines()) == 41
    assert "40 rows in 2 clusters" in done.err


def test_the_page_is_one_file_with_everything_escaped(tmp_path):
    rows = [f"<b>x{i}</b>,{i % 2 * 9 + i / 50},{i % 2 * 7}" for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["name,<script>alert(1)</script>,b&c", *rows, ""]))
    (tmp_path / "cl.csv").write_text("<b>x0</b>,<b>x2</b>\n")
    options = ("--id", "name", "--cannot-link", "cl.csv", "--size-max", 10, "--report", "page.html", "-q")
    done = konstrain("fit", "t.csv", "-k", 2, *options, folder=tmp_path)
    assert done.code == 0, done
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "<b>x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "b&amp;c" in page
    assert "cannot-link &lt;b&gt;x0&lt;/b&gt;, &lt;b&gt;x2&lt;/b&gt;" in page
    assert page.count("<circle") == 20
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_the_page_tells_shares_resources_and_every_note_without_names_of_options(tmp_path):
    shop(tmp_path, missing=(3, 8))
    asked = (
        "--category",
        "plan",
        "--share-min",
        "gold=0.4",
        "--demand",
        "income,CustomerID",
        "--size-max",
        "1e7,30000",
    )
    fit = ("fit", "shop.csv", "-k", 2, "--missing", "median", *asked, "--certify", 0.5, "--report", "page.html")
    done = konstrain(*fit, folder=tmp_path)
    assert done.code == 0, done
    page = (tmp_path / "page.html").read_text()
    for words in (
        "<h3>share of plan=gold</h3>",
        "at least 40.0%",
        "<h3>CustomerID</h3>",
        "at most 30,000",
        "missing values filled in, by median or commonest text: &#x27;age&#x27; 2",
        "not seen by the bound: shares",
        "not seen by the bound: resources",
        "numbers have decimal commas",
    ):
        assert words in page, words
    assert done.err.count("note: ") == len(
        re.findall(r"<p>(?!no clustering|method )[^<]*</p>", page.split("How it")[1])
    )
    # A custom property of the style sheet is no option.
    assert not re.search(r"--[a-z]", re.sub(r"<style>.*?</style>|var\(--\w+\)", "", page, flags=re.DOTALL))


def test_the_page_numbers_its_clusters_and_names_its_axes(tmp_path):
    rows = [f"{i % 12 * 9 + i / 500},{i % 12 % 3 * 7}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["east,north", *rows, ""]))
    assert konstrain("fit", "t.csv", "-k", 12, "--report", "page.html", "-q", folder=tmp_path).code == 0
    page = (tmp_path / "page.html").read_text()
    assert sorted(map(int, re.findall(r'class="name"[^>]*>(\d+)<', page))) == list(range(12))
    assert len(set(re.findall(r'<circle [^>]*fill="([^"]+)"', page))) == 12
    assert "→ east<" in page
    assert "↑ north<" in page


def stops(folder):
    """Write places of four towns around Oslo, by latitude and longitude, and a demand; returns their towns."""
    rng = np.random.default_rng(0)
    towns = np.repeat([[59.91, 10.75], [60.79, 10.69], [59.74, 10.2], [59.28, 11.11]], 10, axis=0)
    places = towns + rng.normal(scale=0.02, size=towns.shape)
    lines = [f"s{i},{lat:.5f},{lon:.5f},{i % 3 + 1}" for i, (lat, lon) in enumerate(places)]
    (folder / "stops.csv").write_text("\n".join(["stop,lat,lon,parcels", *lines, ""]))
    return [i // 10 for i in range(40)]


def test_degrees_are_noted_and_become_kilometres_when_asked_for(tmp_path):
    towns = stops(tmp_path)
    done = konstrain("fit", "stops.csv", "--id", "stop", "--demand", "parcels", "-k", 4, folder=tmp_path)
    assert "degrees are not kilometres" in done.err
    offered = re.search(r"; (--geo \S+) measures", done.err)[1]
    assert offered == "--geo lat,lon"

    asked = ("fit", "stops.csv", "--id", "stop", *offered.split(), "-k", 4, "--save", "m.skops", "--report", "p.html")
    done = konstrain(*asked, "--json", "-o", "labels.csv", folder=tmp_path)
    assert done.code == 0, done
    assert "degrees are not" not in done.err
    assert "distances in kilometres" in done.err
    told = json.loads(done.out)
    assert told["features"] == ["east (km)", "north (km)"]
    labels = labels_of(tmp_path / "labels.csv")
    assert len(set(zip(labels, towns, strict=True))) == 4
    # Each row is about 2.5 km from the middle of its town: 0.02 degrees are 2.2 km north, 1.1 km east.
    assert 40 * 2 < told["sse"] < 40 * 15
    # A kilometre is as long to the east as to the north; each cell is around its place.
    cells = re.findall(r'class="area"[^>]* d="M([^"]+)"', (tmp_path / "p.html").read_text())
    drawn = np.array([np.loadtxt(cell.split(" "), delimiter=",").mean(axis=0) for cell in cells])
    extent = np.ptp(np.loadtxt(tmp_path / "stops.csv", delimiter=",", skiprows=1, usecols=(2, 1)), axis=0)
    east, north = np.ptp(drawn, axis=0) / (extent * [np.cos(np.radians(60.0)), 1.0])
    assert east == pytest.approx(north, rel=0.1)
    # Centers are told in degrees: places that can be looked up.
    oslo = told["clusters"][labels[0]]["center"]
    assert [trait["column"] for trait in oslo] == ["lat", "lon"]
    assert oslo[0]["mean"] == pytest.approx(59.91, abs=0.02)
    done = konstrain("predict", "stops.csv", "--model", "m.skops", "-o", "again.csv", "-q", folder=tmp_path)
    assert done.code == 0, done
    assert labels_of(tmp_path / "again.csv") == labels


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--geo", "lat"), "--geo lat names 1 column; it takes two: latitude,longitude"),
        (
            ("--geo", "lat,lon", "--columns", "lat"),
            "--geo clusters by places alone, in kilometres; leave out --columns",
        ),
        (("--geo", "lat,lon", "--standardize"), "leave out --standardize"),
        (("--geo", "parcels,stop"), "column 'stop' holds no numbers; --geo takes latitude and longitude"),
        (("--geo", "far,lon"), "row 7, column 'far' is 700, beyond 90 degrees; --geo takes latitude first"),
        (("--geo", "lat,width"), "has no column 'width'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_no_place_is_refused(tmp_path, options, words):
    stops(tmp_path)
    lines = (tmp_path / "stops.csv").read_text().splitlines()
    far = ["far", *(str(100 * i if i == 7 else 10) for i in range(40))]
    (tmp_path / "stops.csv").write_text("\n".join(f"{a},{b}" for a, b in zip(lines, far, strict=True)) + "\n")
    done = konstrain("fit", "stops.csv", "-k", 4, *options, "-q", folder=tmp_path)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize("verb", [("exact",), ("fit", "--method", "exact")], ids=["exact", "fit"])
def test_nothing_is_proved_best_under_shares_that_were_not_seen(tmp_path, verb):
    shop(tmp_path)
    shares = ("--columns", "income", "--category", "plan", "--share-min", "gold=0.4", "-q", "-o", "out.csv")
    done = konstrain(verb[0], "shop.csv", "-k", 2, *verb[1:], *shares, folder=tmp_path)
    assert done.code == 2
    assert "exact has no category, --share-min" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_new_rows_keep_shares_and_several_demands(tmp_path):
    shop(tmp_path)
    fitted = ("fit", "shop.csv", "-k", 2, "--columns", "income", "-q", "--save", "m.joblib")
    assert konstrain(*fitted, folder=tmp_path).code == 0
    shop(tmp_path, "new.csv", n=8, first=50)
    predict = ("predict", "new.csv", "--model", "m.joblib", "--trust", "-o", "out.csv", "--join", "-q")
    shares = ("--category", "plan", "--share-min", "gold=0.5", "--share-max", "gold=0.5", "--size-min", 2)
    done = konstrain(*predict, *shares, folder=tmp_path)
    assert done.code == 0, done
    for label in "01":
        plans = [row["plan"] for row in rows_of(tmp_path / "out.csv") if row["label"] == label]
        assert plans.count("gold") * 2 == len(plans) >= 2
    demands = ("--demand", "age,income", "--size-min", "140,120000")
    done = konstrain(*predict, *demands, folder=tmp_path)
    assert done.code == 0, done
    for label in "01":
        mine = [row for row in rows_of(tmp_path / "out.csv") if row["label"] == label]
        assert sum(float(row["age"]) for row in mine) >= 140
        assert sum(float(row["income"].replace(",", ".")) for row in mine) >= 120_000
    refused = konstrain(*predict, "--category", "plan", "--share-min", "silver=0.5", folder=tmp_path)
    assert "silver" in refused.err


def test_a_number_of_clusters_is_recommended_under_the_constraints(tmp_path):
    shop(tmp_path)
    done = konstrain("choose", "shop.csv", "--to", 4, "--plot", "c.png", "--size-min", 9, "-q", folder=tmp_path)
    assert done.code == 0, done
    assert "recommended: konstrain fit -k 2 shop.csv --size-min 9\n" in done.out
    assert "the constraints allow 1 to 4 clusters" in done.out
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    impossible = konstrain("choose", "shop.csv", "--size-min", 25, "--size-max", 30, folder=tmp_path)
    assert impossible.code == 3
    assert "sizes allow at least 2 and at most 1 clusters" in impossible.err


def test_the_recommended_command_runs_as_it_stands(tmp_path):
    shop(tmp_path)
    (tmp_path / "far apart.csv").write_text("0,1\n")
    options = ("--columns", "income", "--cannot-link", "far apart.csv", "--no-standardize", "--missing", "drop")
    choice = konstrain("choose", "shop.csv", "--to", 3, *options, "--json", "-q", folder=tmp_path)
    assert choice.code == 0, choice
    program, *words = shlex.split(json.loads(choice.out)["command"])
    assert program == "konstrain"
    assert set(options) < set(words)
    done = konstrain(*words, "--json", "-q", folder=tmp_path)
    assert done.code == 0, done
    assert len(json.loads(done.out)["sizes"]) == int(words[2])


def test_shares_of_mixed_groups_are_kept_exactly(tmp_path):
    shop(tmp_path)
    bounds = ("--category", "plan", "--share-min", "gold=0.5", "--share-max", "gold=0.5", "--n-init", 2)
    done = konstrain("mix", "shop.csv", "-k", 4, "--columns", "income", *bounds, "--json", folder=tmp_path)
    assert done.code == 0, done
    assert json.loads(done.out)["shares"] == {"free": [0.5] * 4, "gold": [0.5] * 4}
    told = konstrain("mix", "shop.csv", "-k", 4, "--columns", "income", *bounds, folder=tmp_path)
    assert "  gold: 50.0%, 50.0%, 50.0%, 50.0%" in told.out
    refused = konstrain("mix", "shop.csv", "-k", 4, *bounds[:2], "--share-min", "gold=0.6", folder=tmp_path)
    assert refused.code == 3
    assert "lower --share-min" in refused.err


def test_mixed_groups_have_the_same_share_of_each_kind(tmp_path):
    kinds = shop(tmp_path)
    (tmp_path / "cl.csv").write_text("p0,p1\np0,p2\n")
    options = ("--id", "name", "--cannot-link", "cl.csv", "-o", "teams.csv")
    done = konstrain("mix", "shop.csv", "-k", 4, *options, folder=tmp_path)
    assert done.code == 0, done
    teams = np.array(labels_of(tmp_path / "teams.csv"))
    assert np.bincount(teams).tolist() == [10] * 4
    assert np.bincount(teams, kinds).tolist() == [5.0] * 4
    assert teams[0] not in (teams[1], teams[2])
    assert "city (text): " in done.out


def test_check_and_sizes_need_no_numbers(tmp_path):
    (tmp_path / "names.csv").write_text("name,town\nanna,oslo\nbert,\ncarl,rome\n")
    (tmp_path / "labels.csv").write_text("name,label\nanna,0\nbert,1\ncarl,1\n")
    assert konstrain("check", "names.csv", "-k", 2, "--id", "name", folder=tmp_path).code == 0
    options = ("--id", "name", "--kind", "sizes", "-o", "sizes.png")
    assert konstrain("plot", "names.csv", "labels.csv", *options, folder=tmp_path).code == 0
    assert (tmp_path / "sizes.png").exists()


def test_questions_are_added_below_the_answers_of_the_last_round(tmp_path):
    shop(tmp_path)
    ask = ("suggest", "shop.csv", "-k", 2, "--id", "name", "--ask", 3, "-o", "ask.csv", "--append", "-q")
    assert konstrain(*ask, folder=tmp_path).code == 0
    first = (tmp_path / "ask.csv").read_text()
    title, *questions = first.splitlines()
    pairs = [[int(name[1:]) % 2 for name in line.split(",")[:2]] for line in questions]
    answers = ["must" if a == b else "cannot" for a, b in pairs]
    answered = "".join(f"{line}\n" for line in [title, *map("".join, zip(questions, answers, strict=True))])
    (tmp_path / "ask.csv").write_text(answered)
    done = konstrain(*ask, folder=tmp_path)
    assert done.code == 0, done
    text = (tmp_path / "ask.csv").read_text()
    assert text.startswith(answered)
    assert len(text.splitlines()) == 7
    assert text.count("a,b,answer") == 1


@pytest.mark.parametrize("ending", ["json", "parquet", "arrow", "csv"])
def test_labels_are_read_back_where_only_rows_are_counted(tmp_path, ending):
    shop(tmp_path)
    assert konstrain("fit", "shop.csv", "-k", 2, "-o", f"labels.{ending}", "-q", folder=tmp_path).code == 0
    done = konstrain("check", f"labels.{ending}", "-k", 3, "--size-min", 10, "-q", folder=tmp_path)
    assert done.code == 0, done
    assert "feasible: 40 rows, 3 clusters" in done.out


def test_shares_are_drawn_without_features(tmp_path):
    lines = ["name,sex,label", "anna,F,0", "bert,M,0", "cleo,F,1", "dora,F,1", ""]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    drawn = ("plot", "people.csv", "people.csv", "--id", "name", "--kind", "shares", "--category", "sex")
    done = konstrain(*drawn, "-o", "shares.png", folder=tmp_path)
    assert (done.code, done.err) == (0, ""), done
    assert (tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_filled_in_and_what_is_no_feature_is_said(tmp_path):
    shop(tmp_path, missing=(3, 4))
    done = konstrain("mix", "shop.csv", "-k", 2, "--missing", "median", "--category", "plan", folder=tmp_path)
    assert done.code == 0, done
    assert "missing values filled in, by median or commonest text: 'age' 2" in done.err
    assert "no feature, since an option uses it: 'plan' (category); --columns may name it too" in done.err
    named = ("--columns", "age,plan", "--missing", "median", "--category", "plan")
    assert "no feature" not in konstrain("mix", "shop.csv", "-k", 2, *named, folder=tmp_path).err


def test_several_shares_in_one_option_are_refused_with_how_they_are_written(tmp_path):
    shop(tmp_path)
    done = konstrain(
        "mix", "shop.csv", "-k", 2, "--category", "plan", "--share-min", "free=0.4,gold=0.4", folder=tmp_path
    )
    assert done.code == 2
    assert "several shares are given one by one: --share-min F=0.4 --share-min M=0.4" in done.err


def test_the_largest_block_is_told_by_ids(tmp_path):
    shop(tmp_path)
    (tmp_path / "same.csv").write_text("a,b\np0,p7\np7,p9\n")
    done = konstrain("check", "shop.csv", "-k", 2, "--id", "name", "--must-link", "same.csv", folder=tmp_path)
    assert "the largest of 3 rows (p0, p7, p9)" in done.out


def test_open_questions_are_not_written_twice(tmp_path):
    shop(tmp_path)
    ask = ("suggest", "shop.csv", "-k", 2, "--id", "name", "--ask", 3, "-o", "ask.csv", "--append", "-q")
    assert konstrain(*ask, folder=tmp_path).code == 0
    first = (tmp_path / "ask.csv").read_text()
    done = konstrain(*ask, folder=tmp_path)
    assert "wrote 0 pairs to ask.csv (3 more stood open there)" in done.out
    assert (tmp_path / "ask.csv").read_text() == first


def test_files_and_names_are_told_as_one_would_write_them(tmp_path):
    lines = [f"{i},{20 + 30 * (i % 2) + i / 7},{5 * (i % 2) + i / 9}" for i in range(30)]
    (tmp_path / "rows.csv").write_text("\n".join(["Unnamed: 0,age,visits", *lines, ""]))
    outputs = ("-o", "a.csv", "--plot", "b.png", "--report", "c.html")
    done = konstrain("fit", "rows.csv", "-k", 2, *outputs, folder=tmp_path)
    assert done.code == 0, done
    assert "--id 'Unnamed: 0' names rows by it" in done.err
    assert "wrote a.csv, b.png and c.html" in done.out


def deliveries(folder, name="d.csv", n=20, first=0, encoding="utf-8"):
    """Write places with what they order, in the dialect of a German spreadsheet."""
    rows = range(first, first + n)
    lines = [f"ö{i};{i % 2 * 50 + i},5;{i % 3};{i % 4 + 1},25;{i % 2 + 1}" for i in rows]
    (folder / name).write_bytes("\r\n".join(["Kürzel;x;y;volume;stops", *lines, ""]).encode(encoding))


def test_a_model_fitted_with_several_demands_labels_new_rows(tmp_path):
    pytest.importorskip("skops")
    deliveries(tmp_path)
    demands = ("--id", "Kürzel", "--demand", "volume,stops", "-q")
    fitted = konstrain("fit", "d.csv", "-k", 2, *demands, "--size-max", "40,20", "--save", "m.skops", folder=tmp_path)
    assert fitted.code == 0, fitted
    done = konstrain("predict", "d.csv", "--model", "m.skops", *demands, "--size-max", "40,20", folder=tmp_path)
    assert done.code == 0, done
    assert done.out.splitlines()[2].split() == ["cluster", "rows", "volume", "stops"]
    sums = [list(map(float, line.split()[1:])) for line in done.out.splitlines()[3:5]]
    np.testing.assert_allclose(np.sum(sums, axis=0), [20, 55, 30])
    told = konstrain("predict", "d.csv", "--model", "m.skops", *demands, "--json", folder=tmp_path)
    assert {name: sum(sums) for name, sums in json.loads(told.out)["demand"].items()} == {"volume": 55, "stops": 30}


def test_new_rows_are_read_as_the_rows_of_the_fit_were(tmp_path):
    deliveries(tmp_path, encoding="latin1")
    text = (tmp_path / "d.csv").read_bytes().replace(b"1,25;1", b"k.A.;1")
    (tmp_path / "d.csv").write_bytes(text)
    reading = ("--encoding", "latin1", "--decimal", ",", "--id", "Kürzel", "--na", "k.A.", "--missing", "median")
    fitted = konstrain("fit", "d.csv", "-k", 2, *reading, "-q", "--save", "m.joblib", folder=tmp_path)
    assert fitted.code == 0, fitted
    (tmp_path / "links.csv").write_bytes("ö0,ö1\n".encode("latin1"))
    predict = ("predict", "d.csv", "--model", "m.joblib", "--trust", "--must-link", "links.csv", "-o", "out.csv")
    done = konstrain(*predict, folder=tmp_path)
    assert done.code == 0, done
    rows = rows_of(tmp_path / "out.csv")
    assert rows[0]["Kürzel"] == "ö0"
    assert rows[0]["label"] == rows[1]["label"]
    joined = konstrain(*predict, "--join", folder=tmp_path)
    assert joined.code == 0, joined
    assert (tmp_path / "out.csv").read_bytes().startswith(text.split(b"\r\n")[0] + b";label;distance\r\n")
    # A table of other writing, and one without ids, are read as they are.
    deliveries(tmp_path, "new.csv", first=100)
    new = konstrain("predict", "new.csv", "--model", "m.joblib", "--trust", "-o", "out.csv", folder=tmp_path)
    assert new.code == 0, new
    assert rows_of(tmp_path / "out.csv")[0]["Kürzel"] == "ö100"
    (tmp_path / "new.csv").write_text("x,y,volume,stops\n1,2,3,4\n", encoding="utf-8")
    new = konstrain("predict", "new.csv", "--model", "m.joblib", "--trust", "-o", "out.csv", folder=tmp_path)
    assert new.code == 0, new
    assert rows_of(tmp_path / "out.csv")[0]["row"] == "0"


def test_a_time_limit_that_is_advised_is_an_option_of_predict(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x},{y},{d}" for x, y, d in zip(rng.random(40), rng.random(40), rng.random(40), strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y,d", *lines, ""]))
    assert konstrain("fit", "d.csv", "-k", 3, "--save", "m.joblib", "--ignore", "d", folder=tmp_path).code == 0
    (tmp_path / "cl.csv").write_text("".join(f"{a},{a + 1}\n" for a in range(39)))
    sizes = ("--demand", "d", "--size-min", "7.5", "--size-max", "8.2", "--cannot-link", "cl.csv")
    predict = ("predict", "d.csv", "--model", "m.joblib", "--trust", *sizes, "--time-limit", 0)
    done = konstrain(*predict, folder=tmp_path)
    assert done.code in (0, 4), done
    assert "No such option" not in done.err
    assert "raise --time-limit" in done.err


def test_predict_overwrites_no_file_that_it_reads_and_prints_labels_of_standard_input(tmp_path):
    shop(tmp_path)
    assert konstrain("fit", "shop.csv", "-k", 2, "-q", "--save", "m.joblib", folder=tmp_path).code == 0
    (tmp_path / "links.csv").write_text("0,2\n")
    predict = ("predict", "shop.csv", "--model", "m.joblib", "--trust", "--must-link", "links.csv")
    refused = konstrain(*predict, "-o", "links.csv", folder=tmp_path)
    assert refused.code == 2
    assert "links.csv is read from; write to another file" in refused.err
    command = f"'{SCRIPT}' predict - --model m.joblib --trust -o - < shop.csv"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert done.stdout.startswith("row,label,distance\n")


@pytest.mark.parametrize("verb", ["fit", "exact", "mix"])
def test_joined_tables_come_back_in_their_dialect(tmp_path, verb):
    deliveries(tmp_path, encoding="latin1", n=10)
    options = ("--encoding", "latin1", "--id", "Kürzel", "--join", "-q", "-o")
    assert konstrain(verb, "d.csv", "-k", 2, *options, "out.csv", folder=tmp_path).code == 0
    before, after = ((tmp_path / name).read_bytes().decode("latin1").split("\r\n") for name in ("d.csv", "out.csv"))
    assert after[0] == f"{before[0]};label;distance"
    assert all(new.startswith(f"{old};") for old, new in zip(before[1:-1], after[1:-1], strict=True))
    assert re.fullmatch(r"[01];[0-9]+,[0-9]+", after[1].removeprefix(f"{before[1]};"))
    assert konstrain(verb, "d.csv", "-k", 2, *options, "out.csv", "--dialect", "standard", folder=tmp_path).code == 0
    assert rows_of(tmp_path / "out.csv")[0]["Kürzel"] == "ö0"


def test_a_spreadsheet_is_written_and_read_back(tmp_path):
    shop(tmp_path)
    done = konstrain("fit", "shop.csv", "-k", 2, "--join", "-o", "out.xlsx", folder=tmp_path)
    assert done.code == 0, done
    again = konstrain(
        "fit", "out.xlsx", "-k", 2, "--join", "-o", "again.xlsx", "--columns", "age,income", folder=tmp_path
    )
    assert again.code == 0, again
    sheet = pl.read_excel(tmp_path / "again.xlsx", infer_schema_length=None)
    titles = ["CustomerID", "name", "age", "income", "city", "plan", "since", "label", "distance"]
    assert sheet.columns == [*titles, "konstrain_label", "konstrain_distance"]
    assert sheet["income"].dtype == pl.Float64
    assert sheet["since"].to_list()[0] == "01.01.2021"


def test_a_word_that_means_missing_is_offered_and_taken(tmp_path):
    (tmp_path / "d.csv").write_text("x,Umsatz EUR\n1,5\n2,k.A.\n9,7\n10,8\n")
    refused = konstrain("fit", "d.csv", "-k", 2, folder=tmp_path)
    assert refused.code == 2
    hint = re.search(r"--na (\S+);", refused.err)[1]
    done = konstrain("fit", "d.csv", "-k", 2, "--na", hint, "--missing", "drop", folder=tmp_path)
    assert done.code == 0, done
    assert "1 row of 4 left out" in done.err
    assert "--categorical 'Umsatz EUR'" in refused.err


@pytest.mark.parametrize(
    ("verb", "hidden", "shown"),
    [
        ("exact", "--category", "--size-min"),
        ("exact", "--share-min", "--demand"),
        ("suggest", "--share-max", "--must-link"),
        ("studio", "--share-tolerance", "--must-link"),
        ("predict", "--weight", "--category"),
        ("mix", "--weight", "--category"),
    ],
)
def test_help_lists_no_option_that_a_verb_refuses(tmp_path, verb, hidden, shown):
    out = konstrain(verb, "--help", folder=tmp_path).out
    assert hidden not in out
    assert shown in out


def test_a_table_of_numbers_near_the_largest_is_clustered_or_refused_in_words(tmp_path):
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{x}e308,{x}e308\n" for x in (1.0, 1.1, 1.6, 1.7)))
    done = konstrain("fit", "d.csv", "-k", 2, "--standardize", folder=tmp_path)
    assert done.code == 0, done
    assert "inf" not in done.out
    refused = konstrain("fit", "d.csv", "-k", 2, folder=tmp_path)
    assert refused.code == 2
    assert "too large to be squared and summed" in refused.err


def test_numbers_of_clusters_under_shares_are_those_that_check_allows(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x},{'ab'[i % 2]}" for i, x in enumerate(rng.random(60))]
    (tmp_path / "d.csv").write_text("\n".join(["x,c", *lines, ""]))
    bounds = ("--category", "c", "--share-min", "0.3")
    done = konstrain("choose", "d.csv", *bounds, "--to", 3, "-q", folder=tmp_path)
    assert "the constraints allow 1 to 30 clusters" in done.out
    assert konstrain("check", "d.csv", *bounds, "-k", 31, folder=tmp_path).code == 3
