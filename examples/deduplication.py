"""
Deduplication with links
========================

Misspelt names of 40 firms. Equal phone numbers prove that two records are one firm, tax numbers that differ that
they are not.
"""

from itertools import combinations

import numpy as np
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

from konstrain import ConstrainedKMeans, count_violations
from konstrain.plotting import plot_clusters

FIRST = ("Nord", "Sued", "Alpen", "Rhein", "Hansa", "Main", "Oder", "Harz")
SECOND = ("Metall", "Druck", "Bau", "Textil", "Papier")


def misspell(name: str, rng: np.random.Generator) -> str:
    """Drop one letter, double one, or swap two."""
    at = int(rng.integers(1, len(name) - 1))
    return (
        name[:at] + name[at + 1 :],
        name[:at] + name[at] + name[at:],
        name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :],
    )[rng.integers(3)]


def pair_scores(labels: np.ndarray, firm: np.ndarray) -> tuple[float, float]:
    """Share of joined pairs that are right, and share of true pairs that are joined."""
    i, j = np.triu_indices(len(firm), 1)
    joined, true = labels[i] == labels[j], firm[i] == firm[j]
    return (joined & true).sum() / joined.sum(), (joined & true).sum() / true.sum()


# %%
# 200 records, each misspelt twice.
rng = np.random.default_rng(3)
names = [f"{first}{second} GmbH" for first in FIRST for second in SECOND]
firm = rng.integers(0, len(names), 200)
firm[: len(names)] = np.arange(len(names))
records = [misspell(misspell(names[f], rng), rng) for f in firm]

# Every third record has a phone number; 60 pairs of records have tax numbers that differ.
with_phone = np.flatnonzero(rng.random(200) < 1 / 3)
must = [(a, b) for a, b in combinations(with_phone.tolist(), 2) if firm[a] == firm[b]]
pairs = rng.integers(0, 200, (60, 2))
cannot = pairs[firm[pairs[:, 0]] != firm[pairs[:, 1]]]

# %%
# Names become sparse rows of pairs and triples of letters, and stay sparse.
X = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit_transform(records)
for name, links in (("names only", {}), ("with links", {"must_link": must, "cannot_link": cannot})):
    model = ConstrainedKMeans(len(names), n_init=5, random_state=0).fit(X, **links)
    precision, recall = pair_scores(model.labels_, firm)
    broken = count_violations(model.labels_, must_link=must, cannot_link=cannot).total
    print(f"{name}: {precision:.0%} of joined pairs right, {recall:.0%} of true pairs joined, {broken} links broken")

_, ax = plt.subplots(figsize=(6.5, 4.8), layout="constrained")
plot_clusters(X, model.labels_, must_link=must, cannot_link=cannot, ax=ax)
ax.set_title(f"200 records, {len(names)} firms", pad=40)
plt.show()
