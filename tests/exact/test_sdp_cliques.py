"""Clique cuts hold for every clustering of known sizes, also after merges, and cut off what stars allow."""

import numpy as np
import pytest

from effort import examples
from konstrain.constraints.problem import Problem
from konstrain.exact.sdp.cuts import Cuts
from konstrain.exact.sdp.model import SdpModel, merge_matrix, place_after_merge
from konstrain.exact.sdp.size_cuts import Cliques


def excess(cuts: Cuts, Y: np.ndarray) -> np.ndarray:
    """<A_t, Y> - limit of each cut, in clusters."""
    start, position, coefficient, _, limit = cuts.rows
    return (np.add.reduceat(coefficient * np.ravel(Y)[position], start[:-1]) - limit) * cuts.norm


def matrix_of(weight: np.ndarray, labels: np.ndarray, clusters: list[int], size: float) -> np.ndarray:
    """Y of some clusters, all of this size."""
    inside = (labels[:, None] == labels) & np.isin(labels, clusters)
    return np.where(inside, np.sqrt(np.outer(weight, weight)) / size, 0.0)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_every_clustering_satisfies_every_clique_before_and_after_a_merge(seed):
    rng = np.random.default_rng(seed)
    m, n_same = int(rng.integers(6, 12)), int(rng.integers(1, 3))
    labels = rng.permutation(np.r_[np.repeat(np.arange(n_same), 2), np.full(m - 2 * n_same, n_same)])
    weight = np.where(labels < n_same, 1.5, 1.0) if seed % 2 else np.ones(m)
    size = 3.0 if seed % 2 else 2.0
    model = SdpModel.of(Problem.build(rng.normal(size=(m, 2)), n_same + 1, sample_weight=weight))
    Y = matrix_of(weight, labels, list(range(n_same)), size)
    is_in = rng.random((30, m)) < 0.5
    cliques = Cliques(size, n_same, is_in[is_in.any(axis=1)])
    cuts = Cuts.make(model, np.zeros((0, 6), dtype=np.int32), cliques, np.ones(len(cliques)))
    assert excess(cuts, Y).max() <= 1e-9
    i, j = np.flatnonzero(labels == 0)[:2]
    moved = cuts.moved(model.merged(i, j), weight, place_after_merge(m, i, j))
    np.testing.assert_array_equal(moved.parts.is_in[:, i], cliques.is_in[:, [i, j]].any(axis=1))
    np.testing.assert_array_equal(np.delete(moved.parts.is_in, i, axis=1), np.delete(cliques.is_in, [i, j], axis=1))
    assert excess(moved, merge_matrix(Y, weight, i, j)).max() <= 1e-9


def test_cliques_are_found_where_stars_see_nothing():
    # Three rows each to 0.9 in the one cluster of size 3, and each two of them together to 0.6 only.
    model = SdpModel.of(Problem.build(np.arange(6.0)[:, None], 2))
    Y = np.zeros((6, 6))
    Y[:3, :3] = np.where(np.eye(3, dtype=bool), 0.9, 0.6) / 3
    none = Cliques.none(model, 3.0, 1)
    stars = Cuts.none(model).separated(model, Y)[0].stars
    assert len(stars) == 0
    found = none.violated(model, Y)
    # A third member would gain 0.9 - 1.2.
    assert {tuple(np.flatnonzero(clique).tolist()) for clique in found.is_in} == {(0, 1), (0, 2)}
    cuts = Cuts.none(model, none).separated(model, Y)[0]
    assert excess(cuts, Y).min() > 0.1
    assert len(found.violated(model, Y)) == 0


def test_stars_are_spared_where_blocks_hardly_are_in_clusters_of_the_size():
    model = SdpModel.of(Problem.build(np.arange(6.0)[:, None], 2))
    Y = np.zeros((6, 6))
    Y[0, 0], Y[1, 0], Y[1, 1] = 0.001, 0.002, 0.3
    kept = [len(Cuts.none(model).separated(model, Y, spared=spared)[0].stars) for spared in (0.0, 0.01)]
    assert kept == [1, 0]
