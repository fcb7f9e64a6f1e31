"""Asking a person: agreement with the truth by number of answers and by the choice of questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.comparison.measures import CLOCKED, Instance
from konstrain.comparison.records import Record, means_of, select
from konstrain.datasets import load
from konstrain.experiments.declare import Case, Contender, Experiment
from konstrain.experiments.published import Claim, ClaimVerdict, Column, Figure, PaperTable, Published, judge_points
from konstrain.scaling import standardized
from konstrain.suggest import soften, suggest_pairs

# Data sets of BLPKM-CC, all but Iris standardised. The first three are those that more was asked of. Soybean is not
# among them: its clusters are right before the first answer.
CLOSER = ("iris", "wine", "breast_cancer")
DATA = (
    *CLOSER,
    *("appendicitis", "ecoli", "glass", "haberman", "heart", "ionosphere", "monk2", "moons", "newthyroid"),
    *("saheart", "sonar", "zoo"),
)
# On how many of them half the answers are to be enough.
N_ASKED = 12
ANSWERS = (0, 10, 20, 35, 50, 75, 100)
N_SEEDS = 10
# Settings of the questions and the metric were chosen while looking at the persons before this one.
FIRST_FRESH = 4
# Questions per round: between rounds everything is fitted anew.
PER_ROUND = 5
WRONG = 0.1

# How questions are chosen and answers used, by the names that curves have.
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "random": {},
    "uncertainty": {"strategy": "uncertainty"},
    "uncertainty, ITML": {"strategy": "uncertainty", "metric": "itml"},
    "margin": {"strategy": "margin"},
    "uncertainty, 10% wrong": {"strategy": "uncertainty", "noise": WRONG},
    "uncertainty, ITML, 10% wrong": {"strategy": "uncertainty", "metric": "itml", "noise": WRONG},
}
EVERYWHERE = ("random", "uncertainty", "uncertainty, ITML")
# What a plain re-implementation reached, mean of three seeds: the last line is what is asked of ours.
ASKED = {
    ("iris", 20): 0.93,
    ("iris", 50): 0.99,
    ("iris", 100): 1.0,
    ("wine", 20): 0.95,
    ("wine", 50): 0.99,
    ("wine", 100): 1.0,
    ("breast_cancer", 20): 0.77,
    ("breast_cancer", 50): 0.89,
    ("breast_cancer", 100): 0.97,
}


def cases() -> Iterator[Case]:
    """Yield every strategy on the closer sets, the first three elsewhere; answers of one person follow each other."""
    for seed in range(N_SEEDS):
        for name in DATA:
            for strategy in STRATEGIES if name in CLOSER else EVERYWHERE:
                for answers in ANSWERS:
                    make = partial(_instance, name, strategy, answers)
                    yield Case.of(make, seed=seed, data=name, way=strategy, answers=answers)


def _instance(name: str, strategy: str, n_answers: int, folder: Path | None, seed: int) -> Instance:
    X, classes = _rows(name, folder)
    pairs, together = _asked(name, strategy, folder, seed)
    links = _links(pairs[:n_answers], together[:n_answers], STRATEGIES[strategy].get("noise", 0.0))
    return Instance(X, int(classes.max()) + 1, classes, links)


@lru_cache(maxsize=1)
def _rows(name: str, folder: Path | None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    data = load(name, data=folder)
    X = np.array(data.X, dtype=np.float64)
    return (X if name == "iris" else standardized(X)), data.labels


def _links(pairs: NDArray[np.int64], together: NDArray[np.bool_], noise: float) -> dict[str, Any]:
    read: Callable[[Any], Any] = partial(soften, noise=noise) if noise else np.asarray
    return {"must_link": read(pairs[together]), "cannot_link": read(pairs[~together])}


@lru_cache(maxsize=1)
def _asked(name: str, strategy: str, folder: Path | None, seed: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return all questions put to one person, and the answers, of which the strategy's noise is wrong."""
    X, classes = _rows(name, folder)
    options = dict(STRATEGIES[strategy])
    noise = options.get("noise", 0.0)
    rng = np.random.default_rng(seed)
    pairs = np.zeros((0, 2), dtype=np.int64)
    together = np.zeros(0, dtype=np.bool_)
    while len(pairs) < ANSWERS[-1]:
        known = _links(pairs, together, 0.0)
        new = (
            suggest_pairs(X, int(classes.max()) + 1, ask=PER_ROUND, random_state=seed, **options, **known)
            if options
            else rng.permuted(np.tile(np.arange(len(X)), (PER_ROUND, 1)), axis=1)[:, :2]
        )
        if not len(new):
            break
        is_wrong = rng.random(len(new)) < noise
        pairs = np.concatenate([pairs, new])
        together = np.concatenate([together, (classes[new[:, 0]] == classes[new[:, 1]]) != is_wrong])
    return pairs, together


def _curve(records: Sequence[Record], data: str, strategy: str) -> dict[int, float]:
    """Return the mean ARI by number of answers."""
    means = means_of(select(records, data=data, method=strategy), "ari", ["answers"])
    return {int(answers): mean for (answers,), mean in sorted(means.items())}


def _height(curve: Mapping[int, float], upto: int) -> float:
    """Return the mean height of a curve from 0 to `upto` answers: the area under it over its length."""
    at = [answers for answers in curve if answers <= upto]
    return float(np.trapezoid([curve[answers] for answers in at], at)) / upto


def _judge_half(strategy: str, records: Sequence[Record]) -> ClaimVerdict:
    heights = {}
    for name in DATA:
        ours, random = (_curve(records, name, chosen) for chosen in (strategy, "random"))
        if ANSWERS[-1] in ours and ANSWERS[-1] in random:
            heights[name] = (_height(ours, 50), _height(random, 100))
    below = [
        f"{name} ({ours:.3f} against {theirs:.3f})" for name, (ours, theirs) in heights.items() if ours <= theirs
    ]
    found = f"on {len(heights) - len(below)} of {len(heights)} sets" + (f"; not {', '.join(below)}" if below else "")
    return ClaimVerdict(found, len(heights) - len(below) >= N_ASKED if len(heights) == len(DATA) else None)


def _judge_asked(records: Sequence[Record]) -> ClaimVerdict:
    found = {point: _curve(records, point[0], "uncertainty, ITML").get(point[1]) for point in ASKED}
    if None in found.values():
        return ClaimVerdict("no rows", None)
    # Asked with two digits.
    reached = {
        f"{name} {n} ({value:.3f}, asked {ASKED[name, n]})": round(value, 2) >= ASKED[name, n]
        for (name, n), value in found.items()
        if value is not None
    }
    return judge_points(reached)


def _judge_wrong(strategy: str, records: Sequence[Record]) -> ClaimVerdict:
    lost = {}
    for name in CLOSER:
        right, wrong = (_curve(records, name, chosen) for chosen in (strategy, f"{strategy}, 10% wrong"))
        start = _curve(records, name, "random").get(0)
        if start is None or ANSWERS[-1] not in right or ANSWERS[-1] not in wrong:
            return ClaimVerdict("no rows", None)
        lost[name] = (_height(right, 100) - _height(wrong, 100)) / (_height(right, 100) - start)
    words = ", ".join(f"{name} {100 * share:.0f}%" for name, share in lost.items())
    return ClaimVerdict(f"lost: {words}", max(lost.values()) <= 1 / 3)


def _contender(strategy: str, options: Mapping[str, Any]) -> Contender:
    params = (("metric", options["metric"]),) if "metric" in options else ()
    # The first row of a person also asks all the questions.
    return Contender(strategy, "constrained-kmeans", params=params, time_limit=600.0, where={"way": strategy})


CLAIMS = (
    *(
        Claim(
            f"{strategy}: half the answers of random pairs are enough on {N_ASKED} sets",
            partial(_judge_half, strategy),
        )
        for strategy in EVERYWHERE[1:]
    ),
    Claim("With the learned metric at least what was asked on Iris, Wine and Breast Cancer", _judge_asked),
    *(
        Claim(
            f"{strategy}: with 10% wrong answers at most a third of the gain is lost", partial(_judge_wrong, strategy)
        )
        for strategy in EVERYWHERE[1:]
    ),
)

EXPERIMENT = Experiment(
    name="asking",
    title="Asking a person: agreement with the truth by number of answers",
    reference="Xiong, Azimi, Fern (2014), Active Learning of Constraints for Semi-Supervised Clustering",
    cases=cases,
    contenders=tuple(_contender(strategy, options) for strategy, options in STRATEGIES.items()),
    measures=("ari", "broken", *CLOCKED),
    tables=(
        PaperTable(
            "Mean ARI by number of answers",
            ("data", "answers"),
            tuple(Column(strategy, strategy, "ari") for strategy in STRATEGIES),
            {
                (name, answers): {"uncertainty, ITML": Published(ASKED.get((name, answers)))}
                for name in DATA
                for answers in ANSWERS
            },
            total="mean",
        ),
    ),
    figures=(Figure("curves", "ARI by number of answers", "answers", "ari", "data", tuple(STRATEGIES)),),
    claims=(*CLAIMS, *(claim.from_draw(FIRST_FRESH) for claim in CLAIMS)),
    quick=({"set": 0},),
    notes=(
        f"Up to {N_SEEDS} persons per curve, {PER_ROUND} questions per round, true number of clusters; features "
        "standardised but for Iris. Random pairs may repeat; each counts, as do questions that are asked once more.",
        "Half the answers: the mean height of the curve from 0 to 50 answers against that of random pairs from 0 to "
        "100. The gain of answers is the mean height of a curve to 100 answers above plain clusters without any. "
        '"Published" is what was asked for, mean of three seeds of a plain re-implementation with ITML.',
        f"A draw is a person. Those from {FIRST_FRESH} on are judged apart too: settings were chosen on the others.",
    ),
)
