"""Films of skills: pictures of the right body, written so that a browser plays them."""

import subprocess

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed (vendirl[video])")
pytest.importorskip("envpool", reason="envpool is not installed (vendirl[envpool])")

import imageio_ffmpeg

import vendirl as vr
from vendirl.environments import Box, Environment, EnvironmentFailure, HostEnvironment, Scenes, State, Step
from vendirl.show import films as video
from vendirl.show.report.of_run import videos
from vendirl.training.beginning import begin
from vendirl.training.problem import Objects

SMALL = {"similarity": "mmd(scale=1).on(x_velocity)", "skills": 3, "scenes": 8, "steps": 400, "method": "random"}


def filmed(run, **settings):
    try:
        return video.film(run, width=64, height=48, **settings)
    except (EnvironmentFailure, RuntimeError) as error:
        if any(word in str(error) for word in ("GL", "render", "display")):
            pytest.skip(f"nothing can be drawn here without a screen: {error}")
        raise


@pytest.mark.parametrize("suite", ["envpool", "gymnasium"])
def test_a_body_is_filmed_as_it_moves(suite):
    run = vr.train(f"{suite}:HalfCheetah-v5(episode_length=6)", **SMALL)
    frames = filmed(run, skills=[0, 2])
    assert frames.shape == (2, 6, 48, 64, 3)
    assert frames.dtype == np.uint8
    assert frames.std() > 10  # something is to be seen
    assert np.abs(np.diff(frames.astype(int), axis=1)).max() > 10  # and it moves


def test_what_has_no_body_says_so():
    run = vr.train("point", skills=2, scenes=8, steps=400, method="random")
    with pytest.raises(ValueError, match="no body to film"):
        video.film(run)


def test_a_grid_holds_every_skill_in_its_frame():
    frames = np.zeros((5, 2, 8, 10, 3), np.uint8)
    frames += np.arange(5, dtype=np.uint8)[:, None, None, None, None]
    page = video.grid(frames, gap=1)
    assert page.shape == (2, 2 * 10, 3 * 12, 3)
    for i in range(5):
        y, x = (i // 3) * 10, (i % 3) * 12
        assert (page[:, y + 1 : y + 9, x + 1 : x + 11] == i).all()


def test_films_are_mp4_that_browsers_play(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (12, 49, 63, 3), np.uint8)
    path = video.write(frames, tmp_path / "skill-0.mp4", fps=24)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)]
    told = subprocess.run(command, capture_output=True, text=True).stderr
    assert "h264" in told
    assert "yuv420p" in told
    assert "62x48" in told
    assert [one["skill"] for one in videos(tmp_path)] == []
    (tmp_path / "videos").mkdir()
    path.rename(tmp_path / "videos" / "skill-0.mp4")
    (shown,) = videos(tmp_path)
    assert shown["skill"] == 0
    assert shown["src"].startswith("data:video/mp4;base64,")


def test_films_are_written_through_no_link_and_leave_nothing_behind(tmp_path):
    (tmp_path / "precious").write_text("precious")
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in (".skill-0.mp4", "skill-0.mp4"):
        (folder / name).symlink_to(tmp_path / "precious")
    video.write(np.zeros((2, 16, 16, 3), np.uint8), folder / "skill-0.mp4")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (folder / "skill-0.mp4").is_symlink()
    assert {path.name for path in folder.iterdir()} == {".skill-0.mp4", "skill-0.mp4"}


class Lamp(Environment):
    """A lamp that grows brighter with every step, and goes out for good after three of them."""

    episode_length: int = 6
    observation_size: int = 1
    feature_names: tuple[str, ...] = ("light",)
    actions: Box = Box(1)

    def reset(self, key):
        return self._state(jnp.zeros(1))

    def step(self, state, action, key):
        return self._state(state.physics + 1)

    def _state(self, x):
        return State(physics=x, observation=x, terminated=x[0] >= 3, reward=jnp.array(0.0))

    def render(self, states, width, height):
        return np.stack([np.full((height, width, 3), 10 * state.physics[0], np.uint8) for state in states])


@pytest.mark.parametrize(("every", "light"), [(1, [10, 20, 30, 30, 30, 30]), (2, [10, 30, 30])])
def test_a_world_in_jax_is_filmed_to_its_end_and_stays_there(every, light):
    run = begin(vr.Settings(method="random", skills=2, scenes=8), objects=Objects(environment=Lamp()))
    frames = video.film(run, skills=[1], width=6, height=4, every=every)
    assert frames.shape == (1, len(light), 4, 6, 3)
    assert frames[0, :, 0, 0, 0].tolist() == light


class HostLamp(HostEnvironment):
    """Lamps outside of JAX that grow brighter with every step and go out after three or more of them."""

    name, feature_names, visible, actions, episode_length = "lamps", ("light",), 1, Box(1), 6

    def _open_filmed(self, scenes, seed, width, height):
        return _Lamps(scenes, width, height)

    def _open(self, scenes, seed):
        return _Lamps(scenes, 1, 1)


class _Lamps(Scenes):
    def __init__(self, scenes, width, height):
        self.light, self.ends, self.size = np.zeros(scenes, np.float32), 3 + 4 * np.arange(scenes), (height, width)

    def reset(self, which):
        self.light[which] = 0
        return self.light[:, None].copy()

    def step(self, actions):
        self.light += 1
        never = np.zeros(len(self.light), bool)
        return Step(self.light[:, None].copy(), self.light >= self.ends, never, np.zeros_like(self.light))

    def frames(self):
        return np.broadcast_to(10 * self.light[:, None, None, None], (len(self.light), *self.size, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("every", "light"),
    [
        (1, [[10, 20, 30, 30, 30, 30], [10, 20, 30, 40, 50, 60]]),
        (2, [[10, 30, 30], [10, 30, 50]]),
        (4, [[10, 30], [10, 50]]),  # the end is between two pictures
    ],
)
def test_scenes_outside_of_jax_are_filmed_to_their_ends_and_stay_there(every, light):
    run = begin(vr.Settings(method="random", skills=2, scenes=8), objects=Objects(environment=HostLamp()))
    assert video.film(run, width=6, height=4, every=every)[..., 0, 0, 0].tolist() == light
