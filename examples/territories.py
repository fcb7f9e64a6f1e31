"""
Territories with demand
=======================

120 customers on a map, five sellers, each with between 90% and 110% of a fifth of the visits.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_clusters, plot_sizes

# Towns of different size along two roads; a customer needs between 1 and 12 visits a year.
rng = np.random.default_rng(5)
towns = np.array([[5, 5], [18, 8], [32, 12], [45, 20], [12, 24], [26, 30], [40, 34], [8, 38]], dtype=float)
people = rng.multinomial(120, [0.3, 0.15, 0.1, 0.05, 0.1, 0.15, 0.1, 0.05])
kilometres = np.repeat(towns, people, axis=0) + rng.normal(scale=2.2, size=(120, 2))
visits = rng.integers(1, 13, size=120)
share = visits.sum() / 5
limits = {"size_min": 0.9 * share, "size_max": 1.1 * share}

# %%
# ``demand`` is what sizes count, row by row: visits.
plain = KMeans(5, n_init=10, random_state=0).fit(kilometres)
fair = ConstrainedKMeans(5, **limits, n_init=1, random_state=0).fit(kilometres, demand=visits)

print(f"visits per seller, asked: {limits['size_min']:.0f} to {limits['size_max']:.0f}")
print("plain k-means:", np.bincount(plain.labels_, weights=visits).astype(int))
print("with demand:  ", fair.cluster_sizes_.astype(int))
print(f"price of fairness: inertia {plain.inertia_:.0f} -> {fair.inertia_:.0f}")

# %%
# Somebody with few customers gets the far ones, too.
_, (left, middle, right) = plt.subplots(1, 3, figsize=(13.8, 4), layout="constrained")
plot_sizes(np.bincount(plain.labels_, weights=visits), **limits, ax=left)
left.set_title("visits per seller, KMeans", pad=28)
plot_sizes(fair.cluster_sizes_, **limits, ax=middle)
middle.set_title("visits per seller, with demand", pad=28)
plot_clusters(kilometres, fair.labels_, centers=fair.cluster_centers_, ax=right)
right.set(title="the territories", xlabel="km east", ylabel="km north")
plt.show()
