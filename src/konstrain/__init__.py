"""Clustering that keeps its promises: k-means under links, sizes and demand, solved exactly and explained."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from konstrain._studio import Studio, studio
    from konstrain.assignment import Assignment, AssignmentProblem, assign
    from konstrain.choosing import NumberOfClusters, choose_n_clusters
    from konstrain.comparison import Comparison, compare
    from konstrain.constraints import (
        Problem,
        pairs_beyond_diameter,
        pairs_from_groups,
        pairs_from_labels,
        pairs_within_separation,
    )
    from konstrain.constraints.check import CheckResult, check
    from konstrain.estimators import (
        BCKMeans,
        BLPKMeans,
        ConstrainedKMeans,
        ExactKMeans,
        LagrangianKMeans,
        LinkMetric,
        MatchingKMeans,
    )
    from konstrain.estimators.matching_kmeans import kmeans_plusplus
    from konstrain.exact.certificate import Certificate, certify, lower_bound
    from konstrain.exceptions import DeadEndError, FileError, InfeasibleError, NotProvenWarning, UndecidedError
    from konstrain.metrics import Violations, count_violations
    from konstrain.mixing import MixedGroups, mixed_groups
    from konstrain.report import Report, describe
    from konstrain.suggest import suggest_pairs

__version__ = version("konstrain")

# Where each public name lives. Modules load when a name of theirs is first used: numpy, scipy and scikit-learn
# take seconds, and `konstrain --help` needs none of them.
_HOME_OF = {
    name: f"konstrain.{module}"
    for module, names in {
        "_studio": ("Studio", "studio"),
        "assignment": ("Assignment", "AssignmentProblem", "assign"),
        "choosing": ("NumberOfClusters", "choose_n_clusters"),
        "comparison": ("Comparison", "compare"),
        "constraints": (
            "CheckResult",
            "Problem",
            "check",
            "pairs_beyond_diameter",
            "pairs_from_groups",
            "pairs_from_labels",
            "pairs_within_separation",
        ),
        "estimators": (
            "BCKMeans",
            "BLPKMeans",
            "ConstrainedKMeans",
            "ExactKMeans",
            "LagrangianKMeans",
            "LinkMetric",
            "MatchingKMeans",
        ),
        "estimators.matching_kmeans": ("kmeans_plusplus",),
        "exact.certificate": ("Certificate", "certify", "lower_bound"),
        "exceptions": ("DeadEndError", "FileError", "InfeasibleError", "NotProvenWarning", "UndecidedError"),
        "metrics": ("Violations", "count_violations"),
        "mixing": ("MixedGroups", "mixed_groups"),
        "report": ("Report", "describe"),
        "suggest": ("suggest_pairs",),
    }.items()
    for name in names
}

__all__ = [
    "Assignment",
    "AssignmentProblem",
    "BCKMeans",
    "BLPKMeans",
    "Certificate",
    "CheckResult",
    "Comparison",
    "ConstrainedKMeans",
    "DeadEndError",
    "ExactKMeans",
    "FileError",
    "InfeasibleError",
    "LagrangianKMeans",
    "LinkMetric",
    "MatchingKMeans",
    "MixedGroups",
    "NotProvenWarning",
    "NumberOfClusters",
    "Problem",
    "Report",
    "Studio",
    "UndecidedError",
    "Violations",
    "assign",
    "certify",
    "check",
    "choose_n_clusters",
    "compare",
    "count_violations",
    "describe",
    "kmeans_plusplus",
    "lower_bound",
    "mixed_groups",
    "pairs_beyond_diameter",
    "pairs_from_groups",
    "pairs_from_labels",
    "pairs_within_separation",
    "studio",
    "suggest_pairs",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            value = _submodule(name)
        globals()[name] = value
        return value


def _submodule(name: str) -> Any:
    """Return `konstrain.name`, so that ``import konstrain`` is enough for ``konstrain.exact``."""
    full = f"{__name__}.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
