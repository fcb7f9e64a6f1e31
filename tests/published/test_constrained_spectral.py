"""CSP in Table 3 of Ganji et al. (2016): means over 5 sets of links and 8 runs each."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from konstrain.baselines import ConstrainedSpectral
from konstrain.datasets import sample_ganji
from konstrain.experiments.papers.ganji2016 import AS_PROGRAMMED

pytestmark = [
    pytest.mark.published,
    # A run of k-means may leave a cluster empty where most rows lie close together.
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
]

# Mean and standard deviation of NMI with n/4, n/2 and n links.
TABLE_3 = {
    "iris": [(0.07, 0.02), (0.09, 0.03), (0.14, 0.07)],
    "wine": [(0.04, 0.02), (0.06, 0.03), (0.07, 0.05)],
    "glass": [(0.12, 0.03), (0.14, 0.07), (0.18, 0.07)],
    "breast_tissue": [(0.19, 0.08), (0.20, 0.08), (0.27, 0.12)],
    "ionosphere": [(0.06, 0.07), (0.12, 0.07), (0.18, 0.23)],
}
ROUNDING = 0.005
# Where the published spread is large, two of them would let nearly everything pass; ours are off by 0.08 at most.
MOST = 0.1
# The others take several seconds each.
QUICK = ("iris",)


def repeated_runs(model, n_runs=8):
    """Labels of several runs: only k-means is random, so the embedding is made once."""
    if model.n_clusters == 2:
        return [model.labels_] * n_runs
    start = {"init": "random", "n_init": 1}
    return [KMeans(model.n_clusters, random_state=r, **start).fit(model.embedding_).labels_ for r in range(n_runs)]


@pytest.mark.parametrize("divisor", [4, 2, 1])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TABLE_3]
)
def test_nmi_is_within_two_standard_deviations_and_a_tenth(name, divisor, data_folder):
    table = np.loadtxt(data_folder / "sets" / f"{name}.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    scores = []
    for seed in range(5):
        links = sample_ganji(y, len(y) // divisor, random_state=seed).links
        model = ConstrainedSpectral(len(np.unique(y)), **dict(AS_PROGRAMMED), random_state=0).fit(X, **links)
        scores += [normalized_mutual_info_score(y, labels) for labels in repeated_runs(model)]
    mean, deviation = TABLE_3[name][[4, 2, 1].index(divisor)]
    assert abs(np.mean(scores) - mean) <= min(MOST, 2 * deviation + ROUNDING)
