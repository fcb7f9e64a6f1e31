"""How well rows sit in their clusters, cluster by cluster."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples
from sklearn.utils import check_array

from konstrain.plotting._style import INK, PALE_INK, axes_or_new, color, documented, read_clusters, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@documented
def plot_silhouette(X: Any, labels: Any, *, max_rows: int = 2_000, ax: "Axes | None" = None) -> "Axes":
    """Draw the silhouettes of rows by cluster: 1 sits well, 0 lies between two clusters, below 0 another is nearer.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    labels : array-like of shape (n_samples,)
        Cluster of each row; at least two clusters.
    max_rows : int, default=2000
        Of more rows a sample is drawn that keeps the clusters' shares: silhouettes need all pairs of rows.

    Examples
    --------
    >>> ax = plot_silhouette([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> ax.get_xlabel()
    'silhouette (mean 0.89)'
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    names, codes = read_clusters(X, labels)
    if not 2 <= len(names) < codes.size:
        raise ValueError(
            f"labels name {len(names)} clusters; silhouettes of {codes.size} rows need 2 to {codes.size - 1}"
        )
    rows = _sample(codes, max_rows)
    values = silhouette_samples(X[rows], codes[rows])
    ax = axes_or_new(ax)
    _draw(ax, values, codes[rows], names)
    mean = float(values.mean())
    ax.axvline(mean, color=INK, linestyle="--", linewidth=1)
    ax.axvline(0, color=PALE_INK, linewidth=0.8)
    shown = "" if rows.size == codes.size else f", {rows.size:,} of {codes.size:,} rows"
    ax.set_xlabel(f"silhouette (mean {mean:.2f}{shown})")
    ax.set_ylabel("cluster")
    remove_frame(ax)
    return ax


def _sample(codes: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return rows drawn from each cluster in proportion, at least two where there are two."""
    if codes.size <= most:
        return np.arange(codes.size)
    rng = np.random.default_rng(0)
    drawn = []
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        quota = min(members.size, max(2, round(members.size * most / codes.size)))
        drawn.append(rng.choice(members, quota, replace=False))
    return np.sort(np.concatenate(drawn))


def _draw(ax: "Axes", values: NDArray[np.float64], codes: NDArray[np.intp], names: NDArray[Any]) -> None:
    # The gap between clusters is a share of all rows, so that it shows at any number of them.
    gap = max(1.0, 0.3 * values.size / len(names) / 2)
    top, middles = 0.0, []
    for i in range(len(names)):
        heights = np.sort(values[codes == i])
        # From edge to edge, so that a single row is a bar, too.
        edges = top + np.arange(heights.size + 1)
        ax.fill_betweenx(edges, 0, np.append(heights, heights[-1]), step="post", color=color(i), linewidth=0)
        middles.append(top + heights.size / 2)
        top += heights.size + gap
    ax.set_yticks(middles if len(names) <= 40 else [], names if len(names) <= 40 else [], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(top, -gap)
