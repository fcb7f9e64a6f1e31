"""Sizes, demands, categories and shares: what the options say of them, and the columns they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from konstrain.cli.options import ConstraintOptions, names_in, shares_in, sizes_in


@dataclass(frozen=True)
class GivenBounds:
    """Bounds on sizes and shares, as arguments of the library; and the columns of what they bound."""

    demands: list[str]
    categories: list[str]
    bounds: dict[str, Any]

    def with_columns(self, column: Callable[[str], Any]) -> dict[str, Any]:
        """All arguments, `column` giving the values of a column by its name; None where there are none."""
        return {
            **self.bounds,
            "category": {name: column(name) for name in self.categories} or None,
            "demand": _demand(self.demands, column),
        }


def read_bounds(options: ConstraintOptions, n_clusters: int | None) -> GivenBounds:
    """Read what options say of sizes and shares, before any file is opened."""
    demands = names_in("--demand", options.demand)
    categories = names_in("--category", options.category)
    sizes = {
        name: sizes_in(f"--{name.replace('_', '-')}", getattr(options, name), n_clusters, len(demands))
        for name in ("size_min", "size_max")
    }
    shares = {
        name: shares_in(f"--{name.replace('_', '-')}", getattr(options, name), categories)
        for name in ("share_min", "share_max")
    }
    return GivenBounds(demands, categories, {**sizes, **shares, "share_tolerance": options.share_tolerance})


def _demand(names: Sequence[str], column: Callable[[str], Any]) -> Any:
    """What rows count: a column, or a table of several with their names."""
    if len(names) > 1:
        import polars as pl

        return pl.DataFrame({name: column(name) for name in names})
    return column(names[0]) if names else None
