"""Options as they would be typed again, for a verb that names the next command."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any


def typed(options: Any) -> list[str]:
    """Return the words of a command line that give a dataclass of options what differs from its defaults.

    Examples
    --------
    >>> from pathlib import Path
    >>> from konstrain.cli.options import DataOptions
    >>> typed(DataOptions(Path("rows.csv"), id="name", standardize=False))
    ['rows.csv', '--id', 'name', '--no-standardize']
    """
    return [
        word
        for field in fields(options)
        for value in _one_by_one(getattr(options, field.name), field.default)
        for word in _words(field.name, value, positional=field.default is MISSING)
    ]


def _one_by_one(value: Any, default: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield from value
    elif value != default:
        yield value


def _words(name: str, value: Any, *, positional: bool) -> list[str]:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    text = str(value.value if isinstance(value, Enum) else value)
    return [text] if positional else [f"--{option}", text]
