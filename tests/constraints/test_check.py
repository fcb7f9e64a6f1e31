"""The answer of `check`: all clashes at once, and what the constraints imply."""

import itertools

import numpy as np
import pytest

from konstrain import check


def test_all_findings_come_together():
    result = check(
        8, 2, must_link=[(0, 1)], cannot_link=[(0, 1), (2, 3), (3, 4), (4, 2), (5, 6), (6, 7), (5, 7)], size_max=3
    )
    assert result.feasible is False
    assert [finding.reason for finding in result.findings] == [
        "contradiction",
        "sizes",
        "too few clusters",
        "too few clusters",
    ]
    assert result.findings[0].error().witness == result.findings[0].witness
    assert str(result).startswith("infeasible: 8 rows, 2 clusters\n- contradiction: cannot_link (0, 1) contradicts")


def test_findings_are_capped_and_the_rest_counted():
    result = check(50, 2, groups=[0] * 50, cannot_link=[(0, i) for i in range(1, 16)], nonempty=False)
    assert len(result.findings) == 10
    assert result.n_omitted == 5
    assert "- and 5 more" in str(result)


def test_without_time_one_path_is_told_and_conflicts_still_need_two_clusters():
    result = check(
        20,
        5,
        groups=[0] * 10 + [-1] * 10,
        cannot_link=[(0, 1), (2, 3), (4, 5), (11, 12)],
        time_limit=0,
        nonempty=False,
    )
    assert len(result.findings) == 1
    assert result.n_omitted == 2
    assert result.min_clusters == 2


def test_implied_links_blocks_and_components_are_counted():
    result = check(9, 4, must_link=[(0, 1), (1, 2), (3, 4)], cannot_link=[(0, 3), (4, 5), (5, 0), (6, 7)])
    assert result.feasible is True
    assert result.n_blocks == 6
    assert result.largest_block.tolist() == [0, 1, 2]
    assert result.n_must_links == 3 + 1
    assert result.n_cannot_links == 3 * 2 + 2 + 3 + 1
    assert result.min_clusters == 3
    assert result.n_conflict_components == 2
    assert result.largest_conflict_component == 3


def test_nothing_given_implies_nothing():
    result = check(3, 2)
    assert result.feasible is True
    assert result.findings == []
    assert (result.n_blocks, result.n_must_links, result.n_cannot_links, result.min_clusters) == (3, 0, 0, 1)
    assert (result.n_conflict_components, result.largest_conflict_component) == (0, 0)
    assert str(result) == (
        "feasible: 3 rows, 2 clusters\nblocks: 3, the largest of 1 row\n"
        "implied: 0 must-links, 0 cannot-links between rows\ncluster sizes: 1 to 2"
    )


def test_more_clusters_than_rows_are_told_once():
    result = check(3, 4)
    assert [finding.message for finding in result.findings] == [
        "4 clusters must not be empty, but there are only 3 rows; ask for fewer clusters."
    ]


def test_sizes_that_cross_are_not_told_as_a_range():
    result = check(150, 3, size_max=40)
    assert (result.size_min > result.size_max).all()
    assert "cluster sizes" not in str(result)


def test_size_bounds_follow_from_each_other():
    result = check(10, 3, size_min=[2, 0, 0], size_max=[5, 3, 3])
    assert result.size_min.tolist() == [4, 2, 2]
    assert result.size_max.tolist() == [5, 3, 3]


def test_soft_links_are_counted_and_those_decided_too():
    result = check(
        5,
        3,
        groups=[0, 0, -1, -1, -1],
        must_link=[(0, 1, 0.5), (0, 2, 0.5), (2, 3, 0.1)],
        cannot_link=[(0, 1, 0.3), (1, 2, np.inf), (0, 2, 0.2), (3, 4, 0.2)],
    )
    assert (result.n_soft_must_links, result.n_soft_cannot_links) == (3, 3)
    assert (result.n_soft_kept, result.n_soft_broken) == (2, 2)
    assert "hard links already keep 2 and break 2" in str(result)


def test_an_open_combination_is_said_to_be_open():
    # Feasible, but only by a packing the quick attempt may miss: 4 + 3 + 3 = 5 + 5 - that is, it cannot work.
    result = check(10, 2, groups=[0, 0, 0, 0, 1, 1, 1, 2, 2, 2], size_max=5, nonempty=False)
    assert result.feasible is not True


@pytest.mark.parametrize("n", [5, 40])
def test_labels_of_a_true_clustering_are_feasible(n):
    rng = np.random.default_rng(n)
    truth = rng.integers(0, 3, n)
    pairs = list(itertools.combinations(range(n), 2))
    must = [pair for pair in pairs if truth[pair[0]] == truth[pair[1]] and rng.random() < 0.3]
    cannot = [pair for pair in pairs if truth[pair[0]] != truth[pair[1]] and rng.random() < 0.3]
    partial = np.where(rng.random(n) < 0.3, truth, -1)
    assert check(n, 3, must_link=must, cannot_link=cannot, labels=partial, nonempty=False).feasible is True


def test_sizes_and_conflicts_that_clash_only_together_are_found():
    """Row 0 conflicts with all others, so one cluster holds it alone and the other three rows, not two and two."""
    result = check(4, 2, cannot_link=[(0, 1), (0, 2), (0, 3)], size_max=2)
    assert result.feasible is False
    assert result.findings[0].reason == "combination"
    assert "keeps all sizes and all conflicts" in result.findings[0].message


def test_sizes_that_only_the_engines_can_pack_are_feasible():
    """Blocks of 3, 3, 2, 2, 2 fill two clusters of 6; taking the largest first where most room is fails."""
    groups = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert check(12, 2, groups=groups, size_min=6, size_max=6).feasible is True
