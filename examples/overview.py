"""
Promises kept
=============

What plain k-means breaks, and the same rows with every link and every size kept.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from konstrain import ConstrainedKMeans, count_violations
from konstrain.plotting import plot_clusters

X, group = make_blobs([70, 40, 40], centers=[(0, 0), (5, 1), (3, 4.5)], cluster_std=1.5, random_state=4)

# What somebody knows: for 24 pairs, drawn at random, whether they are of one group.
rng = np.random.default_rng(0)
pairs = rng.permutation(len(X))[:48].reshape(-1, 2)
same = group[pairs[:, 0]] == group[pairs[:, 1]]
links = {"must_link": pairs[same], "cannot_link": pairs[~same]}

# %%
# Both on the same rows.
plain = KMeans(3, n_init=10, random_state=0).fit(X)
kept = ConstrainedKMeans(3, size_min=50, size_max=50, random_state=0).fit(X, **links)

_, axes = plt.subplots(1, 2, figsize=(9.2, 4.8), layout="constrained")
for ax, name, model in zip(axes, ("KMeans", "ConstrainedKMeans, 50 rows each"), (plain, kept), strict=True):
    plot_clusters(X, model.labels_, centers=model.cluster_centers_, **links, ax=ax)
    sizes = ", ".join(map(str, np.bincount(model.labels_)))
    broken = count_violations(model.labels_, **links).total
    ax.set_title(f"{name}\nsizes {sizes}; {broken} of {len(pairs)} links broken", fontsize=11, pad=38)
    print(f"{name}: sizes {sizes}, {broken} of {len(pairs)} links broken, inertia {model.inertia_:.1f}")
plt.show()
