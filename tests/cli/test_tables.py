"""A table as people have it, from the first command to labels of new rows."""

import csv
import json
import re
import shlex

import numpy as np
import pytest

from command_line import konstrain

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
    return list(csv.DictReader(path.read_text().splitlines()))


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
        "column 'CustomerID' looks like an identifier",
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


@pytest.mark.parametrize("verb", [("exact",), ("fit", "--method", "exact")], ids=["exact", "fit"])
def test_nothing_is_proved_best_under_shares_that_were_not_seen(tmp_path, verb):
    shop(tmp_path)
    shares = ("--columns", "income", "--category", "plan", "--share-min", "gold=0.4", "-q", "-o", "out.csv")
    done = konstrain(verb[0], "shop.csv", "-k", 2, *verb[1:], *shares, folder=tmp_path)
    assert done.code == 2
    assert "exact knows no --share-min, category" in done.err
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
    assert "no feature, since an option uses it: 'plan' (--category); --columns may name it too" in done.err
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
