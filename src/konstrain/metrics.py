"""What a clustering breaks, counted from the labels and the links themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints.inputs import read_links


@dataclass(frozen=True)
class Violations:
    """Broken links by kind; hard and soft ones together."""

    must_link: int
    cannot_link: int

    @property
    def total(self) -> int:
        """All broken links."""
        return self.must_link + self.cannot_link


def count_violations(labels: Any, *, must_link: Any = None, cannot_link: Any = None) -> Violations:
    """Count the links that labels break.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of each row.
    must_link, cannot_link : pairs, optional
        Links in any form that `fit` takes; each given pair counts once.

    Examples
    --------
    >>> count_violations([0, 0, 1], must_link=[(0, 2)], cannot_link=[(0, 1), (1, 2)])
    Violations(must_link=1, cannot_link=1)
    """
    labels = np.asarray(labels)
    must = read_links("must_link", must_link, labels.size)
    cannot = read_links("cannot_link", cannot_link, labels.size)
    return Violations(int(are_apart(labels, must.pairs).sum()), int((~are_apart(labels, cannot.pairs)).sum()))


def are_apart(labels: NDArray[Any], pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether the rows of each pair are in different clusters."""
    apart: NDArray[np.bool_] = labels[pairs[:, 0]] != labels[pairs[:, 1]]
    return apart
