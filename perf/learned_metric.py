"""Set our learned metric beside metric-learn's ITML: ``python perf/learned_metric.py --data FOLDER/sets [--full]``.

The draws of the experiment `learned-metric` of `konstrain bench`: data sets of Baumann (2020) with 2% and 5% of the
rows in links. Each metric is followed by the same `ConstrainedKMeans`; ours decides by held-out links whether to be
used at all, the package's is used always, each on features as they are and standardised. Mean ARI and CPU seconds
over three draws (``--full``: ten). The package makes at most 100 sweeps over the links: its default is 1,000.
``--ours`` leaves the package out.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from konstrain import ConstrainedKMeans
from konstrain.experiments.papers.baumann2020 import DATA, instance_of
from konstrain.scaling import standardized

SHARES = (2, 5)
MAX_SWEEPS = 100
HEADINGS = ("plain", "ours", "plain, standardised", "ours, standardised", "ours s")
HEADINGS_OF_PACKAGE = ("metric-learn", "metric-learn, standardised", "metric-learn s")


def measured(name: str, share: int, folder: Path, seed: int, *, with_package: bool) -> list[float]:
    """ARI and seconds of each way on one draw."""
    case = instance_of(name, share, folder, seed)
    X, links = np.ascontiguousarray(case.X, dtype=np.float64), case.constraints
    on_one_scale = standardized(X.copy())

    def ari(rows: np.ndarray, **params: str) -> float:
        model = ConstrainedKMeans(case.n_clusters, random_state=seed, **params).fit(rows, **links)
        return adjusted_rand_score(case.labels, model.labels_)

    def theirs(rows: np.ndarray) -> float:
        from peers.metric_learn_itml import transformed

        return ari(transformed(rows, links["must_link"], links["cannot_link"], MAX_SWEEPS))

    plain, begun = ari(X), time.process_time()
    ours, ended = ari(X, metric="learned"), time.process_time()
    found = [plain, ours, ari(on_one_scale), ari(on_one_scale, metric="learned"), ended - begun]
    if with_package:
        begun = time.process_time()
        package, ended = theirs(X), time.process_time()
        found += [package, theirs(on_one_scale), ended - begun]
    return found


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("sets", nargs="*", default=DATA)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn, about the package
    headings = HEADINGS if options.ours else (*HEADINGS, *HEADINGS_OF_PACKAGE)
    print("| data | links | " + " | ".join(headings) + " |")
    print("|---|---|" + "---|" * len(headings))
    lines = []
    for name in options.sets:
        for share in SHARES:
            seeds = range(10 if options.full else 3)
            draws = [measured(name, share, options.data, seed, with_package=not options.ours) for seed in seeds]
            lines.append(np.mean(draws, axis=0))
            print(f"| {name} | {share}% | " + " | ".join(f"{value:.3f}" for value in lines[-1]) + " |", flush=True)
    print("| mean | | " + " | ".join(f"{value:.3f}" for value in np.mean(lines, axis=0)) + " |")


if __name__ == "__main__":
    main()
