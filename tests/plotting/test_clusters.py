"""Rows, centers and links: what is drawn, in which colour and style, and how much of it."""

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from scipy.sparse import csr_array

from konstrain.plotting import plot_clusters
from konstrain.plotting._style import BROKEN, COLORS, COLORS_ON_DARK, INK, MARKERS, RASTER_FROM

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]])
LABELS = [0, 0, 1, 1]


def lines(ax):
    return {c.get_label(): c for c in ax.collections if isinstance(c, LineCollection)}


def clouds(ax):
    return [c for c in ax.collections if isinstance(c, PathCollection)]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_rows_are_drawn_by_cluster_with_a_colour_and_a_mark_of_its_own(ax):
    assert plot_clusters(SQUARE, LABELS, ax=ax) is ax
    first, second = clouds(ax)
    np.testing.assert_array_equal(first.get_offsets(), SQUARE[:2])
    np.testing.assert_array_equal(second.get_offsets(), SQUARE[2:])
    assert to_hex(first.get_facecolor()[0]) != to_hex(second.get_facecolor()[0])
    assert len(first.get_paths()[0]) != len(second.get_paths()[0])


def test_kept_and_broken_links_differ_in_colour_width_and_a_cross(ax):
    plot_clusters(SQUARE, LABELS, must_link=[(0, 1), (0, 2)], cannot_link=[(1, 3), (2, 3), (0, 1)], ax=ax)
    drawn = lines(ax)
    assert {label: len(c.get_segments()) for label, c in drawn.items()} == {
        "1 must-link": 1,
        "1 must-link broken": 1,
        "1 cannot-link": 1,
        "2 cannot-links broken": 2,
    }
    np.testing.assert_array_equal(drawn["1 must-link broken"].get_segments()[0], SQUARE[[0, 2]])
    for label, collection in drawn.items():
        is_broken = "broken" in label
        assert to_hex(collection.get_color()[0]).upper() == (BROKEN if is_broken else INK).upper()
        assert (collection.get_linewidth()[0] > 1) == is_broken
    crosses = [c for c in clouds(ax) if to_hex(c.get_facecolor()[0]).upper() == BROKEN]
    middles = np.concatenate([c.get_offsets() for c in crosses])
    np.testing.assert_allclose(middles, [[2, 0], [4, 0.5], [0, 0.5]])
    assert legend(ax) == list(drawn)


def test_cannot_links_are_dashed_and_must_links_solid(ax):
    plot_clusters(SQUARE, LABELS, must_link=[(0, 1)], cannot_link=[(0, 2)], ax=ax)
    drawn = lines(ax)
    assert drawn["1 must-link"].get_linestyle()[0][1] is None
    assert drawn["1 cannot-link"].get_linestyle()[0][1] is not None


def test_lines_are_capped_and_the_legend_has_the_full_count(ax):
    X = np.random.default_rng(0).normal(size=(1_000, 2))
    pairs = np.arange(1_000).reshape(500, 2)
    plot_clusters(X, np.zeros(1_000, int), must_link=pairs, cannot_link=pairs, max_links=30, ax=ax)
    assert legend(ax) == ["500 must-links (30 drawn)", "500 cannot-links broken (30 drawn)"]
    kept = lines(ax)["500 must-links (30 drawn)"].get_segments()
    assert len(kept) == 30
    np.testing.assert_array_equal(kept[-1], X[[998, 999]])  # spread over all, not the first ones


def test_soft_links_count_like_hard_ones(ax):
    plot_clusters(SQUARE, LABELS, must_link=[(0, 1, np.inf), (0, 3, 0.5)], ax=ax)
    assert legend(ax) == ["1 must-link", "1 must-link broken"]


def test_many_rows_are_one_bitmap_of_small_faint_marks(ax):
    X = np.random.default_rng(0).normal(size=(RASTER_FROM, 2))
    labels = (X[:, 0] > 0).astype(int)
    plot_clusters(X, labels, ax=ax)
    (cloud,) = clouds(ax)
    assert cloud.get_rasterized()
    assert cloud.get_alpha() <= 1
    assert cloud.get_sizes()[0] < 5
    # Mixed, yet each row keeps the colour of its cluster.
    east = cloud.get_offsets()[:, 0] > 0
    assert len({to_hex(c) for c in cloud.get_facecolor()[east]}) == 1
    assert len({to_hex(c) for c in cloud.get_facecolor()}) == 2
    assert sorted(cloud.get_offsets()[:, 0]) == sorted(X[:, 0])


def test_clusters_are_named_at_their_centers_or_means(ax):
    centers = np.array([[0.0, 0.5], [4.0, 0.5]])
    plot_clusters(SQUARE, LABELS, centers=centers[::-1], ax=ax)
    assert [(t.get_text(), tuple(t.xy)) for t in ax.texts] == [("0", (4.0, 0.5)), ("1", (0.0, 0.5))]


def test_labels_may_be_words(ax):
    plot_clusters(SQUARE, ["east", "east", "west", "west"], centers=[[0.0, 0.0], [1.0, 1.0]], ax=ax)
    assert [(t.get_text(), tuple(t.xy)) for t in ax.texts] == [("east", (0.0, 0.5)), ("west", (4.0, 0.5))]


def test_more_columns_are_shown_by_main_components_and_sparse_rows_like_dense_ones(ax):
    X = np.random.default_rng(0).normal(size=(40, 5)) * [9, 3, 1, 1, 1]
    plot_clusters(X, np.arange(40) % 2, ax=ax)
    assert ax.get_xlabel().startswith("component 1 (")
    sparse = plot_clusters(csr_array(X), np.arange(40) % 2)
    for a, b in zip(clouds(ax), clouds(sparse), strict=True):
        np.testing.assert_allclose(np.abs(a.get_offsets()), np.abs(b.get_offsets()), atol=1e-8)


def test_distances_on_paper_are_distances_in_the_data_unless_one_direction_would_vanish(ax):
    assert plot_clusters(SQUARE, LABELS, ax=ax).get_aspect() == 1
    assert plot_clusters(SQUARE * [100, 1], LABELS).get_aspect() == "auto"
    valley = pl.DataFrame(SQUARE * [1, 100], schema=["east (km)", "north (km)"])
    assert plot_clusters(valley, LABELS).get_aspect() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "inconsistent numbers of samples"),
        ({"must_link": [(0, 9)]}, r"must_link\[0\] is \(0, 9\): row 9 does not exist"),
        ({"centers": [[0.0]]}, "centers have 1 columns, X has 2"),
        ({"max_links": -1}, "max_links must not be negative, got -1"),
        ({"X": [[np.nan, 0.0]] * 4}, "NaN"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_clusters(**{"X": SQUARE, "labels": LABELS} | arguments)


def test_dollars_in_names_are_no_formulas():
    X = pl.DataFrame({"$x_$": [0.0, 1.0, 9.0], "$": [0.0, 1.0, 9.0]})
    ax = plot_clusters(X, ["$a_$", "$a_$", "b"])
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == "$x_$"
    assert not any(text.get_parse_math() for text in (ax.xaxis.label, ax.yaxis.label, *ax.texts))


# Machado, Oliveira and Fernandes (2009): what is left of linear red, green and blue without one kind of cones.
MISSING_CONES = {
    "none": np.eye(3),
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colors, missing):
    """Colours in OKLab, times 100, where equal distances look about equally large: 2 is just noticed."""
    parts = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.transpose(MISSING_CONES[missing]), 0, 1)
    cones = linear @ np.transpose(
        [
            [0.41222147, 0.53633254, 0.05144599],
            [0.2119035, 0.68069955, 0.10739696],
            [0.08830246, 0.28171884, 0.6299787],
        ]
    )
    mixed = [
        [0.21045426, 0.79361779, -0.00407205],
        [1.9779985, -2.42859221, 0.45059371],
        [0.02590404, 0.78277177, -0.80867577],
    ]
    return 100 * np.cbrt(cones) @ np.transpose(mixed)


@pytest.mark.parametrize("missing", MISSING_CONES)
@pytest.mark.parametrize("colors", [COLORS, COLORS_ON_DARK], ids=["light", "dark"])
def test_twelve_clusters_have_colours_that_all_eyes_tell_apart(colors, missing):
    assert len(colors) >= 12
    assert np.gcd(len(colors), len(MARKERS)) == 1
    places = seen([*colors, BROKEN], missing)
    apart = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(len(places), 1)]
    assert apart.min() > (12 if missing == "none" else 6.5)
