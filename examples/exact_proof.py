"""
A proof, as it goes
===================

60 random rows in five equal clusters, and the lower bound closing in on the best clustering.
"""

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ExactKMeans
from konstrain.plotting import plot_bounds, plot_clusters

# Uniform rows have no clusters, which makes proofs hard: real data close at the first node as a rule.
X = np.random.default_rng(2).uniform(size=(60, 2))
model = ExactKMeans(5, size_min=12, size_max=12, gap=1e-3, random_state=0).fit(X)

print(f"inertia {model.inertia_:.4f}, no clustering is below {model.lower_bound_:.4f}: gap {model.gap_:.1e}")
print(f"proved: {model.is_optimal_}, after {model.n_nodes_} nodes and {model.trace_[-1].seconds:.1f} s")

# %%
# The bound rises until nothing below the best clustering is left.
_, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot_bounds(model.trace_, ax=left)
plot_clusters(X, model.labels_, centers=model.cluster_centers_, ax=right)
plt.show()
