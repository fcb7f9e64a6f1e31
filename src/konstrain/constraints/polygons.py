"""Areas as polygons: in kilometres, neighbours by their borders; needs geopandas (``pip install konstrain[geo]``)."""

from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# Which polygons are neighbours: those that share a border, or those that share at least a point.
RULES: Final = ("rook", "queen")


def import_geopandas() -> ModuleType:
    """Import geopandas, or raise with what to install."""
    try:
        import geopandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "polygons need geopandas; run: pip install 'konstrain[geo]'", name=error.name
        ) from None
    module: ModuleType = geopandas
    return module


def in_kilometres(areas: Any) -> Any:
    """Return polygons on a plane in kilometres: degrees by an equal-area projection around their middle."""
    west, south, east, north = areas.to_crs(4326).total_bounds
    middle = f"+lat_0={(south + north) / 2:.6f} +lon_0={(west + east) / 2:.6f}"
    return areas.to_crs(f"+proj=laea {middle} +datum=WGS84 +units=km")


def edges_from_polygons(areas: Any, rule: str = "rook") -> NDArray[np.int64]:
    """Return pairs of polygons that are neighbours, for `connectivity`.

    Needs the extra ``konstrain[geo]``.

    Parameters
    ----------
    areas : GeoDataFrame, GeoSeries or sequence of shapely polygons
        The polygons, one per row.
    rule : {"rook", "queen"}, default="rook"
        Whether neighbours share a border of some length, or at least a point.

    Returns
    -------
    ndarray of shape (n_edges, 2)
        Row numbers, the smaller one first.

    Examples
    --------
    >>> from shapely import box
    >>> edges_from_polygons([box(0, 0, 1, 1), box(1, 0, 2, 1), box(1, 1, 2, 2)]).tolist()
    [[0, 1], [1, 2]]
    >>> edges_from_polygons([box(0, 0, 1, 1), box(1, 0, 2, 1), box(1, 1, 2, 2)], "queen").tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is none of {', '.join(RULES)}")
    return shared_borders(areas, rule)[0]


def shared_borders(areas: Any, rule: str = "rook") -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the edges between polygons, and the border of each edge as a shapely geometry."""
    import_geopandas()
    import shapely

    polygons = polygons_of(areas)
    pairs = shapely.STRtree(polygons).query(polygons, predicate="intersects").T
    pairs = pairs[pairs[:, 0] < pairs[:, 1]].astype(np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    first, second = polygons[pairs[:, 0]], polygons[pairs[:, 1]]
    # The part of one outline that lies in the other polygon: also where the two overlap a little.
    borders = shapely.intersection(shapely.boundary(first), second)
    kept = shapely.length(borders) > 0 if rule == "rook" else np.full(len(pairs), True)
    return pairs[kept], borders[kept]


def polygons_of(areas: Any) -> NDArray[Any]:
    """Return polygons as an array of shapely geometries; raise for rows that have none."""
    import_geopandas()
    import shapely

    polygons = np.asarray(getattr(areas, "geometry", areas), dtype=object)
    bad = np.flatnonzero(shapely.is_missing(polygons) | shapely.is_empty(polygons))
    if bad.size:
        raise ValueError(f"row {bad[0]} has no polygon; fill it in or remove the row")
    bad = np.flatnonzero(shapely.get_dimensions(polygons) != 2)
    if bad.size:
        kind = polygons[bad[0]].geom_type
        raise ValueError(f"row {bad[0]} is a {kind}, and areas are polygons; of points give the coordinates")
    # Outlines that cross themselves have no intersections.
    valid: NDArray[Any] = shapely.make_valid(polygons)
    return valid
