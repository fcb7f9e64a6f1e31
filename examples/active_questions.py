"""
Which pairs to ask about
========================

Somebody who knows has time for some questions of the kind "do these two belong together?". Pairs that are chosen
tell more than pairs that are drawn.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from konstrain import ConstrainedKMeans, suggest_pairs
from konstrain.plotting import plot_curves

X, species = load_iris(return_X_y=True)
ROUNDS, PER_ROUND = 8, 5

# %%
# One person answers what is suggested, another one pairs drawn at random. After each round of five the flowers
# are clustered.


def ask(choose: str, seed: int) -> list[float]:
    """Agreement with the species after 0, 5, 10, ... answers."""
    rng = np.random.default_rng(seed)
    links: dict[str, list] = {"must_link": [], "cannot_link": []}
    scores = []
    for _ in range(ROUNDS + 1):
        model = ConstrainedKMeans(3, n_init=3, random_state=seed).fit(X, **links)
        scores.append(adjusted_rand_score(species, model.labels_))
        if choose == "suggested":
            pairs = suggest_pairs(X, 3, ask=PER_ROUND, random_state=seed, **links)
        else:
            pairs = rng.choice(len(X), size=(PER_ROUND, 2), replace=False)
        for a, b in pairs:
            links["must_link" if species[a] == species[b] else "cannot_link"].append((a, b))
    return scores


# %%
# Three persons of each kind.
given, scores, names = [], [], []
for choose in ("suggested", "drawn at random"):
    for seed in range(3):
        curve = ask(choose, seed)
        given += range(0, PER_ROUND * ROUNDS + 1, PER_ROUND)
        scores += curve
        names += [choose] * len(curve)
    halfway = [
        score for score, answers, name in zip(scores, given, names, strict=True) if (answers, name) == (20, choose)
    ]
    print(f"{choose}: ARI {np.mean(halfway):.2f} after 20 answers")

_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_curves(given, scores, names, x_name="answers", value_name="ARI with the species", ax=ax)
plt.show()
