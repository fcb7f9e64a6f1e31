"""One file per paper: what it ran, what it published, what we run beside it."""

from collections.abc import Mapping
from types import MappingProxyType

from konstrain.experiments.declare import Experiment
from konstrain.experiments.papers import baumann2020

_ALL = (baumann2020.EXPERIMENT,)

PAPERS: Mapping[str, Experiment] = MappingProxyType({experiment.name: experiment for experiment in _ALL})
