"""
Lists of a vector index
=======================

An inverted file (IVF) deals vectors out to lists, one per center, and a query reads the few lists whose centers are
nearest. k-means makes lists of very different length, and the longest decides how long the slowest query takes.
Here konstrain trains lists of at most 1.05 times the mean length, and faiss searches them.
"""

import time

import faiss
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from konstrain import ConstrainedKMeans
from konstrain.plotting import plot_sizes

# %%
# Vectors of length one in single precision, in groups of very different size, and some of them as queries.
N, D, K, PROBES = 6_000, 48, 60, 4
sizes = np.random.default_rng(1).multinomial(N + 500, np.random.default_rng(1).dirichlet(np.full(100, 0.8)))
vectors = make_blobs(sizes, n_features=D, centers=None, cluster_std=6.0, random_state=1)[0].astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
queries, vectors = vectors[:500], np.ascontiguousarray(vectors[500:])

begin = time.perf_counter()
model = ConstrainedKMeans(K, size_max=int(1.05 * N / K), n_init=1, random_state=0).fit(vectors)
print(f"trained in {time.perf_counter() - begin:.1f} s")


# %%
# `add_core` puts each vector into the list that it was given; `add` would put it into the nearest one. Vectors that
# come later are placed by `predict(..., add_duals=True)`, which adds one number per list to the distances.
def index_of(centers, labels):
    """Return an index whose lists hold the vectors with these labels."""
    quantizer = faiss.IndexFlatL2(D)
    quantizer.add(centers)
    index = faiss.IndexIVFFlat(quantizer, D, K)
    index.train(vectors)  # finds the centers there and trains none
    rows, lists = np.arange(N), labels.astype(np.int64)
    index.add_core(N, faiss.swig_ptr(vectors), faiss.swig_ptr(rows), faiss.swig_ptr(lists))
    index.nprobe = PROBES
    return index


own = faiss.Kmeans(D, K, niter=20, seed=1)
own.train(vectors)
lists = {
    "faiss": (own.centroids, own.index.search(vectors, 1)[1][:, 0]),
    "at most 1.05 times the mean": (model.cluster_centers_.astype(np.float32), model.labels_),
}
exact = faiss.IndexFlatL2(D)
exact.add(vectors)
nearest = exact.search(queries, 10)[1]
for name, (centers, labels) in lists.items():
    found = index_of(centers, labels).search(queries, 10)[1]
    recall = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, nearest, strict=True)]) / 10
    lengths = np.bincount(labels, minlength=K)
    asked = ((queries[:, None] - centers) ** 2).sum(-1).argsort(axis=1)[:, :PROBES]
    read = lengths[asked].sum(axis=1)
    print(f"{name}: longest list {lengths.max()} (mean {N // K}), recall@10 {recall:.3f}", end="")
    print(f", read {read.mean():.0f} on average, {read.max()} at most")

_, axes = plt.subplots(1, 2, figsize=(9.2, 5), layout="constrained", sharex=True, sharey=True)
for ax, (name, (_, labels)) in zip(axes, lists.items(), strict=True):
    plot_sizes(np.sort(np.bincount(labels, minlength=K)), size_max=int(1.05 * N / K), ax=ax)
    ax.set_title(name, pad=28)
plt.show()
