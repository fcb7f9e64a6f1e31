"""Places on the earth: latitude and longitude in degrees become kilometres east and north of their middle."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from konstrain.exceptions import FileError
from konstrain.tables.columns import Columns
from konstrain.tables.plan import ColumnPlan, Kind, TablePlan

# Kilometres of the mean radius of the earth.
RADIUS = 6371.0088
# Distances that the flat map makes longer by more than this part are told.
STRETCHED = 0.01


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


def plan_places(columns: Columns, names: Sequence[str]) -> TablePlan:
    """Plan to cluster by places alone, in kilometres; refuse what are no degrees.

    Parameters
    ----------
    columns : Columns
        The table.
    names : sequence of str
        The columns of latitude and longitude, in this order.
    """
    for name, most in zip(names, (90.0, 360.0), strict=True):
        if name in columns.texts:
            raise FileError(f"column {name!r} holds no numbers; --geo takes latitude and longitude in degrees")
        values = columns.number(name)
        wrong = np.flatnonzero(np.abs(values) > most)
        if wrong.size:
            raise FileError(
                f"row {wrong[0]}, column {name!r} is {values[wrong[0]]:g}, beyond {most:g} degrees; --geo takes "
                "latitude first, then longitude"
            )
    notes = [f"distances in kilometres, from latitude {names[0]!r} and longitude {names[1]!r}"]
    places = np.column_stack([columns.number(name) for name in names])
    known = places[~np.isnan(places).any(axis=1)]
    if len(known):
        notes += _words_for_stretch(float(np.linalg.norm(Kilometres().fit_transform(known), axis=1).max()))
    return TablePlan(tuple(ColumnPlan(name, Kind.PLACE) for name in names), False, notes=tuple(notes))


def _words_for_stretch(farthest: float) -> list[str]:
    """Say how wrong distances are at most, where that counts; `farthest` is the distance to the middle, in km."""
    angle = farthest / RADIUS
    stretch = angle / np.sin(angle) - 1 if angle else 0.0
    if stretch <= STRETCHED:
        return []
    words = f"places lie up to {farthest:,.0f} km from their middle: on a flat map distances out there are up to"
    return [f"{words} {stretch:.0%} too long"]
