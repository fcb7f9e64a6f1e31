"""Bounds that differ between clusters, and sizes that have to find theirs."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from konstrain.constraints.feasibility import match_sizes


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=5))
def test_sizes_are_matched_to_bounds_where_any_order_fits(drawn):
    low, width, sizes = np.array(drawn, dtype=float).T
    high = low + width
    fits = any((np.array(order) >= low).all() and (np.array(order) <= high).all() for order in permutations(sizes))
    chosen = match_sizes(sizes, low, high)
    assert (chosen is not None) == fits
    if chosen is not None:
        assert sorted(chosen) == list(range(sizes.size))
        assert ((low[chosen] <= sizes) & (sizes <= high[chosen])).all()
