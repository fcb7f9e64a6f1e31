"""Samples have the counts they promise, agree with the classes, and repeat for one seed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from konstrain import Problem, count_violations
from konstrain.datasets import (
    LinkSample,
    flip_links,
    load,
    sample_babaki,
    sample_baumann,
    sample_ganji,
    sample_jia,
    sample_le,
)

classes = st.lists(st.sampled_from("abcd"), min_size=2, max_size=40)
seeds = st.integers(0, 2**31 - 1)
shares = st.floats(0.01, 1.0)
IRIS = load("iris").labels
SAMPLERS = {
    "babaki": lambda labels, seed: sample_babaki(labels, 100, random_state=seed),
    "baumann": lambda labels, seed: sample_baumann(labels, 0.1, random_state=seed),
    "baumann-objects": lambda labels, seed: sample_baumann(labels, 0.1, reading="objects", random_state=seed),
    "ganji": lambda labels, seed: sample_ganji(labels, 75, random_state=seed),
    "jia": lambda labels, seed: sample_jia(labels, 100, random_state=seed),
    "le": lambda labels, seed: sample_le(labels, random_state=seed),
}


def check_sample(sample, labels):
    """Check that no link contradicts the classes, comes twice, or joins a row with itself."""
    labels = np.asarray(labels)
    for pairs in (sample.must_link, sample.cannot_link):
        assert pairs.dtype == np.int32
        assert pairs.shape == (len(pairs), 2)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert count_violations(labels, **sample.links).total == 0


def n_pairs(count):
    return count * (count - 1) // 2


def same_pairs(labels):
    return sum(n_pairs(labels.count(label)) for label in set(labels))


@given(labels=classes, part=st.floats(0, 1), seed=seeds)
def test_babaki_draws_as_many_distinct_pairs_as_asked(labels, part, seed):
    count = round(part * n_pairs(len(labels)))
    sample = sample_babaki(labels, count, random_state=seed)
    check_sample(sample, labels)
    assert sample.n_links == count


@given(labels=classes, share=shares, seed=seeds)
def test_both_readings_of_baumann_have_as_many_pairs_as_q_rows_have(labels, share, seed):
    q = math.ceil(round(share * len(labels), 9))
    for reading in ("pairs", "objects"):
        sample = sample_baumann(labels, share, reading=reading, random_state=seed)
        check_sample(sample, labels)
        assert sample.n_links == n_pairs(q)
    assert sample.rows.size == (q if q > 1 else 0)


@given(labels=classes, part=st.floats(0, 1), seed=seeds)
def test_ganji_draws_half_of_each_kind(labels, part, seed):
    most = min(same_pairs(labels), n_pairs(len(labels)) - same_pairs(labels))
    count = round(part * 2 * most)
    sample = sample_ganji(labels, count, random_state=seed)
    check_sample(sample, labels)
    assert (len(sample.must_link), len(sample.cannot_link)) == (count // 2, count - count // 2)


@given(labels=classes, share=shares, seed=seeds)
def test_le_links_all_drawn_rows_of_each_class(labels, share, seed):
    sample = sample_le(labels, share, random_state=seed)
    check_sample(sample, labels)
    drawn = [math.ceil(round(share * labels.count(label), 9)) for label in set(labels)]
    assert len(sample.must_link) == sum(n_pairs(count) for count in drawn)
    assert sample.n_links == n_pairs(sum(drawn))


@given(
    sizes=st.lists(st.integers(6, 30), min_size=2, max_size=4),
    half=st.integers(0, 8),
    odd=st.integers(0, 1),
    seed=seeds,
    data=st.data(),
)
def test_jia_draws_equal_numbers_and_cannot_link_sets_are_disjoint(sizes, half, odd, seed, data):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    cannot_size = data.draw(st.none() | st.integers(2, len(sizes)))
    # The smallest class has at least six rows: with pairs alone it can serve the few sets asked for here.
    half = min(half, min(sizes) // 2 - odd)
    sample = sample_jia(labels, 2 * half + odd, cannot_link_size=cannot_size, random_state=seed)
    check_sample(sample, labels)
    assert (len(sample.must_link), len(sample.cannot_link)) == (half, half + odd)
    check_disjoint_cliques(sample, labels, cannot_size or len(sizes))


def check_disjoint_cliques(sample, labels, size_max):
    """Check that the conflicts of merged must-link sets are cliques that share no block."""
    problem = Problem.build(labels.size, labels.max() + 1, **sample.links, nonempty=False)
    first, second = problem.block_of[sample.cannot_link].T
    neighbours = {}
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        neighbours.setdefault(a, {a}).add(b)
        neighbours.setdefault(b, {b}).add(a)
    for clique in neighbours.values():
        assert len(clique) <= size_max
        assert all(neighbours[block] == clique for block in clique)


@pytest.mark.parametrize(
    ("name", "count"), [("iris", 400), ("wine", 100), ("digits", 500)], ids=["iris-400", "wine-100", "digits-500"]
)
def test_jia_reaches_the_papers_numbers_of_links(name, count):
    labels = load(name).labels
    for seed in range(5):
        sample = sample_jia(labels, count, random_state=seed)
        check_sample(sample, labels)
        assert (len(sample.must_link), len(sample.cannot_link)) == (count // 2, count // 2)
        check_disjoint_cliques(sample, labels, labels.max() + 1)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_jia_must_link_sets_have_the_size_asked_for(size):
    count = 4 * n_pairs(size)
    sample = sample_jia(IRIS, 2 * count, must_link_size=size, random_state=0)
    merged = Problem.build(150, 3, must_link=sample.must_link, nonempty=False).block_of
    sizes = np.bincount(merged)
    assert sorted(sizes[sizes > 1].tolist()) == [size] * 4


def test_jia_last_must_link_set_hangs_together_when_cut_short():
    # Four rows have six pairs; of eleven pairs the second set gets five.
    sample = sample_jia(IRIS, 22, must_link_size=4, random_state=0)
    sizes = np.bincount(Problem.build(150, 3, must_link=sample.must_link, nonempty=False).block_of)
    assert sorted(sizes[sizes > 1].tolist()) == [4, 4]


@pytest.mark.parametrize("draw", SAMPLERS.values(), ids=SAMPLERS.keys())
def test_one_seed_gives_one_sample(draw):
    first, again, other = draw(IRIS, 7), draw(IRIS, 7), draw(IRIS, 8)
    for kind in ("must_link", "cannot_link"):
        assert_array_equal(first.links[kind], again.links[kind])
    assert not np.array_equal(first.cannot_link, other.cannot_link)
    check_sample(first, IRIS)


@pytest.mark.parametrize("draw", SAMPLERS.values(), ids=SAMPLERS.keys())
def test_class_names_and_numbers_give_the_same_sample(draw):
    names = np.array(["setosa", "versicolor", "virginica"])[IRIS]
    for kind in ("must_link", "cannot_link"):
        assert_array_equal(draw(names, 0).links[kind], draw(IRIS, 0).links[kind])


def test_uniform_pairs_are_uniform():
    counts = np.zeros((6, 6), dtype=int)
    for seed in range(1000):
        pairs = sample_babaki([0] * 6, 3, random_state=seed).must_link
        counts[tuple(pairs.T)] += 1
    found = counts[np.triu_indices(6, 1)]
    assert found.sum() == 3000
    # 200 of each of 15 pairs expected; the standard deviation is 12.6.
    assert np.abs(found - 200).max() < 60


def test_pairs_are_numbered_without_gaps():
    sample = sample_babaki([0] * 9, 36, random_state=0)
    assert_array_equal(np.unique(sample.must_link, axis=0), np.column_stack(np.triu_indices(9, 1)))


def test_ganji_gives_rows_of_small_classes_as_many_must_links():
    # Drawing pairs uniformly would hardly ever choose one of the 45 pairs of the small class among 1,993,650.
    labels = [0] * 10 + [1] * 1990
    samples = [sample_ganji(labels, 200, random_state=seed) for seed in range(30)]
    small = sum(int((sample.must_link[:, 0] < 10).sum()) for sample in samples)
    assert 5 <= small <= 35  # 15 expected


@given(labels=classes, part=st.floats(0, 1), share=st.floats(0, 1), seed=seeds)
def test_flipped_links_are_the_share_asked_for_and_all_wrong(labels, part, share, seed):
    true = sample_babaki(labels, round(part * n_pairs(len(labels))), random_state=seed)
    noisy = flip_links(true, share, random_state=seed)
    assert noisy.n_links == true.n_links
    numbers = np.unique(labels, return_inverse=True)[1]
    assert count_violations(numbers, **noisy.links).total == round(share * true.n_links)
    together = [np.concatenate([sample.must_link, sample.cannot_link]) for sample in (true, noisy)]
    assert_array_equal(np.unique(together[0], axis=0), np.unique(together[1], axis=0))


def test_flipping_leaves_the_sample_as_it_was_and_repeats_for_one_seed():
    true = sample_ganji(IRIS, 100, random_state=0)
    before = {kind: pairs.copy() for kind, pairs in true.links.items()}
    first, again = flip_links(true, 0.1, random_state=5), flip_links(true, 0.1, random_state=5)
    for kind in before:
        assert_array_equal(true.links[kind], before[kind])
        assert_array_equal(first.links[kind], again.links[kind])


def test_a_sample_knows_the_rows_it_touches():
    sample = LinkSample(np.array([[3, 5]], dtype=np.int32), np.array([[1, 3]], dtype=np.int32))
    assert sample.rows.tolist() == [1, 3, 5]
    assert sample.n_links == 2


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: sample_babaki([0, 1, 1], 4), "4 pairs cannot be drawn: these labels have 3"),
        (lambda: sample_babaki([0, 1, 1], -1), "-1 pairs cannot be drawn"),
        (lambda: sample_babaki([], 1), "labels are empty"),
        (lambda: sample_baumann([0, 1, 1], 1.5), r"share=1\.5 must be above 0 and at most 1"),
        (lambda: sample_baumann([0, 1, 1], 1.0, reading="both"), "reading='both' must be 'pairs' or 'objects'"),
        (lambda: sample_le([0, 1, 1], 0.0), r"share=0\.0 must be above 0"),
        (lambda: sample_ganji([0, 1, 1], 4), "2 must-links cannot be drawn: these labels have 1"),
        (lambda: sample_ganji([0, 0, 0], 2), "1 cannot-links cannot be drawn: these labels have 0"),
        (lambda: sample_jia([0, 0, 1, 1], -2), "n_links=-2 must not be negative"),
        (lambda: sample_jia([0, 0, 1, 1], 6), "make at most 2 must-links here, not 3"),
        (
            lambda: sample_jia(IRIS, 400, must_link_size=3),
            "sets of must_link_size=3 rows make at most 144 .* not 200",
        ),
        (lambda: sample_jia(IRIS, 4, must_link_size=51), "must_link_size=51 must be between 2 and .* 50"),
        (lambda: sample_jia(IRIS, 4, cannot_link_size=4), "cannot_link_size=4 must be between 2 and .* 3"),
        (lambda: sample_jia([0, 0, 0, 0], 2), "disjoint cannot-link sets made only 0 of 1 cannot-links"),
        (lambda: flip_links(sample_le(IRIS), 1.1), r"share=1\.1 must be between 0 and 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_numbers(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
