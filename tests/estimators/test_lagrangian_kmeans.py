import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import check_random_state

from checks import check_fit
from konstrain import LagrangianKMeans, Problem
from konstrain.datasets import sample_babaki, sample_ganji
from konstrain.estimators.lagrangian_kmeans import CannotLinks, LagrangianSteps, PartitionStart, passes_and_pulls
from konstrain.kmeans.loop import Loop
from konstrain.kmeans.restarts import Run, draw_seeds
from konstrain.metrics import count_violations


def steps_for(X, k, cannot, must=(), **options):
    soft = np.column_stack([np.array(cannot), np.ones(len(cannot))])
    problem = Problem.build(X, k, cannot_link=soft, must_link=list(must))
    return LagrangianSteps(problem, conflicts=CannotLinks.of(problem), **options)


def printed_pass(X, weight, conflicts, centers, labels, lam, alpha):
    """Lines 8 to 39 of the pseudo-code, word by word; returns labels and centers."""
    squared = ((X[:, None] - centers) ** 2).sum(axis=-1)
    k, labels = len(centers), labels.copy()
    conf = {j: set() for j in range(k)}

    def swap(i, j):
        return weight[i] * squared[i, j] - weight[i] * squared[i, labels[i]]

    for i in range(len(X)):
        labels[i] = squared[i].argmin()
        for number, pair in enumerate(conflicts):
            if i not in pair:
                continue
            other = pair[1] if pair[0] == i else pair[0]
            h = labels[i]
            if labels[other] != h:
                continue
            goal = min((j for j in range(k) if j != h), key=lambda j: squared[i, j])
            other_goal = min((j for j in range(k) if j != h), key=lambda j: squared[other, j])
            swaps = swap(i, goal), swap(other, other_goal)
            mover = i if swaps[0] < swaps[1] else other
            # What both blocks cost where they are is left out of a, b and c: with a multiplier of 1 two of them are
            # equal, and must not be told apart by the rounding of that sum.
            a, b, c = lam[number] * min(swaps), swaps[0], swaps[1]
            if a <= b and a <= c:
                lam[number] *= alpha
                conf[goal if mover == i else other_goal].add((mover, number))
            elif b <= a and b <= c:
                labels[i] = goal
            else:
                labels[other] = other_goal
    moved = centers.copy()
    for j in range(k):
        own = labels == j
        pulled = [(weight[i] * lam[number], X[i]) for i, number in conf[j]]
        total = weight[own].sum() + sum(w for w, _ in pulled)
        if total > 0:
            moved[j] = ((weight[own, None] * X[own]).sum(axis=0) + sum(w * x for w, x in pulled)) / total
    return labels, moved


@pytest.mark.parametrize("seed", range(10))
def test_passes_and_centers_follow_the_pseudo_code(seed):
    """Labels, multipliers and centers (3.4) of eight passes from a random assignment equal the transcription's."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    cannot = [tuple(rng.choice(25, 2, replace=False)) for _ in range(40)]
    steps = steps_for(X, 3, cannot, must=[(0, 1), (2, 3)], growth=2.0)
    problem, found = steps.problem, steps.conflicts
    conflicts = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    centers = expected_centers = rng.normal(size=(3, 2))
    labels = expected = rng.integers(3, size=problem.n_blocks).astype(np.int32)
    multipliers, lam = [1.0] * len(conflicts), [1.0] * len(conflicts)
    n_pulls = 0
    for _ in range(8):
        labels, pulls = steps.one_pass(steps.costs(centers), labels, multipliers)
        centers = steps.pulled_centers(labels, centers, pulls, multipliers)
        expected, expected_centers = printed_pass(
            problem.mean, problem.weight, conflicts, expected_centers, expected, lam, 2.0
        )
        assert labels.tolist() == expected.tolist()
        assert multipliers == lam
        assert_allclose(centers, expected_centers, rtol=1e-9)
        n_pulls += len(pulls)
    assert n_pulls > 0


def test_the_first_pass_of_a_run_starts_from_the_random_assignment():
    """Line 1: a partner that the pass has not reached stands where chance put it, not at its nearest center."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    cannot = [tuple(rng.choice(25, 2, replace=False)) for _ in range(40)]
    n_different = 0
    for seed in range(10):
        steps = steps_for(X, 3, cannot, repair=False)
        problem, found = steps.problem, steps.conflicts
        conflicts = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
        centers = PartitionStart(X, "random-partition").centers(steps, seed)
        assert_allclose(centers, [X[steps.first_labels == j].mean(axis=0) for j in range(3)])
        nearest = steps.costs(centers).argmin(axis=1).astype(np.int32)
        expected, from_nearest = (
            printed_pass(problem.mean, problem.weight, conflicts, centers, labels, [1.0] * len(conflicts), 2.0)[0]
            for labels in (steps.first_labels, nearest)
        )
        run = Loop(passes_and_pulls, steps, 1).run(centers)
        assert run.block_labels.tolist() == expected.tolist()
        n_different += (expected != from_nearest).any()
    assert n_different > 0


def test_conflict_set_members_pull_with_weight_times_multiplier():
    X = np.array([[0.0], [2.0], [10.0]])
    steps = steps_for(X, 2, [(0, 1)])
    labels = np.array([0, 0, 1], dtype=np.int32)
    centers = steps.pulled_centers(labels, np.zeros((2, 1)), {(1, 1, 0)}, [4.0])
    assert_allclose(centers, [[1.0], [(10.0 + 4 * 2.0) / 5]])


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("seed", range(8))
def test_must_links_hold_and_violations_are_recounted(load, seed):
    X, y = load(return_X_y=True)
    links = sample_babaki(y, 120, random_state=seed).links
    model = LagrangianKMeans(3, random_state=seed).fit(X, **links)
    broken = count_violations(model.labels_, **links)
    assert broken.must_link == 0
    assert model.n_violations_ == model.n_cannot_link_violations_ == broken.cannot_link
    check_fit(model, X, **links)


@pytest.mark.published
@pytest.mark.parametrize(
    ("load", "n_violations", "nmi"), [(load_iris, 0.0, 0.88), (load_wine, 1.3, 0.67), (load_breast_cancer, 1.0, 0.90)]
)
def test_tables_2_and_3_with_n_constraints(load, n_violations, nmi):
    """Five constraint sets, two runs each (the paper: 8); published deviations are 1.2 violations and 0.05 NMI."""
    X, y = load(return_X_y=True)
    broken, scores = [], []
    for seed in range(5):
        links = sample_ganji(y, len(y), random_state=seed).links
        for start in range(2):
            model = LagrangianKMeans(len(set(y)), repair=False, random_state=start).fit(X, **links)
            broken.append(model.n_violations_)
            scores.append(normalized_mutual_info_score(y, model.labels_))
    assert_allclose(np.mean(broken), n_violations, atol=1.2)
    assert_allclose(np.mean(scores), nmi, atol=0.06)


def test_fewer_violations_win_over_less_squared_error():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    steps = steps_for(X, 2, [(0, 1), (2, 3)])
    near, apart = np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 1, 0, 1], dtype=np.int32)
    half = np.array([0, 0, 0, 1], dtype=np.int32)
    centers = np.array([[0.05], [5.05]])
    in_order = [steps.better_of(None, labels, centers)[0] for labels in (apart, half, near)]
    assert [kept.n_violations for kept in in_order] == [0, 1, 2]
    assert in_order[0].inertia > in_order[2].inertia
    for kept, worse in ((in_order[0], half), (in_order[1], near), (in_order[0], near)):
        assert steps.better_of(kept, worse, centers) == (kept, False)
    for worse, better in ((in_order[2], half), (in_order[1], apart)):
        kept, is_better = steps.better_of(worse, better, centers)
        assert is_better
        np.testing.assert_array_equal(kept.block_labels, better)


def test_of_several_runs_the_one_that_breaks_least_is_kept():
    X, y = load_wine(return_X_y=True)
    links = sample_babaki(y, 178, random_state=2).links
    model = LagrangianKMeans(3, repair=False, n_init=6, random_state=0)
    # The runs that n_init makes, one by one.
    steps = steps_for(X, 3, links["cannot_link"], links["must_link"], patience=model.n_iter_no_change, repair=False)
    run = Run(Loop(passes_and_pulls, steps, model.max_iter), PartitionStart(X, model.init))
    runs = [run(seed) for seed in draw_seeds(check_random_state(0), 6)]
    broken = [run.n_violations for run in runs]
    assert len(set(broken)) > 1
    kept = model.fit(X, **links)
    assert kept.n_violations_ == min(broken)
    assert kept.inertia_ == pytest.approx(min(run.inertia for run in runs if run.n_violations == min(broken)))


def test_links_that_cannot_all_be_kept_are_reported():
    """A triangle of conflicts in two clusters breaks one; a cannot-link inside a must-link block always breaks."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    model = LagrangianKMeans(2, random_state=0).fit(X, cannot_link=[(0, 1), (1, 2), (0, 2)])
    assert model.n_violations_ == 1
    model = LagrangianKMeans(2, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 1), (0, 3)])
    assert model.n_violations_ == model.n_cannot_link_violations_ == 1
    assert model.labels_[0] == model.labels_[1] != model.labels_[3]


def test_given_pairs_are_counted_not_pairs_of_blocks():
    X = np.arange(6.0)[:, None]
    problem = Problem.build(X, 2, must_link=[(0, 1)], cannot_link=[(0, 2, 1.0), (1, 2, 1.0), (3, 4, 1.0)])
    conflicts = CannotLinks.of(problem)
    assert conflicts.n_violated(np.zeros(problem.n_blocks, dtype=np.int32)) == 3


def test_a_run_starts_at_the_means_of_a_random_assignment():
    X, _ = load_iris(return_X_y=True)
    steps = LagrangianSteps(Problem.build(X, 3))
    centers = PartitionStart(X, "random-partition").centers(steps, 0)
    spread = np.abs(centers - X.mean(axis=0)).max()
    assert 0 < spread < 1
    everyone = PartitionStart(X[:3], "random-partition").centers(LagrangianSteps(Problem.build(X[:3], 3)), 0)
    assert sorted(everyone.tolist()) == sorted(X[:3].tolist())


def test_one_cluster_breaks_every_cannot_link():
    model = LagrangianKMeans(1).fit(np.arange(4.0)[:, None], cannot_link=[(0, 1), (2, 3)])
    assert model.n_violations_ == 2


def test_repair_moves_the_block_that_saves_most_then_the_cheapest():
    """Block 1 breaks two links and goes to the nearer cluster; of 3 and 4, which break one, 4 has the shorter way."""
    X = np.array([[0.0], [0.1], [0.2], [4.0], [5.2], [9.0]])
    steps = steps_for(X, 3, [(0, 1), (1, 2), (3, 4)])
    labels = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    repaired = steps.repaired(labels, steps.centers_of(labels, np.zeros((3, 1))))
    assert repaired.tolist() == [0, 1, 0, 1, 2, 2]
    assert labels.tolist() == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_after_repair_no_single_block_can_move_and_break_less(seed):
    """Links that cannot all be kept, many times over; pairs are counted, not conflicts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    cannot = [tuple(rng.choice(20, 2, replace=False)) for _ in range(60)]
    steps = steps_for(X, 3, cannot, must=[(0, 1), (2, 3), (3, 4)])
    labels = rng.integers(3, size=steps.problem.n_blocks).astype(np.int32)
    repaired = steps.repaired(labels, rng.normal(size=(3, 2)))
    n_violated = steps.conflicts.n_violated(repaired)
    assert n_violated < steps.conflicts.n_violated(labels)
    for block in range(labels.size):
        for cluster in range(3):
            moved = repaired.copy()
            moved[block] = cluster
            assert steps.conflicts.n_violated(moved) >= n_violated


def test_repair_lets_go_of_the_violations_that_runs_stick_at():
    """Without it some runs on 44 links of Wine keep one; runs that break nothing are left as they are."""
    X, y = load_wine(return_X_y=True)
    n_stuck = 0
    for seed in range(12):
        links = sample_ganji(y, 44, random_state=seed).links
        paper = LagrangianKMeans(3, repair=False, random_state=seed).fit(X, **links)
        ours = LagrangianKMeans(3, random_state=seed).fit(X, **links)
        check_fit(ours, X, **links)
        assert ours.n_violations_ == 0
        n_stuck += paper.n_violations_ > 0
        if paper.n_violations_ == 0:
            assert ours.labels_.tolist() == paper.labels_.tolist()
    assert n_stuck > 0


@pytest.mark.parametrize("repair", [False, True])
def test_a_run_that_would_end_with_empty_clusters_fills_them(repair):
    """Two centers too far off for any row: the rows that cost most go there, and no link breaks for it."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [7.0]])
    links = {"must_link": [(1, 2)], "cannot_link": [(0, 1)]}
    model = LagrangianKMeans(4, init=[[0.0], [1.0], [900.0], [990.0]], repair=repair).fit(X, **links)
    check_fit(model, X, **links)
    assert model.n_violations_ == 0


def test_filling_an_empty_cluster_leaves_no_other_one_empty():
    X = np.array([[0.0], [1.0], [50.0]])
    steps = LagrangianSteps(Problem.build(X, 3))
    labels = np.array([0, 0, 1], dtype=np.int32)
    assert sorted(steps.filled(labels, np.array([[0.4], [0.0], [99.0]])).tolist()) == [0, 1, 2]
