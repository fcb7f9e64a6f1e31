"""Answers that may be wrong: soft, asked once more, explained where they contradict each other."""

import numpy as np
import pytest

from konstrain import ConstrainedKMeans, suggest_pairs
from konstrain.suggest import clusters_met, contradictions, soften

# Two far groups; row 0 is in the first.
X = np.concatenate([np.linspace(0, 1, 10), np.linspace(20, 21, 10)])[:, None]
RIGHT = {"must_link": [(0, 1), (10, 11), (2, 3)], "cannot_link": [(4, 14), (5, 15)]}


def with_wrong(*times):
    return {**RIGHT, "must_link": [*RIGHT["must_link"], *[(0, 19)] * len(times)]}


def test_an_answer_that_the_clustering_contradicts_is_asked_once_more():
    asked = suggest_pairs(X, 2, ask=3, noise=0.1, random_state=0, **with_wrong(1))
    assert asked[0].tolist() == [0, 19]
    assert [0, 19] not in asked[1:].tolist()


def test_it_is_not_asked_a_third_time():
    again = suggest_pairs(X, 2, ask=3, noise=0.1, random_state=0, **with_wrong(1, 2))
    assert [0, 19] not in again.tolist()
    both = {**with_wrong(1), "cannot_link": [*RIGHT["cannot_link"], (19, 0)]}
    assert [0, 19] not in suggest_pairs(X, 2, ask=3, noise=0.1, random_state=0, **both).tolist()


def test_without_noise_nothing_is_doubted():
    asked = suggest_pairs(X, 2, ask=3, random_state=0, **with_wrong(1))
    assert [0, 19] not in asked.tolist()


def test_contradicting_answers_are_possible_with_noise_and_each_asked_once_more():
    answers = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}
    asked = suggest_pairs(X, 2, ask=3, noise=0.2, random_state=0, **answers)
    assert asked[0].tolist() == [0, 2]


def test_softened_answers_break_where_rows_say_otherwise():
    links = {"must_link": soften([(0, 1), (0, 19)], 0.1), "cannot_link": soften([(4, 14)], 0.1)}
    model = ConstrainedKMeans(2, random_state=0).fit(X, **links)
    assert model.n_violations_ == 1
    hard = ConstrainedKMeans(2, random_state=0).fit(X, must_link=soften([(0, 19)], 0.0))
    assert hard.labels_[0] == hard.labels_[19]


def test_an_answer_given_again_counts_double_whichever_row_stands_first():
    once, first, again = soften([(0, 1), (2, 3), (3, 2)], 0.2)[:, 2]
    assert first == again == 2 * once


@pytest.mark.parametrize("noise", [0.5, -0.01, float("nan")])
def test_noise_that_is_no_share_below_one_half_is_refused(noise):
    with pytest.raises(ValueError, match=r"noise must be a share of wrong answers"):
        soften([(0, 1)], noise)


def test_contradictions_name_the_path_and_the_pair_and_taking_any_back_resolves_them():
    must, cannot = [(0, 1), (1, 2), (2, 3), (7, 8)], [(3, 0), (7, 0)]
    found = contradictions(9, must_link=must, cannot_link=cannot)
    assert len(found) == 1
    assert {frozenset(pair) for pair in found[0].together} == {frozenset(pair) for pair in must[:3]}
    assert set(found[0].apart) == {0, 3}
    assert "path" in found[0].message
    for taken in range(3):
        assert not contradictions(9, must_link=np.delete(must, taken, axis=0), cannot_link=cannot)
    assert not contradictions(9, must_link=must, cannot_link=cannot[1:])


def test_clusters_met_counts_blocks_known_to_be_all_apart():
    assert clusters_met(5) == 1
    assert clusters_met(5, cannot_link=[(0, 1)]) == 2
    assert clusters_met(5, cannot_link=[(0, 1), (1, 2)]) == 2
    assert clusters_met(5, must_link=[(0, 3)], cannot_link=[(0, 1), (1, 2), (3, 2)]) == 3
