import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from checks import check_fit
from effort import examples
from konstrain import BCKMeans, InfeasibleError, Problem
from konstrain._highs import BinaryProgram, LinearProgram
from konstrain.assignment.milp import whole_model
from konstrain.datasets import make_gaussian_balls, sample_babaki, sample_le
from konstrain.estimators.bc_kmeans import LinearRules, PenaltySteps, penalised_costs
from oracles import all_labelings


def relaxed_with_gammas(problem, Y, V, rho_plus, rho_minus):
    """Solve (13) as printed, gammas and all, row by row: S, gamma_plus and gamma_minus are all variables."""
    model = whole_model(problem.assignment_problem(Y))
    polytope = model._program(np.ones(Y.shape, dtype=bool), Y.ravel(), 1.0)
    n = Y.size
    one = np.eye(n)
    none = np.zeros((n, n))
    rows = np.vstack(
        [
            np.hstack([polytope.rows.toarray(), np.zeros((polytope.rows.shape[0], 2 * n))]),
            np.hstack([one, one, none]),  # (13b): S + gamma_plus >= V
            np.hstack([one, none, -one]),  # (13c): S - gamma_minus <= V
        ]
    )
    v = V.ravel().astype(float)
    free = np.full(n, np.inf)
    program = BinaryProgram(
        cost=np.concatenate([Y.ravel(), rho_plus.ravel(), rho_minus.ravel()]),
        rows=csr_array(rows),
        row_low=np.concatenate([polytope.row_low, v, -free]),
        row_high=np.concatenate([polytope.row_high, free, v]),
        integer=np.zeros(3 * n, dtype=bool),
    )
    answer = LinearProgram(program).solve(program.cost)
    assert answer.status == "optimal"
    return answer.value


@pytest.mark.parametrize("seed", range(examples(30)))
def test_s_step_without_gammas_equals_the_printed_program(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    links = {"must_link": [(0, 1)], "cannot_link": [(0, 2), (2, 3), (4, 5)]} if seed % 3 else {}
    problem = Problem.build(X, 3, size_min=2, size_max=4, **links)
    shape = (problem.n_blocks, 3)
    Y = rng.uniform(0, 5, shape)
    V = rng.random(shape) < 0.4  # V need not be an assignment
    rho_plus, rho_minus = rng.uniform(0.1, 3, shape), rng.uniform(0.1, 3, shape)
    costs = penalised_costs(Y, V, rho_plus, rho_minus)
    S = PenaltySteps(problem).relaxed_step(problem.assignment_problem(Y), costs)
    printed = relaxed_with_gammas(problem, Y, V, rho_plus, rho_minus)
    assert_allclose((costs * S).sum() + rho_plus[V].sum(), printed, rtol=1e-7)


def test_v_step_and_growth_of_penalties_follow_the_paper(monkeypatch):
    """(15) and (16), element by element, on relaxed matrices that are given."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 2))
    steps = PenaltySteps(Problem.build(X, 3), max_penalty_iter=4)
    given = [rng.dirichlet(np.ones(3), 5) for _ in range(4)]
    seen = []

    def relaxed_step(self, question, costs):
        seen.append(costs)
        return given[len(seen) - 1]

    monkeypatch.setattr(PenaltySteps, "relaxed_step", relaxed_step)
    Y = rng.random((5, 3))
    labels = np.array([0, 1, 2, 0, 1], dtype=np.int32)
    assert steps.alternate(steps.problem.assignment_problem(Y), labels) is None  # never binary
    V = np.eye(3)[labels]
    plus, minus = np.full((5, 3), 0.5), np.full((5, 3), 0.5)
    for step, S in enumerate(given):
        assert_allclose(seen[step], Y - plus * V + minus * (1 - V), rtol=1e-12)
        for i in range(5):
            for j in range(3):
                V[i, j] = 0 if minus[i, j] * S[i, j] <= plus[i, j] * (1 - S[i, j]) else 1
                if V[i, j] == 0:
                    minus[i, j] *= 1.1
                else:
                    plus[i, j] *= 1.1


def test_centers_in_the_loop_solve_the_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    labels = np.arange(12, dtype=np.int32) % 4
    S = np.eye(4)[labels].T
    expected = X.T @ S.T @ np.linalg.inv(S @ S.T + 0.5 * np.eye(4))
    steps = PenaltySteps(Problem.build(X, 4), ridge=0.5)
    assert_allclose(steps.ridge_centers(labels, np.zeros((4, 3))), expected.T, rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.7])
@pytest.mark.parametrize("n_clusters", [5, 10])
def test_gaussian_balls_get_exactly_the_sizes_asked_for(sigma, n_clusters):
    """The paper's synthetic setting, smaller: equal sizes, a fifth of each ball linked."""
    X, y = make_gaussian_balls(
        n_clusters, n_samples=20 * n_clusters, n_features=64, sigma=sigma, random_state=n_clusters
    )
    links = sample_le(y, random_state=n_clusters).links
    model = BCKMeans(n_clusters, size_min=20, random_state=0).fit(X, **links)
    assert model.cluster_sizes_.tolist() == [20.0] * n_clusters
    assert model.n_violations_ == 0
    check_fit(model, X, **links)


@pytest.mark.parametrize("seed", range(8))
def test_sizes_and_random_links_hold_together(seed):
    X, y = load_iris(return_X_y=True)
    links = sample_babaki(y, 60, random_state=seed).links
    model = BCKMeans(3, size_min=[40, 45, 45], size_max=[55, 60, 50], random_state=seed).fit(X, **links)
    check_fit(model, X, **links)
    assert model.n_violations_ == 0
    assert (model.cluster_sizes_ >= [40, 45, 45]).all()
    assert (model.cluster_sizes_ <= [55, 60, 50]).all()


def test_demand_is_what_sizes_are_measured_in():
    X, _ = load_iris(return_X_y=True)
    demand = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    model = BCKMeans(3, size_max=demand.sum() / 3 + 1, random_state=0).fit(X, demand=demand)
    assert_allclose(model.cluster_sizes_, np.bincount(model.labels_, demand))
    assert model.cluster_sizes_.max() <= demand.sum() / 3 + 1


def test_exact_step_finishes_when_the_relaxation_stays_fractional():
    """Three blocks in a triangle of conflicts, all at the same place: half of each in two clusters costs the same."""
    X = np.array([[0.0], [0.0], [0.0], [10.0], [10.0]])
    links = {"cannot_link": [(0, 1), (1, 2), (0, 2)]}
    model = BCKMeans(3, init=[[0.0], [0.1], [10.0]], max_penalty_iter=1)
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model.fit(X, **links)
    assert model.n_violations_ == 0
    check_fit(model, X, **links)


def test_sizes_that_cannot_add_up_are_refused():
    with pytest.raises(InfeasibleError):
        BCKMeans(3, size_min=60).fit(load_iris().data)


def test_size_bounds_leave_no_shares_just_off_zero_and_one():
    """Bounds widened by the rounding that labels are forgiven would: then S looks fractional where it is not."""
    rng = np.random.default_rng(0)
    blocks = [(5 * j + i, 5 * j + i + 1) for j in range(20) for i in range(4)]
    apart = [(5 * i, 5 * j) for i in range(20) for j in range(i)]
    problem = Problem.build(500, 20, must_link=blocks, cannot_link=apart, size_min=25, size_max=25)
    steps = PenaltySteps(problem)
    for _ in range(5):
        costs = problem.weight[:, None] * rng.random((problem.n_blocks, 20))
        S = steps.relaxed_step(problem.assignment_problem(costs), costs)
        off = np.minimum(S, 1 - S)
        assert not ((off > 1e-8) & (off < 1e-4)).any()


def inside(n, k, rows, cluster):
    """Coefficients of a rule that counts these rows in a cluster."""
    matrix = np.zeros((n, k))
    matrix[rows, cluster] = 1.0
    return matrix.ravel()


def test_sizes_and_links_written_as_linear_constraints_are_sizes_and_links(seed):
    # (3d) and (3f) of the paper, by hand.
    n, k = 18, 3
    X = np.random.default_rng(seed).normal(size=(n, 2))
    cannot = [(0, 1), (1, 2), (3, 4)]
    everyone = list(range(n))
    rules = [-inside(n, k, everyone, j) for j in range(k)] + [
        inside(n, k, pair, j) for pair in cannot for j in range(k)
    ]
    bounds = [-5.0] * k + [1.0] * (len(cannot) * k)
    by_hand = BCKMeans(k, init=X[:k]).fit(X, linear=(csr_array(np.array(rules)), bounds))
    built_in = BCKMeans(k, size_min=5, init=X[:k]).fit(X, cannot_link=cannot)
    assert by_hand.cluster_sizes_.min() >= 5
    assert all(by_hand.labels_[i] != by_hand.labels_[j] for i, j in cannot)
    assert by_hand.inertia_ == pytest.approx(built_in.inertia_)


def test_linear_constraints_speak_of_rows_also_where_must_links_merge_them():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    start = [[0.1], [5.1]]
    # Rows 0 and 3 are one block; the first cluster may hold at most two of rows 0, 1 and 3.
    model = BCKMeans(2, init=start).fit(X, must_link=[(0, 3)], linear=([inside(6, 2, [0, 1, 3], 0)], [2.0]))
    assert model.labels_[0] == model.labels_[3]
    assert np.isin(model.labels_[[0, 1, 3]], 0).sum() <= 2


def test_assignments_under_linear_constraints_are_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    n, k = 7, 2
    X = rng.normal(size=(n, 2))
    A = rng.integers(-2, 3, size=(3, n * k)).astype(float)
    b = A.reshape(3, n, k).min(axis=2).sum(axis=1) + 2.0
    problem = Problem.build(X, k, nonempty=False)
    steps = PenaltySteps(problem, rules=LinearRules.read((A, b), problem))
    costs = steps.costs(X[:k])
    options = all_labelings(n, k)
    kept = [(A.reshape(3, n, k)[:, np.arange(n), labels].sum(axis=1) <= b).all() for labels in options]
    if not any(kept):
        with pytest.raises(InfeasibleError):
            steps.exactly(problem.assignment_problem(costs))
        return
    least = min(costs[np.arange(n), labels].sum() for labels, fits in zip(options, kept, strict=True) if fits)
    assert steps.exactly(problem.assignment_problem(costs)).cost == pytest.approx(least)


def test_linear_constraints_that_nothing_keeps_are_refused():
    X = np.arange(6.0).reshape(6, 1)
    with pytest.raises(InfeasibleError, match="linear constraints"):
        BCKMeans(2, random_state=0).fit(X, linear=([-np.ones(12)], [-7.0]))


@pytest.mark.parametrize(
    ("linear", "words"),
    [
        (3, "pair"),
        ((np.ones((1, 5)), [1.0]), "6 x 2 = 12"),
        ((np.ones((2, 12)), [1.0]), "one b per rule"),
        ((np.full((1, 12), np.inf), [1.0]), "not finite"),
        ((np.ones((1, 12)), [np.nan]), r"b\[0\]"),
    ],
)
def test_linear_constraints_that_cannot_be_read_are_refused_in_words(linear, words):
    with pytest.raises(ValueError, match=words):
        BCKMeans(2).fit(np.arange(6.0).reshape(6, 1), linear=linear)
