"""The methods by name: what each is for, what it takes, how it is made; for comparisons and the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from konstrain._messages import did_you_mean

# Arguments that methods take; the first group belongs to `fit`, the second to the constructor.
TO_FIT = ("must_link", "cannot_link", "demand", "sample_weight", "category", "connectivity", "previous")
TO_CONSTRUCTOR = (
    *("size_min", "size_max", "size_tolerance", "share_min", "share_max", "share_tolerance"),
    *("join_components", "time_limit", "random_state"),
)


@dataclass(frozen=True)
class Method:
    """One method of the library, or one of scikit-learn's that papers compare with.

    `takes` names the arguments of `TO_FIT` and `TO_CONSTRUCTOR` that it understands. One that `proves` calls labels
    the best under all constraints, and so must not be given any that it would not see.
    """

    name: str
    path: str
    purpose: str
    reference: str
    takes: frozenset[str]
    proves: bool = False

    @property
    def estimator(self) -> type:
        """The class, imported when first used."""
        module, _, name = self.path.partition(":")
        found: type = getattr(import_module(module), name)
        return found

    def make(self, **params: Any) -> Any:
        """Make the estimator with these parameters."""
        return self.estimator(**params)

    def ignores(self, **arguments: Any) -> list[str]:
        """Name the arguments given (not None) that this method would not see."""
        return [name for name, value in arguments.items() if value is not None and name not in self.takes]

    def fit(self, X: Any, n_clusters: int, *, params: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
        """Make the estimator, fit it on X with the arguments it understands, and return it.

        `params` are further ones of the constructor; `arguments` that the method does not take are left out.
        """
        unknown = set(arguments) - {*TO_FIT, *TO_CONSTRUCTOR}
        if unknown:
            raise TypeError(f"{self.name} got unknown arguments {sorted(unknown)}; give constructor's ones as params")
        known = {name: value for name, value in arguments.items() if name in self.takes and value is not None}
        made = {name: value for name, value in known.items() if name in TO_CONSTRUCTOR}
        model = self.make(n_clusters=n_clusters, **{**made, **(params or {})})
        return model.fit(X, **{name: value for name, value in known.items() if name in TO_FIT})


_LINKS = frozenset({"must_link", "cannot_link", "random_state"})
_SIZES = frozenset({"size_min", "size_max", "size_tolerance", "demand"})
_SHARES = frozenset({"category", "share_min", "share_max", "share_tolerance"})
_COUNTED = frozenset({"sample_weight", "time_limit"})

_OURS = (
    Method(
        "constrained-kmeans",
        "konstrain:ConstrainedKMeans",
        "the front door: hard and soft links, sizes, resources, shares; fast, every promise kept",
        "konstrain",
        _LINKS | _SIZES | _SHARES | _COUNTED | {"connectivity", "join_components", "previous"},
    ),
    Method(
        "exact",
        "konstrain:ExactKMeans",
        "the best clustering that exists, with proof; up to some hundred rows",
        "Babaki et al. 2014; semidefinite bounds",
        _LINKS | _SIZES | _COUNTED,
        proves=True,
    ),
    Method(
        "blp-kmeans",
        "konstrain:BLPKMeans",
        "links kept by an exact assignment step on plain distances",
        "Baumann 2020 (BLPKM-CC)",
        _LINKS | _COUNTED,
    ),
    Method(
        "matching-kmeans",
        "konstrain:MatchingKMeans",
        "must-links and disjoint cannot-link sets, assigned by matching",
        "Jia et al. 2023",
        _LINKS | _COUNTED,
    ),
    Method(
        "bc-kmeans",
        "konstrain:BCKMeans",
        "sizes and links together by binary optimisation",
        "Le et al. 2018 (BCKM)",
        _LINKS | _SIZES | _COUNTED,
    ),
    Method(
        "lagrangian-kmeans",
        "konstrain:LagrangianKMeans",
        "must-links kept, cannot-links by growing multipliers; may break some",
        "Ganji et al. 2016 (LCC)",
        _LINKS | _COUNTED,
    ),
)

_BASELINES = (
    Method(
        "cop-kmeans",
        "konstrain.baselines:COPKMeans",
        "greedy: nearest center that breaks no link; may find none left",
        "Wagstaff et al. 2001",
        _LINKS,
    ),
    Method(
        "greedy-kmeans",
        "konstrain.baselines:GreedyKMeans",
        "greedy: must-link sets follow their first row, cannot-link sets in input order",
        "Jia et al. 2023, section 6.1.1",
        _LINKS,
    ),
    Method(
        "pck-means",
        "konstrain.baselines:PCKMeans",
        "a fixed price per broken link, started from must-linked neighborhoods",
        "Basu et al. 2004",
        _LINKS,
    ),
    Method(
        "mpck-means",
        "konstrain.baselines:MPCKMeans",
        "prices for broken links and learned feature weights in each cluster",
        "Bilenko et al. 2004",
        _LINKS,
    ),
    Method(
        "cvqe",
        "konstrain.baselines:CVQE",
        "broken links cost distances between centers, all pairs of clusters tried",
        "Davidson & Ravi 2005",
        _LINKS,
    ),
    Method(
        "lcvqe",
        "konstrain.baselines:LCVQE",
        "broken links cost distances of their rows, three moves tried",
        "Pelleg & Baras 2007",
        _LINKS,
    ),
    Method(
        "dils",
        "konstrain.baselines:DILS",
        "compact clusters and few broken links by iterated local search; may break some",
        "González-Almagro et al. 2020",
        _LINKS | {"time_limit"},
    ),
    Method(
        "constrained-spectral",
        "konstrain.baselines:ConstrainedSpectral",
        "cuts of a graph that satisfy the links to a threshold; may break many",
        "Wang and Davidson 2010 (CSP)",
        _LINKS,
    ),
    Method(
        "cksc",
        "konstrain.baselines:CKSC",
        "a kernel learnt from the links on a graph's spectrum; may break some",
        "Li and Liu 2009",
        _LINKS,
    ),
    Method(
        "balanced-kmeans",
        "konstrain.baselines:BalancedKMeans",
        "clusters of equal size, no links",
        "Malinen and Fränti 2014 (BKM)",
        _COUNTED | {"random_state"},
    ),
    Method(
        "min-size-kmeans",
        "konstrain.baselines:MinSizeKMeans",
        "minimum cluster sizes, no links",
        "Bradley et al. 2000 (CKM)",
        _COUNTED | {"random_state", "size_min"},
    ),
    Method(
        "relaxed-kmeans",
        "konstrain.baselines:RelaxedKMeans",
        "sizes and links in a linear program, rounded; may break both",
        "Bradley et al. 2000 with links, as in Le et al. 2018 (CKM)",
        _LINKS | {"size_min", "size_max"},
    ),
    Method(
        "bcls",
        "konstrain.baselines:BCLS",
        "clusters of like size by regression on the labels, no links",
        "Liu et al. 2017",
        frozenset({"random_state"}),
    ),
)

_SCIKIT_LEARN = (
    Method(
        "kmeans",
        "sklearn.cluster:KMeans",
        "plain k-means, no constraints",
        "scikit-learn",
        frozenset({"random_state", "sample_weight"}),
    ),
    Method(
        "hierarchical",
        "sklearn.cluster:AgglomerativeClustering",
        "clusters merged from single rows upwards, no constraints",
        "Johnson 1967, scikit-learn",
        frozenset(),
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (*_OURS, *_BASELINES, *_SCIKIT_LEARN)}
)


def get_method(name: str) -> Method:
    """Return the method called `name`.

    Examples
    --------
    >>> get_method("exact").purpose
    'the best clustering that exists, with proof; up to some hundred rows'
    """
    try:
        return METHODS[name]
    except KeyError:
        message = f"there is no method {name!r}; there are: {', '.join(METHODS)}{did_you_mean(name, METHODS)}"
        raise ValueError(message) from None
