"""Metrics learned from links: one published way per file, all over features on one scale."""

from konstrain.link_metrics.diagonal import diagonal
from konstrain.link_metrics.evidence import Evidence
from konstrain.link_metrics.itml import itml
from konstrain.link_metrics.rca import rca

__all__ = ["Evidence", "diagonal", "itml", "rca"]
