"""Deadlines in seconds and in work, handed down to parts of it."""

import pytest

from konstrain.stop import NO_DEADLINE, Deadline, Looks


def test_looks_are_shared_by_all_parts_of_the_work():
    whole = Deadline(None, looks=Looks(3))
    part, brief = whole.share(0.5), whole.brief(0.5, 10)
    assert [part.look(), brief.look(), whole.look()] == [False, False, True]
    assert part.expired()
    assert brief.expired()
    assert whole.remaining() == 0.0


def test_without_a_limit_looking_costs_nothing():
    assert not any(NO_DEADLINE.look() for _ in range(1000))
    assert not NO_DEADLINE.counts_work


def test_a_look_late_ends_work_that_has_looks_left():
    assert Deadline(0.0, looks=Looks(100)).look()


@pytest.mark.parametrize("limit", [{"max_nodes": 10}, {"looks": Looks(10)}])
def test_branchings_and_looks_are_limits_on_work_and_seconds_are_not(limit):
    assert Deadline(None, **limit).counts_work
    assert not Deadline(5.0).counts_work


def test_a_patient_part_has_looks_of_its_own_and_asks_for_a_proof():
    patient = Deadline(None, max_nodes=5, is_brief=True).patient(0.5, 2)
    assert (patient.max_nodes, patient.is_brief) == (None, False)
    assert [patient.look(), patient.look()] == [False, True]
    assert 0.0 < Deadline(10.0).patient(0.1, 2).remaining() <= 1.0
