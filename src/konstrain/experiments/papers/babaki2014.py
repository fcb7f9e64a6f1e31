"""Babaki, Guns and Nijssen (2014), CCCG: optimal clusterings of Iris, Wine and Soybean (Tables 6 to 8)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from konstrain.baselines import COPKMeans
from konstrain.comparison.measures import CLOCKED, Instance
from konstrain.comparison.records import Group, Record, means_of, select
from konstrain.datasets import load, sample_babaki
from konstrain.experiments.declare import Case, Contender, Experiment
from konstrain.experiments.published import Claim, ClaimVerdict, Column, Figure, PaperTable, Published, read_number

# Number of constraints; for k=3 and k=5: share of COP-KMeans runs that keep all, their best, the best of CCCG;
# for k=5 also by how many percent CCCG is below them (printed as "+" where no run keeps all, "-" here).
TABLE_6 = """
2    100%   90.3725  90.3725    100%  46.5616  46.5616            0%
60   100%   83.6675  83.6675    100%  53.399   53.399             0%
100  37.20% 87.2082  87.2082    100%  57.3827  57.3804*           0.004%
140  0%     -        87.8750*   100%  63.1699  62.2115*           1.5%
200  0%     -        89.1496*   100%  71.1401  69.3154*           2.56%
240  0%     -        85.2477*   100%  72.7078  69.9776*           3.76%
300  0%     -        89.3868*   83.6% 82.0819  81.9792*           0.13%
340  31.40% 89.3868  89.3868*   100%  85.9036  82.9945*           3.39%
400  0%     -        89.3868*   100%  84.0495  84.0357*           0.02%
440  31.00% 88.6409  88.6409*   100%  82.6373  82.6373*           0%
500  0%     -        89.3868*   100%  85.8908  85.8719*           0.02%
"""
TABLE_7 = """
240  0%  -  4860250*   100%   4021090  3327908*                   17.24%
300  0%  -  5133144*   0%     -        4077296*                   -
340  0%  -  5214981*   16.6%  4659910  4329603*                   7.09%
380  0%  -  5220299*   66.6%  4729860  4450036*                   5.92%
420  0%  -  5232632*   59.6%  4740180  4537678*                   4.27%
460  0%  -  5232632*   94.2%  4819200  4540041*                   5.79%
500  0%  -  5232632*   15%    4922560  4684355*                   4.84%
"""
# Number of constraints; for k=3, 4, 5: share of COP-KMeans runs that keep all, and by how much CCCG is below their
# best in percent. Where none kept all the paper has the value itself: 339 and 418 for k=3, and a proof that none is.
TABLE_8 = """
2    100%  0     100%    0       100%   0.00
10   100%  0     100%    0*      100%   4.56*
20   100%  0*    100%    0.12*   100%   0.29*
40   0%    -     100%    0*      100%   1.25*
60   0%    -     52.60%  0*      81.20% 0.24*
80   0%    -     74.00%  0*      27.00% 0.38*
"""
SOYBEAN_BEST = {
    ("soybean", 3, 40): Published(339.0, mark="*"),
    ("soybean", 3, 60): Published(418.0, mark="*"),
    ("soybean", 3, 80): Published(None, mark="INF"),
}
TABLES = {"iris": TABLE_6, "wine": TABLE_7, "soybean": TABLE_8}
# Runs of COP-KMeans per problem; the paper has 500.
N_RUNS = 100

SHUFFLED = "COP, random order"
# The exact method with the paper's own bound and no other.
COLUMNS = "column generation"
# The paper's start, its stabilisation, and branch and bound alone for pricing.
AS_PRINTED = "CCCG as printed"
# Runs of COP-KMeans that it starts from, as in the paper.
N_STARTS = 500
SAT, BEST, OURS, BETTER = "COP keeps all", "COP best", "exact", "exact below COP, %"
# The columns of the tables by number of clusters.
HEADINGS: Mapping[str, Mapping[int, tuple[str, ...]]] = {
    **{name: {3: (SAT, BEST, OURS), 5: (SAT, BEST, OURS, BETTER)} for name in ("iris", "wine")},
    "soybean": dict.fromkeys((3, 4, 5), (SAT, BETTER)),
}


def _published(data: str) -> dict[Group, dict[str, Published]]:
    """What the paper prints of a data set, by data, number of clusters and number of constraints."""
    found: dict[Group, dict[str, Published]] = {}
    for line in TABLES[data].strip().split("\n"):
        count, *cells = line.split()
        rest = iter(map(read_number, cells))
        for n_clusters, headings in HEADINGS[data].items():
            found[data, n_clusters, int(count)] = {heading: next(rest) for heading in headings}
    for group, value in SOYBEAN_BEST.items() if data == "soybean" else ():
        found[group] = {SAT: found[group][SAT], OURS: value}
    return found


def cases() -> Iterator[Case]:
    """One draw of constraints for each line of the tables, as in the paper."""
    for data in TABLES:
        for _, n_clusters, n_links in _published(data):
            make = partial(_instance, data, n_clusters, n_links)
            yield Case.of(make, seed=0, data=data, k=n_clusters, links=n_links)


def _instance(name: str, n_clusters: int, n_links: int, folder: Path | None, seed: int) -> Instance:
    data = load(name, data=folder)
    # The number of links takes part in the seed, or small draws would be parts of large ones.
    sample = sample_babaki(data.labels, n_links, random_state=1000 * seed + n_links)
    return Instance(data.X, n_clusters, data.labels, sample.links)


def _judge_proofs(records: Sequence[Record]) -> ClaimVerdict:
    runs = select(records, method="exact")
    proved = sum(run.get("proved") is True for run in runs)
    infeasible = sum((run["reason"] or "").startswith("InfeasibleError") for run in runs)
    provers = Counter(run["prover"] for run in runs if run.get("proved") is True)
    by = ", ".join(f"{count} by {prover}" for prover, count in provers.most_common())
    found = f"{proved} optima ({by}) and {infeasible} infeasible ones proved of {len(runs)}"
    return ClaimVerdict(found, proved + infeasible == len(runs) if runs else None)


def _judge_columns(method: str, records: Sequence[Record]) -> ClaimVerdict:
    """Of the lines that the paper proved, those that column generation alone proves, or the check of conflicts."""
    marked = {
        group
        for data in TABLES
        for group, cells in _published(data).items()
        if any(cell.mark in ("*", "INF") for cell in cells.values())
    }
    runs = [run for run in select(records, method=method) if (run["data"], run["k"], run["links"]) in marked]
    proved = sum(run.get("proved") is True for run in runs)
    refuted = sum((run["reason"] or "").startswith("InfeasibleError") for run in runs)
    found = f"{proved} by column generation and {refuted} by the check of conflicts before it, of {len(runs)}"
    return ClaimVerdict(found, proved + refuted == len(runs) if runs else None)


def _judge_below(records: Sequence[Record]) -> ClaimVerdict:
    optimum = {
        (run["data"], run["k"], run["links"]): run["sse"] for run in select(records, method="exact", proved=True)
    }
    compared = [
        (run["sse_kept"], optimum[case])
        for run in [*select(records, method="COP-KMeans"), *select(records, method=SHUFFLED)]
        if run.get("sse_kept") is not None and (case := (run["data"], run["k"], run["links"])) in optimum
    ]
    below = sum(theirs < ours * (1 - 1e-6) for theirs, ours in compared)
    return ClaimVerdict(f"{below} of {len(compared)} runs below the optimum", below == 0 if compared else None)


def _judge_easier(records: Sequence[Record]) -> ClaimVerdict:
    means = means_of(select(records, method="COP-KMeans"), "kept_all", ["data", "k"])
    pairs = {name: (means[name, 3], means[name, 5]) for name in TABLES if {(name, 3), (name, 5)} <= set(means)}
    found = "; ".join(f"{name} {100 * few:.0f}% and {100 * many:.0f}%" for name, (few, many) in pairs.items())
    return ClaimVerdict(found or "no rows", all(few < many for few, many in pairs.values()) if pairs else None)


def _as_printed(n_clusters: int) -> Contender:
    start = COPKMeans(n_clusters, on_failure="continue", best_by="clusters", n_init=N_STARTS)
    switches = (("stabilization", "perturbation"), ("local_pricing", False))
    return Contender(
        AS_PRINTED,
        "exact",
        params=(("bound", "column-generation"), ("init", start), *switches),
        time_limit=90.0,
        where={"k": n_clusters},
    )


def _table(number: int, data: str) -> PaperTable:
    shared = (Column(SAT, "COP-KMeans", "kept_all", "share", 1), Column(BEST, "COP-KMeans", "sse_kept", "min"))
    ours = (
        Column(f"{SHUFFLED}: keeps all", SHUFFLED, "kept_all", "share", 1),
        Column(f"{SHUFFLED}: best", SHUFFLED, "sse_kept", "min"),
        Column(OURS, "exact", "sse", "min"),
        Column("proved", "exact", "proved", "share", 0),
        Column(f"{COLUMNS}: proved", COLUMNS, "proved", "share", 0),
        Column(f"{COLUMNS}: gap", COLUMNS, "gap", "min", 4),
        Column(f"{COLUMNS}: seconds", COLUMNS, "cpu_seconds", "mean", 1),
        Column(f"{AS_PRINTED}: proved", AS_PRINTED, "proved", "share", 0),
        Column(f"{AS_PRINTED}: gap", AS_PRINTED, "gap", "min", 4),
        Column(f"{AS_PRINTED}: seconds", AS_PRINTED, "cpu_seconds", "mean", 1),
        Column("seconds", "exact", "cpu_seconds", "mean", 1),
    )
    better = Column(BETTER, "exact", "sse_kept", "min", 2, relative_to="COP-KMeans")
    title = f"Table {number}: {data.capitalize()}, one set of constraints per line (* proved)"
    return PaperTable(title, ("data", "k", "links"), (*shared, *ours, better), _published(data))


EXPERIMENT = Experiment(
    name="babaki2014",
    title="Optimal constrained clusterings of Iris, Wine and Soybean",
    reference="Babaki, Guns, Nijssen (2014), Constrained Clustering using Column Generation",
    cases=cases,
    contenders=(
        Contender("exact", "exact", time_limit=600.0),
        Contender(COLUMNS, "exact", params=(("bound", "column-generation"),), time_limit=600.0),
        *map(_as_printed, (3, 4, 5)),
        Contender("COP-KMeans", "cop-kmeans", params=(("on_failure", "continue"),), n_runs=N_RUNS),
        Contender(SHUFFLED, "cop-kmeans", (("on_failure", "continue"), ("order", "random")), n_runs=N_RUNS),
    ),
    measures=("sse", "sse_kept", "kept_all", "ari", "lower_bound", "gap", "proved", "prover", *CLOCKED),
    tables=tuple(_table(number, data) for number, data in enumerate(TABLES, 6)),
    figures=(
        Figure(
            "seconds",
            "Fig. 1: seconds on Iris",
            "links",
            "cpu_seconds",
            "k",
            (COLUMNS, "exact"),
            where={"data": "iris"},
        ),
    ),
    claims=(
        Claim("Every line is proved: an optimum, or that there is none", _judge_proofs),
        Claim(
            "Column generation alone proves every line that the paper proved, within 10 minutes",
            partial(_judge_columns, COLUMNS),
        ),
        Claim(
            "CCCG as printed proves every line that the paper proved (here: within 90 seconds on the clock)",
            partial(_judge_columns, AS_PRINTED),
        ),
        Claim("COP-KMeans keeps all constraints more often with k=5 than with k=3", _judge_easier),
        Claim("No run of COP-KMeans that keeps all constraints is below a proved optimum", _judge_below),
    ),
    quick=(
        {"method": ("exact", COLUMNS, AS_PRINTED), "links": (40, 300, 500)},
        {"method": ("COP-KMeans", SHUFFLED), "run": range(10)},
    ),
    notes=(
        "The paper's sets of constraints are not published; ours are drawn the same way, one per line as there. So "
        "values of SSE are those of other problems: read proofs, shares and seconds, not differences.",
        "What is called exact takes whichever bound suits a line (`prover` in the raw rows names it); column "
        "generation alone, the paper's own bound, stands beside it, with 10 minutes a line on the clock. INF: proved "
        "that there is none, on the one line of Soybean by the check of conflicts that comes before either bound.",
        "With k=3 on Iris no optimum can exceed 89.3868, the scatter of the true classes (89.2974 in scikit-learn's "
        "copy); the first published value, 90.3725 without a proof, is above it.",
        "Column generation is left open on the two lines of Iris with 2 constraints, which the paper did not prove "
        "either; the processor had been at work on them for as many seconds as the table says, of 600 on the clock.",
        f"The paper ran CCCG for 30 minutes per line and COP-KMeans 500 times; here: 10 minutes, {N_RUNS} times. "
        "One row took 642.7 s for 600: nodes were still built when time was over, which no longer happens.",
        f"{AS_PRINTED}: begun by the best of {N_STARTS} runs of COP-KMeans by the paper's rule, duals stabilised by "
        "perturbation, pricing by branch and bound alone; 90 seconds a line on the clock of a busy machine, 20 to 26 "
        "of a processor on lines left open. Seven rows failed, six of them on Wine: no run of COP-KMeans had kept "
        "all constraints, and perturbed masters, without a clustering to stabilise around, did not end in time.",
        "In which order COP-KMeans takes the rows the paper does not say. Both are shown: the given order, the same "
        "in all runs of a line, and a random one for each run.",
    ),
)
