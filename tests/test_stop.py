"""Budgets of time and work, handed down to parts of the work."""

from konstrain.stop import UNLIMITED, Budget


def test_work_is_spent_by_the_parts_and_gone_for_the_whole():
    whole = Budget(work=3.0)
    first, second = whole.part(), whole.part(work=1.0)
    first.spend(1.0)
    second.spend(1.0)
    assert not second.affords(0.5)
    assert whole.affords(1.0)
    assert not whole.affords(1.5)
    assert not first.affords(1.5)
    assert not whole.expired()


def test_without_a_limit_work_costs_nothing():
    UNLIMITED.spend(1e300)
    assert UNLIMITED.affords(1e300)
    assert not UNLIMITED.limits_work
    assert not UNLIMITED.is_timed


def test_no_work_is_left_when_time_is_over():
    assert not Budget(0.0, work=100.0).affords(0.0)


def test_work_is_limited_by_a_number_and_not_by_seconds():
    assert Budget(work=10.0).limits_work
    assert Budget(work=10.0).part().limits_work
    assert UNLIMITED.part(work=0.0).limits_work
    assert not Budget(5.0).limits_work


def test_a_part_has_a_share_of_the_time_that_is_left():
    assert 4.0 < Budget(10.0).part().remaining() <= 5.0
    assert 0.0 < Budget(10.0).part(0.1, work=2.0).remaining() <= 1.0
    assert not Budget(work=2.0).part().is_timed


def test_an_ended_budget_is_over():
    budget = Budget(100.0)
    budget.end()
    assert budget.expired()
