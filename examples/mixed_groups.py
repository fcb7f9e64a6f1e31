"""
Alike or mixed
==============

60 pupils, four groups of fifteen: groups of like pupils, and groups that are alike to each other.
"""

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ConstrainedKMeans, mixed_groups
from konstrain.plotting import plot_clusters, plot_shares

# Marks in two subjects; three friends who must not all sit together.
rng = np.random.default_rng(3)
marks = np.concatenate([rng.normal([2, 5], 0.7, (30, 2)), rng.normal([5, 2], 0.7, (30, 2))])
apart = {"cannot_link": [(0, 1), (1, 2), (0, 2)]}

# %%
# Clusters put like pupils together: each group needs lessons of its own.
alike = ConstrainedKMeans(4, size_min=15, size_max=15, random_state=0).fit(marks, **apart)
# %%
# Mixed groups are the opposite: each has strong and weak pupils of both subjects, and all have the same mean.
mixed = mixed_groups(marks, 4, **apart)

# %%
# And each with its share of girls: within a tenth of that among all pupils.
sex = np.where(rng.random(60) < 0.4, "girl", "boy")
shared = mixed_groups(marks, 4, **apart, category=sex, share_tolerance=0.1)

print("means of groups of like pupils:", alike.cluster_centers_.round(2).tolist())
print("means of mixed groups:", mixed.means.round(2).tolist())
print(f"variance between mixed groups: {mixed.share:.2%}")
print(
    "girls in each group:",
    shared.shares["girl"].round(2).tolist(),
    "in all:",
    round(float((sex == "girl").mean()), 2),
)

_, (left, right, last) = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
plot_clusters(marks, alike.labels_, centers=alike.cluster_centers_, ax=left)
left.set_title("fit: like rows together", pad=40)
plot_clusters(marks, mixed.labels, centers=mixed.means, ax=right)
right.set_title("mix: groups alike to each other", pad=40)
plot_shares(shared.labels, sex, share_tolerance=0.1, ax=last)
last.set_title("mix with shares: the same mix in every group", pad=40)
plt.show()
