"""The arguments that say what must hold, listed once for every function that takes them."""

import inspect
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class ConstraintArguments(TypedDict, total=False):
    """What may be asked of clusters; `Problem.build` says what each means. Left out or None: not asked."""

    must_link: Any
    cannot_link: Any
    groups: Any
    labels: Any
    size_min: Any
    size_max: Any
    demand: Any
    category: Any
    share_min: Any
    share_max: Any
    share_tolerance: float | None
    sample_weight: Any
    diameter_max: float | None
    separation_min: float | None


def shows_constraints(function: Function) -> Function:
    """Name the constraints in the signature of a function that takes them as ``**asked``: for `help` and editors."""
    signature = inspect.signature(function)
    given = list(signature.parameters.values())
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in ConstraintArguments.__annotations__.items()
    ]
    first = [parameter for parameter in given if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    last = [parameter for parameter in given if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    vars(function)["__signature__"] = signature.replace(parameters=[*first, *named, *last])
    return function


def refuse_unknown(asked: ConstraintArguments) -> None:
    """Raise for a name that is no constraint, as a call with a wrong keyword does."""
    for name in asked:
        if name not in ConstraintArguments.__annotations__:
            known = ", ".join(ConstraintArguments.__annotations__)
            raise TypeError(f"unexpected keyword argument {name!r}; constraints are {known}")
