"""Pieces of figures: what is drawn can be seen."""

import io

import numpy as np

from vendirl.show.figures import draw_learning_curve, draw_trajectories, new
from vendirl.show.transfer import curves
from vendirl.transfer.result import Row, Transfer


def test_a_curve_of_one_epoch_can_be_seen_on_an_axis_of_steps():
    figure, axes = new(2)
    draw_learning_curve(axes[0, 0], [12_800], np.array([[2.3, 2.5]]), 4.0)
    one, other = axes[0, 0].lines[:2]
    assert one.get_marker() == other.get_marker() == "o"
    low, high = axes[0, 0].get_xlim()
    assert low == 0
    assert high >= 12_800
    draw_learning_curve(axes[0, 1], [12_800, 25_600], np.array([2.3, 2.5]), 4.0)
    assert axes[0, 1].lines[0].get_linestyle() == "-"
    assert axes[0, 1].texts[0].get_position()[0] == axes[0, 1].get_xlim()[0] == 0  # the word is within the axes
    figure.draw_without_rendering()


def test_dollars_in_names_are_no_formulas():
    """What is no formula that Matplotlib knows ended a run, or a table that took hours, when its figure was saved."""
    figure, axes = new(1)
    draw_trajectories(axes[0, 0], np.zeros((2, 3, 2)), names=(r"$\nothing$", "a$_{$"))
    figure.savefig(io.BytesIO(), dpi=20)
    assert axes[0, 0].get_xlabel() == r"\$\nothing\$"
    row = Row(r"$\nothing$", "select", np.array([0]), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 1.0, None, 1.0, None)
    assert curves(Transfer("point", ("environment",), 4e2, 1, (row,), {}, {}, ())).startswith(b"\x89PNG")
