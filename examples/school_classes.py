"""
School classes
==============

96 children start school. Four classes of 24, neighbours together so that they can walk together; wishes of friends
are kept, and children who had better not meet are kept apart.
"""

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ConstrainedKMeans, check
from konstrain.plotting import plot_clusters

# %%
# Where they live: three villages and the farms between them.
rng = np.random.default_rng(3)
villages = np.array([[1.0, 1.0], [4.0, 1.5], [2.5, 4.0]])
home = np.vstack(
    [np.repeat(villages, [40, 30, 14], axis=0) + rng.normal(scale=0.5, size=(84, 2)), rng.uniform(0, 5, (12, 2))]
)
friends = rng.permutation(96)[:40].reshape(-1, 2)
apart = np.array([(a, b) for a, b in rng.permutation(96)[:24].reshape(-1, 2)])

# %%
# Is all of it possible? If not, this says why.
wishes = {"must_link": friends, "cannot_link": apart}
print(check(home, 4, size_min=24, size_max=24, **wishes))

# %%
# Every class has 24 children, and every wish is kept.
classes = ConstrainedKMeans(4, size_min=24, size_max=24, n_init=3, random_state=0).fit(home, **wishes)
print("children per class:", classes.cluster_sizes_.astype(int), " broken wishes:", classes.n_violations_)

# What do the wishes cost, in the mean way to the middle of one's class?
without = ConstrainedKMeans(4, size_min=24, size_max=24, n_init=3, random_state=0).fit(home)
for name, model in (("without wishes", without), ("with wishes", classes)):
    way = np.linalg.norm(home - model.cluster_centers_[model.labels_], axis=1)
    print(f"{name}: {way.mean():.2f} km on average, {way.max():.2f} km at most")

_, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
plot_clusters(home, without.labels_, ax=axes[0])
axes[0].set_title("by home alone", pad=28)
plot_clusters(home, classes.labels_, **wishes, ax=axes[1])
axes[1].set_title("with friends and with children apart", pad=40)
plt.show()
