"""The bound by parts never exceeds the optimum, whatever the constraints, and is the same whoever computes it."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from effort import examples
from konstrain import ConstrainedKMeans, InfeasibleError, certify
from konstrain.constraints.problem import Problem
from konstrain.exact.decomposition import bound as search
from konstrain.exact.decomposition.part import PartResult, PartTask
from oracles import costs_of_all_labelings

RELATIVE = 1e-9
N_PILOT = search.PARAMS.n_pilot
# The second size holds all rows of the tests below, or more than there is time for.
TWO_SIZES = replace(search.PARAMS, first_size=20, size_growth=12.0)
ONE_SIZE = replace(search.PARAMS, first_size=20, size_growth=1e6)


def best_on_a_line(x: np.ndarray, k: int) -> float:
    """Least cost of k clusters of numbers, by dynamic programming over their order."""
    x = np.sort(x - x.mean())
    n = x.size
    first, second = np.concatenate([[0], np.cumsum(x)]), np.concatenate([[0], np.cumsum(x * x)])
    # cost[i, j]: rows i to j - 1 as one cluster.
    count = np.arange(n + 1) - np.arange(n + 1)[:, None]
    cost = second - second[:, None] - (first - first[:, None]) ** 2 / np.maximum(count, 1)
    cost[count <= 0] = np.inf
    best = cost[0]
    for _ in range(k - 1):
        best = (best[:, None] + cost).min(axis=0)
    return float(best[n])


def tiny_problem(rng: np.random.Generator) -> tuple[np.ndarray, int, dict, float] | None:
    """Rows, any mixture of constraints, some labels that keep them, and the least cost; None when nothing does."""
    n, k = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-2, 3) + 10.0 ** rng.integers(0, 3)
    if rng.random() < 0.2:
        X = X[rng.integers(0, n, n)]
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    rng.shuffle(pairs)
    options: dict = {"must_link": pairs[: rng.integers(0, 3)], "cannot_link": pairs[3 : 3 + rng.integers(0, 4)]}
    if rng.random() < 0.3:
        options["sample_weight"] = rng.random(n) * 3 + 0.1
    if rng.random() < 0.3:
        options["demand"] = rng.integers(1, 4, n).astype(float)
    demand = options.get("demand", np.ones(n))
    if rng.random() < 0.4:
        options["size_max"] = demand.sum() / k * (1 + rng.random(k if rng.random() < 0.5 else None))
    if rng.random() < 0.3:
        options["size_min"] = demand.sum() / k * rng.random(k if rng.random() < 0.5 else None)
    if rng.random() < 0.2:
        options["partial_labels"] = np.where(rng.random(n) < 0.4, rng.integers(0, k, n), -1)
    price = float(10.0 ** rng.uniform(-2, 2)) * X.var() if rng.random() < 0.4 else None
    if price is not None:
        # Some links become soft; an infinite confidence is a hard one.
        for name in ("must_link", "cannot_link"):
            confidence = np.where(rng.random(len(options[name])) < 0.3, np.inf, 1 - rng.random(len(options[name])))
            options[name] = np.column_stack([options[name], confidence])
    if rng.random() < 0.2:
        options["groups"] = np.where(rng.random(n) < 0.4, rng.integers(0, 3, n), -1)
    given = {name if name != "partial_labels" else "labels": value for name, value in options.items()}
    try:
        problem = Problem.build(X, k, **given)
    except InfeasibleError:
        return None
    if problem.has_soft_links and (problem.weight == 0).any():
        return None
    labelings, costs = costs_of_all_labelings(problem, price)
    if not np.isfinite(costs).any():
        return None
    if problem.has_soft_links:
        options["violation_cost"] = price
    options["labels"] = problem.expand(labelings[rng.choice(np.flatnonzero(np.isfinite(costs)))])
    return X, k, options, float(costs.min())


@pytest.mark.engine
@pytest.mark.parametrize("count", [24, pytest.param(500, marks=pytest.mark.slow)])
def test_never_above_the_optimum_of_tiny_problems_with_any_constraints(count):
    rng = np.random.default_rng(count)
    n_tried = n_positive = 0
    while n_tried < count:
        made = tiny_problem(rng)
        if made is None:
            continue
        n_tried += 1
        X, k, options, best = made
        proof = certify(X, k, bound="parts", part_size=k + int(rng.integers(1, 4)), random_state=n_tried, **options)
        rounding = 1e-12 * (X**2).sum()
        assert proof.lower_bound <= best * (1 + RELATIVE) + rounding
        assert best * (1 - RELATIVE) - rounding <= proof.best_cost <= proof.cost
        n_positive += proof.lower_bound > 0
    assert n_positive > count / 2


@pytest.mark.parametrize("seed", range(examples(12)))
def test_never_above_the_optimum_on_a_line(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(100, 400)), int(rng.integers(2, 6))
    x = (rng.normal, rng.exponential, rng.uniform)[seed % 3](size=n) + 5.0 * rng.integers(0, k, n)
    best = best_on_a_line(x, k)
    sums = []
    options = {"bound": "parts", "part_size": 40, "gap": 0.01, "random_state": seed}
    certify(x[:, None], k, callback=lambda point: sums.append(point.lower_bound), **options)
    # The sum over parts as it is: the certificate cuts it off at the cost of the labels, which may be the optimum.
    assert 0.8 * best <= max(sums) <= best * (1 + RELATIVE)


def blobs(n: int = 1200, k: int = 3, d: int = 2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 8.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)]


def test_auto_takes_parts_for_many_rows_and_reaches_the_gap():
    X = blobs(d=5)
    proof = ConstrainedKMeans(3, random_state=0).fit(X).certify(X, gap=0.01)
    assert proof.n_parts == proof.n_nodes > 1
    assert proof.gap <= 0.01
    assert proof.is_optimal
    assert proof.projected_gap == proof.gap
    assert proof.projected_gap_error == 0
    assert proof.left_out == ()


@pytest.mark.slow
def test_larger_parts_are_chosen_where_small_ones_cannot_reach_the_gap(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", TWO_SIZES)
    X = np.random.default_rng(0).uniform(size=(240, 2))
    assert [certify(X, 3, bound="parts", gap=gap).part_size for gap in (0.5, 0.001)] == [20, 240]


def test_larger_parts_follow_where_small_ones_do_not_keep_what_the_first_promise(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", TWO_SIZES)
    small = []

    def run(task):
        if task.problem.n_blocks == 20:
            small.append(task)
        loses = 0.5 if len(small) > N_PILOT and task.problem.n_blocks == 20 else 1e-4
        return PartResult(task.cost * (1 - loses), task.cost, is_finished=True, work=1.0, seconds=0.0)

    monkeypatch.setattr(PartTask, "run", run)
    proof = certify(np.random.default_rng(0).uniform(size=(240, 2)), 3, bound="parts", gap=0.2)
    assert N_PILOT < len(small) <= 12
    assert proof.part_size == 240
    assert proof.gap < 0.2


def test_no_larger_parts_are_tried_where_there_is_no_time_for_them(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", TWO_SIZES)

    def run(task):
        work = 0.3 * search.PARAMS.most_work / 12
        return PartResult(task.cost * 0.9, task.cost, is_finished=True, work=work, seconds=0.0)

    monkeypatch.setattr(PartTask, "run", run)
    proof = certify(np.random.default_rng(0).uniform(size=(240, 2)), 3, bound="parts", gap=0.01)
    assert (proof.part_size, proof.n_nodes) == (20, 12)


def test_parts_that_take_no_time_are_compared_without_a_warning(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", TWO_SIZES)

    def run(task):
        return PartResult(task.cost * 0.9, task.cost, is_finished=True, work=1.0, seconds=0.0, elapsed=0.0)

    monkeypatch.setattr(PartTask, "run", run)
    X = np.random.default_rng(0).uniform(size=(240, 2))
    assert certify(X, 3, bound="parts", gap=0.01, time_limit=60).part_size in (20, 240)


def test_parts_that_a_pilot_cut_short_are_taken_up_again(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", ONE_SIZE)
    times = {}

    def run(task):
        times.setdefault(task.key, []).append(task.seconds)
        is_finished = len(times) > N_PILOT or len(times[task.key]) > 1
        bound = task.cost * (1 - 1e-4 if is_finished else 0.5)
        return PartResult(bound, task.cost, is_finished=is_finished, work=1.0, seconds=0.1, elapsed=0.1)

    monkeypatch.setattr(PartTask, "run", run)
    X = np.random.default_rng(0).uniform(size=(240, 2))
    proof = certify(X, 3, bound="parts", gap=0.2, time_limit=60)
    assert [len(taken) for taken in times.values()] == [2] * N_PILOT + [1] * (12 - N_PILOT)
    assert proof.n_nodes == 12
    assert proof.gap < 0.02


def test_parts_of_a_round_leave_their_share_of_the_time_to_the_others(monkeypatch):
    monkeypatch.setattr(search, "PARAMS", ONE_SIZE)
    seconds = []

    def run(task):
        seconds.append(task.seconds)
        return PartResult(task.cost, task.cost, is_finished=True, work=1.0, seconds=1.0, elapsed=1000.0)

    monkeypatch.setattr(PartTask, "run", run)
    X = np.random.default_rng(0).uniform(size=(960, 2))
    certify(X, 3, bound="parts", gap=0.2, time_limit=420)
    # After the pilot 44 parts remain, and they need all of the time.
    assert seconds[N_PILOT] == pytest.approx(420 / (48 - N_PILOT), rel=0.15)


@pytest.mark.parametrize("limit", [50.0, None], ids=["limit", "none"])
def test_partitions_leave_most_of_the_time_to_the_bounds(monkeypatch, limit):
    left = []
    make = search.balanced_partition

    def watched(*arguments):
        left.append(arguments[-1].remaining())
        return make(*arguments)

    monkeypatch.setattr(search, "balanced_partition", watched)
    certify(blobs(300), 3, bound="parts", part_size=100, gap=0.1, time_limit=limit)
    assert left == [np.inf] if limit is None else left[0] <= 0.1 * limit


def test_any_number_of_workers_proves_the_same_bound_to_the_last_digit():
    X = blobs(300)
    bounds = {
        certify(X, 3, bound="parts", gap=0.01, cannot_link=[(0, 1), (1, 2)], n_jobs=n).lower_bound for n in (1, 2)
    }
    assert len(bounds) == 1


def test_a_dask_cluster_proves_the_same_bound():
    distributed = pytest.importorskip("distributed")
    X = blobs(600)
    alone = certify(X, 3, bound="parts", gap=0.01)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        together = certify(X, 3, bound="parts", gap=0.01, client=client)
    assert together.lower_bound == alone.lower_bound
    assert together.n_parts == alone.n_parts == together.n_nodes


def test_the_bound_holds_whenever_it_is_ended():
    X = blobs()
    points = []

    def enough(point):
        points.append(point)
        return len(points) == 5

    whole = certify(X, 3, bound="parts", part_size=60, gap=0.01)
    begun = certify(X, 3, bound="parts", part_size=60, gap=0.01, callback=enough)
    assert begun.n_nodes == 5 < begun.n_parts == whole.n_parts
    assert 0 < begun.lower_bound < whole.lower_bound
    assert abs(begun.projected_gap - whole.gap) <= 5 * begun.projected_gap_error + 1e-3
    assert begun.projected_gap < begun.gap
    assert not begun.is_optimal
    bounds = [point.lower_bound for point in points]
    assert bounds == sorted(bounds)
    assert points[-1].gap == begun.gap


def test_an_interrupt_returns_the_bound_so_far():
    def interrupt(point):
        if point.n_done == 3:
            raise KeyboardInterrupt

    proof = certify(blobs(), 3, bound="parts", part_size=60, gap=0.01, callback=interrupt)
    assert proof.n_nodes == 3
    assert proof.lower_bound > 0


def test_no_time_at_all_still_gives_what_blocks_cost():
    X = blobs()
    labels = ConstrainedKMeans(3, random_state=0).fit(X, must_link=[(0, 1)]).labels_
    proof = certify(X, 3, labels=labels, must_link=[(0, 1)], time_limit=0.0)
    assert 0 < ((X[0] - X[1]) ** 2).sum() / 2 <= proof.lower_bound * (1 + RELATIVE)
    assert proof.lower_bound <= proof.cost


def test_finished_parts_are_taken_from_the_file(tmp_path, monkeypatch):
    X, path = blobs(600), tmp_path / "parts.jsonl"
    first = certify(X, 3, bound="parts", part_size=60, gap=0.01, resume=path)
    monkeypatch.setattr(PartTask, "run", lambda self: pytest.fail("a finished part was bounded again"))
    again = certify(X, 3, bound="parts", part_size=60, gap=0.01, resume=path)
    assert again.lower_bound == first.lower_bound
    assert again.n_nodes == first.n_parts


def test_another_problem_takes_nothing_from_the_file(tmp_path):
    path = tmp_path / "parts.jsonl"
    options = {"bound": "parts", "part_size": 60, "gap": 0.01}
    certify(blobs(600), 3, resume=path, **options)
    other = certify(2 * blobs(600, seed=1), 3, resume=path, **options)
    assert other.lower_bound == certify(2 * blobs(600, seed=1), 3, **options).lower_bound


SCRIPT = """
import sys
import numpy as np
from konstrain import certify
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 2)) + 8.0 * rng.normal(size=(3, 2))[rng.integers(0, 3, 600)]
certify(X, 3, bound="parts", part_size=60, gap=0.005, resume=sys.argv[1])
"""


def test_a_killed_process_loses_no_finished_part(tmp_path):
    path = tmp_path / "parts.jsonl"
    command = [sys.executable, "-c", SCRIPT, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not path.exists() or path.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = path.read_bytes()
    # As if it had been killed in the middle of a line.
    path.write_bytes(kept + b'{"key": "0123')
    resumed, afresh = (
        certify(blobs(600), 3, bound="parts", part_size=60, gap=0.005, resume=file).lower_bound
        for file in (path, tmp_path / "new")
    )
    assert path.read_bytes().startswith(kept)
    assert resumed == afresh


@pytest.mark.parametrize("text", ["a,b\n1,2\n", '{"konstrain": "bounds of parts", "format": 1}\n{"key": 3}\n'])
def test_a_file_that_holds_something_else_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "other"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"does not hold bounds of parts|line 2 is damaged"):
        certify(blobs(60), 3, bound="parts", resume=path)
    assert path.read_text() == text


def test_lines_of_the_file_are_read_back_exactly(tmp_path):
    path = tmp_path / "parts.jsonl"
    certify(blobs(300), 3, bound="parts", part_size=60, gap=0.01, resume=path)
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header["konstrain"] == "bounds of parts"
    assert len({line["key"] for line in lines}) == len(lines) == 5


def test_parts_that_find_better_clusters_improve_the_whole():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 300)
    X = rng.normal(size=(1200, 2)) + np.array([[0, 0], [0, 30], [90, 0], [90, 30]])[truth]
    # Two blobs as one cluster, one blob in two: a local optimum far above the best.
    stuck = np.where(truth < 2, 0, truth - 1).astype(int)
    stuck[(truth == 3) & (X[:, 0] > 90)] = 3
    proof = certify(X, 4, labels=stuck, gap=0.01)
    assert proof.best_cost < 0.1 * proof.cost
    assert np.unique(np.column_stack([proof.best_labels, truth]), axis=0).shape[0] == 4
    assert proof.lower_bound <= proof.best_cost
    assert proof.gap > 0.9


def test_equal_rows_are_merged_where_nothing_speaks_against_it():
    X = np.random.default_rng(0).integers(0, 6, (2000, 2)).astype(float)
    merged = certify(X, 3, bound="parts", part_size=40)
    assert merged.n_parts == 1
    assert merged.lower_bound <= merged.best_cost
    apart = certify(X[:200], 3, bound="parts", part_size=50, cannot_link=[(0, 1)], gap=0.3)
    assert apart.n_parts == 4


def test_what_the_bound_does_not_see_is_told():
    X = blobs(200)
    pairs = [(i, i + 1) for i in range(0, 150)]
    proof = certify(X, 3, bound="parts", part_size=40, gap=0.3, cannot_link=pairs, size_min=20, size_max=150)
    torn, low, high = proof.left_out
    assert torn.endswith("of 150 cannot-links, between parts")
    assert 0 < int(torn.split()[0]) < 75
    assert low == "size_min"
    assert high == "size_max, which no part is large enough to reach"


def test_upper_bounds_on_sizes_enter_where_a_part_can_reach_them():
    # One heap: without size_max one part needs one cluster for it, with it at least four.
    X = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)), [[100, 100], [200, 0], [0, 300]]])
    options = {"bound": "parts", "part_size": 43, "gap": 0.01}
    free, bounded = certify(X, 4, **options), certify(X, 4, size_max=12, **options)
    assert bounded.left_out == ()
    assert bounded.lower_bound > 2 * free.lower_bound


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"part_size": 3}, "part_size must be 'auto' or a number of blocks above n_clusters=3, got 3"),
        ({"part_size": "large"}, "part_size must be 'auto' or a number"),
        ({"part_size": 50, "bound": "auto"}, "part_size, client and resume are for bound='parts'; 'auto' takes"),
        ({"part_size": 50, "bound": "sdp"}, "for bound='parts'; this is bound='sdp'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        certify(blobs(60), 3, **{"bound": "parts", **options})


def test_a_part_has_a_name_of_its_own():
    problem = Problem.build(blobs(30), 3)
    task = PartTask(problem, np.zeros((3, 2)), 1.0, 0.1)
    assert task.key == PartTask(Problem.build(blobs(30), 3), np.zeros((3, 2)), 1.0, 0.1, seconds=5.0).key
    others = [
        replace(task, gap=0.2),
        replace(task, cost=2.0),
        replace(task, problem=Problem.build(blobs(30), 3, cannot_link=[(0, 1)])),
        replace(task, problem=Problem.build(blobs(30), 3, size_max=20)),
        replace(task, problem=Problem.build(blobs(30), 3, sample_weight=np.full(30, 2.0))),
    ]
    assert len({task.key, *(other.key for other in others)}) == 6


def test_parts_with_few_features_are_bounded_over_boxes(monkeypatch):
    X = np.random.default_rng(4).normal(size=(120, 2))
    monkeypatch.delattr("konstrain.exact.decomposition.part.SdpBound.run")
    proof = certify(X, 3, bound="parts", part_size=40)
    assert proof.n_nodes == proof.n_parts == 3
    assert 0.7 * proof.cost < proof.lower_bound < proof.cost
