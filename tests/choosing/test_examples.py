"""What functions of `konstrain.choosing` return for small inputs."""

from konstrain.choosing.limits import for_number, least_clusters, most_clusters, shares_allow, with_numbers


def test_example_of_least_clusters():
    assert (least_clusters(10, size_max=4), least_clusters(10, cannot_link=[(0, 1), (1, 2), (0, 2)])) == (3, 3)


def test_example_of_most_clusters():
    assert (most_clusters(10, size_min=3), most_clusters(10)) == (3, 10)
    assert most_clusters(10, category=list("aaabbbbbbb"), share_min=0.2) == 3


def test_example_of_shares_allow():
    halves = {"category": ["F", "M", "F", "M"], "share_min": {"F": 0.5}, "share_max": {"F": 0.5}}
    assert [shares_allow(4, k, halves) for k in (1, 2, 3)] == [True, True, False]


def test_example_of_with_numbers():
    assert with_numbers(50, {"size_max": "12%", "size_min": None}) == {"size_max": 6.0}


def test_example_of_for_number():
    assert for_number(2, {"demand": [[1, 2], [3, 4]], "size_max": [4, 5]})["size_max"].tolist() == [[4, 5], [4, 5]]
