"""More rows than memory: a Dask array on a cluster of two workers, clustered under sizes where it is."""

import dask.array as da
import numpy as np
from _pictures import panels, save
from distributed import Client, LocalCluster

from konstrain.dask import ConstrainedKMeans
from konstrain.plotting import plot_sizes


def blobs(block: np.ndarray, block_id: tuple[int, int]) -> np.ndarray:
    """Make one partition of the rows, where it is needed: they are never all in one place."""
    rng = np.random.default_rng(block_id[0])
    middle = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])[rng.choice(4, len(block), p=[0.55, 0.25, 0.15, 0.05])]
    return rng.normal(size=block.shape) + middle


def main() -> None:
    """Fit with and without sizes, and draw both."""
    x = da.zeros((40_000, 2), chunks=(5_000, 2)).map_blocks(blobs, dtype=float)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        plain = ConstrainedKMeans(4, random_state=0).fit(x)
        even = ConstrainedKMeans(4, size_min=8_000, size_max=12_000, random_state=0).fit(x)
        print("labels:", even.labels_)
        print("rows of cluster 0:", int((even.labels_ == 0).sum().compute()))
    print("without sizes:", plain.cluster_sizes_.astype(int))
    print("8,000 to 12,000:", even.cluster_sizes_.astype(int))

    left, right = panels(2)
    for ax, model, title in ((left, plain, "without sizes"), (right, even, "8,000 to 12,000 rows")):
        plot_sizes(model.cluster_sizes_, size_min=8_000, size_max=12_000, ax=ax)
        ax.set_title(title, pad=28)
    save(left, "more_rows_than_memory")


if __name__ == "__main__":
    main()
