"""
Tables of nine
==============

72 people, eight tables of nine, alike people together; two of them apart, a couple together.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_clusters, plot_sizes

# Two answers of a questionnaire, as numbers: most people are near the middle.
rng = np.random.default_rng(7)
answers = rng.normal(size=(72, 2)) * [1.0, 0.7]
links = {"cannot_link": [(3, 11)], "must_link": [(20, 60)]}

# %%
# Plain k-means knows nothing of tables. With sizes and links every table is full and every wish is kept.
plain = KMeans(8, n_init=10, random_state=0).fit(answers)
tables = ConstrainedKMeans(8, size_min=9, size_max=9, random_state=0).fit(answers, **links)
# %%
# How much better could any other seating be?
certificate = tables.certify(answers, time_limit=2)

print("plain k-means:", np.sort(np.bincount(plain.labels_)))
print("tables of nine:", tables.cluster_sizes_.astype(int), "broken links:", tables.n_violations_)
print(f"no seating can be better by more than {certificate.gap:.1%} (proved within 2 s)")

_, (left, middle, right) = plt.subplots(1, 3, figsize=(13.8, 4), layout="constrained")
plot_sizes(np.bincount(plain.labels_), size_min=9, size_max=9, ax=left)
left.set_title("KMeans", pad=28)
plot_sizes(tables.cluster_sizes_, size_min=9, size_max=9, ax=middle)
middle.set_title("ConstrainedKMeans", pad=28)
plot_clusters(answers, tables.labels_, centers=tables.cluster_centers_, **links, ax=right)
plt.show()
