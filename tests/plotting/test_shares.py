"""Shares of groups beside their bounds."""

import pytest

from konstrain.plotting import plot_shares

LABELS, SEX = [0, 0, 0, 1, 1, 1], ["F", "M", "M", "F", "F", "F"]


def test_shares_outside_their_bounds_stand_out():
    ax = plot_shares(LABELS, SEX, share_min={"F": 0.3}, share_max={"F": 0.9})
    assert [text.get_text() for text in ax.get_yticklabels()] == ["F", "M"]
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["allowed", "1 outside the bounds"]


def test_several_attributes_have_a_line_per_value():
    ax = plot_shares(LABELS, {"sex": SEX, "age": [1, 2, 1, 2, 1, 2]}, share_tolerance=0.9)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["sex=F", "sex=M", "age=1", "age=2"]


def test_a_group_that_nobody_has_is_refused():
    with pytest.raises(ValueError, match="names 'X'"):
        plot_shares(LABELS, SEX, share_min={"X": 0.5})
