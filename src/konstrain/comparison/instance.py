"""A problem as methods get it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem as methods get it, and the truth that their answers are measured with.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to cluster.
    n_clusters : int
        Number of clusters.
    labels : array-like of shape (n_samples,), optional
        True classes; only measures see them.
    constraints : mapping
        Arguments of `konstrain.methods.Method.fit`: must_link, cannot_link, size_min, size_max, ...
    """

    X: Any
    n_clusters: int
    labels: Any = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
