"""
Shards of vectors
=================

An index of vectors is dealt out to shards, and a query asks only the nearest few. Shards of k-means have any size,
so the largest decides how much memory a machine needs and how long the slowest answer takes. Size bounds make
shards alike: every query reads about as much as any other, and recall falls a little because fewer vectors are
read.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_sizes

# %%
# 6,000 vectors in groups of very different size, in single precision as indices have them, and 200 queries.
sizes = np.random.default_rng(1).multinomial(6200, np.random.default_rng(1).dirichlet(np.full(60, 0.7)))
vectors, _ = make_blobs(sizes, n_features=24, centers=None, cluster_std=4.0, random_state=1, shuffle=True)
vectors, queries = vectors[:6000].astype(np.float32), vectors[6000:].astype(np.float32)
N_SHARDS, PROBES = 24, 3

plain = KMeans(N_SHARDS, n_init=1, random_state=0).fit(vectors)
even = ConstrainedKMeans(N_SHARDS, size_min=225, size_max=275, n_init=1, random_state=0).fit(vectors)

# %%
# Of the ten nearest vectors, how many are in the shards that a query asks?
nearest = np.argsort(pairwise_distances(queries, vectors), axis=1)[:, :10]
for name, model in (("k-means", plain), ("even shards", even)):
    asked = np.argsort(pairwise_distances(queries, model.cluster_centers_), axis=1)[:, :PROBES]
    recall = (model.labels_[nearest][:, :, None] == asked[:, None, :]).any(axis=2).mean()
    held = np.bincount(model.labels_, minlength=N_SHARDS)
    read = held[asked].sum(axis=1)
    print(f"{name}: shards of {held.min()} to {held.max()}, recall@10 {recall:.3f}", end="")
    print(f", vectors read {read.mean():.0f} on average, {read.max()} at most")

_, axes = plt.subplots(1, 2, figsize=(9.2, 5), layout="constrained")
for ax, name, model in zip(axes, ("KMeans", "ConstrainedKMeans"), (plain, even), strict=True):
    plot_sizes(np.bincount(model.labels_, minlength=N_SHARDS), size_min=225, size_max=275, ax=ax)
    ax.set_title(name, pad=28)
plt.show()
