"""
Territories by revenue and clients
==================================

Six sales territories that are compact, and within 10% of each other in revenue and in the number of clients.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ConstrainedKMeans, NotProvenWarning
from konstrain.plotting import plot_clusters, plot_sizes

# 240 places; a few large towns have most of the revenue.
rng = np.random.default_rng(5)
towns = rng.uniform(0, 10, (8, 2))
places = towns[rng.integers(0, 8, 240)] + rng.normal(0, 0.8, (240, 2))
clients = rng.poisson(6, 240) + 1.0
revenue = clients * rng.lognormal(0.0, 0.6, 240)

# %%
# One column per resource, one bound per resource: each territory within 10% of a sixth of both. Both bounds are kept
# exactly; that no other labels are cheaper at these centers is proved to within 1%, which a warning would tell.
held = np.column_stack([revenue, clients])
equal = held.sum(axis=0) / 6
model = ConstrainedKMeans(6, size_min=0.9 * equal, size_max=1.1 * equal, n_init=10, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotProvenWarning)
    model.fit(places, demand=held)

print("revenue of a territory, of an equal part:", (model.cluster_sizes_[:, 0] / equal[0]).round(2))
print("clients of a territory, of an equal part:", (model.cluster_sizes_[:, 1] / equal[1]).round(2))

_, (left, middle, right) = plt.subplots(1, 3, figsize=(13.8, 4), layout="constrained")
for ax, column, name in ((left, 0, "revenue"), (middle, 1, "clients")):
    bounds = {"size_min": 0.9 * equal[column], "size_max": 1.1 * equal[column]}
    plot_sizes(model.cluster_sizes_[:, column].round(1), **bounds, ax=ax)
    ax.set_title(name, pad=28)
plot_clusters(places, model.labels_, centers=model.cluster_centers_, ax=right)
plt.show()
