"""Links drawn from true classes: one function for each paper's way, and wrong links."""

from konstrain.datasets.sampling.ganji import sample_ganji
from konstrain.datasets.sampling.jia import sample_jia
from konstrain.datasets.sampling.le import sample_le
from konstrain.datasets.sampling.link_sample import LinkSample
from konstrain.datasets.sampling.noise import flip_links
from konstrain.datasets.sampling.uniform import sample_babaki, sample_baumann

__all__ = ["LinkSample", "flip_links", "sample_babaki", "sample_baumann", "sample_ganji", "sample_jia", "sample_le"]
