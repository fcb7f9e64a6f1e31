"""Columns of numbers that name rows or places and measure nothing: customer numbers, zip codes, row counters."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Words of a column's name that say that its numbers are names.
_NAMES_ROWS = {"id", "ids", "uuid", "guid", "index", "unnamed", "rowname", "rownames", "ssn", "isbn", "ean", "sku"}
_NAMES_PLACES = {"zip", "zipcode", "postcode", "postal", "plz", "phone", "telephone", "fax"}
# The same without a sign between the words: customerid, but not paid, grid or humid.
_JOINED = re.compile(
    r"(customer|client|user|person|patient|order|product|item|account|row|record|case|member|student|employee|store)id"
)
# This share of the values of an identifier differ.
NEARLY_ALL = 0.95
# Places are shared by many rows; fewer different ones may be codes that measure something.
FEWEST_PLACES = 20
# Whole numbers one after the other from 0 or 1, in so many rows or more, count the rows, whatever they are called.
FEWEST_COUNTED = 20


def looks_like_identifier(name: str, values: NDArray[Any]) -> bool:
    """Whether the numbers of a column are names: they are whole and nearly all different, and it is called so.

    Examples
    --------
    >>> ids = np.array([1017.0, 1004.0, 1011.0, 1023.0])
    >>> [looks_like_identifier(name, ids) for name in ("CustomerID", "customer_id", "paid", "Unnamed: 0")]
    [True, True, False, True]
    >>> looks_like_identifier("day", np.arange(100.0)), looks_like_identifier("id", ids + 0.5)
    (True, False)
    """
    values = values[~np.isnan(values)]
    if not values.size or (values != np.floor(values)).any():
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    n_different = np.unique(values).size
    if words & _NAMES_PLACES:
        return n_different > min(FEWEST_PLACES, NEARLY_ALL * values.size)
    if words & _NAMES_ROWS or _JOINED.fullmatch(name.lower()):
        return n_different >= NEARLY_ALL * values.size and n_different > 1
    return values.size >= FEWEST_COUNTED and _counts_rows(values)


def _counts_rows(values: NDArray[Any]) -> bool:
    return values[0] in (0, 1) and bool((np.diff(values) == 1).all())
