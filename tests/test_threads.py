"""Many threads at once: the same answers as one after the other, whether or not there is a global lock."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from effort import examples
from konstrain import BLPKMeans, ConstrainedKMeans, ExactKMeans, LagrangianKMeans, assign, check
from konstrain.assignment import AssignmentProblem

pytestmark = [pytest.mark.engine, pytest.mark.unchecked]  # the checker looks into one fit at a time

N_THREADS, ROUNDS = 4, examples(4)
ROWS = np.random.default_rng(0).normal(size=(90, 3))
LINKS = {"must_link": [(0, 1), (1, 2), (40, 70)], "cannot_link": [(0, 40), (3, 4), (4, 5), (3, 5), (10, 11)]}


def _fitted(model, **constraints):
    model.fit(ROWS, **constraints)
    return model.labels_.tobytes(), model.inertia_


def _assigned(seed):
    costs = np.random.default_rng(seed).uniform(size=(400, 6))
    answer = assign(AssignmentProblem(costs, size_min=np.full(6, 60), size_max=np.full(6, 75)))
    return answer.labels.tobytes(), answer.cost


TASKS = {
    "plain": lambda: _fitted(ConstrainedKMeans(4, n_init=3, random_state=0)),
    "links": lambda: _fitted(ConstrainedKMeans(4, n_init=3, random_state=1), **LINKS),
    "sizes": lambda: _fitted(ConstrainedKMeans(4, size_min=20, size_max=25, n_init=2, random_state=2)),
    "both": lambda: _fitted(ConstrainedKMeans(4, size_min=20, size_max=25, n_init=1, random_state=3), **LINKS),
    "soft": lambda: _fitted(ConstrainedKMeans(4, n_init=2, random_state=4), must_link=[(0, 50, 0.5), (7, 8, 0.9)]),
    "plain distances": lambda: _fitted(BLPKMeans(4, random_state=5), **LINKS),
    "multipliers": lambda: _fitted(LagrangianKMeans(4, random_state=6), **LINKS),
    "proof": lambda: _fitted(ExactKMeans(3, gap=1e-2, node_limit=3, random_state=7)),
    "step": lambda: _assigned(8),
    "check": lambda: str(check(ROWS, 4, size_min=20, size_max=25, **LINKS)),
}


@pytest.mark.filterwarnings("ignore::konstrain.exceptions.NotProvenWarning")
def test_threads_that_fit_at_once_get_the_answers_of_one_alone():
    alone = {name: task() for name, task in TASKS.items()}
    begin = threading.Barrier(N_THREADS)

    def hammer(number):
        begin.wait()
        names = [*TASKS][number:] + [*TASKS][:number]
        return [(name, TASKS[name]() == alone[name]) for _ in range(ROUNDS) for name in names]

    with ThreadPoolExecutor(N_THREADS) as pool:
        told = [entry for entries in pool.map(hammer, range(N_THREADS)) for entry in entries]
    assert len(told) == N_THREADS * ROUNDS * len(TASKS)
    assert {name for name, is_same in told if not is_same} == set()


def test_one_fitted_model_serves_many_threads():
    model = ConstrainedKMeans(4, n_init=2, random_state=0).fit(ROWS)
    wanted = model.predict(ROWS), model.transform(ROWS), model.predict(ROWS, size_min=20, size_max=25)

    def look(_):
        got = model.predict(ROWS), model.transform(ROWS), model.predict(ROWS, size_min=20, size_max=25)
        return all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(pool.map(look, range(4 * N_THREADS)))
