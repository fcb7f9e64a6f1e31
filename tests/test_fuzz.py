"""Random problems of every kind, dtype, form and scale, on random sides of every switch, for as long as asked.

`KONSTRAIN_FUZZ_SECONDS` (default 20) says how long each test draws, `KONSTRAIN_FUZZ_SEED` (default 0) where it
begins; a failure names the number of its draw, and the same seed draws it again.
"""

import os
import time
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from konstrain import ConstrainedKMeans, ExactKMeans, InfeasibleError, NotProvenWarning, Problem, UndecidedError
from konstrain.assignment import ENGINES as ALL_ENGINES
from konstrain.exact.sdp.bound import SdpBound
from konstrain.metrics import sum_of_squares
from oracles import all_labelings, best_cost, check_assignment
from problems import random_problem
from random_fits import check_random_fit, random_fit
from switches import ENGINES, SWITCHES, set_to

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("KONSTRAIN_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("KONSTRAIN_FUZZ_SEED", "0"))


def draws(kind):
    """Yield the number of each draw and its generator, until time is up."""
    end, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < end or number == 0:
        yield number, np.random.default_rng([SEED, len(kind), number])
        number += 1


def random_sides(rng, switches):
    """Some switches, each on one of its sides."""
    names = rng.choice(list(switches), rng.integers(0, 4), replace=False)
    return {name: switches[name][rng.integers(2)] for name in names}


def test_fits_are_what_their_labels_say():
    seen = Counter()
    for number, rng in draws("fits"):
        scale, dtype = 10.0 ** rng.integers(-12, 13), rng.choice([np.float64, np.float32])
        X, params, given = random_fit(rng, scale=scale, dtype=dtype, sparse=bool(rng.random() < 0.3))
        if rng.random() < 0.3:
            params["local_search"] = bool(rng.random() < 0.5)
        sides = random_sides(rng, SWITCHES)
        try:
            with set_to(sides), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                if "konstrain.stop.PARAMS.work" in sides:
                    warnings.simplefilter("ignore", NotProvenWarning)  # what a proof without work is told by
                model = ConstrainedKMeans(random_state=0, n_jobs=int(rng.choice([1, 2])), **params).fit(X, **given)
        except InfeasibleError:
            seen["infeasible"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"draw {number}: {sides} {params}") from error
        seen["fits"] += 1
        try:
            # Sparse costs come from squared lengths, which single precision stores to seven digits.
            check_random_fit(model, X, params, given, rtol=1e-7 if dtype == np.float64 else 1e-4)
        except AssertionError as error:
            raise AssertionError(f"draw {number}: {sides} {params} {sorted(given)}") from error
    print(f"fits: {dict(seen)}")


def test_engines_meet_enumeration_and_each_other():
    seen = Counter()
    for number, rng in draws("engines"):
        problem = random_problem(
            rng,
            links=rng.choice([None, "hard", "cliques", "soft"]),
            sizes=bool(rng.random() < 0.7),
            demand=rng.choice([None, "integer", "real"]),
            max_labelings=800,
        )
        if rng.random() < 0.4:
            problem.costs[rng.integers(problem.n_blocks)] *= 10.0 ** rng.integers(3, 13)
        best, sides = best_cost(problem), random_sides(rng, ENGINES)
        for engine in ALL_ENGINES:
            if not engine.supports(problem):
                continue
            where = f"draw {number}: {engine.name} {sides}"
            with set_to(sides):
                try:
                    answer = engine.solve(problem)
                except InfeasibleError:
                    assert not np.isfinite(best), where
                    seen["infeasible"] += 1
                    continue
            assert np.isfinite(best), where
            check_assignment(problem, answer)
            tolerance = 1e-8 * problem.excess(best) + 8 * problem.rounding(best)
            assert answer.proven, where
            assert abs(answer.cost - best) <= tolerance, where
            assert answer.lower_bound <= best + tolerance, where
            seen[engine.name] += 1
    print(f"engines: {dict(seen)}")


def test_bounds_stay_below_enumeration():
    seen = Counter()
    for number, rng in draws("bounds"):
        n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
        X = np.round(rng.normal(size=(n, 2)), 3) * 10.0 ** rng.integers(-6, 7)
        X = X + float(np.abs(X).max()) * rng.choice([0.0, 1e2, 1e5]) * np.array([1.0, 0.0])
        cannot = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(int(rng.integers(0, 3)))]
        high = float(rng.integers(n // k, n + 1)) if rng.random() < 0.5 else None
        best = np.inf
        for labels in all_labelings(n, k):
            sizes = np.bincount(labels, minlength=k)
            kept = sizes.min() > 0 and all(labels[i] != labels[j] for i, j in cannot)
            if kept and (high is None or sizes.max() <= high):
                best = min(best, sum_of_squares(X - X[0], labels))
        try:
            model = ExactKMeans(k, size_max=high, random_state=0).fit(X, cannot_link=cannot)
        except InfeasibleError:
            assert not np.isfinite(best), f"draw {number}"
            seen["infeasible"] += 1
            continue
        assert np.isfinite(best), f"draw {number}"
        # What the enumeration itself rounds, at the offset of the rows.
        tolerance = 1e-12 * best + 1e-15 * n * float((X**2).max()) ** 0.5 * best**0.5
        assert model.lower_bound_ <= best + tolerance, f"draw {number}"
        assert model.inertia_ <= best * (1 + 2e-6) + tolerance, f"draw {number}"
        bound = SdpBound(Problem.build(X, k, cannot_link=cannot, size_max=high)).run(best, max_rounds=3).lower_bound
        assert bound <= best + tolerance, f"draw {number}"
        seen["bounds"] += 1
    print(f"bounds: {dict(seen)}")


def test_predictions_with_constraints_are_exact():
    seen = Counter()
    for number, rng in draws("predictions"):
        k = int(rng.integers(2, 4))
        model = ConstrainedKMeans(k, n_init=1, violation_cost=1.0, random_state=0).fit(rng.normal(size=(20, 2)))
        X = rng.normal(size=(6, 2)) * 10.0 ** rng.integers(0, 4, 6)[:, None]
        pairs = [tuple(rng.choice(6, 2, replace=False).tolist()) for _ in range(2)]
        high = int(rng.integers(-(-6 // k), 7))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", NotProvenWarning)
                labels = model.predict(X, cannot_link=pairs, size_max=high)
        except (InfeasibleError, UndecidedError):
            labels = None
        costs = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        costs -= costs.min(axis=1, keepdims=True)
        totals = [
            costs[np.arange(6), few].sum()
            for few in all_labelings(6, k)
            if np.bincount(few).max() <= high and all(few[i] != few[j] for i, j in pairs)
        ]
        assert (labels is None) == (not totals), f"draw {number}"
        if totals:
            found = costs[np.arange(6), labels].sum()
            assert found <= min(totals) * (1 + 1e-6) + 1e-9 * float(np.abs(X).max()), f"draw {number}"
            seen["predictions"] += 1
    print(f"predictions: {dict(seen)}")
