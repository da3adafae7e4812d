"""`vendirl video`, for environments that a package of one's own registers."""

import subprocess

import pytest

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed (vendirl[video])")
pytest.importorskip("gymnasium", reason="gymnasium is not installed (vendirl[gymnasium])")

from vendirl.cli import main  # noqa: E402

WORLD = '''
import gymnasium
import numpy as np


class Dot(gymnasium.Env):
    """A white dot on black that moves by its action."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = np.zeros(1, np.float32)
        return self.place, {}

    def step(self, action):
        self.place = np.clip(self.place + 0.5 * action, -1, 1).astype(np.float32)
        return self.place, 0.0, False, False, {}

    def render(self):
        picture = np.zeros((48, 64, 3), np.uint8)
        picture[20:28, int(28 + 20 * self.place[0]) :][:, :8] = 255
        return picture


gymnasium.register("Dot-v0", entry_point=Dot, max_episode_steps=4)
'''


def test_an_environment_of_a_module_is_filmed(tmp_path, monkeypatch, capsys):
    package = tmp_path / "dotted"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "worlds.py").write_text(WORLD)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "run"
    asked = ["--env", "gymnasium:dotted.worlds:Dot-v0", "--similarity", "mmd(scale=1)", "--method", "random"]
    assert main(["train", *asked, "--skills", "2", "--scenes", "8", "--steps", "320", "--out", str(out)]) == 0
    assert main(["video", str(out)]) == 2
    assert "would import the module 'dotted.worlds'" in capsys.readouterr().err
    assert main(["video", str(out), "--trust"]) == 0
    assert "wrote 3 films" in capsys.readouterr().out
    films = sorted(path.name for path in (out / "videos").iterdir())
    assert films == ["grid.mp4", "skill-0.mp4", "skill-1.mp4"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(out / "videos" / "skill-1.mp4")]
    assert "64x48" in subprocess.run(command, capture_output=True, text=True).stderr
