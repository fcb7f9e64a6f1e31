"""Which constraint sets Baumann (2020) used: the accuracies of Table III fit one reading of CS_r, not the other."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from konstrain import BLPKMeans
from konstrain.datasets import load, sample_baumann

pytestmark = [pytest.mark.slow, pytest.mark.published]

SHARES = (0.1, 0.15, 0.2)
# Table III, BLPKM-CC with CS10, CS15 and CS20: five of the 25 sets, named before the first run.
TABLE_3 = {
    "bupa": (0.931, 1.000, 1.000),
    "haberman": (0.929, 1.000, 1.000),
    "newthyroid": (0.865, 0.984, 0.984),
    "spectfheart": (0.871, 1.000, 1.000),
    "tae": (0.046, 0.547, 0.982),
}


def mean_accuracy(dataset, share, reading):
    """Return the mean adjusted Rand index over five constraint sets with three starts each."""
    scores = []
    for seed in range(5):
        sample = sample_baumann(dataset.labels, share, reading=reading, random_state=seed)
        for start in range(3):
            model = BLPKMeans(dataset.n_clusters, random_state=start).fit(dataset.X, **sample.links)
            scores.append(adjusted_rand_score(dataset.labels, model.labels_))
    return np.mean(scores)


@pytest.mark.parametrize("name", TABLE_3)
def test_table_3_fits_pairs_drawn_from_all_rows(name, data_folder):
    dataset = load(name, data=data_folder / "sets")
    pairs = np.array([mean_accuracy(dataset, share, "pairs") for share in SHARES])
    objects = np.array([mean_accuracy(dataset, share, "objects") for share in SHARES])
    # The paper drew one constraint set for each instance; other sets scatter by 0.1.
    assert np.abs(pairs - TABLE_3[name]).max() < 0.15
    assert np.abs(objects - TABLE_3[name]).max() > 0.4
