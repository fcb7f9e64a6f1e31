"""What the result pages say, beside the raw rows that they were made from."""

from collections import Counter

import pytest

from konstrain.experiments import list_experiments
from result_pages import page_from_rows, page_of, raw_rows

EXPERIMENTS = list_experiments()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_claim_and_table_of_a_page_is_what_its_raw_rows_say(experiment):
    page, made = page_of(experiment.name).splitlines(), page_from_rows(experiment).splitlines()
    different = [(ours, theirs) for ours, theirs in zip(page, made, strict=False) if ours != theirs]
    assert not different, f"run python tests/result_pages.py {experiment.name}"
    assert len(page) == len(made)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_raw_rows_are_those_of_the_declaration(experiment):
    declared = {row.key for row in experiment.rows()}
    kept = [row["key"] for row in raw_rows(experiment.name)]
    assert len(kept) == len(set(kept))
    assert set(kept) <= declared
    # Each page says how many of them are there.
    assert f"\n{len(kept)} of {len(declared)} rows are done" in page_of(experiment.name)


def test_no_claim_is_left_without_a_verdict():
    unjudged = [
        (experiment.name, claim.text)
        for experiment in EXPERIMENTS
        for claim in experiment.claims
        if claim.judge(raw_rows(experiment.name)).holds is None
    ]
    assert not unjudged


def test_what_the_notes_say_of_raw_rows():
    rows = raw_rows("le2018")
    runs = [row for row in rows if row["method"] == "BCLS"]
    one_cluster = Counter(row.get("data", "balls") for row in runs if row["smallest"] == 0 and row["nmi"] < 1e-9)
    assert one_cluster == {"digits": 5, "optdigits": 4, "pendigits": 9, "letter": 9, "movement_libras": 9}
    assert Counter(row.get("data", "balls") for row in runs) == {"balls": 75, **dict.fromkeys(one_cluster, 9)}
    # Of CCCG, as the page and `docs/papers.md` say.
    alone = [row for row in raw_rows("babaki2014") if row["method"] == "column generation"]
    left = {(row["data"], row["k"], row["links"]) for row in alone if not row.get("proved")} - {("soybean", 3, 80)}
    assert left == {("iris", 3, 2), ("iris", 5, 2)}
    assert max(row["cpu_seconds"] for row in alone if row.get("proved")) < 7.0
    both = [row for row in raw_rows("baumann2020") if row["constraints"] == "CS20" and row["method"] == "BLPKM-CC"]
    assert sum(row["broken"] for row in both) == 0
