"""Where rows and centers come to lie on the plane."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from konstrain.plotting import project


def test_two_columns_stay_and_keep_their_names():
    frame = pd.DataFrame({"east": [0.0, 1.0], "north": [2.0, 3.0]})
    plane = project(frame, [[5.0, 6.0]])
    assert_array_equal(plane.rows, frame)
    assert_array_equal(plane.centers, [[5.0, 6.0]])
    assert plane.names == ("east", "north")


@pytest.mark.parametrize("names", [("lat", "lon"), ("Latitude", "LNG")])
def test_longitude_goes_to_the_right_as_on_maps(names):
    frame = pd.DataFrame([[52.4, 9.7], [53.6, 10.0]], columns=names)
    plane = project(frame, [[53.0, 9.9]])
    assert_array_equal(plane.rows, [[9.7, 52.4], [10.0, 53.6]])
    assert_array_equal(plane.centers, [[9.9, 53.0]])
    assert plane.names == (names[1], names[0])
    assert project(frame.to_numpy(), names=names).names == plane.names
    assert project(frame[[names[1], names[0]]]).names == plane.names


def test_one_column_lies_on_a_line():
    plane = project([[1.0], [2.0]])
    assert_array_equal(plane.rows, [[1, 0], [2, 0]])
    assert plane.centers is None
    assert plane.names == ("column 0", "")


def test_main_components_keep_distances_of_rows_in_a_plane_and_move_centers_with_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 6)) + 7
    plane = project(X, X[:3])
    assert_allclose(plane.centers, plane.rows[:3])
    assert_allclose(np.linalg.norm(plane.rows[0] - plane.rows[1:], axis=1), np.linalg.norm(X[0] - X[1:], axis=1))


def test_rows_without_variance_have_a_place():
    assert_allclose(project(np.ones((3, 4))).rows, 0)


def test_one_row_has_no_main_components():
    with pytest.raises(ValueError, match="at least 2 rows"):
        project([[1.0, 2.0, 3.0]])
