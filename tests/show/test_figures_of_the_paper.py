"""The paper's figures, drawn by one command each, show what the paper shows."""

import numpy as np
import pytest

from vendirl.show.figure2 import figure2
from vendirl.show.figure6 import draw_boundary, posterior
from vendirl.show.figures import new
from vendirl.training.beginning import begin
from vendirl.training.settings import Settings


@pytest.mark.usefixtures("optimised")
def test_figure_2_random_skills_overlap_and_trained_ones_do_not(tmp_path):
    """The paper's random skills score 2.646 of 8 and its trained ones 7.617."""
    scores = figure2(tmp_path / "figure2.png")
    assert scores["random skills"] < 4
    assert scores["trained skills"] >= 7.6
    assert (tmp_path / "figure2.png").stat().st_size > 20_000


def test_figure_6_draws_what_the_discriminator_believes():
    skills = begin(Settings(method="diayn", skills=4, scenes=8))
    states = np.random.default_rng(0).uniform(size=(50, 2))
    q = posterior(skills, states)
    np.testing.assert_allclose(q.sum(-1), 1, rtol=1e-5)
    _, axes = new(1)
    draw_boundary(axes[0, 0], skills, points=20)
    assert axes[0, 0].images[0].get_array().shape == (20, 20, 4)
