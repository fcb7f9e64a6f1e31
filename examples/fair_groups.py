"""
Groups with the same mix
========================

120 pupils in four classes, alike pupils together, and in every class about as many girls as in the whole year.
"""

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_clusters, plot_shares

# Two results of each pupil; girls and boys did not do equally well in both.
rng = np.random.default_rng(3)
sex = rng.permutation(["girl"] * 54 + ["boy"] * 66)
results = rng.normal(size=(120, 2)) + np.where(sex == "girl", 0.8, -0.4)[:, None] * [1.0, -0.6]

# %%
# Classes of 28 to 32. Without shares one class is nearly all girls and another nearly all boys.
sizes = {"size_min": 28, "size_max": 32, "n_init": 10, "random_state": 0}
plain = ConstrainedKMeans(4, **sizes).fit(results)

# %%
# With a tolerance of 0.1 every class has between 0.9 times and 1 / 0.9 times the year's share of girls, and of boys.
mixed = ConstrainedKMeans(4, share_tolerance=0.1, **sizes).fit(results, category=sex)

print("girls without shares:", [f"{(sex[plain.labels_ == j] == 'girl').mean():.0%}" for j in range(4)])
print("girls with shares:", [f"{share:.0%}" for share in mixed.cluster_shares_["girl"]])
print(f"what the mix costs: {mixed.inertia_ / plain.inertia_ - 1:.0%} more scatter")

_, (left, middle, right) = plt.subplots(1, 3, figsize=(13.8, 4), layout="constrained")
plot_shares(plain.labels_, sex, share_tolerance=0.1, ax=left)
left.set_title("sizes only", pad=28)
plot_shares(mixed.labels_, sex, share_tolerance=0.1, ax=middle)
middle.set_title("share_tolerance=0.1", pad=28)
plot_clusters(results, mixed.labels_, centers=mixed.cluster_centers_, ax=right)
plt.show()
