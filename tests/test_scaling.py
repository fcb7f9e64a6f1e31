"""Features on one scale: mean 0 and variance 1, in place, whatever their size."""

import numpy as np
import pytest

from konstrain.scaling import standardized


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_features_have_mean_0_and_variance_1_in_place(size, order, seed):
    X = np.asarray(size * np.random.default_rng(seed).normal(5.0, 3.0, size=(40, 3)), order=order)
    found = standardized(X)
    assert found is X
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)


def test_a_feature_that_is_the_same_everywhere_becomes_0():
    assert (standardized(np.full((7, 1), 0.1)) == 0.0).all()
