"""Which columns of a file play which part: features, ids, further numbers and names."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from konstrain._messages import as_typed, did_you_mean
from konstrain.exceptions import FileError
from konstrain.files.sources import Source

# Columns that a message names at most.
MOST_LISTED: Final = 20


@dataclass(frozen=True)
class Choice:
    """The columns to read, by the part they play; one may play several.

    `texts` are columns to cluster by that hold no numbers.
    """

    features: tuple[str, ...]
    id: str | None
    numeric: tuple[str, ...]
    other: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers: the features, then the others."""
        return tuple(dict.fromkeys((*self.features, *self.numeric)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns whose cells are names: ids, groups, classes, text to cluster by."""
        return tuple(dict.fromkeys((*([] if self.id is None else [self.id]), *self.other, *self.texts)))

    @property
    def all(self) -> tuple[str, ...]:
        """Every column to read."""
        return tuple(dict.fromkeys((*self.numbers, *self.names)))


@dataclass(frozen=True)
class Request:
    """What a caller asks of a file, in the arguments of `read_table`."""

    columns: Sequence[str] | None
    id: str | None
    ignore: Sequence[str]
    numeric: Sequence[str]
    other: Sequence[str]
    mixed: bool = False
    text: Sequence[str] = ()
    decimal: str | None = None
    na: frozenset[str] = frozenset()
    usual_id: str | None = None

    def choose(self, path: Source | Path, names: Sequence[str], text: Collection[str]) -> Choice:
        """Choose among the columns of a file, of which those in `text` hold no numbers."""
        there = set(names)
        id_column = self.usual_id if self.id is None and self.usual_id in there else self.id
        parts = (*self.ignore, *self.numeric, *self.other, *([] if id_column is None else [id_column]))
        for name in (*(self.columns or ()), *parts, *self.text):
            if name not in there:
                suggested = did_you_mean(name, names)
                raise FileError(f"{path} has no column {name!r}; it has: {listed(names)}{suggested}")
        twice = next((name for name, count in Counter(self.columns).items() if count > 1), None)
        if twice is not None:
            raise FileError(f"the column {twice!r} is asked for twice as a feature; name it once")
        taken = set(parts)
        features = tuple(name for name in names if name not in taken) if self.columns is None else tuple(self.columns)
        if self.columns is None and not features:
            raise FileError(f"{path}: no column is left to cluster by")
        texts: tuple[str, ...] = ()
        if self.mixed:
            as_text = {*text, *self.text}
            texts = tuple(name for name in features if name in as_text)
            features = tuple(name for name in features if name not in as_text)
        choice = Choice(features, id_column, tuple(self.numeric), tuple(self.other), texts)
        _refuse_text(path, choice, text)
        return choice


def _refuse_text(path: Source | Path, choice: Choice, text: Collection[str]) -> None:
    refuse_text_columns(path, [name for name in choice.features if name in text], has_id=choice.id is not None)
    wrong = [name for name in choice.numeric if name in text]
    if wrong:
        raise FileError(f"{path}: {_words_for_text(wrong)}")


def refuse_text_columns(path: Source | Path, wrong: Sequence[str], *, has_id: bool) -> None:
    """Raise if there are features that hold text, and say what to do about them."""
    if wrong:
        as_id = "" if has_id else f"name rows by it with --id {quote(wrong[0])}, "
        columns = as_typed(*wrong) if len(wrong) <= MOST_LISTED else "COLUMN,..."
        raise FileError(
            f"{path}: {_words_for_text(wrong)}; leave out with --ignore {columns}, {as_id}or write "
            "numbers instead (one column of 0 and 1 per category)"
        )


def _words_for_text(wrong: Sequence[str]) -> str:
    columns = f"{'columns' if wrong[1:] else 'column'} {listed([repr(name) for name in wrong])}"
    return f"{columns} {'hold' if wrong[1:] else 'holds'} no numbers"


def listed(names: Sequence[str]) -> str:
    """Names in a row, cut when they are many."""
    more = [f"... {len(names) - MOST_LISTED} more ..."] if len(names) > MOST_LISTED else []
    return ", ".join([*names[:MOST_LISTED], *more])
