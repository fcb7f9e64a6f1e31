"""Fit one large case and print its figures as JSON: ``python perf/large_fit.py sparse|wide``.

`sparse` is issue 16 of k-means-constrained (132,000 x 17,700 with 700,000 non-zeros, k=25, sizes 4,000 to 13,200),
`wide` its issue 47 (1,000,000 x 150 in single precision, k=20, sizes within half and twice the mean).
"""

import json
import sys
import time

import numpy as np
from scipy.sparse import csr_array

from konstrain import ConstrainedKMeans
from timing import peak_megabytes


def sparse_rows() -> csr_array:
    """Random counts with topics: each row draws a few columns around its topic."""
    rng = np.random.default_rng(0)
    n, d, nnz = 132_000, 17_700, 700_000
    row = np.sort(rng.integers(0, n, nnz))
    topic = rng.zipf(1.5, n) % 40
    column = (topic[row] * 440 + rng.geometric(0.01, nnz)) % d
    return csr_array((rng.random(nnz), (row, column)), shape=(n, d))


def wide_rows() -> np.ndarray:
    """Overlapping blobs of unequal sizes in single precision."""
    rng = np.random.default_rng(0)
    label = rng.choice(20, 1_000_000, p=rng.dirichlet(np.full(20, 2.0)))
    rows = rng.standard_normal((1_000_000, 150), dtype=np.float32)
    rows += rng.standard_normal((20, 150), dtype=np.float32)[label]
    return rows


def main(case: str) -> None:
    """Make the rows, fit, print."""
    X = sparse_rows() if case == "sparse" else wide_rows()
    k, low, high = (25, 4_000, 13_200) if case == "sparse" else (20, 25_000, 100_000)
    before = peak_megabytes()
    model = ConstrainedKMeans(k, size_min=low, size_max=high, random_state=0)
    begin = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begin
    sizes = model.cluster_sizes_
    kind = f"CSR, {X.nnz:,} non-zeros" if case == "sparse" else "float32"
    print(
        json.dumps(
            {
                "case": f"{X.shape[0]:,} x {X.shape[1]:,} {kind}, k={k}",
                "seconds (wall)": f"{seconds:.1f}",
                "iterations": str(model.n_iter_),
                "sizes": f"{sizes.min():.0f}..{sizes.max():.0f}",
                "peak MB": f"{peak_megabytes():.0f}",
                "of it rows and imports": f"{before:.0f}",
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
