"""What functions of `konstrain.datasets` return for small inputs."""

from konstrain.datasets.catalogue import find_entry
from konstrain.datasets.dataset import number_classes


def test_example_of_find_entry():
    assert (find_entry("Movement Libras").n_clusters, find_entry("WDBC").name) == (15, "breast_cancer")


def test_example_of_number_classes():
    assert (number_classes(["10", "9", "10"]).tolist(), number_classes(["van", "bus"]).tolist()) == (
        [1, 0, 1],
        [1, 0],
    )
