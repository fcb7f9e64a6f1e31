"""A missing group or label means unknown, in whatever form people keep what they know."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from konstrain import ConstrainedKMeans, check, pairs_from_labels
from konstrain.baselines import COPKMeans
from konstrain.constraints.inputs import read_membership

# Each says: rows 0 and 3 are of one kind, row 2 is of another, nothing is known of rows 1 and 4.
FORMS = {
    "list of names": ["a", None, "b", "a", None],
    "list with numbers": ["a", -1, "b", "a", -1],
    "list with nan": [7.0, float("nan"), 3.0, 7.0, float("nan")],
    "numpy int": np.array([7, -1, 3, 7, -1]),
    "numpy float": np.array([7.0, np.nan, 3.0, 7.0, -1.0]),
    "numpy object": np.array(["a", np.nan, "b", "a", -1], dtype=object),
    "numpy text from numbers": np.array(["a", -1, "b", "a", -1]),
    "numpy text from nan": np.array(["a", np.nan, "b", "a", np.nan]),
    "numpy dates": np.array(["2020-01-01", "NaT", "2021-01-01", "2020-01-01", "NaT"], dtype="datetime64[D]"),
    "masked int": np.ma.array([7, 0, 3, 7, 0], mask=[0, 1, 0, 0, 1]),
    "masked text": np.ma.array(["a", "x", "b", "a", "x"], mask=[0, 1, 0, 0, 1]),
    "pandas float": pd.Series([7, None, 3, 7, None]),
    "pandas names": pd.Series(["a", None, "b", "a", None]),
    "pandas category": pd.Series(["a", None, "b", "a", None], dtype="category"),
    "pandas Int64": pd.Series([7, None, 3, 7, -1], dtype="Int64"),
    "pandas boolean": pd.Series([True, None, False, True, None], dtype="boolean"),
    "pandas string": pd.Series(["a", None, "b", "a", None], dtype="string"),
    "pandas dates": pd.to_datetime(pd.Series(["2020-01-01", None, "2021-01-01", "2020-01-01", None])),
    "pandas categorical": pd.Categorical(["a", None, "b", "a", None]),
    "pandas index": pd.Index(["a", None, "b", "a", None]),
    "polars int": pl.Series([7, None, 3, 7, None]),
    # As floats these two would be one number.
    "polars large int": pl.Series([2**60, None, 2**60 + 1, 2**60, None]),
    "polars names": pl.Series(["a", None, "b", "a", None]),
    "polars category": pl.Series(["a", None, "b", "a", None], dtype=pl.Categorical),
    "polars nan": pl.Series([7.0, float("nan"), 3.0, 7.0, None]),
    "arrow int": pa.array([7, None, 3, 7, None]),
    "arrow chunks": pa.chunked_array([[2**60, None], [2**60 + 1, 2**60, None]]),
    "arrow names": pa.array(["a", None, "b", "a", None]),
}
each_form = pytest.mark.parametrize("known", FORMS.values(), ids=FORMS)


@each_form
@pytest.mark.parametrize("name", ["groups", "labels"])
def test_groups_and_labels_become_codes(name, known):
    codes = read_membership(name, known, 5).codes
    assert codes[0] == codes[3] != codes[2]
    assert codes[1] == codes[4] == -1


@each_form
@pytest.mark.parametrize("method", [ConstrainedKMeans, COPKMeans])
def test_y_is_read_as_partial_labels(method, known):
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1]])
    labels = method(2, random_state=0).fit(X, known).labels_
    assert labels[0] == labels[3] != labels[2]


@each_form
def test_labels_imply_one_must_link_and_one_cannot_link(known):
    must_link, cannot_link = pairs_from_labels(known)
    assert must_link.tolist() == [[0, 3]]
    assert cannot_link.shape == (1, 2)
    assert check(5, 2, labels=known).n_blocks == 4


def test_labels_without_any_missing_value_are_ignored_as_y():
    X = np.array([[0.0], [0.1], [9.0], [9.1]])
    for complete in ([0, 1, 0, 1], ["a", "b", "a", "b"], pd.Series([0, 1, 0, 1]), pl.Series(["a", "b", "a", "b"])):
        labels = ConstrainedKMeans(2, random_state=0).fit(X, complete).labels_
        assert labels[0] == labels[1] != labels[2] == labels[3]
