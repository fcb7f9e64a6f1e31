"""One description of each parameter: what a docstring leaves out is filled in from the docstring it builds on.

A class describes the parameters and attributes in which it differs from its base classes, a method those in which it
differs from the method it overrides. Constraints are described in `ConstraintArguments`. `help`, doctests and the
reference pages see complete docstrings; an editor that reads the source without running it does not.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_HEADING = re.compile(r"\n(?=[A-Z][A-Za-z ]*\n-{3,}\n)")
# numpydoc's order of the sections used here.
_ORDER = ("", "Parameters", "Returns", "Attributes", "Raises", "See Also", "Notes", "References", "Examples")


@dataclass(frozen=True)
class Description:
    """The description of one or several names: ``a, b : float`` and the lines below it."""

    names: tuple[str, ...]
    kind: str
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, head: str, *lines: str) -> "Description":
        """Read the lines of a docstring."""
        names, _, kind = head.partition(" : ")
        return cls(tuple(name.strip("* ") for name in names.split(",")), kind, lines)

    def __str__(self) -> str:
        head = ", ".join(self.names)
        return "\n".join([f"{head} : {self.kind}" if self.kind else head, *self.lines])

    def only(self, names: Iterable[str]) -> "Description":
        """Return the same description of fewer names."""
        wanted = set(names)
        return replace(self, names=tuple(name for name in self.names if name in wanted))

    def with_default(self, parameters: Mapping[str, inspect.Parameter]) -> "Description":
        """Return the description with the default that the signature has."""
        values = [parameters[name].default for name in self.names]
        shown = [f'"{value}"' if isinstance(value, str) else repr(value) for value in values]
        return replace(self, kind=re.sub(r"default=\S+$", f"default={', '.join(shown)}", self.kind))


class Docstring:
    """A docstring in numpydoc's form, as its sections by heading."""

    def __init__(self, text: str | None) -> None:
        summary, *sections = _HEADING.split(inspect.cleandoc(text or "") + "\n")
        self.sections = {"": summary} | {section.split("\n", 1)[0]: section for section in sections}

    def __str__(self) -> str:
        order = sorted(self.sections, key=_ORDER.index)
        return "\n\n".join(self.sections[heading].strip("\n") for heading in order) + "\n"

    def entries(self, heading: str) -> list[Description]:
        """Return the descriptions of a section."""
        body = self.sections.get(heading, "").split("\n")[2:]
        found: list[list[str]] = []
        for line in body:
            if line and not line.startswith(" "):
                found.append([line])
            elif found and line:
                found[-1].append(line)
        return [Description.read(*lines) for lines in found]

    def describe(self, heading: str, entries: list[Description]) -> None:
        """Replace the descriptions of a section."""
        if entries:
            self.sections[heading] = "\n".join([heading, "-" * len(heading), *map(str, entries)])


def completed(text: str | None, parameters: Mapping[str, inspect.Parameter], *sources: str | None) -> str | None:
    """Return a docstring with the parameters, attributes and result that it leaves out, taken from the sources."""
    if text is None:  # as under `python -OO`
        return text
    doc = Docstring(text)
    for source in sources:
        if source is not None:
            _fill_in(doc, _parsed(source), parameters)
    return str(doc)


def completed_by(function: _Function, *sources: str | None) -> _Function:
    """Complete the docstring of a function from the sources; returns the function."""
    function.__doc__ = completed(function.__doc__, inspect.signature(function).parameters, *sources)
    return function


# Most docstrings are the source of several others.
_parsed = lru_cache(Docstring)


def _fill_in(doc: Docstring, other: Docstring, parameters: Mapping[str, inspect.Parameter]) -> None:
    offered = [entry.only(parameters).with_default(parameters) for entry in other.entries("Parameters")]
    shared, added = _joined(doc.entries("Parameters"), offered)
    positional = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    place = {name: at for at, name in enumerate(positional)}
    # Positional parameters in the order of a call, then what is added here, then what is shared.
    entries = sorted(added + shared, key=lambda entry: place.get(entry.names[0], len(place)))
    doc.describe("Parameters", entries)
    shared, added = _joined(doc.entries("Attributes"), other.entries("Attributes"))
    doc.describe("Attributes", shared + added)
    for heading in {"Returns", "Raises"} & set(other.sections):
        doc.sections.setdefault(heading, other.sections[heading])


def _joined(own: list[Description], offered: list[Description]) -> tuple[list[Description], list[Description]]:
    """Return the offered descriptions, replaced where `own` has the same names, and the rest of `own`."""
    by_name = {name: entry for entry in own for name in entry.names}
    shared: list[Description] = []
    for entry in offered:
        rest = entry.only(set(entry.names) - set(by_name))
        replaced = [by_name[name] for name in entry.names if name in by_name]
        shared += [rest] if rest.names else []
        # Several names may have one description.
        shared += [entry for entry in dict.fromkeys(replaced) if entry not in shared]
    return shared, [entry for entry in own if entry not in shared]


def complete_class(cls: type, *others: type) -> None:
    """Complete the docstrings of a class and of its public methods from those of its base classes, then of others."""
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("konstrain.")]
    sources = [other.__doc__ for other in others]
    cls.__doc__ = completed(cls.__doc__, inspect.signature(cls).parameters, *(b.__doc__ for b in bases), *sources)
    for name, method in vars(cls).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            overridden = getattr(getattr(super(cls, cls), name, None), "__doc__", None)
            method.__doc__ = completed(method.__doc__, inspect.signature(method).parameters, overridden, *sources)
