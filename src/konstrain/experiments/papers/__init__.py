"""One file per paper: what it ran, what it published, what we run beside it; and two experiments of our own."""

from collections.abc import Mapping
from types import MappingProxyType

from konstrain.experiments.declare import Experiment
from konstrain.experiments.papers import (
    asking,
    babaki2014,
    baumann2020,
    ganji2016,
    jia2023,
    le2018,
    learned_metric,
    mantuano2026,
)

_ALL = tuple(
    paper.EXPERIMENT
    for paper in (
        *(baumann2020, babaki2014, ganji2016, jia2023, le2018, mantuano2026),
        *(asking, learned_metric),
    )
)

PAPERS: Mapping[str, Experiment] = MappingProxyType({experiment.name: experiment for experiment in _ALL})
