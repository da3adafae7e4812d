"""Environments that live outside compiled programs: many scenes at once, stepped by the host.

A `HostEnvironment` says what it is; `open` gives its `Scenes`, which hold the state. Scenes never reset of their own
accord: `step` returns the true successors, and whoever steps asks for resets, so that nothing of an episode is lost.
"""

from __future__ import annotations

import abc
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from vendirl.environments.spaces import Box, Discrete

Features = Float[np.ndarray, "E D"]
Actions = Float[np.ndarray, "E A"] | Int[np.ndarray, " E"]
Frames = UInt8[np.ndarray, "E H W 3"]
Result = TypeVar("Result")

PATIENCE = 1.0
"""Seconds that scenes have to end what they are doing when they are to be closed."""


class Step(NamedTuple):
    """What a step of E scenes brought: the true successors, where the episode ended for good, where it was cut off by
    the environment itself, and the environment's own rewards."""

    features: Features
    terminated: Bool[np.ndarray, " E"]
    truncated: Bool[np.ndarray, " E"]
    rewards: Float[np.ndarray, " E"]


class EnvironmentFailure(RuntimeError):  # noqa: N818 - what people see is the sentence, and it names the environment
    """An environment crashed, hung, or returned something that is not a number."""


class Scenes(abc.ABC):
    """E scenes of an environment."""

    @abc.abstractmethod
    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        """Begin new episodes in some of the scenes: (E, D), of which only the rows of those scenes mean anything."""

    @abc.abstractmethod
    def step(self, actions: Actions) -> Step:
        """Step all scenes by (E, A) or (E,) actions."""

    def reseed(self, seed: int) -> bool:
        """Be as new scenes of that seed from the next reset of all of them on: whether that can be done. Where it
        cannot, the scenes are closed and opened anew."""
        return False

    def frames(self) -> Frames:
        """A picture of each scene, where they were opened to be filmed."""
        raise EnvironmentFailure("it cannot be filmed")

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """End threads and processes."""

    def kill(self) -> None:
        """End threads and processes that do not answer, as far as that is possible."""
        self.close()


class HostEnvironment(abc.ABC):
    """An environment outside of compiled programs. It has the attributes of an `Environment`, and makes scenes.

    Attributes:
        name: as it is written after --env.
        episode_length: steps after which an episode is cut off.
        feature_names: all features, those that the policy sees first.
        visible: how many those are.
        actions: what a policy may do.
        timeout: seconds after which a step counts as hanging.
    """

    name: str
    episode_length: int
    feature_names: tuple[str, ...]
    visible: int
    actions: Discrete | Box
    timeout: float = 60.0
    differentiable = False

    @property
    def observation_size(self) -> int:
        return len(self.feature_names)

    @abc.abstractmethod
    def _open(self, scenes: int, seed: int) -> Scenes:
        """New scenes, of which nothing is expected but `reset`, `step` and `close`."""

    def _open_filmed(self, scenes: int, seed: int, width: int, height: int) -> Scenes:
        """New scenes that also give `frames` of that size."""
        raise ValueError(f"{self.name} cannot be filmed")

    def open(self, scenes: int, seed: int = 0, film: tuple[int, int] | None = None) -> Scenes:
        """New scenes that are watched: whatever goes wrong in them is an `EnvironmentFailure` that names them.

        `film` is the width and height of pictures, if the scenes are to be filmed.
        """
        if film is None:
            return Watched(lambda seed: self._open(scenes, seed), self, scenes, seed)
        return Watched(lambda seed: self._open_filmed(scenes, seed, *film), self, scenes, seed)

    def __repr__(self) -> str:
        return self.name


class Watched(Scenes):
    """Scenes whose steps run on a thread of their own, so that a step that never ends can be left behind, and whose
    results are looked at before anyone uses them."""

    def __init__(self, factory: Callable[[int], Scenes], environment: HostEnvironment, scenes: int, seed: int):
        self.factory, self.environment, self.count = factory, environment, scenes
        self._tasks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"scenes of {environment.name}", daemon=True)
        self._thread.start()
        self._ended = self._busy = False
        self._scenes: Scenes | None = None
        self._scenes = self._call("start", lambda: factory(seed))

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        features = self._call("reset", lambda: self._opened.reset(which))
        return self._checked("reset", features, which)

    def step(self, actions: Actions) -> Step:
        result = self._call("step", lambda: self._opened.step(actions))
        self._checked("step", result.features)
        if not np.isfinite(result.rewards).all():
            scene = int(np.flatnonzero(~np.isfinite(result.rewards))[0])
            self._fail(f"step returned the reward {result.rewards[scene]} in scene {scene}")
        return result

    def reseed(self, seed: int) -> bool:
        if not self._call("reseed", lambda: self._opened.reseed(seed)):
            old, self._scenes = self._opened, None
            self._call("close", old.close)
            self._scenes = self._call("start", lambda: self.factory(seed))
        return True

    def frames(self) -> Frames:
        return self._call("render", lambda: self._opened.frames())

    def close(self) -> None:
        """End the scenes: in good order, unless they do not come back from what they were asked last."""
        if self._ended:
            return
        if self._busy and not self._came_back(PATIENCE):  # whoever asked was interrupted
            self._abandon()
            return
        self._ended = True
        if self._scenes is not None:
            self._tasks.put(self._scenes.close)
        self._tasks.put(None)
        self._thread.join(5.0)

    @property
    def _opened(self) -> Scenes:
        assert self._scenes is not None  # since the factory has returned
        return self._scenes

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self._results.put((True, task()))
            except BaseException as error:
                self._results.put((False, error))

    def _call(self, method: str, task: Callable[[], Result]) -> Result:
        if self._ended:
            raise EnvironmentFailure(f"the scenes of {self.environment.name} have been closed")
        self._busy = True
        self._tasks.put(task)
        try:
            done, result = self._results.get(timeout=self.environment.timeout)
        except queue.Empty:
            self._abandon()
            self._fail(f"{method} did not return within {self.environment.timeout:g} s")
        self._busy = False
        if not done:
            if isinstance(result, EnvironmentFailure):
                self._fail(str(result))
            self._fail(f"{method} raised {type(result).__name__}: {result}", result)
        return result

    def _checked(
        self, method: str, features: np.ndarray, which: Bool[np.ndarray, " E"] | slice = slice(None)
    ) -> Features:
        expected = (self.count, self.environment.observation_size)
        if features.shape != expected:
            self._fail(f"{method} returned features of shape {features.shape}, not {expected}")
        if not np.isfinite(features[which]).all():
            scene, feature = np.argwhere(~np.isfinite(features))[0]
            name = self.environment.feature_names[feature]
            self._fail(f"{method} returned {features[scene, feature]} as {name} in scene {scene}")
        return features

    def _came_back(self, seconds: float) -> bool:
        """Wait for the thread to end its task."""
        try:
            self._results.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def _abandon(self) -> None:
        """End scenes that do not answer, and leave the thread to itself."""
        self._ended = True
        if self._scenes is not None:
            self._scenes.kill()
        self._tasks.put(None)

    def _fail(self, what: str, cause: BaseException | None = None) -> NoReturn:
        self.close()
        raise EnvironmentFailure(f"the environment {self.environment.name} failed: {what}") from cause
