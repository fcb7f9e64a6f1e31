"""What a person said about pairs of rows, which may be wrong: soft links, doubted answers, contradictions."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain.constraints import MustLinkPath, check
from konstrain.constraints.inputs import Links, read_links
from konstrain.metrics import are_apart
from konstrain.suggest.known import Known


def soften(pairs: Any, noise: float) -> NDArray[np.float64]:
    """Give answers the confidence that they deserve when a share of them is wrong.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2)
        Answered pairs, the same one more than once if it was asked again.
    noise : float
        Share of answers expected to be wrong, below 0.5.

    Returns
    -------
    links : ndarray of shape (n_pairs, 3)
        Links for `ConstrainedKMeans.fit`, with a confidence of ``1 - 2 * noise``, how much more often an answer is
        right than wrong, for pairs that stand there more than once, and half of that for others.

    Examples
    --------
    >>> soften([(0, 3), (1, 4), (4, 1)], noise=0.1).tolist()
    [[0.0, 3.0, 0.4], [1.0, 4.0, 0.8], [4.0, 1.0, 0.8]]
    """
    refuse_bad_noise(noise)
    pairs = np.asarray(pairs, dtype=np.float64).reshape(-1, 2)
    if not noise:
        # Without noise a link is hard, which an infinite confidence says.
        return np.column_stack([pairs, np.full(len(pairs), np.inf)])
    same, times = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True, return_counts=True)[1:]
    # Half for an answer that was given once: breaking a link of confidence 1 costs as much as the mean distance of
    # rows to all centers, so that hardly any answer would ever give way.
    confidence = np.minimum(times[same], 2) / 2 * (1 - 2 * noise)
    return np.column_stack([pairs, confidence])


def refuse_bad_noise(noise: float) -> None:
    """Raise unless answers are expected to be right more often than not."""
    if not 0 <= noise < 0.5:
        raise ValueError(f"noise must be a share of wrong answers from 0 to below 0.5, got {noise!r}")


@dataclass(frozen=True, eq=False)
class Answers:
    """All answers so far, and how far they are believed."""

    n_samples: int  # Number of rows.
    # `must` and `cannot`: what was said; links given with a confidence of their own are no answers and stay what they
    # are.
    must: Links
    cannot: Links
    noise: float  # Share of answers expected to be wrong.

    @classmethod
    def read(cls, n_samples: int, must_link: Any, cannot_link: Any, noise: float) -> "Answers":
        """Check and keep what was given."""
        must = read_links("must_link", must_link, n_samples)
        return cls(n_samples, must, read_links("cannot_link", cannot_link, n_samples), noise)

    @property
    def links(self) -> dict[str, NDArray[np.float64] | None]:
        """The links that a clustering is fitted with."""
        return {"must_link": self._table(self.must), "cannot_link": self._table(self.cannot)}

    def _table(self, links: Links) -> NDArray[np.float64] | None:
        soft = np.column_stack([links.soft, links.confidence])
        return np.concatenate([soften(links.hard, self.noise), soft]) if len(links.pairs) else None

    def kept(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the pairs said to be together and apart that a clustering agrees with; without noise all of them."""
        must, cannot = self.must.hard, self.cannot.hard
        return must[~are_apart(labels, must)], cannot[are_apart(labels, cannot)]

    def doubted(self, labels: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Return the pairs whose only answer the clustering contradicts."""
        must, cannot = self.must.hard, self.cannot.hard
        broken = np.concatenate([must[are_apart(labels, must)], cannot[~are_apart(labels, cannot)]])
        ordered = dict.fromkeys((min(pair), max(pair)) for pair in broken.tolist())
        return [pair for pair in ordered if self._times_asked[pair] == 1]

    @cached_property
    def _times_asked(self) -> dict[tuple[int, int], int]:
        asked = np.sort(np.concatenate([self.must.hard, self.cannot.hard]), axis=1)
        pairs, times = np.unique(asked, axis=0, return_counts=True)
        return {(a, b): n for (a, b), n in zip(pairs.tolist(), times.tolist(), strict=True)}

    @property
    def n_clusters_met(self) -> int:
        """Number of clusters that answers separate; wrong answers may make it too large."""
        if self.noise:
            # An answer that others contradict tells nothing apart.
            return clusters_met(self.n_samples, must_link=None, cannot_link=self._undisputed_cannot)
        return clusters_met(self.n_samples, must_link=self.must.hard, cannot_link=self.cannot.hard)

    @property
    def _undisputed_cannot(self) -> NDArray[np.int32]:
        disputed = {tuple(sorted(pair)) for pair in self.must.hard.tolist()}
        said = [pair for pair in self.cannot.hard.tolist() if tuple(sorted(pair)) not in disputed]
        return np.array(said, dtype=np.int32).reshape(-1, 2)


def clusters_met(n_samples: int, *, must_link: Any = None, cannot_link: Any = None) -> int:
    """Count the clusters that answers separate: blocks of rows known to be all in different ones.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    must_link, cannot_link : pairs, optional
        The answers so far.

    Examples
    --------
    >>> clusters_met(9, must_link=[(0, 1)], cannot_link=[(0, 4), (1, 7), (4, 7), (7, 8)])
    3
    """
    links = [read_links(*named, n_samples).hard for named in (("must_link", must_link), ("cannot_link", cannot_link))]
    return max(1, len(Known(np.zeros((n_samples, 1)), None, *links).neighborhoods))


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right; taking any one of them back resolves it.

    Attributes
    ----------
    together : list of (int, int)
        Pairs said to belong together, in the order of the path that they form.
    apart : (int, int)
        The pair at the ends of the path, said not to.
    message : str
        The same in words.

    Examples
    --------
    >>> found = contradictions(5, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)])[0]
    >>> found.together, found.apart
    ([(2, 1), (1, 0)], (2, 0))
    """

    together: list[tuple[int, int]]
    apart: tuple[int, int]
    message: str


def contradictions(n_samples: int, *, must_link: Any = None, cannot_link: Any = None) -> list[Contradiction]:
    """Find answers that contradict each other, each with the path that shows it, for the person to choose which goes.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    must_link, cannot_link : pairs, optional
        The answers.

    Returns
    -------
    list of Contradiction
        At most 10; empty when the answers agree.

    Examples
    --------
    >>> for found in contradictions(5, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)]):
    ...     print(found.message)
    cannot_link (2, 0) contradicts must_link path 2-1-0; remove one of these pairs.
    """
    result = check(n_samples, n_samples, must_link=must_link, cannot_link=cannot_link, nonempty=False)
    found = []
    for finding in result.findings:
        path = finding.witness
        if isinstance(path, MustLinkPath):
            found.append(Contradiction([hop.rows for hop in path.hops], path.pair, finding.message))
    return found
