"""
Territories that hang together
==============================

Districts on both banks of a river, five sales areas, each in one piece and with a fifth of the customers.
"""

import numpy as np
from matplotlib import pyplot as plt

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_map

# A map of 30 x 40 districts with a river and one bridge; customers live around three towns.
rng = np.random.default_rng(3)
row, column = (ends.ravel() for ends in np.indices((30, 40)))
on_land = (np.abs(row - 14 - 4 * np.sin(column / 6)) > 1) | (column == 4)
places = np.column_stack([column, row])[on_land].astype(float)
towns = np.array([[6, 6], [34, 8], [20, 25]])
near = np.exp(-(((places[:, None] - towns) ** 2).sum(axis=2)) / 60).sum(axis=1)
customers = rng.poisson(10 + 90 * near)
share = customers.sum() / 5
limits = {"size_min": round(0.97 * share), "size_max": round(1.03 * share)}

# %%
# Districts are neighbours where they share a side: pairs of row numbers.
number = np.full((30, 40), -1)
number[row[on_land], column[on_land]] = np.arange(len(places))
pairs = np.concatenate(
    [
        np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
        np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
    ]
)
neighbours = pairs[(pairs >= 0).all(axis=1)]

free = ConstrainedKMeans(5, **limits, random_state=0).fit(places, demand=customers)
whole = ConstrainedKMeans(5, **limits, random_state=0).fit(places, demand=customers, connectivity=neighbours)
print("customers per area:", whole.cluster_sizes_.astype(int), "pieces:", whole.n_pieces_)
print(f"sum of squares {free.inertia_:.0f} without neighbours, {whole.inertia_:.0f} in one piece each")

# %%
# Without neighbours areas lie on both banks. The map fills the Voronoi cell of each place; of a `GeoDataFrame` it
# fills the polygons.
_, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for ax, model, title in zip(axes, (free, whole), ("sizes only", "every area in one piece"), strict=True):
    plot_map(places, model.labels_, demand=customers, **limits, ax=ax)
    ax.set_title(f"{title}: sum of squares {model.inertia_:,.0f}")
plt.show()
