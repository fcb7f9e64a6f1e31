"""Every engine against enumeration, and against every other engine that supports the problem."""

import numpy as np
import pytest

from konstrain.assignment import ENGINES, choose
from konstrain.exceptions import InfeasibleError
from oracles import best_cost, check_assignment, cost_tolerance
from problems import random_problem

KINDS = {
    "free": {},
    "cliques": {"links": "cliques"},
    "conflicts": {"links": "hard"},
    "soft": {"links": "soft"},
    "sizes": {"sizes": True},
    "sizes and cliques": {"sizes": True, "links": "cliques"},
    "sizes and conflicts": {"sizes": True, "links": "hard", "demand": "integer"},
    "real demand": {"sizes": True, "demand": "real"},
    "everything": {"sizes": True, "links": "soft", "demand": "real"},
}


def check_engine(engine, problem, expected):
    if np.isinf(expected):
        with pytest.raises(InfeasibleError):
            engine.solve(problem)
        return
    answer = engine.solve(problem)
    check_assignment(problem, answer)
    assert answer.proven
    assert answer.engine == engine.name
    np.testing.assert_allclose(answer.cost, expected, rtol=1e-9, atol=cost_tolerance(problem))


@pytest.mark.engine
@pytest.mark.parametrize("kind", KINDS)
def test_all_supporting_engines_equal_enumeration(kind):
    rng = np.random.default_rng(sum(map(ord, kind)))
    for _ in range(300):
        problem = random_problem(rng, **KINDS[kind])
        expected = best_cost(problem)
        for engine in ENGINES:
            if engine.supports(problem):
                check_engine(engine, problem, expected)


def test_every_kind_meets_the_engine_made_for_it():
    rng = np.random.default_rng(1)
    chosen = {kind: {choose(random_problem(rng, **KINDS[kind])).name for _ in range(50)} for kind in KINDS}
    assert chosen["free"] == {"nearest"}
    assert "matching" in chosen["cliques"]
    assert "components" in chosen["conflicts"]
    assert "soft" in chosen["soft"]
