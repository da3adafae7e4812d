"""Brax: the classic locomotion environments, simulated in JAX."""

import contextlib
import functools
import inspect
import io
from types import ModuleType
from typing import Any

import jax

from vendirl.environments.lengths import Steps
from vendirl.environments.suites.bodies import loading
from vendirl.environments.suites.simulation import InGraph, Simulation, quiet, suggestion

_BACKENDS = ("spring", "generalized", "positional", "mjx")


class BraxEnvironment(InGraph):
    """An environment of Brax's, such as "ant" (`pip install 'vendirl[brax]'`)."""

    def __init__(self, name: str, episode_length: Steps | None = None, backend: str = "spring", **settings: Any):
        """
        Args:
            name: as Brax has it.
            episode_length: steps after which an episode is cut off; None for Brax's usual 1,000.
            backend: the physics, one of "spring" (the fastest), "generalized", "positional" and "mjx".
            settings: anything else that the environment is made with, such as healthy_z_range=(0.3, 1.0).
        """
        kind = _kind(name)
        known = _arguments(kind)
        for setting in settings:
            if known and setting not in known:
                raise ValueError(f"Brax's {name} has no setting {setting!r}. {suggestion(setting, known)}")
        if backend not in _BACKENDS:
            raise ValueError(f"backend={backend!r} must be one of {', '.join(_BACKENDS)}.")
        length = 1000 if episode_length is None else episode_length
        super().__init__(name, {**settings, "backend": backend}, length)

    @property
    def simulation(self) -> Simulation:
        return _load(self.name, self.settings)


def ids() -> list[str]:
    """All that Brax has."""
    return sorted(key for key in _library()._envs if key != "fast")  # a dummy for Brax's own tests


def _library() -> ModuleType:
    try:
        with quiet():
            from brax import envs
    except ImportError as error:
        raise ImportError(f"Brax is not installed ({error}); use: pip install 'vendirl[brax]'") from None
    return envs


def _kind(name: str) -> type:
    if name not in ids():
        raise ValueError(f"Brax has no environment {name!r}. {suggestion(name, ids())}")
    return _library()._envs[name]


def _arguments(kind: type) -> list[str]:
    """What an environment of this kind is made with, its own and what all of Brax's are, but for the backend."""
    own = inspect.signature(kind).parameters.values()
    named = [p.name for p in own if p.kind is not p.VAR_KEYWORD and p.name != "backend"]
    return [*named, "n_frames", "debug"] if len(named) + 1 < len(own) else named


@functools.cache
def _load(name: str, settings: tuple[tuple[str, Any], ...]) -> Simulation:
    library = _library()
    try:
        with loading(), contextlib.redirect_stdout(io.StringIO()):
            with jax.ensure_compile_time_eval():  # in case that others are tracing
                world = library.get_environment(name, **dict(settings))
            return Simulation(
                world.reset,
                world.step,
                world.action_size,
                quantities=_quantities,
                model=world.sys.mj_model,
                bodies=world.sys.link_names,
            )
    except (ValueError, TypeError, AttributeError, NotImplementedError) as error:
        chosen = ", ".join(f"{key}={value!r}" for key, value in settings)
        reason = str(error).splitlines()[0]
        raise ValueError(f"Brax's {name} does not run with {chosen} and JAX {jax.__version__}: {reason}") from error


def _quantities(state: Any) -> dict[str, Any]:
    physics = state.pipeline_state
    return {"qpos": physics.q, "qvel": physics.qd, "xpos": physics.x.pos}
