"""A matrix of links says what the same pairs say, whatever its dtype and whether it names a pair once or twice."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from konstrain import ConstrainedKMeans, count_violations
from konstrain.baselines import CKSC, CVQE, DILS, LCVQE, MPCKMeans
from konstrain.constraints.inputs import read_links
from konstrain.datasets import sample_ganji

PAIRS = [(0, 1), (1, 4), (2, 3)]


def matrix_of(pairs, dtype, n_samples=5, *, symmetric, values=1, make=csr_array):
    first, second = np.array(pairs).T
    values = np.broadcast_to(np.asarray(values, dtype=dtype), first.shape)
    if symmetric:
        first, second, values = np.r_[first, second], np.r_[second, first], np.r_[values, values]
    return make(coo_array((values, (first, second)), shape=(n_samples, n_samples)))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("make", [csr_array, csr_matrix, coo_array])
@pytest.mark.parametrize("symmetric", [False, True])
def test_whole_numbers_are_hard_links_each_counted_once(dtype, make, symmetric):
    links = read_links("must_link", matrix_of(PAIRS, dtype, symmetric=symmetric, make=make), 5)
    assert links.hard.tolist() == [list(pair) for pair in PAIRS]
    assert links.soft.size == 0
    broken = count_violations([0, 1, 0, 0, 2], must_link=matrix_of(PAIRS, dtype, symmetric=symmetric))
    assert broken.must_link == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [1.0, [1.0, 0.5, 0.25], [np.inf, 1.0, 0.5]])
@pytest.mark.parametrize("symmetric", [False, True])
def test_floats_are_confidences_as_in_a_third_column(dtype, values, symmetric):
    column = np.broadcast_to(np.asarray(values), 3)
    expected = read_links("must_link", [(*pair, c) for pair, c in zip(PAIRS, column, strict=True)], 5)
    found = read_links("must_link", matrix_of(PAIRS, dtype, symmetric=symmetric, values=values), 5)
    assert found.hard.tolist() == expected.hard.tolist()
    assert found.soft.tolist() == expected.soft.tolist()
    assert found.confidence.tolist() == expected.confidence.tolist()


@pytest.mark.parametrize("method", [ConstrainedKMeans, CVQE, LCVQE, MPCKMeans, DILS, CKSC])
def test_methods_give_the_same_labels_for_pairs_and_for_a_symmetric_matrix(method):
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 12)
    X = rng.normal(size=(36, 2)) + 1.5 * np.eye(3, 2)[classes]
    links = {
        kind: np.unique(np.sort(pairs, axis=1), axis=0)
        for kind, pairs in sample_ganji(classes, 20, random_state=0).links.items()
    }
    matrices = {kind: matrix_of(pairs, np.int8, 36, symmetric=True) for kind, pairs in links.items()}
    by_pairs, by_matrix = (method(3, random_state=0).fit(X, **given) for given in (links, matrices))
    np.testing.assert_array_equal(by_pairs.labels_, by_matrix.labels_)
    assert by_pairs.violations_ == by_matrix.violations_
