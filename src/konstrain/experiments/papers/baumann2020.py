"""Baumann (2020), BLPKM-CC: 25 data sets under three constraint sets, ARI (Table III) and seconds (Table IV)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from konstrain.comparison.measures import CLOCKED, Instance
from konstrain.comparison.records import Record, means_of, select, values_of
from konstrain.datasets import load, sample_baumann
from konstrain.experiments.declare import Case, Contender, Experiment
from konstrain.experiments.published import (
    Claim,
    ClaimVerdict,
    Column,
    PaperTable,
    Published,
    judge_points,
    read_table,
)

# Share of the rows, in percent, that the number of pairs comes from.
SHARES = (10, 15, 20)
SETS = tuple(f"CS{share}" for share in SHARES)
# The paper ran 30 starts on one constraint set per instance; on small data sets the set decides more than the start.
N_SETS, N_STARTS = 10, 3
# Sets for the exact method, which may take seconds where the others take milliseconds.
N_EXACT = 3
FEW_SETS = {"set": range(N_EXACT)}

# BLPKM-CC and DILS under CS10, CS15, CS20.
TABLE_3 = """
appendicitis    0.573 0.611 1.000 0.957 1.000 1.000
breast_cancer   0.979 0.755 1.000 0.792 1.000 0.796
bupa            0.931 0.889 1.000 0.993 1.000 0.988
circles         0.850 0.781 1.000 1.000 1.000 1.000
ecoli           0.686 0.039 0.912 0.091 0.974 0.264
glass           0.286 0.008 0.763 0.076 0.942 0.258
haberman        0.929 0.802 1.000 1.000 1.000 1.000
hayesroth       0.173 0.057 0.978 0.478 0.923 0.816
heart           0.885 0.846 1.000 1.000 1.000 1.000
ionosphere      0.943 0.809 1.000 0.973 1.000 0.984
iris            0.584 0.550 0.598 0.832 0.574 0.953
led7digit       0.611 0.013 0.877 0.012 0.988 0.017
monk2           0.963 0.823 1.000 0.899 1.000 0.899
moons           0.987 0.963 1.000 1.000 1.000 1.000
movement_libras 0.312 0.019 0.348 0.018 0.503 0.020
newthyroid      0.865 0.040 0.984 0.390 0.984 0.845
saheart         0.983 0.788 1.000 0.870 1.000 0.867
sonar           0.743 0.710 0.981 0.981 1.000 1.000
soybean         0.607 0.289 0.607 0.468 0.805 0.629
spectfheart     0.871 0.895 1.000 1.000 1.000 1.000
spiral          0.857 0.849 1.000 1.000 1.000 1.000
tae             0.046 0.028 0.547 0.386 0.982 0.846
vehicle         0.956 0.023 1.000 0.066 1.000 0.171
wine            0.397 0.326 0.536 0.740 0.583 0.898
zoo             0.629 0.221 0.788 0.193 0.819 0.250
"""
TABLE_4 = """
appendicitis    0.2   836.5 0.1   870.4  0.1   941.6
breast_cancer   0.5  8572.7 0.5  9223.6  0.8 10625.8
bupa            0.2  3222.8 0.2  3482.5  0.3  3934.5
circles         0.3  2491.1 0.2  2673.5  0.2  3016.7
ecoli           2.4  2655.8 2.5  2890.1  2.3  3376.0
glass           0.6  1657.8 0.8  1766.6  0.8  1956.7
haberman        0.2  2639.8 0.1  2867.3  0.2  3274.8
hayesroth       0.4  1211.5 0.2  1266.8  0.2  1390.4
heart           0.2  2586.0 0.1  2776.3  0.2  3080.3
ionosphere      0.2  4392.8 0.2  4688.9  0.2  5272.5
iris            0.2  1128.8 0.2  1180.9  0.2  1303.0
led7digit       4.2  4101.8 5.0  4622.6  4.7  5550.2
monk2           0.3  4255.2 0.2  4643.2  0.4  5394.4
moons           0.2  2483.2 0.1  2679.2  0.2  3004.0
movement_libras 5.4  3403.7 7.3  3724.6 14.5  4146.8
newthyroid      0.3  1709.6 0.2  1820.4  0.3  2074.7
saheart         0.2  4929.8 0.3  5437.3  0.4  6176.6
sonar           0.2  2513.6 0.1  2623.1  0.1  2848.1
soybean         0.2   367.3 0.2   375.3  0.2   402.4
spectfheart     0.2  3449.8 0.2  3660.1  0.2  3978.0
spiral          0.2  2490.6 0.2  2681.7  0.2  3027.2
tae             0.3  1158.9 0.3  1206.9  0.2  1321.6
vehicle         1.3 10269.1 1.4 11791.3  2.5 14368.6
wine            0.2  1486.7 0.2  1564.4  0.2  1724.4
zoo             0.3   744.8 0.3   769.8  0.4   843.4
"""
DATA = tuple(line.split()[0] for line in TABLE_3.split("\n") if line)
# The last lines of the two tables as printed, in the order of their columns.
PRINTED_MEANS = "0.706 0.485 0.877 0.649 0.923 0.740"
PRINTED_SUMS = "18.8 74759.8 21.2 81286.9 29.9 93032.6"
# What the paper's method reaches over the 25 sets, and what we ask of ours.
ASKED = dict(zip(SETS, map(float, PRINTED_MEANS.split()[::2]), strict=True))
# On how many data sets the paper's method finds the classes exactly in all its runs under the largest set.
N_PERFECT = 14


def _last_line(printed: str) -> dict[tuple[str], dict[str, Published]]:
    """Give the last line of a table as it is printed, by constraint set and method."""
    values = [Published(float(cell)) for cell in printed.split()]
    pairs = zip(values[::2], values[1::2], strict=True)
    return {(name,): {"BLPKM-CC": ours, "DILS": dils} for name, (ours, dils) in zip(SETS, pairs, strict=True)}


def cases() -> Iterator[Case]:
    """Every data set under every size of constraint set, `N_SETS` draws each."""
    for name in DATA:
        for share in SHARES:
            for seed in range(N_SETS):
                yield Case.of(partial(instance_of, name, share), seed=seed, data=name, constraints=f"CS{share}")


def instance_of(name: str, share: int, folder: Path | None, seed: int) -> Instance:
    """Return a data set, as it is, under one draw of the constraint set CS_share."""
    data = load(name, data=folder)
    sample = sample_baumann(data.labels, share / 100, random_state=seed)
    return Instance(data.X, data.n_clusters, data.labels, sample.links)


def _judge_mean(constraints: str, records: Sequence[Record]) -> ClaimVerdict:
    ours = _means(records, "BLPKM-CC", constraints)
    if not ours:
        return ClaimVerdict("no rows", None)
    mean = fmean(ours.values())
    is_whole = len(ours) == len(DATA)
    return ClaimVerdict(f"{mean:.3f} over {len(ours)} sets", mean >= ASKED[constraints] if is_whole else None)


def _judge_rise(method: str, records: Sequence[Record]) -> ClaimVerdict:
    """Compare the means over the data sets that a method has run on under every size of constraint set."""
    curves = [_means(records, method, constraints) for constraints in SETS]
    names = [name for name in curves[0] if all(name in curve for curve in curves)]
    if not names:
        return ClaimVerdict("no rows", None)
    means = [fmean(curve[name] for name in names) for curve in curves]
    rises = [all(before[name] <= after[name] for before, after in pairwise(curves)) for name in names]
    found = f"{' / '.join(f'{mean:.3f}' for mean in means)}; without a fall on {sum(rises)} of {len(names)} sets"
    return ClaimVerdict(found, all(before < after for before, after in pairwise(means)))


def _judge_links(records: Sequence[Record]) -> ClaimVerdict:
    runs = select(records, method="BLPKM-CC")
    broken = sum(values_of(runs, "broken"))
    failed = sum(record["status"] == "failed" for record in runs)
    return ClaimVerdict(
        f"{broken} broken links, {failed} failed of {len(runs)} runs", broken + failed == 0 if runs else None
    )


def _judge_above(method: str, other: str, records: Sequence[Record]) -> ClaimVerdict:
    """Compare mean ARI over the data sets that both methods have run on."""
    means = []
    for constraints in SETS:
        ours, theirs = (_means(records, name, constraints) for name in (method, other))
        names = [name for name in ours if name in theirs]
        if names:
            means.append((fmean(ours[name] for name in names), fmean(theirs[name] for name in names)))
    found = ", ".join(f"{ours:.3f} against {theirs:.3f}" for ours, theirs in means)
    return ClaimVerdict(found or "no rows", all(ours > theirs for ours, theirs in means) if means else None)


def _judge_perfect(records: Sequence[Record]) -> ClaimVerdict:
    ours = _means(records, "BLPKM-CC", "CS20")
    # The paper prints three digits.
    perfect = sum(round(mean, 3) == 1.0 for mean in ours.values())
    return ClaimVerdict(f"{perfect} of {len(ours)}", perfect >= N_PERFECT if len(ours) == len(DATA) else None)


def _judge_proofs(records: Sequence[Record]) -> ClaimVerdict:
    proved = values_of(select(records, method="exact"), "proved")
    return ClaimVerdict(f"{sum(map(bool, proved))} of {len(proved)} runs", all(proved) if proved else None)


def _judge_seconds(records: Sequence[Record]) -> ClaimVerdict:
    totals = [sum(_means(records, "BLPKM-CC", constraints, "cpu_seconds").values()) for constraints in SETS]
    found = " / ".join(f"{total:.2f} s" for total in totals)
    return ClaimVerdict(found, max(totals) < 1.0 if max(totals) > 0 else None)


def _judge_faster(records: Sequence[Record]) -> ClaimVerdict:
    faster: dict[str, bool] = {}
    for constraints in SETS:
        ours, theirs = (_means(records, name, constraints, "cpu_seconds") for name in ("BLPKM-CC", "DILS"))
        faster |= {f"{name} {constraints}": ours[name] < theirs[name] for name in ours if name in theirs}
    return judge_points(faster, "lines")


def _means(records: Sequence[Record], method: str, constraints: str, measure: str = "ari") -> dict[str, float]:
    """Mean over the runs of each data set."""
    chosen = select(records, method=method, constraints=constraints)
    return {str(name): mean for (name,), mean in means_of(chosen, measure, ["data"]).items()}


def _columns(measure: str) -> tuple[Column, ...]:
    """One measure of every contender."""
    return tuple(Column(name, name, measure) for name in ("BLPKM-CC", "DILS", "ConstrainedKMeans", "exact"))


EXPERIMENT = Experiment(
    name="baumann2020",
    title="BLPKM-CC on 25 data sets",
    reference="Baumann (2020), A Binary Linear Programming-Based K-Means Algorithm For Clustering with Must-Link and "
    "Cannot-Link Constraints",
    cases=cases,
    contenders=(
        Contender("BLPKM-CC", "blp-kmeans", n_runs=N_STARTS, time_limit=20.0),
        Contender("DILS", "dils", time_limit=10.0, where=FEW_SETS),
        Contender("ConstrainedKMeans", "constrained-kmeans", time_limit=10.0),
        Contender("exact", "exact", time_limit=10.0, where=FEW_SETS),
    ),
    measures=(
        "ari",
        "nmi",
        "ari_untouched",
        "broken_ml",
        "broken_cl",
        "broken",
        "sse",
        "proved",
        *CLOCKED,
    ),
    tables=(
        PaperTable(
            "Table III: mean ARI",
            ("data", "constraints"),
            (*_columns("ari"), Column("exact: proved", "exact", "proved", "share", 0)),
            published=read_table(TABLE_3, ("BLPKM-CC", "DILS"), across=SETS),
            total="mean",
            printed_totals=_last_line(PRINTED_MEANS),
        ),
        PaperTable(
            "Table IV: mean seconds of one run (ours: of one processor)",
            ("data", "constraints"),
            _columns("cpu_seconds"),
            published=read_table(TABLE_4, ("BLPKM-CC", "DILS"), across=SETS),
            total="sum",
            printed_totals=_last_line(PRINTED_SUMS),
        ),
    ),
    claims=(
        *(
            Claim(f"BLPKM-CC: mean ARI over the data sets at least {asked} under {name}", partial(_judge_mean, name))
            for name, asked in ASKED.items()
        ),
        Claim(
            "BLPKM-CC has a higher mean ARI than DILS (CS10, CS15, CS20)", partial(_judge_above, "BLPKM-CC", "DILS")
        ),
        Claim(f"BLPKM-CC finds the classes exactly on {N_PERFECT} of 25 data sets under CS20", _judge_perfect),
        *(
            Claim(f"The quality of {name} rises with the constraint set (mean ARI)", partial(_judge_rise, name))
            for name in ("BLPKM-CC", "DILS")
        ),
        Claim("BLPKM-CC keeps every link in every run", _judge_links),
        Claim(
            "ConstrainedKMeans has the higher mean ARI (CS10, CS15, CS20)",
            partial(_judge_above, "ConstrainedKMeans", "BLPKM-CC"),
        ),
        Claim("The rows called exact are proved, within 10 s each", _judge_proofs),
        Claim("BLPKM-CC is faster than DILS across data and constraint sets", _judge_faster),
        Claim("One run of BLPKM-CC on all data sets takes less than 1 s (CS10, CS15, CS20)", _judge_seconds),
    ),
    quick=({"set": 0},),
    notes=(
        "CS_r: with q = ceil(r n), q (q - 1) / 2 distinct pairs drawn uniformly over all objects; must-link where "
        "the classes agree, else cannot-link.",
        f"The paper has 30 starts on one constraint set per instance; we have {N_STARTS} starts on each of {N_SETS} "
        "sets, because on small data sets the set decides more than the start.",
        "Iris and Wine are where ours is far above the published method, by 0.23 to 0.42; without these two the mean "
        "differences are +0.015, -0.004 and +0.003. With the most links the published values are those of the true "
        "classes with two of them taken for one (Iris 0.568; Wine 0.582 for the second and third). On Iris they are "
        "below what the method finds without any links (0.69) and do not rise; links among 10 to 20% of the rows, "
        "the other reading of the text, would give 0.75 to 0.79 there and 0.41 to 0.46 on Wine. So we believe that "
        "the published sets for these two do not tell two classes apart. On the other 23 our reading is within 0.15 "
        "of every published value.",
        "The paper's data are KEEL's copies. Glass here has the values of UCI, which differ (nearest rows up to 0.55 "
        "apart), and Iris is scikit-learn's copy, which differs in a few values.",
        "The last lines of both tables are as printed; the lines of Table IV, rounded to 0.1 s, add up to them "
        "within 0.2 s.",
        f"The exact method has {N_EXACT} sets and 10 s each; 'exact: proved' is the share of its runs that are "
        "proved. Where it is below 100% the ARI beside it is that of the best clustering found.",
        "The settings of DILS that its paper leaves open (its defaults here) were fitted to the published table: its "
        "columns show that the method is the same one, not how well it could do.",
    ),
)
