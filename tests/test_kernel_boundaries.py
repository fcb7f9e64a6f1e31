"""The compiled kernels take exactly what they were made for: anything else is an error, never a silent copy."""

import gc

import numpy as np
import pytest

from konstrain import _core

pytestmark = pytest.mark.engine

COSTS = np.arange(12, dtype=np.float64).reshape(4, 3)
INDPTR = np.array([0, 1, 2, 2, 2], dtype=np.int64)
INDICES = np.array([1, 0], dtype=np.int32)


def linked(costs=COSTS, indptr=INDPTR, indices=INDICES, weights=None):
    search = _core.LinkedAssignment(costs, indptr, indices, weights, 100, 100, 1.0)
    search.run()
    return search.labels


def dual_matrix(low=None, limit=None, out=None):
    """The bound of a polyhedron without cuts whose only finite limits are `low` on a diagonal of three."""
    empty, m = np.zeros(0), 3
    polyhedron = _core.SdpPolyhedron(
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        empty,
        np.zeros(0, dtype=np.int32),
        empty if limit is None else limit,
        np.zeros(0, dtype=np.int32),
        np.full(m, 0.25) if low is None else low,
        np.full(m, np.inf),
    )
    gc.collect()
    out = np.zeros((m, m)) if out is None else out
    return polyhedron.dual_matrix(np.zeros((m, m)), -np.eye(m), empty, 2.0, out)


CALLS = {
    "nearest": lambda costs: _core.nearest(costs),
    "match_cliques": lambda costs: _core.match_cliques(costs, INDPTR, INDICES),
    "LinkedAssignment": lambda costs: linked(costs),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "costs",
    [COSTS.astype(np.float32), np.asfortranarray(COSTS), COSTS[:, ::2], COSTS.ravel(), COSTS.tolist()],
    ids=["float32", "fortran", "strided", "flat", "list"],
)
def test_costs_of_another_kind_are_refused(call, costs):
    with pytest.raises(TypeError):
        call(costs)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_read_only_and_empty_costs_are_fine(call):
    frozen = COSTS.copy()
    frozen.flags.writeable = False
    call(frozen)
    np.testing.assert_array_equal(frozen, COSTS)


@pytest.mark.parametrize("part", [np.full(4, -1), np.full((4, 1), -1, dtype=np.int32), [-1] * 4])
def test_parts_of_another_kind_are_refused(part):
    with pytest.raises(TypeError):
        _core.deal_rows(COSTS, np.ones(4), np.zeros(4, dtype=np.int32), 1, 2, 2, 16, 0, part)


def test_dealt_rows_are_left_as_they_are_and_placed_ones_stay():
    points, part = COSTS.copy(), np.array([-1, 1, -1, -1], dtype=np.int32)
    points.flags.writeable = False
    _core.deal_rows(points, np.ones(4), np.zeros(4, dtype=np.int32), 1, 2, 2, 16, 0, part)
    assert part[1] == 1
    assert sorted(part.tolist()) == [0, 0, 1, 1]


def test_no_rows_give_no_labels():
    assert _core.nearest(np.zeros((0, 3)))[0].shape == (0,)


@pytest.mark.parametrize("indices", [INDICES.astype(np.int64), INDICES.astype(np.float64)])
def test_graphs_of_another_kind_are_refused(indices):
    with pytest.raises(TypeError):
        _core.is_disjoint_cliques(INDPTR, indices)
    with pytest.raises(TypeError):
        linked(indices=indices)


def test_results_outlive_the_search_that_made_them():
    labels = linked()
    assert labels.tolist() == [0, 1, 0, 0]


def test_a_polyhedron_keeps_its_arrays_alive():
    # <C, Y> >= 2 * 0.25 for each entry of the diagonal whose multiplier is -1.
    assert dual_matrix()[1] == pytest.approx(1.5)


@pytest.mark.parametrize(
    "arrays",
    [
        {"low": np.full(3, 0.25, dtype=np.float32)},
        {"low": np.full((3, 1), 0.25)},
        {"low": np.full(6, 0.25)[::2]},
        {"limit": None, "low": [0.25] * 3},
        {"limit": np.zeros(0, dtype=np.int64)},
        {"out": np.zeros((3, 3), dtype=np.float32)},
        {"out": np.zeros((3, 3), order="F")},
    ],
)
def test_arrays_of_a_polyhedron_of_another_kind_are_refused(arrays):
    with pytest.raises(TypeError):
        dual_matrix(**arrays)


def test_arrays_to_be_filled_must_be_writable():
    frozen = np.zeros((3, 3))
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        dual_matrix(out=frozen)


def test_none_is_refused_where_an_array_is_needed():
    with pytest.raises(TypeError):
        _core.nearest(None)
    with pytest.raises(TypeError):
        dual_matrix(low=False)
