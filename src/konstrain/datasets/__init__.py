"""The papers' data sets by name, and each paper's way to draw links from their classes."""

from konstrain.datasets.catalogue import Entry
from konstrain.datasets.dataset import Dataset
from konstrain.datasets.load import available, describe, load, names
from konstrain.datasets.make import make_control_charts, make_gaussian_balls, make_half_rings, make_spirals
from konstrain.datasets.sampling import (
    LinkSample,
    flip_links,
    sample_babaki,
    sample_baumann,
    sample_ganji,
    sample_jia,
    sample_le,
)

__all__ = [
    "Dataset",
    "Entry",
    "LinkSample",
    "available",
    "describe",
    "flip_links",
    "load",
    "make_control_charts",
    "make_gaussian_balls",
    "make_half_rings",
    "make_spirals",
    "names",
    "sample_babaki",
    "sample_baumann",
    "sample_ganji",
    "sample_jia",
    "sample_le",
]
