"""
More rows than memory
=====================

Rows stay where they are, on the workers of a Dask cluster: centers and prices go out, sums and the rows near a tie
come back. Sizes and links hold exactly over all rows, and labels are computed where they are asked for.
"""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from matplotlib import pyplot as plt

from konstrain.dask import ConstrainedKMeans
from konstrain.plotting import plot_sizes

# %%
# A cluster on this machine; a real one differs in this line only. Its workers are threads here, to start at once.
cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0")
client = Client(cluster)


# %%
# Each partition is made where it is needed: the rows are never all in one place.
def blobs(block: np.ndarray, block_id: tuple[int, int]) -> np.ndarray:
    """Return one partition of rows in four groups of very different size."""
    rng = np.random.default_rng(block_id[0])
    middle = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])[rng.choice(4, len(block), p=[0.55, 0.25, 0.15, 0.05])]
    return rng.normal(size=block.shape) + middle


x = da.zeros((8_000, 2), chunks=(2_000, 2)).map_blocks(blobs, dtype=float)

# %%
# The same name and parameters as in memory, with links by row numbers.
plain = ConstrainedKMeans(4, random_state=0).fit(x)
even = ConstrainedKMeans(4, size_min=1_600, size_max=2_400, random_state=0).fit(x, cannot_link=[(0, 7_999)])
print("without sizes:", plain.cluster_sizes_.astype(int))
print("1,600 to 2,400:", even.cluster_sizes_.astype(int))

# %%
# Labels are a Dask array, cut like the rows and lazy; `to_local` gives an ordinary model.
print(even.labels_, (even.labels_ == 0).sum().compute(), even.to_local())
client.close()
cluster.close()

_, axes = plt.subplots(1, 2, figsize=(12.5, 4), layout="constrained")
for ax, model, title in zip(axes, (plain, even), ("without sizes", "1,600 to 2,400 rows"), strict=True):
    plot_sizes(model.cluster_sizes_, size_min=1_600, size_max=2_400, ax=ax)
    ax.set_title(title, pad=28)
plt.show()
