"""
Links that may be wrong
=======================

Some of 120 answers about pairs are wrong: hard links must obey them, soft ones weigh them.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from konstrain import ConstrainedKMeans, InfeasibleError
from konstrain.plotting import plot_curves

X, species = load_iris(return_X_y=True)
wrong, scores, names = [], [], []


def note(share: float, name: str, labels: np.ndarray) -> None:
    """Keep the agreement of one run with the species; NaN when there was no clustering."""
    wrong.append(100 * share)
    names.append(name)
    scores.append(adjusted_rand_score(species, labels) if labels is not None else np.nan)


# %%
# The same answers as soft links, as hard links, and not at all.
for share in (0.0, 0.1, 0.2, 0.3):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, len(X), (120, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        same = species[pairs[:, 0]] == species[pairs[:, 1]]
        said = same ^ (rng.random(len(pairs)) < share)
        # A third column is the confidence: how much we trust one answer.
        trusted = np.column_stack([pairs, np.full(len(pairs), 0.5)])
        model = ConstrainedKMeans(3, n_init=2, random_state=seed)
        note(share, "soft links", model.fit(X, must_link=trusted[said], cannot_link=trusted[~said]).labels_)
        note(share, "no links", model.fit(X).labels_)
        try:
            hard = model.fit(X, must_link=pairs[said], cannot_link=pairs[~said]).labels_
        except InfeasibleError:
            hard = None
        note(share, "hard links", hard)

for name in dict.fromkeys(names):
    print(f"{name}:")
    for share in sorted(set(wrong)):
        runs = np.array([v for s, v, n in zip(wrong, scores, names, strict=True) if (s, n) == (share, name)])
        found = runs[np.isfinite(runs)]
        mean = f"mean ARI {found.mean():.3f}" if found.size else "none"
        print(f"  {share:.0f}% wrong: {found.size} of {runs.size} runs found a clustering, {mean}")

# %%
# Hard links fall below no links at all soon, and some sets of answers contradict each other.
_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_curves(wrong, scores, names, x_name="wrong answers (%)", value_name="ARI with the species", ax=ax)
plt.show()
