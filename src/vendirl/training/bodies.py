"""What suits a kind of body: the settings of a run that was asked for by the name of its environment alone.

A row of the table says what skills of such a body are to differ in, how long an episode is, and how they are learned.
Whatever is asked for explicitly wins, and so does a published form of a method over how skills are learned. Worlds
that no row names, such as the paper's plane, keep the defaults of `Settings`.

Where the numbers come from:

- Similarity: speeds, since they say the same at every time of an episode, so that a reward comes at every step. In
  `mmd(scale=1)`, skills whose speeds differ by 2 m/s are nearly distinct (exp(-2) = 0.14), which leaves room for eight
  between the fastest ways to run backwards and forwards. A swimmer is ten times slower.
- Episodes of 100 steps (2 to 5 s): a skill is judged by its whole episode, and 100 steps say more per step than 1,000.
  Those who fall have 200, in which staying upright counts.
- A network for each skill (`separate`), little noise (`log_std`) and a discounted future (0.99, lambda 0.95, no
  entropy bonus): found on one seed of EnvPool's HalfCheetah (docs/bodies.md), where stepping is the cost, so that 64
  scenes and many updates are better than 256.
- Brax's bodies step in the compiled program, and have 256 scenes, PPO's learning rate of 1e-3 and a discount of 0.97:
  Brax's own examples train its bodies with 0.97 (Freeman et al., 2021). Its Ant was tried with these, an entropy bonus
  and 4 million steps (docs/bodies.md), which were too few.
- An Ant that is "unhealthy" has leapt. Nothing that skills are asked for forbids it, so episodes go on; contact
  forces, 78 numbers that are nearly always zero, are left out of what its policy sees.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from vendirl.algorithms import PPO
from vendirl.environments.registry import parse_text

_HOST = {
    "scenes": 64,
    "separate": True,
    "log_std": -1.0,
    "ppo": PPO(learning_rate=2e-3, discount=0.99, gae_lambda=0.95),
}
"""How skills of bodies are learned where stepping is the cost."""
_BRAX = {
    **_HOST,
    "scenes": 256,
    "ppo": PPO(learning_rate=1e-3, discount=0.97, gae_lambda=0.95),
}


@dataclasses.dataclass(frozen=True)
class Body:
    """A row of the table.

    Attributes:
        kind: in words.
        names: a pattern of the names of environments, suite and all.
        task: what is to be learned: similarity, episode_length, steps.
        learning: how: settings that are a published method's to choose, if there is one.
        world: settings of the environment itself.
    """

    kind: str
    names: str
    task: Mapping[str, Any]
    learning: Mapping[str, Any]
    world: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def _by(features: str, scale: float = 1, episode_length: int = 100, steps: float = 2.5e6) -> dict[str, Any]:
    return {"similarity": f"mmd(scale={scale:g}).on({features})", "episode_length": episode_length, "steps": steps}


_PLANAR, _TURNING = "x_velocity", "x_velocity, y_velocity"
_MUJOCO = "(envpool|gymnasium):"

BODIES = (
    Body("that runs", rf"{_MUJOCO}HalfCheetah-v\d+|playground:CheetahRun", _by(_PLANAR), _HOST),
    Body("that runs", r"envpool:CheetahRun-v\d+", _by("velocity_0"), _HOST),
    Body("that runs", "brax:halfcheetah", _by(_PLANAR, steps=5e6), _BRAX),
    Body(
        "that falls",
        rf"{_MUJOCO}(Walker2d|Hopper)-v\d+|playground:(Walker|Hopper)\w+",
        _by(_PLANAR, episode_length=200),
        _HOST,
    ),
    Body("that falls", r"envpool:Walker(Walk|Run|Stand)-v\d+", _by("velocity_1", episode_length=200), _HOST),
    Body("that falls", r"envpool:Hopper(Hop|Stand)-v\d+", _by("velocity_0", episode_length=200), _HOST),
    Body("that falls", "brax:(walker2d|hopper)", _by(_PLANAR, episode_length=200, steps=5e6), _BRAX),
    Body(
        "that crawls",
        r"envpool:Ant-v5",
        _by(_TURNING),
        _HOST,
        {"terminate_when_unhealthy": False, "use_contact_force": False},
    ),
    Body(
        "that crawls",
        r"gymnasium:Ant-v5",
        _by(_TURNING),
        _HOST,
        {"terminate_when_unhealthy": False, "include_cfrc_ext_in_observation": False},
    ),
    Body("that crawls", rf"{_MUJOCO}Ant-v\d+", _by(_TURNING), _HOST, {"terminate_when_unhealthy": False}),
    Body("that crawls", "brax:ant", _by(_TURNING, steps=7.5e6), _BRAX, {"terminate_when_unhealthy": False}),
    Body("that crawls", r"envpool:Quadruped(Walk|Run)-v\d+", _by("torso_velocity_0, torso_velocity_1"), _HOST),
    Body("that swims", rf"{_MUJOCO}Swimmer-v\d+", _by(_TURNING, scale=10), _HOST),
    Body("that swims", "brax:swimmer", _by(_TURNING, scale=10, steps=5e6), _BRAX, {"backend": "generalized"}),
    Body(
        "that walks upright",
        rf"{_MUJOCO}Humanoid-v\d+|playground:Humanoid(Walk|Run|Stand)",
        _by(_TURNING, episode_length=200),
        _HOST,
    ),
    Body(
        "that walks upright",
        r"envpool:Humanoid(Walk|Run|Stand)-v\d+",
        _by("com_velocity_0, com_velocity_1", episode_length=200),
        _HOST,
    ),
    Body("that walks upright", "brax:humanoid", _by(_TURNING, episode_length=200, steps=5e6), _BRAX),
)
"""The first row whose pattern fits the whole name counts."""


def body_of(name: str) -> Body | None:
    """The row of an environment, by its name without settings."""
    return next((body for body in BODIES if re.fullmatch(body.names, name)), None)


def world_of(env: str) -> str:
    """The text of an environment with those of its own settings that suit the body, where it does not say otherwise."""
    name, said = _read(env)
    body = body_of(name)
    added = {key: value for key, value in body.world.items() if key not in said} if body else {}
    if not added:
        return env
    inside = env.partition("(")[2].rstrip().removesuffix(")").strip().removesuffix(",")
    return f"{name}({', '.join([*filter(None, [inside]), *(f'{key}={value!r}' for key, value in added.items())])})"


def same_world(theirs: str, given: object) -> object:
    """What was given as the environment of a saved run, or the run's own text if it became that there."""
    return theirs if isinstance(given, str) and world_of(given) == theirs else given


def suits(env: str, learning: bool = True, separate: bool = True) -> dict[str, Any]:
    """The settings that suit the body of an environment, by name; none if no row has it.

    Args:
        env: its text.
        learning: with those that say how skills are learned.
        separate: whether each skill can have a network of its own.
    """
    name, said = _read(env)
    body = body_of(name)
    if body is None:
        return {}
    found = {**body.task, **(body.learning if learning else {})}
    return {
        key: value
        for key, value in found.items()
        if not (key == "separate" and not separate) and not (key == "episode_length" and key in said)
    }


def _read(env: str) -> tuple[str, dict[str, Any]]:
    """The name and settings in the text of an environment; nothing if it has no meaning, which is refused elsewhere."""
    try:
        return parse_text(env)
    except ValueError:
        return "", {}
