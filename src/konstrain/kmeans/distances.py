"""The sweeps over rows that a k-means loop is made of: costs, nearest centers, sums of clusters.

Rows are blocks: mean vectors `means` of shape (n_blocks, n_features) with a `weight` each (None: 1 each). They are
dense float64 or float32 in C order (a memory-mapped or read-only array will do) or a scipy CSR matrix or array of
either dtype, and are never copied or converted. `centers` is float64 of shape (n_clusters, n_features) in C order.
All arithmetic and every result is float64. `n_threads` threads are used; results do not depend on their number.

The cost of a block is its weight times the squared Euclidean distance. For dense rows differences are squared as they
are, so costs are never negative and data far from the origin keeps its digits. For sparse rows the terms of the
absent entries come from the squared length of the center, so the absolute error is about 1e-16 times that.

Shapes, dtypes, layout and the range of labels and columns are checked here; callers refuse NaN, once per fit.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from konstrain import _core

# The kernels are overloaded by what rows consist of; a type checker cannot follow that through `*rows`.
_kernels: Any = _core

Weight = NDArray[np.float64] | None


def default_threads() -> int:
    """Threads for these sweeps: OMP_NUM_THREADS if set, else the processors this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def block_costs(
    means: Any,
    weight: Weight,
    centers: NDArray[np.float64],
    *,
    n_threads: int = 1,
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return what each block costs in each cluster, ``weight[b] * |means[b] - centers[j]|^2``.

    Costs go to `out`, shape (n_blocks, n_clusters), where it is given: memory that is used again needs no fresh
    pages.
    """
    rows = _checked(means, weight, centers)
    shape = (means.shape[0], centers.shape[0])
    if out is None:
        out = np.empty(shape)
    else:
        _check_array("out", out, np.float64, shape)
    _kernels.block_costs(*rows, weight, centers, _threads(n_threads), out)
    return out


def nearest_pass(
    means: Any, weight: Weight, centers: NDArray[np.float64], *, n_threads: int = 1
) -> tuple[NDArray[np.int32], float, NDArray[np.float64], NDArray[np.float64]]:
    """Return labels by nearest center, their cost, and the weighted sums and weights of the clusters, from one sweep.

    Of equally near centers the first is taken. New centers are sums (n_clusters, n_features) over weights.
    """
    rows = _checked(means, weight, centers)
    labels = np.empty(means.shape[0], dtype=np.int32)
    sums, cluster_weight = np.empty(centers.shape), np.empty(centers.shape[0])
    inertia: float = _kernels.nearest_pass(*rows, weight, centers, _threads(n_threads), labels, sums, cluster_weight)
    return labels, inertia, sums, cluster_weight


def nearest_distances(
    means: Any, centers: NDArray[np.float64], *, n_threads: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the nearest center of each block, of equally near ones the first, and the squared distance to it."""
    rows = _checked(means, None, centers)
    labels, squares = np.empty(means.shape[0], dtype=np.int32), np.empty(means.shape[0])
    _kernels.nearest_distances(*rows, centers, _threads(n_threads), labels, squares)
    return labels, squares


def center_sums(
    means: Any, weight: Weight, labels: NDArray[np.int32], n_clusters: int, *, n_threads: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted sum of the blocks of each cluster and its weight, for labels from 0 to `n_clusters - 1`."""
    rows = _checked(means, weight)
    _check_labels(labels, means, n_clusters)
    sums, cluster_weight = np.empty((n_clusters, means.shape[1])), np.empty(n_clusters)
    _kernels.center_sums(*rows, weight, labels, _threads(n_threads), sums, cluster_weight)
    return sums, cluster_weight


def own_costs(
    means: Any, weight: Weight, labels: NDArray[np.int32], centers: NDArray[np.float64], *, n_threads: int = 1
) -> float:
    """Return the sum over all blocks of ``weight[b] * |means[b] - centers[labels[b]]|^2``."""
    rows = _checked(means, weight, centers)
    _check_labels(labels, means, centers.shape[0])
    cost: float = _kernels.own_costs(*rows, weight, labels, centers, _threads(n_threads))
    return cost


def sized_pass(
    means: Any,
    weight: Weight,
    centers: NDArray[np.float64],
    bounds: tuple[NDArray[np.int64], NDArray[np.int64]],
    start: NDArray[np.float64] | None,
    *,
    list_length: int,
    time_limit: float = np.inf,
    n_threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.float64], float, float, bool]:
    """Return labels of least cost within bounds on sizes: labels, duals, cost, lower bound, whether optimal.

    No matrix of costs is made: beyond the result each block takes ``12 * list_length + 40`` bytes, 16 for each
    cluster near its own that paths visit, and longer lists for a few. `bounds` are the fewest and the most blocks of
    each cluster, between which there are sizes that add up. `start` holds duals of a similar problem. At the duals
    returned each block is in its cluster of least reduced cost. Labels are within bounds but not proved (False) when
    `time_limit` seconds have passed, with an infinite cost, or when too many clusters cost too many blocks the same.
    """
    rows = _checked(means, weight, centers)
    lower, upper = bounds
    for name, array, dtype in (("lower", lower, np.int64), ("upper", upper, np.int64)):
        _check_array(name, array, dtype, (centers.shape[0],))
    if start is not None:
        _check_array("start", start, np.float64, (centers.shape[0],))
    result: tuple[NDArray[np.int32], NDArray[np.float64], float, float, bool] = _kernels.listed_rows_transport(
        *rows,
        weight,
        centers,
        lower,
        upper,
        np.zeros(centers.shape[0]) if start is None else start,
        time_limit=time_limit,
        is_warm=start is not None,
        n_threads=_threads(n_threads),
        list_length=list_length,
    )
    return result


def sized_step(
    means: Any,
    weight: Weight,
    centers: NDArray[np.float64],
    bounds: tuple[NDArray[np.int64], NDArray[np.int64]],
    start: NDArray[np.float64],
    costs: NDArray[np.float64],
    *,
    moved: NDArray[np.int32] | None = None,
    time_limit: float = np.inf,
    n_threads: int = 1,
) -> tuple[tuple[NDArray[np.int32], NDArray[np.float64], float, float, bool], tuple[NDArray[np.float64], ...]]:
    """Return what `sized_pass` returns, sums and weights as `nearest_pass` does, from one sweep; `costs` are filled.

    `start` holds duals of a similar step. Only the columns `moved` (ascending) of `costs`, C-contiguous and of shape
    (n_blocks, n_clusters), are computed: all others are there. None: all columns.
    """
    rows = _checked(means, weight, centers)
    n_blocks, n_clusters = means.shape[0], centers.shape[0]
    for name, bound in zip(("lower", "upper"), bounds, strict=True):
        _check_array(name, bound, np.int64, (n_clusters,))
    _check_array("start", start, np.float64, (n_clusters,))
    _check_array("costs", costs, np.float64, (n_blocks, n_clusters))
    moved = np.arange(n_clusters, dtype=np.int32) if moved is None else moved
    _check_array("moved", moved, np.int32, moved.shape)
    _check_range("moved", moved, n_clusters)
    labels, duals = np.empty(n_blocks, dtype=np.int32), start.copy()
    sums, cluster_weight = np.empty(centers.shape), np.empty(n_clusters)
    cost, bound, finished = _kernels.sized_step(
        *rows,
        weight,
        centers,
        *bounds,
        duals,
        _threads(n_threads),
        time_limit,
        costs,
        moved,
        labels,
        sums,
        cluster_weight,
    )
    return (labels, duals, cost, bound, finished), (sums, cluster_weight)


def candidate_distances(means: Any, candidates: Any, *, n_threads: int = 1) -> NDArray[np.float64]:
    """Return the squared distances of all blocks to a few points, shape (n_candidates, n_blocks), without weights.

    `candidates` are numbers of blocks, or points of shape (n_candidates, n_features).
    """
    rows = _parts(means)
    points = np.asarray(candidates)
    if points.ndim == 1:
        chosen = means[points]
        points = np.ascontiguousarray(chosen.toarray() if _is_sparse(chosen) else chosen, dtype=np.float64)
    _check_points("candidates", points, means)
    out = np.empty((points.shape[0], means.shape[0]))
    _kernels.candidate_distances(*rows, points, _threads(n_threads), out)
    return out


def _checked(means: Any, weight: Weight, centers: Any = None) -> tuple[Any, ...]:
    """Check blocks, weights and centers; return the arrays that the kernels take for the blocks."""
    rows = _parts(means)
    if centers is not None:
        _check_points("centers", centers, means)
    if weight is not None:
        _check_array("weight", weight, np.float64, (means.shape[0],))
    return rows


def _parts(means: Any) -> tuple[Any, ...]:
    """Split rows into the arrays that the kernels take, refusing what they would have to copy."""
    if _is_sparse(means):
        if means.format != "csr":
            raise ValueError(f"sparse means must be in CSR format, got {means.format.upper()}; call means.tocsr()")
        if not means.has_canonical_format:
            raise ValueError("sparse means have repeated or unsorted columns in a row; call means.sum_duplicates()")
        _check_dtype("means", means.dtype)
        _check_range("columns of means", means.indices, means.shape[1])
        return means.data, means.indices, means.indptr
    if not isinstance(means, np.ndarray) or means.ndim != 2:
        raise ValueError(f"means must be a matrix of shape (n_blocks, n_features), got {_describe(means)}")
    _check_dtype("means", means.dtype)
    if not means.flags.c_contiguous:
        raise ValueError("means must be in C order; call numpy.ascontiguousarray(means) once, before the loop")
    return (means,)


def _is_sparse(value: Any) -> bool:
    # scipy's own test narrows to a class without any of the attributes used here.
    return bool(sparse.issparse(value))


def _check_dtype(name: str, dtype: Any) -> None:
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"{name} must be float64 or float32, got {dtype}")


def _check_points(name: str, points: Any, means: Any) -> None:
    if not isinstance(points, np.ndarray) or points.ndim != 2 or points.shape[0] == 0:
        raise ValueError(f"{name} must be a matrix with at least one row, got {_describe(points)}")
    _check_array(name, points, np.float64, (points.shape[0], means.shape[1]))


def _check_labels(labels: Any, means: Any, n_clusters: int) -> None:
    _check_array("labels", labels, np.int32, (means.shape[0],))
    _check_range("labels", labels, n_clusters)


def _check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
    if not fits or not array.flags.c_contiguous:
        wanted = f"{np.dtype(dtype)}, shape {shape}, C order"
        raise ValueError(f"{name} must be an array of {wanted}; got {_describe(array)}")


def _check_range(name: str, numbers: NDArray[Any], n: int) -> None:
    # Kernels write where these point; two scans in numpy take little time compared with a sweep over the rows.
    if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
        raise ValueError(f"{name} must be from 0 to {n - 1}, got {numbers.min()} to {numbers.max()}")


def _describe(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    return f"{value.dtype}, shape {value.shape}{'' if value.flags.c_contiguous else ', not C order'}"


def _threads(n_threads: int) -> int:
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, got {n_threads}")
    return int(n_threads)
