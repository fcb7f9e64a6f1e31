"""
Customers in segments of a useful size
======================================

A shop wants four segments to write to. None may be too small to be worth a letter or too large to be of one kind,
and accounts of one household belong together.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from konstrain import ConstrainedKMeans, pairs_from_groups
from konstrain.plotting import plot_clusters, plot_sizes

# %%
# 200 customers: visits a year, mean basket, years since the first visit. Most come rarely, as everywhere.
rng = np.random.default_rng(11)
kinds = np.array([[4, 25, 1], [30, 18, 6], [10, 120, 3], [45, 70, 9]])
spread = np.array([[2, 8, 0.8], [5, 6, 1.5], [3, 15, 1.2], [6, 12, 2.0]])
kind = rng.choice(4, size=200, p=[0.6, 0.2, 0.12, 0.08])
customers = np.maximum(kinds[kind] + rng.normal(size=(200, 3)) * spread[kind], [1, 3, 0])
names = ["visits", "basket", "years"]

# Twelve households of two or three accounts; -1 is a customer alone.
household = np.full(200, -1)
for number, members in enumerate(np.split(rng.permutation(200)[:30], np.cumsum([2, 3] * 6)[:-1])):
    household[members] = number

# %%
# Features on one scale first: a basket in euros would drown years.
scaler = StandardScaler().fit(customers)
X = scaler.transform(customers)
plain = KMeans(4, n_init=10, random_state=0).fit(X)
segments = ConstrainedKMeans(4, size_min=30, size_max=80, random_state=0)
segments.fit(X, must_link=pairs_from_groups(household))

print(
    "plain k-means:",
    np.sort(np.bincount(plain.labels_)),
    " with bounds:",
    np.sort(segments.cluster_sizes_.astype(int)),
)
print(f"what bounds and households cost: inertia {plain.inertia_:.0f} -> {segments.inertia_:.0f}")

# %%
# Each segment in the shop's own units.
for segment, center in enumerate(scaler.inverse_transform(segments.cluster_centers_)):
    told = ", ".join(f"{name} {value:.0f}" for name, value in zip(names, center, strict=True))
    print(f"segment {segment}: {segments.cluster_sizes_[segment]:.0f} customers; {told}")

_, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4), layout="constrained")
plot_sizes(segments.cluster_sizes_, size_min=30, size_max=80, ax=left)
plot_clusters(X, segments.labels_, centers=segments.cluster_centers_, ax=right)
plt.show()
