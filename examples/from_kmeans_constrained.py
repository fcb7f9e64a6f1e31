"""
From k-means-constrained in one line
====================================

Code for ``k_means_constrained.KMeansConstrained`` keeps working when one import is changed, and may then ask for
more.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

# from k_means_constrained import KMeansConstrained
from konstrain import ConstrainedKMeans as KMeansConstrained
from konstrain.plotting import plot_clusters, plot_sizes

# %%
# As it was: sizes for all clusters.
X, _ = make_blobs(300, centers=5, cluster_std=2.0, random_state=4)
model = KMeansConstrained(n_clusters=5, size_min=50, size_max=70, random_state=0)
model.fit_predict(X)
print("sizes:", np.bincount(model.labels_), f" inertia {model.inertia_:.1f}")

# %%
# What can be asked now: sizes of each cluster, demand instead of rows, links, and how good the answer is.
weights = np.random.default_rng(0).integers(1, 5, size=300)
total = weights.sum()
more = KMeansConstrained(n_clusters=5, size_min=0.15 * total, size_max=0.25 * total, n_init=1, random_state=0)
more.fit(X, demand=weights, must_link=[(0, 1), (1, 2)], cannot_link=[(3, 4)])
print("demand held:", more.cluster_sizes_.astype(int), f" of {total}; broken links: {more.n_violations_}")
proof = model.certify(X, time_limit=3)
print(f"the first clustering: no other with these sizes can be better by more than {proof.gap:.1%}")

_, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4), layout="constrained")
plot_sizes(model.cluster_sizes_, size_min=50, size_max=70, ax=left)
plot_clusters(X, model.labels_, centers=model.cluster_centers_, ax=right)
plt.show()
