"""Metrics learned from links: three published ways, all over features on one scale."""

from konstrain.link_metrics.learning import Evidence, diagonal, itml, rca

__all__ = ["Evidence", "diagonal", "itml", "rca"]
