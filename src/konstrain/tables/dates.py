"""Text that tells days: which way of writing a column has, and how many days that is."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

# The ways in which tables write days; `iso` takes times and time zones behind them. Where day and month could be
# either, the day stands first unless the month can only stand there.
ISO = "iso"
FORMATS = (ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%b %d, %Y", "%d %B %Y")
# For messages: how each looks.
LOOKS = {way: datetime(2024, 12, 31).strftime("%Y-%m-%d" if way == ISO else way) for way in FORMATS}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = 86_400.0
# The shortest way to write a day; anything shorter is a number or a word, though ISO knows 2024.
_SHORTEST = 8


def find_format(values: Iterable[str]) -> str | None:
    """Return the first way of writing days that fits every value, or None.

    Examples
    --------
    >>> find_format(["03/04/2024", "12/31/2023"]), find_format(["2024-01-31", "2024-02-01 10:30"])
    ('%m/%d/%Y', 'iso')
    >>> find_format(["yesterday"]) is None, find_format(["20240131"]) is None
    (True, True)
    """
    distinct = list(dict.fromkeys(values))
    if not distinct:
        return None
    return next((way for way in FORMATS if all(days_of(value, way) is not None for value in distinct)), None)


def days_of(value: str, way: str) -> float | None:
    """Return the days from 1970 on that a text tells, or None."""
    value = value.strip()
    if len(value) < _SHORTEST or value.isdigit():
        return None
    try:
        moment = datetime.fromisoformat(value) if way == ISO else datetime.strptime(value, way)
    except ValueError:
        return None
    # Without a time zone all are taken to be of one: only differences count.
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds() / _SECONDS


def day_of(days: float) -> str:
    """Return the day that a number of days from 1970 on is.

    Examples
    --------
    >>> day_of(19_753.4)
    '2024-01-31'
    """
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))


class Days(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns of text that tells days, as numbers of days; what tells none is NaN.

    Parameters
    ----------
    formats : sequence of str
        The way of writing of each column, as `find_format` returns it.
    """

    def __init__(self, formats: Sequence[str] = ()) -> None:
        self.formats = formats

    def fit(self, X: Any, y: Any = None) -> "Days":
        """Remember how many columns there are."""
        self.n_features_in_ = np.asarray(X, dtype=object).shape[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the days from 1970 on."""
        check_is_fitted(self)
        cells = np.asarray(X, dtype=object)
        found = np.full(cells.shape, np.nan)
        for j, way in enumerate(self.formats):
            known: dict[Any, float] = {}
            for i, value in enumerate(cells[:, j]):
                if value is None:
                    continue
                if value not in known:
                    days = days_of(value, way)
                    known[value] = np.nan if days is None else days
                found[i, j] = known[value]
        return found
