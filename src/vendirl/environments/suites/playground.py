"""MuJoCo Playground: the DeepMind Control Suite, walking robots and manipulation, simulated by MJX."""

import contextlib
import functools
import io
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import jax

from vendirl.environments.lengths import Steps
from vendirl.environments.suites.bodies import loading
from vendirl.environments.suites.simulation import InGraph, Simulation, quiet, suggestion


class PlaygroundEnvironment(InGraph):
    """An environment of MuJoCo Playground's, such as "CheetahRun" (`pip install 'vendirl[playground]'`)."""

    def __init__(self, name: str, episode_length: Steps | None = None, **settings: Any):
        """
        Args:
            name: as Playground has it.
            episode_length: steps after which an episode is cut off; None for Playground's own, mostly 1,000.
            settings: entries of Playground's configuration, such as ctrl_dt=0.02. `impl`, the implementation of the
                physics, is "jax" unless it is given: Playground's own choice, "warp", needs a CUDA device.
        """
        known = _configuration(name)
        for setting in settings:
            if setting not in known:
                raise ValueError(f"Playground's {name} has no setting {setting!r}. {suggestion(setting, list(known))}")
        settings = {"impl": "jax", **settings} if "impl" in known else settings
        if episode_length is not None:
            settings["episode_length"] = episode_length
        super().__init__(name, settings, settings.get("episode_length", known["episode_length"]))

    @property
    def simulation(self) -> Simulation:
        return _load(self.name, self.settings)


def ids() -> list[str]:
    """All that Playground has."""
    return sorted(_library().registry.ALL_ENVS)


def _library() -> ModuleType:
    try:
        with quiet():
            import mujoco_playground
    except ImportError as error:
        raise ImportError(
            f"MuJoCo Playground is not installed ({error}); use: pip install 'vendirl[playground]'"
        ) from None
    return mujoco_playground


@runtime_checkable
class _Table(Protocol):
    """Settings by name, such as Playground's ConfigDict, which is no Mapping."""

    def items(self) -> Iterable[tuple[str, Any]]: ...


def _configuration(name: str) -> dict[str, Any]:
    """The settings of the environment called `name`, those of settings with a dot between."""
    registry = _library().registry
    if name not in registry.ALL_ENVS:
        raise ValueError(
            f"MuJoCo Playground has no environment {name!r}. {suggestion(name, sorted(registry.ALL_ENVS))}"
        )

    def flat(config: _Table, prefix: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in config.items():
            found.update(flat(value, f"{prefix}{key}.") if isinstance(value, _Table) else {prefix + key: value})
        return found

    return flat(registry.get_default_config(name))


@functools.cache
def _load(name: str, settings: tuple[tuple[str, Any], ...]) -> Simulation:
    library = _library()
    _check_assets(library, name)
    usual = _configuration(name)
    chosen = {key: list(value) if isinstance(usual[key], list) else value for key, value in settings}
    with loading(), contextlib.redirect_stdout(io.StringIO()):
        with jax.ensure_compile_time_eval():  # in case that others are tracing
            world = library.registry.load(name, config_overrides=chosen)
        model = world.mj_model
        return Simulation(
            world.reset,
            world.step,
            world.action_size,
            quantities=_quantities,
            model=model,
            bodies=[model.body(body).name for body in range(model.nbody)],
        )


def _quantities(state: Any) -> dict[str, Any]:
    return {name: getattr(state.data, name) for name in ("qpos", "qvel", "xpos", "xmat", "sensordata")}


def _check_assets(library: ModuleType, name: str) -> None:
    """Robots other than the Control Suite's are in a repository that Playground clones when it loads one of them, if it
    is not there. Nobody asked for that, and without a network it fails late."""
    from mujoco_playground._src import mjx_env

    if name not in library.dm_control_suite.ALL_ENVS and not mjx_env.MENAGERIE_PATH.exists():
        raise FileNotFoundError(
            f"{name} needs the robots of MuJoCo Menagerie, which are not part of Playground, and nothing is downloaded "
            f"unasked; with a network, fetch them once by: python -c 'from mujoco_playground._src import mjx_env; "
            f"mjx_env.ensure_menagerie_exists()'"
        )
