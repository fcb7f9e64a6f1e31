"""Linear rules over who is in which cluster, beyond sizes and links."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from konstrain._tolerances import RULE_RELATIVE
from konstrain.constraints.problem import Problem


@dataclass(frozen=True, eq=False)
class LinearRules:
    """Rules ``matrix @ s <= bound`` on the assignment `s`, block by block, a block's clusters side by side.

    Parameters
    ----------
    matrix : csr_array of shape (n_rules, n_blocks * n_clusters)
        Coefficients, the largest of each rule 1 or -1.
    bound : ndarray of shape (n_rules,)
        Right-hand sides, on the same scale.
    """

    matrix: csr_array
    bound: NDArray[np.float64]

    @classmethod
    def read(cls, given: Any, problem: Problem) -> Self:
        """Check rules over rows and clusters, and add up what they say of the rows of each block."""
        matrix, bound = _checked(given, problem.n_samples, problem.n_clusters)
        row, cluster = np.divmod(np.arange(matrix.shape[1]), problem.n_clusters)
        place = problem.block_of[row] * problem.n_clusters + cluster
        merged = csr_array(
            (np.ones(place.size), (np.arange(place.size), place)),
            shape=(place.size, problem.n_blocks * problem.n_clusters),
        )
        summed = csr_array(matrix @ merged)
        unit = np.asarray(abs(summed).max(axis=1).todense(), dtype=np.float64).ravel()
        unit[unit == 0.0] = 1.0
        return cls(csr_array(summed.multiply(1.0 / unit[:, None])), bound / unit)

    def are_kept_by(self, labels: NDArray[np.int32], n_clusters: int) -> bool:
        """Whether labels of the blocks keep every rule, up to what the solver's tolerance may leave."""
        assignment = np.zeros(self.matrix.shape[1])
        assignment[np.arange(labels.size) * n_clusters + labels] = 1.0
        return bool((self.matrix @ assignment <= self.bound + RULE_RELATIVE).all())


def _checked(given: Any, n_samples: int, n_clusters: int) -> tuple[csr_array, NDArray[np.float64]]:
    """Coefficients and right-hand sides as arrays, or one line that says what is wrong."""
    try:
        coefficients, bound = given
    except (TypeError, ValueError):
        raise ValueError("linear must be a pair (A, b): the assignment s has to satisfy A @ s <= b") from None
    matrix = csr_array(coefficients, dtype=np.float64)
    bound = np.atleast_1d(np.asarray(bound, dtype=np.float64))
    n_places = n_samples * n_clusters
    if matrix.ndim != 2 or matrix.shape[1] != n_places:
        raise ValueError(
            f"A of linear has shape {matrix.shape}; it needs a column for each row and cluster, {n_samples} x "
            f"{n_clusters} = {n_places}, the clusters of a row side by side"
        )
    if bound.shape != (matrix.shape[0],):
        raise ValueError(f"b of linear has shape {bound.shape}, A has {matrix.shape[0]} rules; give one b per rule")
    if not np.isfinite(matrix.data).all():
        raise ValueError("A of linear has entries that are not finite")
    if np.isnan(bound).any() or np.isneginf(bound).any():
        rule = int(np.flatnonzero(np.isnan(bound) | np.isneginf(bound))[0])
        raise ValueError(f"b[{rule}] of linear is {bound[rule]}; give a number, or inf for no bound")
    return matrix, bound
