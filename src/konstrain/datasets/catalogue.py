"""The data sets of the five papers: the shape of each, and the papers that use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from konstrain.datasets.dataset import Dataset

PAPERS = ("babaki", "baumann", "ganji", "jia", "le")


@dataclass(frozen=True)
class Entry:
    """Shape and classes that every copy of a data set must have.

    `class_sizes` is empty and `n_features` None where the papers and the collections leave them open.

    Examples
    --------
    >>> from konstrain.datasets import describe
    >>> entry = describe("iris")
    >>> entry.n_samples, entry.n_features, entry.class_sizes
    (150, 4, (50, 50, 50))
    """

    name: str
    n_samples: int
    n_features: int | None
    n_clusters: int
    class_sizes: tuple[int, ...]
    papers: tuple[str, ...]
    note: str

    def check(self, dataset: Dataset) -> Dataset:
        """Return the data set if it is the one meant here; otherwise raise an error that names the difference.

        Copies number the classes differently, so sizes are compared in the order of size.
        """
        found = (len(dataset.X), self.n_features and dataset.X.shape[1], dataset.n_clusters)
        meant = (self.n_samples, self.n_features, self.n_clusters)
        if found != meant:
            raise ValueError(
                f"{dataset.source} has (rows, features, classes) {found}, but {self.name} has {meant}; "
                "give this file another name or take another copy"
            )
        if self.class_sizes and sorted(dataset.class_sizes) != sorted(self.class_sizes):
            raise ValueError(
                f"{dataset.source} has classes of {dataset.class_sizes} rows, but {self.name} has "
                f"{self.class_sizes}; give this file another name or take another copy"
            )
        return dataset


def _entry(name: str, n_features: int | None, sizes: tuple[int, ...], papers: str, note: str = "") -> Entry:
    return Entry(name, sum(sizes), n_features, len(sizes), sizes, tuple(papers.split()), note)


# fmt: off
_LETTERS = (
    789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
    783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734,
)
# fmt: on
_HEART = "KEEL's copy, which Baumann used, has lost decimal points in feature 10; other copies have them"
_MONK = "KEEL's labels, which Baumann used, are those of the MONK-3 concept"
_ROUNDED = "KEEL's copy, which Baumann used, is rounded to 3 decimals"
_IONOSPHERE = f"{_ROUNDED} and has no constant second feature"
_GLASS = "the values of UCI; KEEL's copy, which Baumann used, differs (nearest rows up to 0.55 apart)"
_IRIS = "scikit-learn's copy; those of KEEL and UCI differ in a few values"
_LETTER = "Ganji took 600 rows of 3 letters without saying which: draw them with sample_classes(3, 200)"
_SUBSETS = "Le took 10 to 15 classes with as many rows each: draw them with sample_classes"
_HALF_RINGS = "generated; the paper does not say how many rows each ring has"

_ENTRIES = (
    _entry("appendicitis", 7, (85, 21), "baumann"),
    _entry("breast_cancer", 30, (212, 357), "baumann ganji"),
    _entry("breast_tissue", 9, (22, 21, 14, 15, 16, 18), "ganji"),
    _entry("bupa", 6, (145, 200), "baumann"),
    _entry("circles", 2, (150, 150), "baumann"),
    _entry("digits", 64, (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), ""),
    _entry("ecoli", 7, (143, 77, 2, 2, 35, 20, 5, 52), "baumann ganji"),
    _entry("gaussian_balls", 512, (50,) * 10, "le", "make_gaussian_balls with k = 10 and sigma = 0.1"),
    _entry("glass", 9, (70, 76, 17, 13, 9, 29), "baumann ganji", _GLASS),
    _entry("haberman", 3, (225, 81), "baumann"),
    _entry("half_rings", 2, (200, 200), "ganji", _HALF_RINGS),
    _entry("hayesroth", 4, (65, 64, 31), "baumann"),
    _entry("heart", 13, (150, 120), "baumann", _HEART),
    _entry("ionosphere", 33, (126, 225), "baumann ganji", _IONOSPHERE),
    _entry("iris", 4, (50, 50, 50), "babaki baumann ganji jia", _IRIS),
    _entry("led7digit", 7, (45, 37, 51, 57, 52, 52, 47, 57, 53, 49), "baumann"),
    _entry("letter", 16, _LETTERS, "ganji", _LETTER),
    _entry("mnist", 784, (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958), "le", _SUBSETS),
    _entry("monk2", 6, (204, 228), "baumann", _MONK),
    _entry("moons", 2, (150, 150), "baumann"),
    _entry("movement_libras", 90, (24,) * 15, "baumann"),
    _entry("newthyroid", 5, (150, 35, 30), "baumann"),
    _entry("optdigits", 64, (554, 571, 557, 572, 568, 558, 558, 566, 554, 562), ""),
    _entry("orl", None, (10,) * 40, "le", _SUBSETS),
    _entry("pendigits", 16, (1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055), ""),
    _entry("saheart", 9, (302, 160), "baumann", "Famhist: Present is 1, Absent is 0"),
    _entry("satimage", 36, (1533, 703, 1358, 626, 707, 1508), ""),
    _entry("sonar", 60, (111, 97), "baumann", _ROUNDED),
    _entry("soybean", 35, (10, 10, 10, 17), "babaki baumann jia"),
    _entry("spectfheart", 44, (55, 212), "baumann"),
    _entry("spiral", 2, (150, 150), "baumann"),
    _entry(
        "synthetic_control", 60, (100,) * 6, "ganji", "the paper calls it KDD; generated by the published formulas"
    ),
    _entry("tae", 5, (49, 50, 52), "baumann"),
    _entry("tic_tac_toe", 9, (332, 626), "jia", "x is 1, o is -1, blank is 0"),
    Entry("umist", 575, None, 20, (), ("le",), _SUBSETS),
    _entry("vehicle", 18, (218, 212, 217, 199), "baumann ganji"),
    _entry("wine", 13, (59, 71, 48), "babaki baumann ganji jia"),
    _entry("yale", None, (11,) * 15, "le", _SUBSETS),
    Entry("yaleb", 2414, None, 38, (), ("le",), _SUBSETS),
    _entry("yeast", 8, (463, 5, 35, 44, 51, 163, 244, 429, 20, 30), "ganji"),
    _entry("zoo", 16, (41, 20, 5, 13, 4, 8, 10), "baumann"),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})

# What papers and collections call some of them.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "hayes_roth": "hayesroth",
        "kdd": "synthetic_control",
        "monk_2": "monk2",
        "penbased": "pendigits",
        "wdbc": "breast_cancer",
    }
)


def find_entry(name: str) -> Entry | None:
    """Return the entry of a data set; capitals, blanks, hyphens and the papers' own names are understood."""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    return CATALOGUE.get(ALIASES.get(plain, plain))
