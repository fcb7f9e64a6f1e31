"""The report: published numbers beside ours, totals over the same lines, files that are whole."""

from dataclasses import replace

import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas

from konstrain.experiments import list_experiments, write_report
from konstrain.experiments.published import Claim, ClaimVerdict, Column, Distribution, Figure, PaperTable, Published
from konstrain.experiments.report import _draw_sizes, as_parquet, as_table, compose_report, draw_figure
from konstrain.experiments.sandbox import WorkResult
from konstrain.experiments.store import Started, open_store
from konstrain.experiments.tables import cells_of, lines_of, totals_of
from konstrain.methods import METHODS
from toy_experiments import toy

TABLE = PaperTable(
    "Table 1: ARI",
    ("data", "links"),
    (Column("A", "a", "ari"), Column("kept", "a", "kept_all", "share", 1), Column("B", "b", "ari")),
    published={
        ("iris", 10): {"A": Published(0.5, 0.1), "B": Published(0.4, mark="*")},
        ("wine", 10): {"A": Published(0.7, 0.1), "B": Published(0.9)},
        ("zoo", 10): {"A": Published(0.1)},
    },
    total="mean",
)


def record(data, method, ari, run=0, status="done"):
    reason = None if status == "done" else "ValueError: no"
    about = {"data": data, "links": 10, "set": 0, "method": method, "run": run, "status": status, "reason": reason}
    return about | ({"ari": ari, "kept_all": ari > 0.5} if status == "done" else {})


RECORDS = [
    record("iris", "a", 0.6),
    record("iris", "a", 0.4, run=1),
    record("iris", "a", None, run=2, status="failed"),
    record("iris", "b", 0.5),
    record("wine", "a", 0.8),
    record("moons", "a", 0.8),
]


def test_cells_hold_the_mean_of_what_did_not_fail_and_shares_count_failures():
    cells = cells_of(TABLE, RECORDS)
    assert list(cells) == [("iris", 10), ("wine", 10)]  # moons was not published
    iris = cells["iris", 10]
    assert (iris["A"].ours, iris["A"].n_runs, iris["A"].n_failed) == (pytest.approx(0.5), 3, 1)
    assert iris["A"].difference == pytest.approx(0.0)
    assert iris["kept"].ours == pytest.approx(100 / 3)
    assert cells["wine", 10]["B"].ours is None


def test_published_lines_of_which_nothing_runs_here_are_shown_where_that_is_asked_for():
    assert [row[0] for row in lines_of(TABLE, RECORDS)[1:]] == ["iris", "wine", "mean"]
    shown = lines_of(replace(TABLE, lists_published=True, total=None), RECORDS)[1:]
    assert [row[0] for row in shown] == ["iris", "wine", "zoo"]
    assert shown[2][2:5] == ["0.100", "", ""]
    assert lines_of(replace(TABLE, lists_published=True), [])[1:] == []


def test_totals_are_over_the_lines_where_ours_is_there():
    total = totals_of(TABLE, cells_of(TABLE, RECORDS))["mean", 10]
    assert (total["A"].published.value, total["A"].ours) == (pytest.approx(0.6), pytest.approx(0.65))
    assert (total["B"].published.value, total["B"].ours) == (pytest.approx(0.4), pytest.approx(0.5))


def test_the_last_line_of_the_paper_stands_beside_ours_only_if_ours_is_over_all_its_lines():
    printed = replace(TABLE, printed_totals={(10,): {"A": Published(0.44), "B": Published(0.66)}})
    some = totals_of(printed, cells_of(printed, RECORDS))["mean", 10]
    assert some["A"].published.value == pytest.approx(0.6)  # no row of zoo: the paper's own mean is over more lines
    everything = [*RECORDS, record("zoo", "a", 0.2), record("wine", "b", 0.7)]
    whole = totals_of(printed, cells_of(printed, everything))["mean", 10]
    assert (whole["A"].published.value, whole["A"].ours) == (0.44, pytest.approx((0.5 + 0.8 + 0.2) / 3))
    assert (whole["B"].published.value, whole["B"].ours) == (0.66, pytest.approx(0.6))


def test_the_lines_show_published_ours_and_difference():
    header, *rows = lines_of(TABLE, RECORDS)
    assert header == [
        "data", "links", "A: published", "ours", "difference", "kept", "B: published", "ours", "difference",
    ]  # fmt: skip
    iris = ["iris", "10", "0.500 ± 0.100", "0.500 ± 0.141 (1 of 3 failed)", "+0.000", "33.3% (1 of 3 failed)"]
    assert rows[0] == [*iris, "0.400*", "0.500", "+0.100"]
    assert rows[1][6:] == ["0.900", "", ""]


@pytest.fixture
def reported():
    return replace(
        toy(),
        title="Blobs and balls",
        tables=(PaperTable("Table 1", ("data",), (Column("plain", "plain", "ari"), Column("ours", "ours", "sse"))),),
        figures=(Figure("curve", "Fig. 1", "set", "ari", "data", ("plain", "ours"), {"blobs": {"x": [(0, 1)]}}),),
        claims=(Claim("there are rows", lambda records: ClaimVerdict(str(len(records)), len(records) > 0)),),
    )


def fill(db, experiment, n_rows):
    with open_store(db) as store:
        store.begin("toy", Started("2020-01-01", "konstrain bench run toy", {"processor": "abacus"}))
        for row in experiment.rows()[:n_rows]:
            store.add("toy", row, WorkResult({"ari": 0.5, "sse": 2.0}))
        store.add("toy", experiment.rows()[n_rows], WorkResult(reason="ValueError: not today"))


def test_a_report_has_claims_tables_pictures_failures_machine_and_raw_rows(tmp_path, reported):
    fill(tmp_path / "rows.db", reported, 9)
    page = write_report(reported, db=tmp_path / "rows.db", output=tmp_path / "out").read_text()
    expected = (
        "| there are rows | 10 | yes |",
        "| blobs | 0.500 (1 of 6 failed) |",
        "![Fig. 1](toy-curve.png)",
        "abacus",
    )
    for words in (*expected, "ValueError: not today", "    konstrain bench run toy", "10 of 24 rows"):
        assert words in page
    rows = pl.read_parquet(tmp_path / "out" / "toy.parquet").to_dicts()
    assert len(rows) == 10
    assert (rows[0]["ari"], rows[9]["status"], rows[9]["ari"]) == (0.5, "failed", None)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["toy-curve.png", "toy.md", "toy.parquet"]


def test_raw_rows_keep_every_value_and_its_type():
    records = [
        {"key": "a", "links": 10, "sizes": [2.0, 1.0], "sse": 0.1 + 0.2, "proved": None, "reason": None},
        {"key": "b", "links": 20, "sizes": [3.0, 0.0], "sse": 1e-300, "proved": True, "reason": None, "noise": 3},
    ]
    read = pl.read_parquet(as_parquet(records))
    assert read.columns == [*records[0], "noise"]
    assert read.to_dicts() == [{**records[0], "noise": None}, records[1]]


def test_a_field_that_is_a_number_here_and_text_there_is_written_as_text():
    read = pl.read_parquet(as_parquet([{"k": 3, "sse": 1}, {"k": "many", "sse": 0.5}]))
    assert read.to_dicts() == [{"k": "3", "sse": 1.0}, {"k": "many", "sse": 0.5}]


def test_a_distribution_has_the_largest_cluster_first_and_its_mean_over_runs():
    figure = Distribution("sizes", "Fig. 2", "k", ("plain", "ours"))
    about = {"k": 3, "status": "done"}
    records = [
        {**about, "method": "ours", "sizes": [2, 2, 2]},
        {**about, "method": "plain", "sizes": [1, 5, 0]},
        {**about, "method": "plain", "sizes": [2, 1, 3]},
        {**about, "method": "other", "sizes": [6, 0, 0]},
        {**about, "method": "plain", "sizes": None},
    ]
    assert draw_figure(figure, records).startswith(b"\x89PNG")
    assert draw_figure(figure, records[3:]) is None
    plain, ours = records[1:3], records[:1]
    ax = Canvas().add_subplot()
    _draw_sizes(ax, 3, [*plain, *ours])
    assert [line.get_ydata().tolist() for line in ax.lines] == [[4.0, 1.5, 0.5], [2.0, 2.0, 2.0]]


def test_a_report_without_rows_names_the_file(tmp_path, reported):
    with pytest.raises(FileNotFoundError, match=r"nothing\.db; run the experiment first"):
        write_report(reported, db=tmp_path / "nothing.db", output=tmp_path)


@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda experiment: experiment.name)
def test_declarations_agree_with_themselves(experiment):
    rows = experiment.rows()
    assert len({row.key for row in rows}) == len(rows)
    assert {row.key for row in experiment.rows(quick=True)} <= {row.key for row in rows}
    assert 0 < len(experiment.rows(quick=True)) <= 0.2 * len(rows)
    labels = {contender.label for contender in experiment.contenders}
    assert {contender.method for contender in experiment.contenders} <= set(METHODS)
    groups = [
        {tuple(dict(row.case.fields).get(name) for name in table.by) for row in rows} for table in experiment.tables
    ]
    for table, there in zip(experiment.tables, groups, strict=True):
        # Peers that cannot be run here have published numbers only.
        published = {heading for line in table.published.values() for heading in line}
        assert {column.method for column in table.columns if column.heading not in published} <= labels
        assert any(column.method in labels for column in table.columns)
        assert {column.measure for column in table.columns} <= set(experiment.measures)
        assert table.lists_published or set(table.published) <= there, table.title
        headings = {column.heading for column in table.columns}
        assert all(set(line) <= headings for line in table.published.values())
    for figure in experiment.figures:
        assert set(figure.methods) <= labels
        assert figure.measure in experiment.measures


@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda experiment: experiment.name)
def test_claims_judge_nothing_without_rows(experiment):
    assert all(claim.judge([]).holds is None for claim in experiment.claims)


def test_markdown_shows_text_as_it_is():
    experiment = replace(
        toy(),
        title="a < b & c",
        notes=("<script>",),
        figures=(Figure("p", "<i>", "set", "ari", "data", ()),),
    )
    blocks = compose_report(experiment, [], [], n_rows=0, drawn={"p"}).split("\n\n")
    assert blocks[:5] == [
        "# a &lt; b &amp; c",
        "nobody (2000).",
        "&lt;script&gt;",
        "## &lt;i&gt;",
        "![&lt;i&gt;](toy-p.png)",
    ]
    assert as_table([["m|n", "reason"], ["<b>", "two\nlines | one"]]).splitlines() == [
        r"| m\|n | reason |",
        "| --- | ---: |",
        r"| &lt;b&gt; | two lines \| one |",
    ]


def test_a_claim_about_later_draws_is_judged_by_them_alone():
    claim = Claim("there are rows", lambda records: ClaimVerdict(str(len(records)), len(records) > 1))
    records = [{"set": draw} for draw in (0, 3, 4, 4)]
    assert claim.judge(records) == ClaimVerdict("4", True)
    assert claim.from_draw(4).judge(records) == ClaimVerdict("2", True)
    assert claim.from_draw(5).judge(records) == ClaimVerdict("0", False)
    assert claim.from_draw(4).text == "there are rows (draws from 4 on)"
