"""A metric learned from links: the 25 data sets of Baumann (2020) with few links, with the metric and without."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from konstrain.comparison.measures import CLOCKED
from konstrain.comparison.records import Record, means_of, select
from konstrain.experiments.declare import Case, Contender, Experiment
from konstrain.experiments.papers.baumann2020 import DATA, instance_of
from konstrain.experiments.published import Claim, ClaimVerdict, Column, PaperTable

# Share of the rows, in percent, that the number of pairs comes from.
SHARES = (1, 2, 5)
N_SETS = 10
# Settings were chosen while looking at the draws before this one.
FIRST_FRESH = 8
# What is asked of the learned metric.
LEAST_GAIN, LARGEST_LOSS = 0.05, 0.02
PLAIN, LEARNED = "plain", "learned metric"


def cases() -> Iterator[Case]:
    """Every data set under every size of constraint set, `N_SETS` draws each."""
    for seed in range(N_SETS):
        for name in DATA:
            for share in SHARES:
                yield Case.of(partial(instance_of, name, share), seed=seed, data=name, constraints=f"CS{share}")


def _gains(records: Sequence[Record], *fields: str) -> dict[str, float]:
    """How much higher the mean ARI is with the metric, by data set and perhaps more."""
    learned, plain = (means_of(select(records, method=method), "ari", fields) for method in (LEARNED, PLAIN))
    return {" ".join(map(str, group)): learned[group] - plain[group] for group in learned if group in plain}


def _judge_gain(records: Sequence[Record]) -> ClaimVerdict:
    gains = list(_gains(records, "data", "constraints").values())
    if not gains:
        return ClaimVerdict("no rows", None)
    return ClaimVerdict(f"{np.mean(gains):+.3f} over {len(gains)} lines", float(np.mean(gains)) >= LEAST_GAIN)


def _judge_losses(fields: tuple[str, ...], records: Sequence[Record]) -> ClaimVerdict:
    gains = _gains(records, *fields)
    if not gains:
        return ClaimVerdict("no rows", None)
    lost = [f"{name} ({gain:+.3f})" for name, gain in gains.items() if gain < -LARGEST_LOSS]
    return ClaimVerdict(f"lowest {min(gains.values()):+.3f}" + (f": {', '.join(lost)}" if lost else ""), not lost)


CLAIMS = (
    Claim(f"Mean ARI at least {LEAST_GAIN} above that without", _judge_gain),
    Claim(f"On no data set more than {LARGEST_LOSS} below", partial(_judge_losses, ("data",))),
    Claim("Nor on a data set under one size of constraint set", partial(_judge_losses, ("data", "constraints"))),
)

EXPERIMENT = Experiment(
    name="learned-metric",
    title="A metric learned from few links, on 25 data sets",
    reference="Davis, Kulis, Jain, Sra, Dhillon (2007), Information-Theoretic Metric Learning",
    cases=cases,
    contenders=(
        Contender(PLAIN, "constrained-kmeans", time_limit=600.0),
        Contender(LEARNED, "constrained-kmeans", params=(("metric", "learned"),), time_limit=600.0),
    ),
    measures=("ari", "broken", *CLOCKED),
    tables=(
        PaperTable(
            "Mean ARI",
            ("data", "constraints"),
            tuple(Column(name, name, "ari") for name in (PLAIN, LEARNED)),
            total="mean",
        ),
        PaperTable(
            "Mean processor seconds of one fit",
            ("data", "constraints"),
            tuple(Column(name, name, "cpu_seconds") for name in (PLAIN, LEARNED)),
            total="mean",
        ),
    ),
    claims=(*CLAIMS, *(claim.from_draw(FIRST_FRESH) for claim in CLAIMS)),
    quick=({"set": 0},),
    notes=(
        "Features as they are in the files. CS_r: with q = ceil(r n / 100), q (q - 1) / 2 distinct pairs drawn "
        "uniformly over all rows, must-link where the classes agree, else cannot-link; few or none on the smallest.",
        f"Draws from {FIRST_FRESH} on are judged apart too: settings were chosen on the others.",
    ),
)
