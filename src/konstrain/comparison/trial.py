"""One method on one problem, timed and measured."""

import time
import warnings
from collections.abc import Mapping
from typing import Any

from konstrain.comparison.instance import Instance
from konstrain.comparison.measures import Outcome, Taken, measure
from konstrain.comparison.memory import peak_megabytes, reset_peak
from konstrain.methods import Method


def fit_and_measure(
    instance: Instance,
    method: Method,
    measures: tuple[str, ...],
    *,
    params: Mapping[str, Any],
    random_state: int,
    time_limit: float | None,
) -> dict[str, Any]:
    """Fit a method and measure its answer; only the fit is timed."""
    reset_peak()
    with warnings.catch_warnings():
        # What a warning would say (not proved, not converged) is among the measures.
        warnings.simplefilter("ignore")
        begun, cpu_begun = time.perf_counter(), time.process_time()
        model = method.fit(
            instance.X,
            instance.n_clusters,
            params=params,
            random_state=random_state,
            time_limit=time_limit,
            **instance.constraints,
        )
        taken = Taken(time.perf_counter() - begun, time.process_time() - cpu_begun, peak_megabytes())
    outcome = Outcome(instance, model, taken)
    return measure(outcome, measures)
