"""Both pricers against enumeration of all sets of blocks."""

import _thread
import itertools
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from effort import examples
from konstrain import _core
from konstrain.constraints import Problem
from konstrain.exact.columns.cluster_constraints import ClusterRules, MaxSoftViolations
from konstrain.exact.columns.pricing import Pricer
from konstrain.stop import Budget

pytestmark = pytest.mark.engine

NO_LIMIT = 10**9


@dataclass
class Case:
    """A small pricing problem with every kind of rule, and its enumeration."""

    means: np.ndarray
    weight: np.ndarray
    conflict: np.ndarray
    amounts: np.ndarray
    amount_limits: np.ndarray
    counts: np.ndarray
    count_limits: np.ndarray
    most: int | None
    profit: np.ndarray
    costless: bool

    @classmethod
    def draw(cls, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 10))
        means = rng.normal(size=(n, int(rng.integers(1, 4))))
        if seed % 3 == 0:
            means = np.round(means)  # coinciding and equidistant blocks
        weight = (np.ones(n), rng.integers(1, 5, n).astype(float), 3 * rng.random(n), 100.0 * rng.integers(1, 9, n))
        upper = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.2, 0.5]), 1)
        n_amounts, n_counts = int(rng.integers(0, 3)), int(rng.integers(0, 2))
        pairs = np.triu(rng.integers(0, 2, (n, n))).astype(float)
        case = cls(
            means=means,
            weight=weight[seed % 4],
            conflict=upper | upper.T,
            amounts=rng.integers(0, 4, (n_amounts, n)).astype(float),
            amount_limits=rng.integers(1, 8, n_amounts).astype(float),
            counts=np.tile(pairs + np.triu(pairs, 1).T, (n_counts, 1)).reshape(-1, n),
            count_limits=rng.integers(0, 6, n_counts).astype(float),
            most=3 if seed % 5 == 0 else None,
            profit=rng.normal(0.6, 1.0, n) * rng.choice([0.3, 1.0, 4.0]),
            costless=seed % 7 == 0,
        )
        if seed % 11 == 0:
            case.weight[0] = 0.0
        case.profit *= max(1.0, case.weight.mean())
        return case

    @property
    def kernel(self):
        indptr = np.concatenate([[0], self.conflict.sum(axis=1).cumsum()]).astype(np.int64)
        indices = np.nonzero(self.conflict)[1].astype(np.int32)
        question = None if self.most is None else lambda members, block: len(members) < self.most
        rules = (self.amounts, self.amount_limits, self.counts, self.count_limits, question)
        return _core.PricingBlocks(self.means, self.weight, indptr, indices, *rules)

    def is_allowed(self, inside):
        square = np.ix_(inside, inside)
        return not (
            self.conflict[square].any()
            or (self.amounts[:, inside].sum(axis=1) > self.amount_limits).any()
            or any(np.triu(self.counts[square]).sum() > limit for limit in self.count_limits)
            or (self.most is not None and len(inside) > self.most)
        )

    def value(self, inside):
        weight = self.weight[inside]
        if self.costless or weight.sum() == 0:
            return -self.profit[inside].sum()
        gap = self.means[inside] - np.average(self.means[inside], axis=0, weights=weight)
        return (weight[:, None] * gap**2).sum() - self.profit[inside].sum()

    def enumerate(self):
        best = 0.0
        for size in range(1, self.weight.size + 1):
            for inside in map(list, itertools.combinations(range(self.weight.size), size)):
                if self.is_allowed(inside):
                    best = min(best, self.value(inside))
        return best


@pytest.mark.parametrize("block", range(examples(20)))
def test_exact_pricer_finds_the_minimum_over_all_sets(block):
    for seed in range(30 * block, 30 * block + 30):
        case = Case.draw(seed)
        best = case.enumerate()
        cutoff = 0.0 if seed % 2 else float(-np.random.default_rng(seed).random())
        columns, bound, finished, _ = case.kernel.price_exactly(
            case.profit, cutoff, NO_LIMIT, NO_LIMIT, np.inf, case.costless
        )
        tolerance = 1e-10 * (1.0 + np.abs(case.profit).sum())
        assert finished
        assert bound == pytest.approx(min(best, cutoff), abs=tolerance), seed
        assert bool(columns) == (best < cutoff - tolerance)
        for column in columns:
            assert case.is_allowed(column)
            assert case.value(column) < cutoff + tolerance
        if columns:
            assert case.value(columns[-1]) == pytest.approx(best, abs=tolerance)


def test_bound_holds_wherever_the_search_is_cut_off():
    for seed in range(examples(300)):
        case = Case.draw(seed)
        best = case.enumerate()
        _, bound, _, n_nodes = case.kernel.price_exactly(case.profit, 0.0, seed % 6, NO_LIMIT, np.inf, case.costless)
        assert bound <= best + 1e-10 * (1.0 + np.abs(case.profit).sum()), seed
        assert n_nodes <= seed % 6 + 1


def test_local_pricing_finds_allowed_sets_and_mostly_the_best():
    hits = total = 0
    for seed in range(examples(300)):
        case = Case.draw(seed)
        best = case.enumerate()
        starts = [[b] for b in range(case.weight.size)]
        found = case.kernel.price_locally(case.profit, starts, 0.0, 80, case.costless)
        values = [case.value(column) for column in found]
        assert all(case.is_allowed(column) for column in found), seed
        assert values == sorted(values) or np.allclose(values, sorted(values))
        assert len({tuple(column) for column in found}) == len(found)
        if best < 0:
            total += 1
            hits += bool(values) and values[0] <= best + 1e-9 * (1.0 + abs(best))
    assert hits >= 0.9 * total


def test_a_time_limit_ends_the_search_with_a_valid_bound():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.normal(size=(300, 2)), 3)
    pricer = Pricer(problem, ClusterRules.of(problem, ()))
    # The whole search would take hours: that this returns at all is the point.
    price = pricer.exactly(np.full(300, 1.0), -1.0, Budget(0.2), NO_LIMIT, nodes_after_find=NO_LIMIT)
    assert not price.finished
    everything = pricer.locally(np.full(300, 1.0), 0.0, [(b,) for b in range(300)])
    assert price.bound <= pricer.cost(everything[0]) - len(everything[0])


def test_ctrl_c_gets_through_a_long_search():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.normal(size=(300, 2)), 3)
    pricer = Pricer(problem, ClusterRules.of(problem, ()))
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pricer.exactly(np.full(300, 1.0), -1.0, Budget(60.0), NO_LIMIT, nodes_after_find=NO_LIMIT)
    timer.join()


@pytest.mark.parametrize("profit", [np.ones(3, dtype=np.float32), np.ones(6)[::2], [1.0, 1.0, 1.0]])
def test_profits_of_another_kind_are_refused(profit):
    nothing = np.zeros((0, 3))
    links = np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)
    rules = nothing, np.zeros(0), nothing, np.zeros(0), None
    kernel = _core.PricingBlocks(np.zeros((3, 1)), np.ones(3), *links, *rules)
    with pytest.raises(TypeError):
        kernel.price_exactly(profit, 0.0, 10, 10, np.inf)
    with pytest.raises(TypeError):
        kernel.price_locally(profit, [[0]], 0.0, 10)


def test_an_error_in_a_question_reaches_the_caller():
    def question(members, block):
        raise KeyError("mine")

    means, nothing = np.zeros((3, 1)), np.zeros((0, 3))
    links = np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)
    kernel = _core.PricingBlocks(means, np.ones(3), *links, nothing, np.zeros(0), nothing, np.zeros(0), question)
    with pytest.raises(KeyError, match="mine"):
        kernel.price_exactly(np.ones(3), 0.0, 10, 10, np.inf)
    with pytest.raises(KeyError, match="mine"):
        kernel.price_locally(np.ones(3), [[0]], 0.0, 10)


def test_cost_of_a_column_counts_the_scatter_within_blocks():
    problem = Problem.build([[0.0], [2.0], [5.0]], 2, must_link=[(0, 1)])
    pricer = Pricer(problem, ClusterRules.of(problem, ()))
    assert pricer.cost((0,)) == pytest.approx(2.0)
    assert pricer.cost((0, 1)) == pytest.approx(np.var([0.0, 2.0, 5.0]) * 3)


@pytest.mark.parametrize("seed", range(20))
def test_the_admissible_part_is_that_of_blocks_taken_one_by_one(seed):
    """Also where all blocks may join, which is seen at once."""
    rng = np.random.default_rng(seed)
    cannot = [tuple(rng.choice(12, 2, replace=False)) for _ in range(3)]
    problem = Problem.build(rng.normal(size=(12, 2)), 4, must_link=[(0, 1)], cannot_link=cannot, size_max=6)
    soft = MaxSoftViolations([(2, 3), (4, 5), (6, 7)], 1)
    pricer = Pricer(problem, ClusterRules.of(problem, [soft]))
    n_whole = 0
    for size in range(9):
        blocks = np.sort(rng.choice(problem.n_blocks, size, replace=False)).tolist()
        kept = []
        for block in blocks:
            if pricer._joins(kept, block):
                kept.append(block)
        assert pricer.admissible_part(blocks) == tuple(kept)
        n_whole += kept == blocks and size > 1
    assert n_whole > 0
