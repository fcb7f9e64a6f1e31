"""Default fits over real data sets and kinds of constraints: ``python perf/survey.py [--quick | --full] [options]``.

A line per fit: processor seconds on one thread and their ratio to scikit-learn's `KMeans(n_init=10)`, the objective
beside the best known and beside that of an earlier run, whether the last step was proved, warnings, errors. Every fit
runs in a child process that ends when its processor time is up; its labels are checked against what was asked by
numpy alone. Points in the plane whose optimum is known are a section of their own.
"""

import os

# Before numpy: processor seconds are of one thread, and a forked child must not wait for threads it does not have.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import csv
import multiprocessing
import pkgutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.cluster import KMeans

import konstrain
from konstrain import ConstrainedKMeans, InfeasibleError, NotProvenWarning, UndecidedError
from report import Row, table_of
from survey_cases import (
    HELD_OUT,
    KINDS,
    LARGE,
    PLANE,
    QUICK,
    SHIPPED,
    SMALL,
    Case,
    Draw,
    broken_constraints,
    load_plane,
    load_set,
    objective_of,
)

HERE = Path(__file__).resolve().parent
BEST = HERE / "survey_best.csv"
GROUPS = {"small": SMALL, "large": LARGE, "held-out": HELD_OUT, "plane": tuple(dict.fromkeys(n for n, _ in PLANE))}
SMALL_ROWS = 1_500


@dataclass(frozen=True)
class Fit:
    """One line of the survey, as written to `--out`."""

    data: str
    kind: str
    draw: int
    seed: int
    n_rows: int
    n_clusters: int
    # ok, infeasible, undecided (no labels in time), not ended, broken (labels break what was asked), error.
    status: str = "ok"
    seconds: float = float("nan")
    kmeans_seconds: float = float("nan")
    kmeans_objective: float = float("nan")
    objective: float = float("nan")
    is_comparable: bool = True
    is_proved: bool = False
    warnings: str = ""
    message: str = ""

    @property
    def case_name(self) -> tuple[str, str, int]:
        """What all seeds share."""
        return self.data, self.kind, self.draw

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What no other fit of a survey has."""
        return *self.case_name, self.seed

    @property
    def in_the_plane(self) -> bool:
        """Whether the optimum is known."""
        return self.data in GROUPS["plane"]


def parsed(line: dict[str, str]) -> Fit:
    """Return a fit from a line of a file."""
    read: dict[Any, Callable[[str], Any]] = {bool: lambda text: text == "True"}
    return Fit(**{part.name: read.get(part.type, part.type)(line[part.name]) for part in fields(Fit)})  # type: ignore[operator]


def read_fits(path: Path) -> list[Fit]:
    """Return the fits of an earlier run."""
    with path.open(newline="") as lines:
        return [parsed(line) for line in csv.DictReader(lines)]


@contextmanager
def rows_written(path: Path | None) -> Iterator[Callable[[Fit], None]]:
    """Give a function that writes a fit to the end of the file at once; nothing is written without a file."""
    if path is None:
        yield lambda fit: None
        return
    is_new = not path.exists()
    with path.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, [part.name for part in fields(Fit)], lineterminator="\n")
        if is_new:
            writer.writeheader()

        def write(fit: Fit) -> None:
            writer.writerow(asdict(fit))
            lines.flush()

        yield write


def fitted(case: Case, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit, and return the columns of `Fit` that tell how it went."""
    told: dict[str, Any] = {"is_comparable": case.is_comparable}
    model = ConstrainedKMeans(case.n_clusters, **case.settings, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        try:
            model.fit(case.X, **case.asked)
        except InfeasibleError as error:
            told |= {"status": "infeasible", "message": str(error)}
        except UndecidedError as error:
            told |= {"status": "undecided", "message": str(error)}
        except Exception as error:  # Whatever it is, the survey records it and goes on.
            told |= {"status": "error", "message": f"{type(error).__name__}: {error}"}
        told["seconds"] = time.process_time() - began
    categories = [warning.category.__name__ for warning in caught]
    told["warnings"] = " ".join(sorted({name for name in categories if name != NotProvenWarning.__name__}))
    if "status" in told:
        return told
    broken = broken_constraints(case, model.labels_)
    objective = objective_of(case, model.labels_, model.violation_cost_)
    if not np.isclose(objective, model.objective_, rtol=1e-6):
        broken.append(f"objective_ is {model.objective_:.9g}, of the labels {objective:.9g}")
    if broken:
        told |= {"status": "broken", "message": "; ".join(broken)}
    return told | {"objective": model.objective_, "is_proved": model.step_gap_ == 0.0}


def in_child(call: Callable[[], dict[str, Any]], limit: float) -> dict[str, Any]:
    """Run the call in a forked child and return its result; the child ends after so many processor seconds."""

    def run() -> None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit)
        sending.send(call())

    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=run)
    child.start()
    sending.close()
    not_ended = {"status": "not ended", "seconds": limit}
    try:
        # A child that waits spends no processor time: the clock on the wall ends it, long after.
        return receiving.recv() if receiving.poll(10 * limit + 60) else not_ended
    except EOFError:
        child.join()
        died = {"status": "error", "message": f"the process ended with exit code {child.exitcode}"}
        return not_ended if child.exitcode == -signal.SIGPROF else died
    finally:
        child.kill()
        child.join()


@cache
def draw_of(folder: Path, name: str, draw: int) -> Draw:
    """Return what is drawn for a data set."""
    return Draw(*load_set(folder, name), draw)


def case_of(folder: Path, name: str, kind: str, draw: int) -> Case:
    """Return rows and what is asked of them."""
    if name in GROUPS["plane"]:
        return Case(load_plane(folder, name), int(kind.rpartition("=")[2]))
    return KINDS[kind](draw_of(folder, name, draw))


@cache
def kmeans_of(folder: Path, name: str, n_clusters: int) -> dict[str, Any]:
    """Return processor seconds and SSE of scikit-learn on the same rows, without constraints."""
    X = load_plane(folder, name) if name in GROUPS["plane"] else draw_of(folder, name, 0).X
    began = time.process_time()
    model = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
    return {"kmeans_seconds": time.process_time() - began, "kmeans_objective": float(model.inertia_)}


def survey(options: argparse.Namespace, done: set[tuple[str, str, int, int]]) -> Iterator[Fit]:
    """Make every fit that was asked for and is not done: sets in a shuffled order, then kinds, then seeds."""
    settings = {"time_limit": options.time_limit, "n_init": options.n_init}
    sets = np.random.default_rng(0).permutation(options.sets)
    for name in map(str, sets):
        in_plane = name in GROUPS["plane"]
        for kind in [f"k={k}" for n, k in PLANE if n == name] if in_plane else options.kinds:
            case = case_of(options.data, name, kind, options.draw)
            for seed in options.seeds:
                fit = Fit(name, kind, options.draw, seed, len(case.X), case.n_clusters)
                if fit.key not in done:
                    own = {**settings, "random_state": seed}
                    told = in_child(lambda case=case, own=own: fitted(case, own), options.child_limit)
                    yield replace(fit, **kmeans_of(options.data, name, case.n_clusters), **told)


def read_best() -> dict[tuple[str, str, int], float]:
    """Return the lowest objective known by case; optima for points in the plane."""
    best = {(name, f"k={k}", 0): optimum for (name, k), optimum in PLANE.items()}
    if BEST.is_file():
        with BEST.open(newline="") as lines:
            best |= {(x["data"], x["kind"], int(x["draw"])): float(x["objective"]) for x in csv.DictReader(lines)}
    return best


def write_best(best: dict[tuple[str, str, int], float], fits: list[Fit]) -> int:
    """Write the file of best known objectives with what the fits lowered or added; return how many these are."""
    kept = {key: value for key, value in best.items() if key[0] not in GROUPS["plane"]}
    lowered = {}
    for fit in fits:
        if fit.status == "ok" and fit.is_comparable and not fit.in_the_plane:
            known = lowered.get(fit.case_name, kept.get(fit.case_name, np.inf))
            if fit.objective < known * (1 - 1e-9):
                lowered[fit.case_name] = fit.objective
    with BEST.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["data", "kind", "draw", "objective"])
        writer.writerows([*key, f"{value:.10g}"] for key, value in sorted((kept | lowered).items()))
    return len(lowered)


def ratio(fit: Fit, reference: float | None) -> float:
    """Return the objective relative to another one; NaN where they do not compare."""
    return fit.objective / reference if reference and fit.status == "ok" and fit.is_comparable else float("nan")


def line_of(fit: Fit, best: dict[tuple[str, str, int], float], baseline: dict[Any, Fit]) -> str:
    """Return a fit as one line."""
    earlier = baseline.get(fit.key)
    before = ratio(fit, earlier.objective if earlier and earlier.status == "ok" else None)
    notes = " ".join(["proved" if fit.is_proved else "", fit.warnings, fit.message]).split()
    return (
        f"{fit.data:16s}{fit.n_rows:6d}  {fit.kind:36s}{fit.n_clusters:3d}{fit.seed:3d}  {fit.status:10s}"
        f"{fit.seconds:8.2f} s{fit.seconds / fit.kmeans_seconds:8.1f} x{fit.objective:14.6g}"
        f"{ratio(fit, best.get(fit.case_name)):9.5f}{before:9.5f}  {' '.join(notes)[:160]}"
    )


HEADER = (
    f"{'data':16s}{'rows':>6s}  {'kind':36s}{'k':>3s}{'sd':>3s}  {'status':10s}{'CPU':>10s}{'KMeans':>10s}"
    f"{'objective':>14s}{'to best':>9s}{'to base':>9s}"
)


def seconds_of(fits: list[Fit]) -> Row:
    """Return how long fits took; those that did not end took longest."""
    if not fits:
        return {}
    spent = np.sort([np.inf if fit.status == "not ended" else fit.seconds for fit in fits])
    points = {"median s": 0.5, "90%": 0.9, "95%": 0.95, "worst": 1.0}
    # The value that at least such a share of fits does not exceed: between a number and infinity there is none.
    told = {name: spent[max(0, int(np.ceil(share * spent.size)) - 1)] for name, share in points.items()}
    times = np.median([fit.seconds / fit.kmeans_seconds for fit in fits])
    return {
        "fits": str(len(fits)),
        **{name: f"{value:.2f}" if np.isfinite(value) else "not ended" for name, value in told.items()},
        "not ended": str(int(np.isinf(spent).sum())),
        "median times KMeans": f"{times:.1f}",
    }


def ratios_of(fits: list[Fit], reference: dict[Any, float], by: str) -> Row:
    """Return geometric mean and worst of objectives relative to others."""
    known = [(value, fit) for fit in fits if (value := ratio(fit, reference.get(getattr(fit, by)))) > 0]
    if not known:
        return {}
    worst, where = max(known, key=lambda pair: pair[0])
    return {
        "SSE ratio: mean": f"{np.exp(np.mean(np.log([value for value, _ in known]))):.5f}",
        "SSE: worst": f"{worst:.4f} ({where.data}, {where.kind})",
        "SSE: best": f"{min(known, key=lambda pair: pair[0])[0]:.4f}",
        "SSE: above 1%": f"{sum(value > 1.01 for value, _ in known)} of {len(known)}",
    }


def summary(fits: list[Fit], best: dict[tuple[str, str, int], float], baseline: dict[Any, Fit]) -> Iterator[Any]:
    """Return the tables at the end."""
    plain = [fit for fit in fits if not fit.in_the_plane]
    parts = {
        f"up to {SMALL_ROWS:,} rows": [fit for fit in plain if fit.n_rows <= SMALL_ROWS],
        "up to 20,000 rows": [fit for fit in plain if fit.n_rows > SMALL_ROWS],
    }
    earlier = {key: fit.objective for key, fit in baseline.items() if fit.status == "ok"}
    sse = [("to best known", best, "case_name"), ("to the baseline", earlier, "key")]
    yield table_of("processor seconds", [{"": name, **seconds_of(part)} for name, part in parts.items() if part])
    yield table_of(
        "objective, geometric mean of ratios",
        [{"": name} | row for name, ref, by in sse if (row := ratios_of(plain, ref, by))],
    )
    yield table_of("fits by status", [statuses(plain, best)])
    kinds = {kind: [fit for fit in plain if fit.kind == kind] for kind in dict.fromkeys(fit.kind for fit in plain)}
    yield table_of(
        "by kind",
        [{"kind": kind, **seconds_of(part), **ratios_of(part, best, "case_name")} for kind, part in kinds.items()],
    )
    plane = [fit for fit in fits if fit.in_the_plane]
    if plane:
        yield table_of("points in the plane", [plane_row(fit, best[fit.case_name]) for fit in plane])


def statuses(fits: list[Fit], best: dict[tuple[str, str, int], float]) -> Row:
    """Return how many fits ended how; one that is told infeasible where labels are known is an error."""
    counted = dict.fromkeys(("ok", "infeasible", "infeasible, but labels are known"), 0)
    for fit in fits:
        is_wrong = fit.status == "infeasible" and fit.case_name in best
        name = "infeasible, but labels are known" if is_wrong else fit.status
        counted[name] = counted.get(name, 0) + 1
    proved = sum(fit.is_proved for fit in fits)
    return {**{name: str(number) for name, number in counted.items()}, "proved": str(proved), "of": str(len(fits))}


def plane_row(fit: Fit, optimum: float) -> Row:
    """Return one fit beside the optimum and beside scikit-learn."""
    return {
        "data": f"{fit.data} {fit.kind}",
        "seed": str(fit.seed),
        "optimum": f"{optimum:.8g}",
        "above it": f"{100 * (fit.objective / optimum - 1):.3f}%",
        "CPU s": f"{fit.seconds:.2f}",
        "KMeans above it": f"{100 * (fit.kmeans_objective / optimum - 1):.3f}%",
        "KMeans CPU s": f"{fit.kmeans_seconds:.2f}",
        "status": fit.status,
    }


def import_all() -> None:
    """Import what fits import late, so that no child does it again within its time."""
    for module in pkgutil.walk_packages(konstrain.__path__, "konstrain."):
        if module.name.split(".")[1] in {"_highs", "assignment", "constraints", "estimators", "kmeans"}:
            import_module(module.name)


def asked_for(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options, with names of groups of sets replaced by the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="three small sets, one seed: about a minute")
    depth.add_argument("--full", action="store_true", help="large sets and points in the plane too, three seeds")
    parser.add_argument(
        "--sets", nargs="+", help=f"names of data sets, or {', '.join(GROUPS)}; default: small, plane"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND", help="; ".join(KINDS).replace("%", "%%"))
    parser.add_argument("--seeds", nargs="+", type=int, help="default: 0 1 2; with --quick 0")
    parser.add_argument("--draw", type=int, default=0, help="draw other links, groups and demands")
    parser.add_argument("--time-limit", type=float, help="`time_limit` of every fit")
    parser.add_argument("--n-init", type=lambda text: text if text == "auto" else int(text), default="auto")
    parser.add_argument("--child-limit", type=float, help="processor seconds that end a fit; default 60, --quick 10")
    parser.add_argument("--out", type=Path, help="write a line per fit to this CSV file")
    parser.add_argument("--resume", action="store_true", help="keep the fits that --out holds, and make the others")
    parser.add_argument("--baseline", type=Path, help="compare with this file, written by --out of an earlier run")
    parser.add_argument("--update-best", action="store_true", help=f"lower or add values in {BEST.name}")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared/data", help="folder with sets, planar")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        print(f"{options.data} is not there: only {', '.join(SHIPPED)}, which scikit-learn ships, and no plane")
    default = QUICK if options.quick else ("small", "large", "plane") if options.full else ("small", "plane")
    sets = [name for given in options.sets or default for name in GROUPS.get(given, (given,))]
    options.sets = list(dict.fromkeys(sets if options.data.is_dir() else [x for x in sets if x in SHIPPED]))
    options.kinds = options.kinds or list(KINDS)
    options.seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    options.child_limit = options.child_limit or (10.0 if options.quick else 60.0)
    if options.out and options.out.exists() and not options.resume:
        parser.error(f"{options.out} exists; --resume goes on with it, or give another name")
    return options


def main() -> None:
    """Make the fits, tell each as it ends, and sum up."""
    options = asked_for()
    import_all()
    best = read_best()
    baseline = {fit.key: fit for fit in read_fits(options.baseline)} if options.baseline else {}
    fits = read_fits(options.out) if options.out and options.out.exists() else []
    print(HEADER, flush=True)
    with rows_written(options.out) as write:
        for fit in survey(options, {fit.key for fit in fits}):
            fits.append(fit)
            write(fit)
            print(line_of(fit, best, baseline), flush=True)
    console = Console(width=160)
    for table in summary(fits, best, baseline):
        console.print(table)
    if options.update_best:
        print(f"{write_best(best, fits)} values in {BEST.name} are new or lower")


if __name__ == "__main__":
    sys.exit(main())
