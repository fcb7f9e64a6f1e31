"""
Alternative clusterings
=======================

Four groups at the corners of a rectangle can be halved in two good ways: ask for both, each with its proof.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from konstrain import ExactKMeans
from konstrain.plotting import plot_clusters

# %%
# Four groups of five rows.
corners = [(0, 0), (5, 0), (0, 4), (5, 4)]
X, _ = make_blobs([5] * 4, centers=corners, cluster_std=0.6, random_state=0)

# %%
# The best halves, and the best halves unlike them.
best = ExactKMeans(2, random_state=0).fit(X)
# A cluster of ten rows may share at most six of them with an old cluster; by chance it would share five.
other = ExactKMeans(2, random_state=0).fit(X, alternative_to=best.labels_, alternative_limit=6)

# %%
# Both are proved: among all clusterings that share at most six rows per cluster with the first, none is better.
_, axes = plt.subplots(1, 2, figsize=(9.2, 4), layout="constrained")
for ax, name, model in zip(axes, ("the best", "the best unlike it"), (best, other), strict=True):
    plot_clusters(X, model.labels_, centers=model.cluster_centers_, ax=ax)
    ax.set_title(f"{name}: inertia {model.inertia_:.1f}, {'proved' if model.is_optimal_ else 'not proved'}")
    print(f"{name}: inertia {model.inertia_:.2f}, proved optimal: {model.is_optimal_}")
shared = max(np.sum((best.labels_ == a) & (other.labels_ == b)) for a in (0, 1) for b in (0, 1))
print(f"no two clusters share more than {shared} rows")
plt.show()
