"""Transformers of columns that scikit-learn has not: one scale, days from dates, kilometres from degrees."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from konstrain.scaling import column_blocks, scales_of


class OneScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Mean 0 and variance 1 for each column, also where no double holds the squares; constants become 0 exactly."""

    def fit(self, X: Any, y: Any = None) -> "OneScale":
        """Find unit, mean and spread of each column."""
        X = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        scales = [scales_of(columns) for _, columns in column_blocks(X)]
        self.unit_, self.mean_, self.spread_ = np.concatenate([np.zeros((3, 0)), *scales], axis=1)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns on their scale."""
        check_is_fitted(self)
        scaled: NDArray[np.float64] = (np.asarray(X, dtype=np.float64) / self.unit_ - self.mean_) / self.spread_
        return scaled


# The ways in which tables write days; `iso` takes times and time zones behind them. Where day and month could be
# either, the day stands first unless the month can only stand there.
ISO = "iso"
FORMATS = (ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%b %d, %Y", "%d %B %Y")
# A day in each format, for messages.
EXAMPLES = {way: datetime(2024, 12, 31).strftime("%Y-%m-%d" if way == ISO else way) for way in FORMATS}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS: Final = 86_400.0
# The shortest way to write a day; anything shorter is a number or a word, though ISO knows 2024.
_SHORTEST: Final = 8


def find_format(values: Iterable[str]) -> str | None:
    """Return the first way of writing days that fits every value, or None."""
    distinct = list(dict.fromkeys(values))
    if not distinct:
        return None
    return next((way for way in FORMATS if all(days_of(value, way) is not None for value in distinct)), None)


def days_of(value: str, way: str) -> float | None:
    """Return the days from 1970 on of a date, or None."""
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
    """Return the day that a number of days from 1970 on is."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(days)), "D"))


class Days(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns of dates as numbers of days; what is no date is NaN. `formats` has the `find_format` of each."""

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


# Kilometres of the mean radius of the earth.
RADIUS: Final = 6371.0088


class Kilometres(TransformerMixin, BaseEstimator):
    """Latitude and longitude as kilometres east and north of the middle of the rows that were fitted.

    The projection is azimuthal and equidistant: distances to the middle are exact, all others are too long by
    0.1% at 500 km from the middle and by 1% at 1,560 km, at most.
    """

    def fit(self, X: Any, y: Any = None) -> "Kilometres":
        """Find the middle: the mean direction, whatever side of the date line rows are on."""
        self.n_features_in_ = 2
        latitude, longitude = np.radians(np.asarray(X, dtype=np.float64)).T
        flat = np.cos(latitude)
        x, y_, z = (part.mean() for part in (flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)))
        self.middle_ = np.array([np.arctan2(z, np.hypot(x, y_)), np.arctan2(y_, x)])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the kilometres."""
        check_is_fitted(self)
        latitude, longitude = np.radians(np.asarray(X, dtype=np.float64)).T
        middle, turned = self.middle_[0], longitude - self.middle_[1]
        east = np.cos(latitude) * np.sin(turned)
        north = np.cos(middle) * np.sin(latitude) - np.sin(middle) * np.cos(latitude) * np.cos(turned)
        toward = np.sin(middle) * np.sin(latitude) + np.cos(middle) * np.cos(latitude) * np.cos(turned)
        sine = np.hypot(east, north)
        angle = np.arctan2(sine, toward)
        with np.errstate(invalid="ignore"):
            stretch = np.where(sine > 0, angle / sine, 1.0)
        return RADIUS * np.column_stack([east, north]) * stretch[:, None]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the two columns."""
        return np.array(PLACE_FEATURES, dtype=object)


PLACE_FEATURES = ("east (km)", "north (km)")
