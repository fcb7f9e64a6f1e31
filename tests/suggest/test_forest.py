"""The forest behind questions, beside what every tree must satisfy and beside scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from konstrain import _core
from konstrain.suggest.uncertainty import N_TREES, leaves_of

pytestmark = pytest.mark.engine

IRIS, SPECIES = load_iris(return_X_y=True)
SPECIES = SPECIES.astype(np.int32)


def grown(X, classes, n_trees=20, n_drawn=None, seed=0):
    leaves = np.full((n_trees, len(X)), -1, dtype=np.int32)
    n_classes = int(classes.max()) + 1
    _core.grow_forest(X, classes, n_classes, len(X) if n_drawn is None else n_drawn, seed, leaves)
    return leaves


def proximity(leaves):
    return np.mean([line[:, None] == line for line in leaves], axis=0)


def test_rows_share_leaves_as_often_as_in_the_forest_of_scikit_learn():
    theirs = RandomForestClassifier(200, random_state=0).fit(IRIS, SPECIES).apply(IRIS).T
    ours = grown(IRIS, SPECIES, n_trees=200)
    assert np.corrcoef(proximity(ours).ravel(), proximity(theirs).ravel())[0, 1] > 0.99
    assert abs(proximity(ours).mean() - proximity(theirs).mean()) < 0.01


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_enough_draws_make_leaves_pure(seed):
    """When every row was drawn, a leaf holds rows of one class."""
    rng = np.random.default_rng(seed)
    X, classes = rng.normal(size=(40, 3)), rng.integers(3, size=40).astype(np.int32)
    for line in grown(X, classes, n_drawn=2000, seed=seed):
        assert_array_equal(np.unique(line), np.arange(line.max() + 1))
        assert all(len(set(classes[line == leaf].tolist())) == 1 for leaf in range(line.max() + 1))


def test_equal_rows_of_different_classes_share_their_leaf():
    X, classes = np.repeat([[1.0, 2.0], [3.0, 2.0]], 4, axis=0), np.tile([0, 1], 4).astype(np.int32)
    for line in grown(X, classes, n_drawn=200):
        assert_array_equal(line, np.repeat([line[0], line[-1]], 4))


def test_values_next_to_each_other_are_told_apart():
    """Halfway between two neighbouring numbers rounds to one of them; it must stay on its side."""
    X = np.repeat([1.0, np.nextafter(1.0, 2.0)], 5)[:, None]
    classes = np.repeat([0, 1], 5).astype(np.int32)
    for line in grown(X, classes, n_drawn=100):
        assert_array_equal(line, np.repeat([line[0], 1 - line[0]], 5))


def test_one_class_is_one_leaf():
    assert not grown(IRIS, np.zeros(150, dtype=np.int32)).any()


def test_one_seed_one_forest_and_another_seed_another():
    first, again, other = (leaves_of(IRIS, SPECIES, seed) for seed in (3, 3, 4))
    assert first.shape == (N_TREES, 150)
    assert_array_equal(first, again)
    assert (first != other).any()


def test_rows_of_single_precision_are_learned_from_too():
    assert_array_equal(
        leaves_of(IRIS.astype(np.float32), SPECIES, 0),
        leaves_of(IRIS.astype(np.float32).astype(np.float64), SPECIES, 0),
    )


@pytest.mark.parametrize("X", [IRIS.astype(np.float32), np.asfortranarray(IRIS), IRIS.tolist()])
def test_rows_of_another_kind_are_refused(X):
    with pytest.raises(TypeError):
        grown(X, SPECIES)
