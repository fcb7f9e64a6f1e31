"""The restricted master: duals, stand-ins, Farkas duals, trimming and the integer master."""

import itertools

import numpy as np
import pytest

from effort import examples
from konstrain.exact.columns.master import ColumnPool, Master, exact_cover, integer_master, togetherness
from konstrain.stop import Budget

FOREVER = Budget(None)


def random_pool(seed, n_blocks, n_columns):
    rng = np.random.default_rng(seed)
    pool = ColumnPool()
    for _ in range(n_columns):
        column = tuple(np.flatnonzero(rng.random(n_blocks) < 0.5).tolist())
        if column:
            pool.add(column, float(rng.random() * 100.0))
    return pool


def is_cover(columns, n_blocks):
    return {block for column in columns for block in column} == set(range(n_blocks))


def best_cover(pool, n_blocks, n_clusters):
    best = np.inf
    for size in range(1, n_clusters + 1):
        for chosen in itertools.combinations(range(len(pool)), size):
            if is_cover([pool.columns[i] for i in chosen], n_blocks):
                best = min(best, sum(pool.costs[i] for i in chosen))
    return best


def test_duals_are_feasible_and_prove_the_value():
    for seed in range(examples(60)):
        pool = random_pool(seed, 6, 20)
        solution = Master(pool, 6, 3, scale=10.0).solve(FOREVER)
        if solution is None:
            continue
        assert (solution.duals >= 0).all()
        assert solution.sigma >= 0
        reduced = [
            c - solution.duals[list(t)].sum() + solution.sigma for t, c in zip(pool.columns, pool.costs, strict=True)
        ]
        assert min(reduced) >= -1e-6
        assert solution.duals.sum() - 3 * solution.sigma == pytest.approx(solution.value, rel=1e-7)
        assert solution.value <= best_cover(pool, 6, 3) + 1e-6


def test_columns_added_later_are_taken_up():
    pool = ColumnPool()
    pool.add((0,), 1.0)
    pool.add((1,), 5.0)
    master = Master(pool, 2, 2)
    assert master.solve(FOREVER).value == pytest.approx(6.0)
    assert not pool.add((1,), 5.0)
    pool.add((0, 1), 2.0)
    solution = master.solve(FOREVER)
    assert solution.value == pytest.approx(2.0)
    assert solution.use.tolist() == pytest.approx([0.0, 0.0, 1.0])


def test_a_stand_in_caps_the_value():
    pool = ColumnPool()
    pool.add((0,), 1.0)
    solution = Master(pool, 2, 2, incumbent_cost=7.0).solve(FOREVER)
    assert solution.value == pytest.approx(7.0)
    assert solution.rest == pytest.approx(1.0)
    assert Master(pool, 2, 2).solve(FOREVER) is None


def test_feasibility_duals_show_what_is_missing():
    pool = ColumnPool()
    pool.add((0, 1), 1.0)
    pool.add((2,), 1.0)
    solution = Master(pool, 3, 1, feasibility=True).solve(FOREVER)
    assert solution.value == pytest.approx(1.0)
    assert (solution.duals <= 1.0 + 1e-9).all()
    # No column of the pool proves wrong that one cluster is not enough.
    assert all(solution.duals[list(t)].sum() <= solution.sigma + 1e-9 for t in pool.columns)
    assert solution.duals.sum() > solution.sigma


def test_no_time_means_no_solution():
    pool = random_pool(0, 4, 10)
    assert Master(pool, 4, 4, feasibility=True).solve(Budget(0.0)) is None


def test_trimming_covers_each_block_once():
    for seed in range(examples(60)):
        pool = random_pool(seed, 7, 30)
        solution = Master(pool, 7, 4).solve(FOREVER)
        if solution is None:
            continue
        parts = exact_cover(pool.columns, solution.use.tolist(), 7)
        together = togetherness(parts, 7)
        np.testing.assert_allclose(np.diag(together), 1.0, atol=1e-5)
        assert sum(share for _, share in parts) <= 4 + 1e-6
        originals = [set(t) for t, x in zip(pool.columns, solution.use, strict=True) if x > 0]
        assert all(any(set(part) <= original for original in originals) for part, _ in parts)


def test_integer_master_finds_the_best_cover():
    for seed in range(examples(60)):
        pool = random_pool(seed, 6, 14)
        best = best_cover(pool, 6, 3)
        found = integer_master(pool, 6, 3, scale=10.0)
        assert (found is None) == (best == np.inf)
        if found is not None:
            assert is_cover(found, 6)
            assert sum(pool.costs[pool.columns.index(t)] for t in found) == pytest.approx(best)


def test_integer_master_chooses_among_the_given_columns():
    pool = ColumnPool()
    for column, cost in (((0, 1), 1.0), ((0,), 3.0), ((1,), 4.0)):
        pool.add(column, cost)
    assert integer_master(pool, 2, 2) == [(0, 1)]
    assert integer_master(pool, 2, 2, chosen=np.array([1, 2])) == [(0,), (1,)]
    assert integer_master(ColumnPool(), 2, 2) is None
    assert integer_master(pool, 2, 2, budget=Budget(0.0)) is None
