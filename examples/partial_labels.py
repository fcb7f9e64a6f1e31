"""
Partial labels
==============

Groups that k-means alone cuts the wrong way, and what knowing some rows does for the rest.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_clusters, plot_curves

# Stretched along a slanted line: distances say little about the groups.
X, group = make_blobs(240, centers=3, random_state=170)
X = X @ [[0.6, -0.64], [-0.41, 0.85]]

# %%
# More and more rows are known; the score counts the others only.
runs = []
for share in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5):
    for seed in range(5):
        known = np.random.default_rng(seed).random(len(X)) < share
        model = ConstrainedKMeans(3, n_init=3, random_state=seed).fit(X, y=np.where(known, group, -1))
        # Scored on the rows whose group was not given: the others are right by construction.
        runs.append((100 * share, adjusted_rand_score(group[~known], model.labels_[~known])))
    print(f"{share:4.0%} known: ARI of the other rows {np.mean([score for _, score in runs[-5:]]):.3f}")

# %%
# Labels move the centers, and a row still goes to the nearest one.
_, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4), layout="constrained")
given, scores = zip(*runs, strict=True)
plot_curves(given, scores, ["rows without a label"] * len(runs), value_name="ARI", x_name="labels given (%)", ax=left)
plot_clusters(X, model.labels_, centers=model.cluster_centers_, ax=right)
right.set_title("half of the labels given")
plt.show()
