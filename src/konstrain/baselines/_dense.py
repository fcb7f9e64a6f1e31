"""What methods on dense matrices share: what they accept, and the base's parameter rules that concern them."""

from typing import Any

import numpy as np

from konstrain.baselines._base import BaseRowClusterer

# Double precision throughout: these methods factor matrices, or add up many small changes.
DENSE: dict[str, Any] = {"dtype": np.float64, "order": "C"}


def shared_rules(*names: str) -> dict[str, list[Any]]:
    """Return the base's rules for these parameters; not every method has all of them."""
    rules: dict[str, list[Any]] = BaseRowClusterer._parameter_constraints
    return {name: rules[name] for name in names}
