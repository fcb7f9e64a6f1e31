"""Figures in the notes of result pages and in `docs/papers.md`, each computed again from the raw rows."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from konstrain import ExactKMeans
from konstrain.comparison.records import means_of, select
from konstrain.experiments import get_experiment
from konstrain.experiments.papers import babaki2014, baumann2020, ganji2016, le2018
from konstrain.experiments.published import read_lines
from result_pages import page_of, raw_rows

PAPERS = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text()
rows_of = cache(raw_rows)


def verdict(name, text):
    """Return what a claim, named by part of its text, finds in the raw rows."""
    claims = [claim for claim in get_experiment(name).claims if text in claim.text]
    assert len(claims) == 1, text
    return claims[0].judge(rows_of(name))


def assert_says(page, *sentences):
    """Assert that a page has each of these pieces of text, wherever its lines break."""
    flat = re.sub(r"\s+", " ", page)
    assert [sentence for sentence in sentences if sentence not in flat] == []


def test_baumann_on_iris_and_wine_and_on_the_others():
    published = baumann2020.EXPERIMENT.tables[0].published
    ours = means_of(select(rows_of("baumann2020"), method="BLPKM-CC"), "ari", ["data", "constraints"])
    above = {line: mean - published[line]["BLPKM-CC"].value for line, mean in ours.items()}
    far = [above.pop(line) for line in list(above) if line[0] in ("iris", "wine")]
    rest = [fmean(value for line, value in above.items() if line[1] == size) for size in baumann2020.SETS]
    assert_says(
        page_of("baumann2020"),
        f"by {min(far):.2f} to {max(far):.2f}; without these two the mean differences are "
        f"{rest[0]:+.3f}, {rest[1]:+.3f} and {rest[2]:+.3f}.",
        f"On the other {len(above) // 3} our reading is within 0.15 of every published value",
    )
    assert max(map(abs, above.values())) < 0.15


def test_baumann_links_are_all_kept():
    assert verdict("baumann2020", "keeps every link").found.startswith("0 broken links, 0 failed")


def test_baumann_perfect_sets_and_rise_on_the_page_of_the_papers():
    n_perfect = verdict("baumann2020", "exactly on 14").found.split()[0]
    faster = verdict("baumann2020", "faster than DILS").found.partition(" lines")[0]
    assert_says(PAPERS, f"faster than DILS on {faster} lines")
    assert_says(
        PAPERS, f"by 14 perfect sets (ours {n_perfect}) and by the rise with the constraint set (holds, on every"
    )
    assert verdict("baumann2020", "The quality of BLPKM-CC rises").found.endswith("without a fall on 25 of 25 sets")


def test_jia_without_constraints_and_seconds():
    wine = means_of(select(rows_of("jia2023"), data="wine", links=0), "rand", ["method"])
    assert wine["greedy",] > wine["matching",]
    runs = select(rows_of("jia2023"), data="tic_tac_toe", links=0)
    lowest = min(runs, key=lambda run: run["sse"])
    for method in ("matching", "greedy"):
        some = select(runs, method=method)
        assert sum(run["rand"] > lowest["rand"] for run in some) > len(some) / 2
    assert verdict("jia2023", "most on Iris").holds
    longest = re.search(r"to ([\d.]+) times as long", verdict("jia2023", "takes about as long").found)[1]
    assert_says(PAPERS, f"the paper's own largest ratio, 2.8 (ours {float(longest):.1f})")


def lines_left(method):
    """Return the lines of Babaki's tables that a method has not proved: those that the paper proved, and others."""
    marked = {
        line
        for data in babaki2014.TABLES
        for line, cells in babaki2014._published(data).items()
        if any(cell.mark in ("*", "INF") for cell in cells.values())
    }
    runs = select(rows_of("babaki2014"), method=method)
    left = [run for run in runs if not run.get("proved")]
    line_of = [((run["data"], run["k"], run["links"]), run) for run in left]
    return (
        {line: run for line, run in line_of if line in marked},
        {line: run for line, run in line_of if line not in marked},
        Counter((run["data"], run["k"], run["links"]) in marked for run in runs),
    )


def test_babaki_by_column_generation_alone():
    left, others, n_lines = lines_left("column generation")
    assert list(left) == [("soybean", 3, 80)]
    assert left["soybean", 3, 80]["reason"].startswith("InfeasibleError")
    assert list(others) == [("iris", 3, 2), ("iris", 5, 2)]
    longest = max(
        run["cpu_seconds"] for run in select(rows_of("babaki2014"), method="column generation", proved=True)
    )
    assert_says(
        PAPERS,
        f"alone it proves {n_lines[True] - 1} of the {n_lines[True]} lines that the paper proves and "
        f"{n_lines[False] - 2} of the other {n_lines[False]}, in {longest:.0f} s of processor time at most",
    )
    assert_says(
        page_of("babaki2014"),
        f"One row took {max(run.get('seconds', 0) for run in rows_of('babaki2014')):.1f} s for 600",
    )


def test_babaki_as_printed():
    left, others, n_lines = lines_left("CCCG as printed")
    failed = {line for line, run in (left | others).items() if (run["reason"] or "").startswith("UndecidedError")}
    assert (len(left), len(failed), sum(line[0] == "wine" for line in failed)) == (11, 7, 6)
    assert failed < set(left)
    still_open = {line: run for line, run in (left | others).items() if run["status"] == "done"}
    assert {line[0] for line in still_open} == {"iris"}
    assert len(set(still_open) & set(left)) == 3
    seconds = [run["cpu_seconds"] for run in still_open.values()]
    assert_says(
        PAPERS,
        f"proves {n_lines[True] - len(left)} and the check of conflicts one of these {n_lines[True]} in 90 s",
        "of the others three on Iris stay open and seven,",
    )
    assert_says(
        page_of("babaki2014"),
        f"{min(seconds):.0f} to {max(seconds):.0f} of a processor on lines left open. Seven rows failed, six of them",
    )


def test_le_runs_of_bcls_in_one_cluster():
    runs = select(rows_of("le2018"), method="BCLS")
    n_runs = Counter(run.get("data", "balls") for run in runs)
    collapsed = Counter(run.get("data", "balls") for run in runs if run["one_cluster"])
    assert all(run["nmi"] < 1e-9 for run in runs if run["one_cluster"])
    always = ("pendigits", "letter", "movement_libras")
    assert all(collapsed[name] == n_runs[name] for name in always)
    assert collapsed["balls"] == 0
    assert_says(
        page_of("le2018"),
        f"in all {sum(collapsed[name] for name in always)} runs on pendigits, letter and movement_libras, "
        f"in {collapsed['digits']} of {n_runs['digits']} on digits and {collapsed['optdigits']} of "
        f"{n_runs['optdigits']} on optdigits, in none on balls",
    )
    assert_says(
        PAPERS, f"on real data {sum(collapsed.values())} of {len(runs) - n_runs['balls']} runs end in one cluster"
    )
    # Labels as good as random ones, in the notes of the page and of the class.
    balls = means_of([run for run in runs if "sigma" in run], "nmi", ["sigma", "k"])
    assert all(mean < 0.5 for (sigma, k), mean in balls.items() if sigma >= 0.5 or k == 10)
    assert all(mean > 0.9 for (sigma, k), mean in balls.items() if sigma < 0.5 and k > 10)


def test_le_methods_that_fall():
    fall = verdict("le2018", "variance grows").found.partition(" methods")[0]
    assert_says(PAPERS, f"all but BCLS fall with k; from the smallest printed variance to the largest {fall} methods")
    for sigma in le2018.HARDER:
        named = re.search(rf"sigma {sigma}: ([^;]+)", verdict("le2018", "as k grows").found)[1]
        assert set(named.split(", ")) == set(le2018.COMPARED) - {"BCLS"}


def test_le_no_row_reached_its_limit():
    assert max(run["seconds"] for run in rows_of("le2018")) < 60.0
    assert all(run["status"] == "done" for run in rows_of("le2018"))
    slowest = verdict("le2018", "only slightly longer").found
    assert slowest.endswith("the slowest is BCKM")


@pytest.mark.parametrize("k", [3, 5])
def test_babaki_lines_left_open_are_proved_over_boxes(k, data_folder):
    wanted = {"data": "iris", "k": k, "links": 2, "set": 0}
    case = next(case for case in babaki2014.EXPERIMENT.cases() if case.facts == wanted)
    instance = case.make(data_folder / "sets", case.seed)
    model = ExactKMeans(k, bound="columns", random_state=0).fit(instance.X, **instance.constraints)
    assert model.is_optimal_
    (proved,) = select(rows_of("babaki2014"), method="exact", **wanted)
    assert model.inertia_ == pytest.approx(proved["sse"], rel=1e-6)


def test_ganji_claims_on_the_page_of_the_papers():
    rises, best, fewest, near = (
        verdict("ganji2016", text).found
        for text in ("on each data set (Table 3)", "highest NMI of the three", "fewest links of the three", "CSP's")
    )
    assert_says(
        PAPERS,
        f"NMI rises ({rises.replace('data sets', 'sets')}), is best of the three with n links "
        f"({best.removesuffix(' data sets')}), fewest links break ({fewest})",
        f"near {near.partition(' lines')[0]} lines of Table 3",
    )
    met = verdict("ganji2016", "can end at the optimum").found.removeprefix("some run on ")
    assert_says(PAPERS, f"with 200 and more some run of LCC meets the optimum on {met}")
    raw, scaled = (
        [
            int(found)
            for found in re.findall(rf"{name} (?:NMI|ML|CL) (\d+) of 34", verdict("ganji2016", "CVQE's").found)
        ]
        for name in ("CVQE", r"CVQE, \[0, 1\]")
    )
    assert len(raw) == len(scaled) == 3
    assert all(ours < theirs for ours, theirs in zip(raw, scaled, strict=True))


def test_ganji_repair_on_the_page_of_the_method():
    found = verdict("ganji2016", "Our repair").found
    without, repaired = map(float, re.findall(r"others: ([\d.]+) without, ([\d.]+) with", found)[0])
    assert 1 / 9 < repaired / without < 1 / 7
    assert_says(
        (Path(__file__).resolve().parents[2] / "docs" / "guide" / "lagrangian_kmeans.md").read_text(),
        "breaks about an eighth of the links that the paper's method breaks",
    )


def test_ganji_lines_of_table_4_that_are_left_open():
    runs = select(rows_of("ganji2016"), part="table 4", method="CCCG")
    left = [run for run in runs if not run["proved"]]
    seconds = [run["cpu_seconds"] for run in left]
    assert [run["links"] for run in left] == [37] * 5
    printed = read_lines(ganji2016.TABLE_4, ("CCCG", "CCCG s", "LCC", "LCC s"))
    assert min(links for (_, links), cells in printed.items() if cells["CCCG"].mark == "*") == 200
    assert_says(PAPERS, "proved with 75 constraints and more, where the paper proves from 200 on; five draws with 37")
    assert max(run["seconds"] for run in runs) < 60.3
    assert_says(
        page_of("ganji2016"),
        f"{min(seconds):.0f} to {max(seconds):.0f} seconds of its processor on the five draws left open, all with 37",
    )
