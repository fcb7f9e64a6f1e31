"""Partial labels: the kind of one wine in ten is known; what does that do for the others?"""

import numpy as np
from _pictures import panels, save
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_curves

X, kind = load_wine(return_X_y=True)
# Of the thirteen measurements only the first seven, in which the kinds overlap.
X = scale(X[:, :7])

shares, scores, names = [], [], []
for share in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        known = rng.random(len(kind)) < share
        partial = np.where(known, kind, -1)
        model = ConstrainedKMeans(3, n_init=3, random_state=seed).fit(X, y=partial)
        # Scored on the wines whose kind was not given: the others are right by construction.
        scores.append(adjusted_rand_score(kind[~known], model.labels_[~known]))
        shares.append(100 * share)
        names.append("wines without a label")
for share in sorted(set(shares)):
    print(f"{share:3.0f}% known: ARI of the others {np.mean([v for s, v in zip(shares, scores) if s == share]):.3f}")

(ax,) = panels(1, 6, 4)
plot_curves(shares, scores, names, x_name="labels given (%)", value_name="ARI, mean and deviation of 8 draws", ax=ax)
save(ax, "partial_labels")
