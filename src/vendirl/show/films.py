"""Films of skills: one for each, and one of all of them side by side.

skill-0.mp4, skill-1.mp4, ...     each skill acting without noise, one episode
grid.mp4                          all at once
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from vendirl._files import atomically, drop_leftovers
from vendirl.environments.environment import Environment, State
from vendirl.environments.host import HostEnvironment
from vendirl.skills.host_rollout import Stage, acting
from vendirl.skills.policy import SkillPolicy
from vendirl.training.run import Run

Film = UInt8[np.ndarray, "T H W 3"]
Films = UInt8[np.ndarray, "n T H W 3"]
Goals = Int[Array, " n"] | Float[Array, "n d"]


def film(
    run: Run, skills: Sequence[int] | None = None, seed: int = 0, width: int = 320, height: int = 240, every: int = 1
) -> Films:
    """Pictures (n, T, height, width, 3) of skills (all if None) acting without noise for one episode.

    Args:
        seed: which of the run's seeds, counted from 0.
        every: take a picture after so many steps.
    """
    environment = run.environment
    chosen = np.arange(run.settings.skills) if skills is None else np.asarray(skills)
    goals = run.goals[jnp.asarray(chosen)]
    policy = run.skills_of(seed)
    if isinstance(environment, HostEnvironment):
        return _of_scenes(environment, policy, goals, (width, height), every)
    render = getattr(environment, "render", None)
    if render is None:
        raise ValueError(
            f"{run.settings.env} has no body to film; its trajectories are in figure.png and in `vendirl report`"
        )
    films = [render(states, width, height) for states in _played(environment, policy, goals, every)]
    return np.stack(films)


def _of_scenes(
    environment: HostEnvironment, policy: SkillPolicy, goals: Goals, size: tuple[int, int], every: int
) -> Films:
    """Pictures of one episode in each scene, which stays where it ended."""
    stage = Stage(environment, len(goals), 0, film=size)
    T = environment.episode_length
    noise = np.zeros((len(goals), T, getattr(environment.actions, "size", 1)), np.float32)
    pictures: list[UInt8[np.ndarray, "n H W 3"]] = []
    over, steps = np.zeros(len(goals), bool), itertools.count()
    last: UInt8[np.ndarray, "n H W 3"] | None = None

    def watch(ended: Bool[np.ndarray, " n"]) -> None:
        nonlocal last
        due = next(steps) % every == 0
        if not over.all() and (due or (ended & ~over).any()):
            now = stage.scenes.frames()
            last = now if last is None else np.where(over[:, None, None, None], last, now)
        over[ended] = True
        if due and last is not None:
            pictures.append(last)

    try:
        stage.roll(acting(policy, goals, deterministic=True), np.asarray(goals), noise, watch)
    finally:
        stage.close()
    return np.stack(pictures, 1)


def _played(environment: Environment, policy: SkillPolicy, goals: Goals, every: int) -> Iterator[list[State]]:
    """The states of each skill in an episode."""
    T = environment.episode_length

    def one(goal: Int[Array, ""] | Float[Array, " d"]) -> State:
        skill = policy.skill(goal)

        def step(
            carry: tuple[State, Bool[Array, ""]], elapsed: Int[Array, ""]
        ) -> tuple[tuple[State, Bool[Array, ""]], State]:
            state, over = carry
            new = environment.step(state, skill.mode(state.observation, elapsed / T), jax.random.key(0))
            state = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, new)  # stays where it ended
            return (state, over | new.terminated), state

        return jax.lax.scan(step, (environment.reset(jax.random.key(0)), jnp.array(False)), jnp.arange(T))[1]

    states = jax.jit(jax.vmap(one))(goals)
    for i in range(len(goals)):
        yield [jax.tree.map(lambda leaf, i=i, t=t: leaf[i, t], states) for t in range(0, T, every)]


def grid(frames: Films, gap: int = 4) -> UInt8[np.ndarray, "T height width 3"]:
    """All skills side by side, in rows, each in a frame of its colour in the figures."""
    from matplotlib.colors import to_rgb

    from vendirl.show.figures import colours

    n, T, H, W, _ = frames.shape
    columns = math.ceil(math.sqrt(n))
    rows = -(-n // columns)
    page = np.full((T, rows * (H + 2 * gap), columns * (W + 2 * gap), 3), 255, np.uint8)
    for i, colour in enumerate(colours(n)):
        y, x = (i // columns) * (H + 2 * gap), (i % columns) * (W + 2 * gap)
        page[:, y : y + H + 2 * gap, x : x + W + 2 * gap] = (255 * np.array(to_rgb(colour))).astype(np.uint8)
        page[:, y + gap : y + gap + H, x + gap : x + gap + W] = frames[i]
    return page


def write(frames: Film, path: str | Path, fps: float = 20.0) -> Path:
    """Write one film as mp4 (H.264, which browsers play)."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ImportError(f"films are written with imageio-ffmpeg: pip install 'vendirl[video]' ({error})") from None
    path = Path(path)
    H, W = (size - size % 2 for size in frames.shape[1:3])  # H.264 wants even sizes
    options = {"fps": fps, "codec": "libx264", "pix_fmt_out": "yuv420p", "macro_block_size": 1, "quality": 6}
    with atomically(path) as temporary:
        writer = imageio_ffmpeg.write_frames(str(temporary), (W, H), output_params=["-f", "mp4"], **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # JAX's of forks, after which ffmpeg runs and JAX does not
            writer.send(None)
        for frame in frames:
            writer.send(np.ascontiguousarray(frame[:H, :W]))
        writer.close()
    return path


def write_all(
    run: Run,
    folder: str | Path,
    seed: int = 0,
    width: int = 320,
    height: int = 240,
    fps: float = 20.0,
    every: int = 1,
) -> list[Path]:
    """Film all skills of a run, and write a film of each and the grid: the paths, the grid's last."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    drop_leftovers(folder, "skill-*.mp4", "grid.mp4")
    frames = film(run, None, seed, width, height, every)
    paths = [write(one, folder / f"skill-{i}.mp4", fps) for i, one in enumerate(frames)]
    return [*paths, write(grid(frames), folder / "grid.mp4", fps)]
