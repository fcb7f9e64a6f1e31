"""What the result pages say, beside the raw rows that they were made from."""

from io import BytesIO

import pytest
from PIL import Image, ImageChops

from konstrain.experiments import list_experiments
from result_pages import page_from_rows, page_of, pictures_from_rows, raw_rows

EXPERIMENTS = list_experiments()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_claim_and_table_of_a_page_is_what_its_raw_rows_say(experiment):
    page, made = page_of(experiment.name).splitlines(), page_from_rows(experiment).splitlines()
    different = [(ours, theirs) for ours, theirs in zip(page, made, strict=False) if ours != theirs]
    assert not different, f"run python tests/result_pages.py {experiment.name}"
    assert len(page) == len(made)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_picture_is_what_its_raw_rows_draw(experiment):
    for path, picture in pictures_from_rows(experiment).items():
        with Image.open(path) as kept, Image.open(BytesIO(picture)) as made:
            if kept.info["Software"] == made.info["Software"]:
                assert not ImageChops.difference(kept.convert("RGB"), made.convert("RGB")).getbbox(), path.name


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_raw_rows_are_those_of_the_declaration(experiment):
    declared = {row.key for row in experiment.rows()}
    kept = [row["key"] for row in raw_rows(experiment.name)]
    assert len(kept) == len(set(kept))
    assert set(kept) <= declared
    # Each page says how many of them are there.
    assert f"\n{len(kept)} of {len(declared)} rows are done" in page_of(experiment.name)


@pytest.mark.parametrize(("name", "n_unjudged"), [("baumann2020", 4), ("ganji2016", 1)])
def test_claims_about_all_data_sets_are_not_judged_by_some_of_them(name, n_unjudged):
    experiment = next(experiment for experiment in EXPERIMENTS if experiment.name == name)
    some = [row for row in raw_rows(name) if row["data"] != "ecoli"]
    unjudged = [claim.text for claim in experiment.claims if claim.judge(some).holds is None]
    assert len(unjudged) == n_unjudged
    assert all("data sets" in text for text in unjudged)


def test_no_claim_is_left_without_a_verdict():
    unjudged = [
        (experiment.name, claim.text)
        for experiment in EXPERIMENTS
        for claim in experiment.claims
        if claim.judge(raw_rows(experiment.name)).holds is None
    ]
    assert not unjudged
