"""scikit-learn's conventions for all estimators: validation, seeds, warnings, `transform` and `score`."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from konstrain._documentation import complete_class
from konstrain._messages import Advised, has_term, term
from konstrain._warnings import warn_caller
from konstrain.assignment import Assignment
from konstrain.constraints import Problem
from konstrain.constraints.arguments import ConstraintArguments
from konstrain.constraints.inputs import (
    is_missing,
    largest_value,
    membership_values,
    read_links,
    refuse_hidden,
    usable_rows,
)
from konstrain.exceptions import NotProvenWarning
from konstrain.kmeans import distances
from konstrain.kmeans.distances import default_threads
from konstrain.kmeans.result import Clustering
from konstrain.kmeans.start import Start
from konstrain.metrics import Violations

Estimator = TypeVar("Estimator")

# Rows that scikit-learn's validation accepts: dense C order in either precision, or compressed rows.
ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}


@dataclass_transform(eq_default=False)
def estimator(cls: type[Estimator]) -> type[Estimator]:
    """Make parameters of the annotated attributes of a class; complete its docstrings from those of its base classes.

    `__init__` is that of a dataclass: it stores what it is given and nothing else, as in scikit-learn.
    """
    made = dataclass(eq=False, repr=False)(cls)
    # A class names the rules of the parameters that it adds to those of its base classes.
    rules = [vars(base).get("_parameter_constraints", {}) for base in reversed(made.__mro__)]
    cast(Any, made)._parameter_constraints = {name: rule for own in rules for name, rule in own.items()}
    complete_class(made, ConstraintArguments)
    return made


class BaseClusterer(ClusterMixin, BaseEstimator):
    """Attributes of every fitted clusterer.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of each row.
    inertia_ : float
        Squared distances of rows to the means of their clusters.
    objective_ : float
        What the method minimises.
    n_iter_ : int
        Iterations of the best run.
    violations_ : Violations
        Broken links by kind, counted from the labels.
    n_violations_ : int
        Broken links.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    labels_: NDArray[np.int32]
    inertia_: float
    objective_: float
    n_iter_: int
    violations_: Violations
    n_violations_: int

    def __dask_tokenize__(self) -> Any:
        # By the fitted attributes too: of a dataclass Dask would compare the parameters only.
        from dask.base import normalize_token

        return normalize_token((type(self), sorted(vars(self).items())))


class CentersMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`transform` and `score` of an estimator with `cluster_centers_`."""

    # Rows that scikit-learn's validation accepts, new ones included.
    _accepted: ClassVar[dict[str, Any]] = ACCEPTED

    cluster_centers_: NDArray[Any]

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances, or those of a learned metric; in single precision where rows and centers are.
        """
        X, centers = self._validate_new(X), self._measured_centers()
        squared = distances.block_costs(X, None, centers, n_threads=default_threads())
        precision = np.result_type(X.dtype, self.cluster_centers_.dtype)
        return np.sqrt(squared, out=squared).astype(precision, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted squared distances of rows to their nearest centers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            What each row counts; default 1.

        Returns
        -------
        score : float
            Higher is better.
        """
        X, centers = self._validate_new(X), self._measured_centers()
        return -distances.nearest_pass(X, weight_of(X, sample_weight), centers, n_threads=default_threads())[1]

    def _validate_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._measured(validated_rows(self, X, reset=False))

    def _measured(self, X: Any) -> Any:
        """Return rows in a space where Euclidean distances are the estimator's own."""
        return X

    def _measured_centers(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._measured(self.cluster_centers_), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def validated_rows(estimator: Any, X: Any, *, reset: bool = True) -> Any:
    """Check rows for scikit-learn, with their features stored when `reset`, and for the kernels."""
    refuse_hidden("X", X)
    with np.errstate(invalid="ignore"):
        # scikit-learn adds up all values to find out whether each is finite: infinities of both signs make NaN.
        checked = validate_data(estimator, X, reset=reset, **estimator._accepted)
    return usable_rows(checked)


def weight_of(X: Any, sample_weight: Any) -> NDArray[np.float64] | None:
    """Check the weights of rows; None: 1 each."""
    if sample_weight is None:
        return None
    return np.ascontiguousarray(Problem.build(X, 1, sample_weight=sample_weight).weight)


def start_of(estimator: Any, X: Any) -> Start:
    """Check where an estimator's `init` lets runs begin; centers that a callable draws are checked when drawn."""
    init, k = estimator.init, estimator.n_clusters
    if isinstance(init, str):
        return Start(X, init)
    if callable(init):
        return Start(X, partial(_checked_draw, init))
    return Start(X, estimator._measured(_checked_centers(init, k, X)))


def _checked_draw(rule: Any, X: Any, n_clusters: int, *, random_state: Any) -> NDArray[np.float64]:
    return _checked_centers(rule(X, n_clusters, random_state=random_state), n_clusters, X)


def _checked_centers(centers: Any, n_clusters: int, X: Any) -> NDArray[np.float64]:
    n_rows, n_features = X.shape
    checked: NDArray[np.float64] = check_array(centers, dtype=np.float64, order="C", copy=True, input_name="init")
    # The messages of scikit-learn's KMeans.
    if checked.shape[0] != n_clusters:
        raise ValueError(
            f"The shape of the initial centers {checked.shape} does not match the number of clusters {n_clusters}."
        )
    if checked.shape[1] != n_features:
        raise ValueError(
            f"The shape of the initial centers {checked.shape} does not match the number of features of the data "
            f"{n_features}."
        )
    largest = float(np.abs(checked).max())
    if not largest <= largest_value(n_rows * n_features):
        center = int(np.argmax(np.abs(checked).max(axis=1)))
        raise ValueError(
            f"init has {largest:.3g} in center {center}: distances of rows from it are too large to be squared and "
            "summed; give centers near the rows"
        )
    return checked


def warn_of_one_start(estimator: Any) -> None:
    """Warn, with scikit-learn's message, that given centers are one start, whatever `n_init` is."""
    if estimator.n_init != "auto" and estimator.n_init != 1:
        warn_caller(
            "Explicit initial center position passed: performing only one init in "
            f"{type(estimator).__name__} instead of n_init={estimator.n_init}.",
            RuntimeWarning,
        )


def warn_of_few_distinct_rows(X: Any, n_clusters: int) -> None:
    """Warn, with scikit-learn's message, that there are fewer distinct rows than clusters."""
    # The first `n_clusters` rows mostly differ already: more are compared only while they do not.
    n_compared, n_distinct = n_clusters, 0
    while n_distinct < n_clusters:
        rows = X[:n_compared]
        # By bytes: `np.unique` sorts rows of many features slowly. The sum makes -0 and 0 the same.
        n_distinct = len({row.tobytes() for row in (rows.toarray() if hasattr(rows, "toarray") else rows) + 0.0})
        if n_compared >= X.shape[0]:
            break
        n_compared = min(4 * n_compared, X.shape[0])
    if n_distinct < n_clusters:
        warn_caller(
            f"Number of distinct clusters ({n_distinct}) found smaller than {term('n_clusters')} "
            f"({n_clusters}). Possibly due "
            "to duplicate points in X.",
            ConvergenceWarning,
        )


def refuse_too_few_rows(X: Any, n_clusters: int) -> None:
    """Raise when there are fewer rows than clusters."""
    if X.shape[0] < n_clusters:
        raise ValueError(f"n_samples={X.shape[0]} should be >= {term('n_clusters', n_clusters)}.")


def warn_not_converged(max_iter: int) -> None:
    """Warn that the best run was cut short."""
    warn_caller(
        f"the best run did not converge within {term('max_iter', max_iter)} iterations"
        + ("; raise max_iter" if has_term("max_iter") else ""),
        ConvergenceWarning,
    )


def warn_of_limits(estimator: Any, best: Clustering) -> None:
    """Warn where a limit ended the best run before it converged, or its last step before that was proved."""
    if not best.converged and best.n_iter >= estimator.max_iter:
        warn_not_converged(estimator.max_iter)
    if best.proven is False:
        is_timed = estimator.time_limit is not None
        gap = "" if best.step_gap is None else f" (at most {best.step_gap:.2g} of its cost could be saved)"
        message = (
            f"an assignment step was cut short by the {'time limit' if is_timed else 'limit on work'}: labels are "
            f"feasible, but the step was not proved optimal{gap}"
        )
        warn_caller(Advised(message, f"{'raise' if is_timed else 'give a'} {term('time_limit')}"), NotProvenWarning)


def warn_not_proved(solution: Assignment) -> None:
    """Warn where a limit ended the assignment of new rows before it was proved."""
    if not solution.proven:
        warn_caller(
            "a limit ended the assignment of the new rows before it was proved optimal: labels are feasible, and "
            f"cost at most {solution.gap:.2g} of their cost too much; raise {term('time_limit')}",
            NotProvenWarning,
        )


def refuse_confidences(method: str, n_samples: int, **links: Any) -> None:
    """Raise when a link has a confidence, in a method without soft links."""
    for name, pairs in links.items():
        soft = read_links(name, pairs, n_samples).soft
        if soft.size:
            raise ValueError(
                f"{name} gives {tuple(soft[0].tolist())} a confidence, and {method} takes none; leave the third "
                "column out, or use ConstrainedKMeans"
            )


def partial_labels_of(y: Any, n_samples: int) -> Any:
    """Return y if it marks unknown rows (-1, None, NaN), else nothing: complete labels are no constraints."""
    if y is None:
        return None
    values = membership_values(y)
    if not is_missing(values).any():
        return None
    if values.shape != (n_samples,):
        raise ValueError(f"y must have one value per row, shape ({n_samples},), got {values.shape}")
    return values
