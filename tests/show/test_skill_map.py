"""The map of many skills: alike ones are near, and figures of a thousand have neither a row nor a curve for each."""

import numpy as np
import pytest

from vendirl.show import figures
from vendirl.show.skill_map import MANY, draw_map, in_order, places


def clusters(n=90, kinds=3, seed=0):
    """A kernel matrix of skills of a few kinds, and their kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, kinds, n)
    x = 3 * np.stack([np.cos(2 * np.pi * kind / kinds), np.sin(2 * np.pi * kind / kinds)], -1)
    x = x + 0.1 * rng.normal(size=(n, 2))
    return np.exp(-np.linalg.norm(x[:, None] - x, axis=-1)), kind


def test_alike_skills_lie_near_each_other_and_others_do_not():
    K, kind = clusters()
    x = places(K)
    middles = np.stack([x[kind == k].mean(0) for k in range(3)])
    nearest = np.linalg.norm(x[:, None] - middles, axis=-1).argmin(1)
    np.testing.assert_array_equal(nearest, kind)
    changes = np.count_nonzero(np.diff(kind[in_order(K)]))
    assert 2 <= changes <= 3  # one kind after the other, of which one may begin and end the circle


def test_places_are_the_best_two_numbers_for_each_skill():
    """Of points in the plane, with the product as the kernel, they are the points, but for turns and reflections."""
    x = np.random.default_rng(1).normal(size=(20, 2))
    x -= x.mean(0)
    found = places(x @ x.T)
    np.testing.assert_allclose(found @ found.T, x @ x.T, atol=1e-10)
    assert places(np.ones((1, 1))).shape == (1, 2)
    assert np.isfinite(places(np.ones((2, 2)))).all()


@pytest.mark.parametrize("n", [8, 200])
def test_figures_of_few_and_of_many(n):
    K, _ = clusters(n)
    figure, axes = figures.new(3)
    figures.draw_kernel(axes[0, 0], K)
    figures.draw_spectrum(axes[0, 1], np.linalg.eigvalsh(K / n)[::-1])
    draw_map(axes[0, 2], K, np.linspace(0, 1, n))
    assert len(axes[0, 0].get_xticks()) == (0 if n > MANY else 8)
    assert len(axes[0, 1].patches) == (0 if n > MANY else n)
    shown = np.asarray(axes[0, 0].images[0].get_array())
    ordered = in_order(K) if n > MANY else np.arange(n)
    np.testing.assert_allclose(shown, K[ordered][:, ordered])
    figure.canvas.draw()
