"""A figure that several pages quote is the same on all of them, and stands in the tables of `perf/README.md`."""

import csv
import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "perf" / "README.md"
PAGES = [
    ROOT / "README.md",
    SOURCE,
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "results"),
]
TEXTS = {page: re.sub(r"\s+", " ", page.read_text()) for page in PAGES}

# How pages quote a figure. Every match of every pattern of a group gives the same figures, in their order.
QUOTES = {
    "fits under sizes beside k-means-constrained, medians": [
        r"\| whole fit under sizes \| k-means-constrained \| ([\d.]+) \| ([\d.]+) \|",
        r"ours is (\d+) to (\d+) times as fast, by the kind of data",
        r"\| time of a whole fit, ours = 1 \(medians\) \| 1 \| [^|]+ \| (\d+) to (\d+) \|",
    ],
    "fits beside active-semi-supervised-clustering, medians": [
        r"\| whole fit under links \| active-semi-supervised-clustering \| ([\d.]+) \| ([\d.]+) \|",
        r"\| time of a whole fit, ours = 1 \(medians\) \| 1 \| [^|]+ \| [^|]+ \| (\d+) to (\d+) \|",
    ],
    "fits beside scikit-learn without constraints": [
        r"\| no constraints, 20 columns \| scikit-learn's KMeans \| ([\d.]+) \| ([\d.]+) \|",
        r"\| time of a whole fit, ours = 1 \(medians\) \| 1 \| ([\d.]+) to ([\d.]+) \|",
    ],
    "number of fits beside k-means-constrained": [
        r"(\d+) fits in all",
        r"medians of nine kinds of data, (\d+) fits",
        r"k-means-constrained 0.9, (\d+) fits",
    ],
    "seconds of default fits": [
        r"processor seconds: median ([\d.]+), 90% [\d.]+, 95% ([\d.]+), worst ([\d.]*\d)",
        r"default fits .{,60}\| ([\d.]+) s \(median\), ([\d.]+) s \(95%\), ([\d.]+) s \(worst\)",
        r"default fits .{,60} take ([\d.]+) s \(median\), ([\d.]+) s \(95%\), ([\d.]+) s \(worst\)",
    ],
    "kinds of constraints of the survey": [r"(\d+) kinds (?:and mixes )?of constraints"],
    "published instances": [r"(\d+) published instances"],
    "u1060 in ten clusters beside CG+DCA": [
        r"1,060 rows in ten clusters take ([\d.]+) s to a gap of 0.05%, where the best published time is ([\d,]+) s",
        r"\| u1060 \| 10 \| \d+ \| [\d.]+% \| 1 \| ([\d.]+) \| [\d.]+% \| ([\d,]+) \|",
    ],
    "papers whose methods are here": [r"\[(\w+) papers\]\(docs/papers.md\)", r"# (\w+) papers, and what we chose"],
    "baselines": [r"(\w+) baselines, and"],
    "balanced Glass": [r"(47) nodes and 112 s", r"root gap 1.9%, (\d+) nodes"],
    "a million rows bounded": [r"([\d.]+)% on a million rows in clusters apart", r"\| ([\d.]+)% in 74 s"],
    "a step under links beside HiGHS, least": [
        r"at least ([\d,]+) times as fast as the whole model in HiGHS",
        r"\| 0\.19 \| ([\d,]+) and 1,894 \|",
    ],
}


def quotes_of(patterns):
    """Return the figures of every match with the page it is on."""
    return [
        (page.relative_to(ROOT).as_posix(), tuple(found if isinstance(found, tuple) else (found,)))
        for pattern in patterns
        for page, text in TEXTS.items()
        for found in re.findall(pattern, text, flags=re.IGNORECASE)
    ]


@pytest.mark.parametrize("what", QUOTES)
def test_every_page_quotes_the_same_figure(what):
    patterns = QUOTES[what]
    assert [pattern for pattern in patterns if not quotes_of([pattern])] == []
    quotes = quotes_of(patterns)
    assert len({tuple(figure.lower() for figure in figures) for _, figures in quotes}) == 1, quotes


def table(title, page=SOURCE):
    """Return the cells of the first table behind a heading, by default of `perf/README.md`."""
    text = page.read_text().partition(title)[2]
    lines = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_range_of_medians_beside_k_means_constrained_is_that_of_its_table():
    medians = [float(row[3].split(",")[0]) for row in table("### Fits under sizes")]
    [(_, quoted)] = quotes_of(QUOTES["fits under sizes beside k-means-constrained, medians"][:1])
    assert (min(medians), max(medians)) == tuple(map(float, quoted))


def test_the_range_beside_active_semi_supervised_clustering_is_that_of_its_table():
    medians = [float(row[3].split(",")[0]) for row in table("### Baselines")]
    [(_, quoted)] = quotes_of(QUOTES["fits beside active-semi-supervised-clustering, medians"][:1])
    assert (min(medians), max(medians)) == tuple(map(float, quoted))


def test_proofs_beside_cg_dca_keep_the_gaps_asked_for_and_stand_on_one_page():
    page = ROOT / "docs" / "peers" / "cg_dca.md"
    lines = table("**Measured**", page)
    asked = re.search(r"gap\s+asked ([\d.]+)% on u1060 and ([\d.]+)% on the others", page.read_text())
    assert len(lines) == 20
    assert all(float(gap[:-1]) <= float(asked[1 + (name != "u1060")]) for name, _, _, gap, *_ in lines)
    assert [p for p, text in TEXTS.items() if "| u1060 | 10 |" in text] == [page]


def test_the_published_instances_are_proved_as_their_rows_say():
    with (ROOT / "perf" / "results" / "exact-pairwise.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    proved = [row for row in rows if row["result"] == "optimal"]
    for row in proved:
        gap = 1 - float(row["lower bound"]) / float(row["inertia"])
        assert gap == pytest.approx(float(row["gap"]), abs=1e-6)
        assert gap <= 1e-4
    seconds = [float(row["seconds"]) for row in rows]
    middle, longest = f"{median(seconds):.2f}", f"{max(seconds):.1f}"
    line = (
        f"| `pairwise`, the {len(rows)} published instances | {len(proved)} of {len(rows)} | {middle} | {longest} |"
    )
    assert line in TEXTS[SOURCE]
    page = TEXTS[ROOT / "docs" / "performance.md"]
    assert (
        f"{len(rows)} published instances of up to 336 rows (`ExactKMeans`) | {middle} s (median), {longest} s"
        in page
    )


def test_the_table_beside_k_means_constrained_is_that_of_its_rows():
    with (ROOT / "perf" / "results" / "kmeans-sizes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = table("### Fits under sizes")
    assert len(lines) == len(rows)
    for line in lines:
        ratio, excess = line[3], line[4]
        [row] = [row for row in rows if row["ours s"] == line[1] and f"{float(row['peer s']):.1f}" == line[2]]
        assert ratio == f"{float(row['ratio, median']):.0f}, {float(row['least']):.0f}"
        assert excess == f"{row['our SSE / its - 1, median']}, {row['worst']}"
        assert line[5] == row["not higher"]


def test_the_number_of_papers_and_baselines_is_what_there_is():
    from konstrain import baselines
    from konstrain.experiments.papers import PAPERS

    words = {"five": 5, "six": 6, "seven": 7, "twelve": 12, "thirteen": 13, "fourteen": 14}
    readme = TEXTS[ROOT / "README.md"]
    assert words[re.search(r"(\w+) baselines, and", readme)[1]] == len(baselines.__all__)
    papers = [name for name in PAPERS if re.search(r"\d{4}$", name)]
    assert words[re.search(r"the tables of (\w+) papers", readme)[1]] == len(papers)
