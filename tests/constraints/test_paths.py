"""Contradictions: the shortest must-link path behind a cannot-link, with the reason of every hop."""

import pickle

import numpy as np
import pytest

from effort import examples
from konstrain import InfeasibleError, Problem, check
from konstrain.constraints import MustLinkPath
from naive_constraints import apart, blocks_of, distance, neighbours_of, random_arguments


def contradiction(n, **arguments):
    with pytest.raises(InfeasibleError) as caught:
        Problem.build(n, n, nonempty=False, **arguments)
    assert caught.value.reason == "contradiction"
    return caught.value


def test_cannot_link_inside_a_block_names_the_path():
    error = contradiction(12, must_link=[(4, 7), (7, 2), (9, 2), (0, 1)], cannot_link=[(3, 5), (4, 9)])
    assert str(error) == "cannot_link (4, 9) contradicts must_link path 4-7-2-9; remove one of these pairs."
    assert error.witness.pair == (4, 9)
    assert error.witness.rows == (4, 7, 2, 9)
    assert [hop.source for hop in error.witness.hops] == ["must_link"] * 3


def test_a_hop_through_a_group_is_one_step_and_is_named():
    groups = [None] * 10
    groups[4] = groups[9] = groups[1] = "A"
    error = contradiction(10, must_link=[(4, 7), (7, 9), (9, 2)], groups=groups, cannot_link=[(4, 2)])
    assert error.witness.rows == (4, 9, 2)
    assert "cannot_link (4, 2)" in str(error)
    assert "rows 4 and 9 are both in group 'A'; must_link (9, 2)" in str(error)
    assert error.witness.hops[0].name == "A"


def test_different_labels_in_one_block_name_the_nearest_rows():
    labels = np.full(10, -1)
    labels[[0, 1, 2]], labels[[7, 8]] = 5, 6
    error = contradiction(10, labels=labels, must_link=[(2, 4), (4, 8)])
    assert error.witness == MustLinkPath((2, 8), "labels", (2, 4, 8), error.witness.hops)
    assert "rows 2 and 8 have different labels 5 and 6, which contradicts the path 2-4-8" in str(error)
    assert "must_link (2, 4); must_link (4, 8)" in str(error)


def test_a_path_between_labels_ends_at_the_first_other_label():
    # Labels 0 and 1 meet only through label 2, but 0 and 2 already clash.
    error = contradiction(4, labels=[0, 2, 2, 1], must_link=[(0, 1), (2, 3)])
    assert error.witness.rows == (0, 1)
    assert "different labels 0 and 2" in str(error)


def test_a_hop_through_a_label_is_named():
    error = contradiction(4, labels=["x", None, "x", None], cannot_link=[(0, 2)])
    assert "rows 0 and 2 both have label 'x'" in str(error)


def test_distance_limits_that_contradict_are_named_with_their_values():
    with pytest.raises(InfeasibleError, match=r"rows 0 and 2 are further apart than diameter_max=1.5") as caught:
        Problem.build([[0.0], [1.0], [2.0]], 2, separation_min=1.25, diameter_max=1.5)
    assert "rows 0 and 1 are closer than separation_min=1.25" in str(caught.value)
    assert caught.value.witness.rows == (0, 1, 2)


def test_long_paths_are_cut_in_the_message_and_whole_in_the_witness():
    error = contradiction(100, must_link=[(i, i + 1) for i in range(99)], cannot_link=[(0, 99)])
    assert error.witness.rows == tuple(range(100))
    assert "(89 more)" in str(error)
    assert len(str(error)) < 200


def test_repeated_pairs_do_not_lengthen_the_path():
    error = contradiction(4, must_link=[(0, 1)] * 5 + [(0, 2), (2, 3), (3, 1)], cannot_link=[(0, 1)])
    assert error.witness.rows == (0, 1)


def test_paths_are_valid_and_shortest_on_random_inputs():
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(examples(500)):
        n = int(rng.integers(2, 16))
        arguments = random_arguments(rng, n)
        ties, block_of = neighbours_of(n, **arguments), blocks_of(n, **arguments)
        broken = {tuple(sorted(pair)) for pair in apart(n, **arguments) if block_of[pair[0]] == block_of[pair[1]]}
        findings = [f for f in check(n, n, nonempty=False, **arguments).findings if f.reason == "contradiction"]
        assert bool(broken) == bool(findings)
        for witness in (finding.witness for finding in findings):
            seen += 1
            assert tuple(sorted(witness.pair)) in broken
            assert all(b in ties[a] for a, b in zip(witness.rows, witness.rows[1:], strict=False))
            assert [hop.rows for hop in witness.hops] == list(zip(witness.rows, witness.rows[1:], strict=False))
            assert len(witness.hops) == distance(ties, *witness.pair)
    assert seen > examples(500)


def test_the_error_survives_pickling():
    error = contradiction(3, must_link=[(0, 1)], cannot_link=[(0, 1)])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.reason, again.witness) == (str(error), error.reason, error.witness)
