"""Silhouettes by cluster."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

from konstrain.plotting import plot_silhouette


def test_each_cluster_is_an_area_of_its_sorted_silhouettes(ax):
    X, y = make_blobs(60, centers=3, random_state=0)
    assert plot_silhouette(X, y, ax=ax) is ax
    values = silhouette_samples(X, y)
    assert len(ax.collections) == 3
    for cluster, area in enumerate(ax.collections):
        ends = area.get_paths()[0].vertices[:, 0]
        assert ends.max() == pytest.approx(values[y == cluster].max())
        assert set(values[y == cluster].round(12)) <= set(ends.round(12))
    assert f"mean {values.mean():.2f})" in ax.get_xlabel()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1", "2"]


def test_of_many_rows_a_sample_is_drawn_that_keeps_the_shares(ax):
    X, y = make_blobs([3_000, 1_000, 3], random_state=0)
    plot_silhouette(X, y, max_rows=400, ax=ax)
    assert "402 of 4,003 rows" in ax.get_xlabel()
    heights = [np.ptp(area.get_paths()[0].vertices[:, 1]) for area in ax.collections]
    assert heights == [300, 100, 2]


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_silhouettes_need_two_clusters_and_fewer_than_rows(labels):
    with pytest.raises(ValueError, match="silhouettes of 3 rows need 2 to 2"):
        plot_silhouette([[0.0], [1.0], [2.0]], labels)
