"""
BLPKM-CC, iteration by iteration
================================

The toy run of Fig. 1 in Baumann (2020): what the binary program assigns in each of three iterations, and the classes.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from konstrain import BLPKMeans
from konstrain.datasets import sample_babaki
from konstrain.plotting import plot_clusters

# The paper shows its rows in a picture only; these are ours: three classes of twelve rows with 30 links.
classes = np.repeat([0, 1, 2], 12)
X = np.random.default_rng(1).normal(size=(36, 2)) + np.array([[0.0, 0.0], [3.6, 0.0], [1.8, 3.1]])[classes]
links = sample_babaki(classes, 30, random_state=1).links

# %%
# The same run, ended after one, two and three iterations. Every link is kept from the first one on; the centers need
# longer. The last iteration finds the classes.
_, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
for n_iter, ax in enumerate(axes.flat[:3], start=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # we end it before it has converged
        model = BLPKMeans(3, max_iter=n_iter, random_state=4).fit(X, **links)
    ari = adjusted_rand_score(classes, model.labels_)
    print(f"iteration {n_iter}: distance {model.objective_:.2f}, {model.n_violations_} broken links, ARI {ari:.2f}")
    plot_clusters(X, model.labels_, centers=model.cluster_centers_, **links, ax=ax)
    ax.set_xlabel(f"iteration {n_iter}: ARI {ari:.2f}")

plot_clusters(X, classes, **links, ax=axes[1, 1])
axes[1, 1].set_xlabel("true classes")
plt.show()
