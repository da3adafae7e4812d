"""A skill in NumPy: `action = policy(observation)`, also where JAX is not installed.

    x = clip((s - mean) scale, -10, 10), and where `timed` the fraction of the episode that has passed
    y = W_L f(... f(W_1 x + b_1) ...) + b_L                                   f: the activation

    normal      a = centre + half_width (y + σ ε)                             ε = 0, or noise
    squashed    a = centre + half_width tanh(μ + σ ε),  (μ, raw) = y,  log σ = -5 + 3.5 (tanh(raw) + 1)
    discrete    a = first + argmax(y + ε)

Continuous actions are clipped into the box from `low` to `high`, whose centre and half width those are; where an end is
infinite they are 0 and 1. This file and `policy_file` need NumPy alone.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
"""What may be between the layers, by name."""
KINDS = ("normal", "squashed", "discrete")
OPTIONAL = ("low", "high", "log_std")
"""Arrays that not all kinds have."""
LIMIT = 10.0
"""Normalised features are clipped to so many standard deviations."""


@dataclasses.dataclass(eq=False, repr=False)
class Policy:
    """One skill: NumPy in, NumPy out.

    >>> import vendirl as vr
    >>> policy = vr.load_policy("skill.npz")                  # doctest: +SKIP
    >>> action = policy(observation)                          # doctest: +SKIP

    Attributes:
        kind: normal, squashed or discrete; see above.
        activation: the name of f.
        layers: (W, b) of each layer, W as (outputs, inputs).
        mean, scale: mean and one over the standard deviation of the features that the skill sees, which are the first
            of all.
        features: the names of all features of an observation.
        episode_length: T, in steps.
        timed: whether the skill sees how much of the episode has passed.
        low, high: the ends of the action box; None where actions are discrete.
        log_std: log σ of normal actions, in half widths.
        first: the number of the first discrete action.
        shape: the shape of an action, if it is not a vector.
        env, skill: the environment and the skill that it was made from, in words.
    """

    kind: str
    activation: str
    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    mean: np.ndarray
    scale: np.ndarray
    features: Sequence[str]
    episode_length: int
    timed: bool
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    log_std: np.ndarray | None = None
    first: int = 0
    shape: tuple[int, ...] | None = None
    env: str = ""
    skill: str = ""

    def __post_init__(self) -> None:
        _check(self)
        self.steps = 0
        self._seen, self._known = len(self.mean), (len(self.mean), len(self.features))
        self._most = np.full(self._seen, LIMIT, np.float32)  # numbers would become arrays in every call
        self._least = -self._most
        self._bend = ACTIVATIONS[self.activation]
        # In float64, so that nothing is rounded but what was rounded in training.
        wide = [(np.ascontiguousarray(W.T, np.float64), b.astype(np.float64)) for W, b in self.layers]
        first, self._bias = wide[0]
        self._first = np.ascontiguousarray(first[: self._seen])
        self._time = first[-1] if self.timed else None
        self._rest = wide[1:]
        if self.low is not None and self.high is not None:
            finite = np.isfinite(self.low) & np.isfinite(self.high)
            low, high = np.where(finite, self.low, -1.0), np.where(finite, self.high, 1.0)
            self.centre, self.half_width = 0.5 * (low + high), 0.5 * (high - low)
        self._σ: Any = None if self.log_std is None else np.exp(self.log_std.astype(np.float64))
        self._box: Any = self.low, self.high

    def __call__(self, observation: Any, *, step: Any = None, noise: Any = None) -> np.ndarray | np.generic:
        """The likeliest action, within the bounds of the environment; with `noise`, one drawn as in training.

        Args:
            observation: of one scene, (D,), or of N, (N, D): all features, or those that the skill sees.
            step: how many steps of the episode have passed, a whole number or, for N scenes, (N,) of them. If None, the
                policy counts its calls since `reset` itself. From the end of an episode on, time stands still.
            noise: a generator of NumPy's, such as np.random.default_rng(0).

        Returns:
            (A,) or (N, A) in float32; for discrete actions a whole number, or (N,) of them.
        """
        x = self._normalised(observation)
        y = x.dot(self._first) + self._bias
        counted = step is None
        if counted:
            step = self.steps
        elif type(step) is not int or step < 0:
            step = _checked_step(step, x.shape[:-1])
        if self._time is not None:
            last = self.episode_length - 1
            if type(step) is int:
                y += self._time * ((step if step < last else last) / self.episode_length)
            else:
                y += np.multiply.outer(np.minimum(step, last) / self.episode_length, self._time)
        for W, b in self._rest:
            y = self._bend(y).dot(W) + b
        # One feature that is not a number makes all outputs so, and the first of them is found fastest.
        if (y[0] != y[0]) if y.ndim == 1 else np.isnan(y[:, 0]).any():
            where = np.argwhere(np.isnan(x))[0].tolist()
            raise ValueError(f"observation must be finite, but observation{where} is not a number")
        if noise is not None and not isinstance(noise, np.random.Generator):
            raise TypeError(
                f"noise must be a generator of NumPy's, such as np.random.default_rng(0), but is {_kind(noise)}"
            )
        self.steps += counted
        return self._discrete(y, noise) if self.kind == "discrete" else self._continuous(y, noise)

    def reset(self) -> None:
        """Begin an episode: the policy counts its steps from 0."""
        self.steps = 0

    def _normalised(self, observation: Any) -> np.ndarray:
        """(visible,) or (N, visible), clipped; what is no observation is refused."""
        x = observation
        if type(x) is not np.ndarray or x.dtype != np.float32:
            x = _numbers(x, "observation")
        if x.ndim not in (1, 2) or x.shape[-1] not in self._known:
            seen, all_ = self._known
            both = f"{seen}" if seen == all_ else f"{seen} that the skill sees, or of all {all_}"
            raise ValueError(f"observation must be a vector of the {both} features, or rows of such, not {x.shape}")
        if x.shape[-1] > self._seen:
            x = x[..., : self._seen]
        # As in training, in float32; the floor of the variance is in the scale already.
        x = (x - self.mean) * self.scale
        return np.minimum(np.maximum(x, self._least), self._most).astype(np.float64)

    def _continuous(self, y: np.ndarray, noise: np.random.Generator | None) -> np.ndarray:
        if self.kind == "squashed":
            A = y.shape[-1] // 2
            μ, raw = y[..., :A], y[..., A:]
            if noise is not None:
                μ = μ + np.exp(-5 + 3.5 * (np.tanh(raw) + 1)) * noise.standard_normal(μ.shape)
            y = np.tanh(μ)
        elif noise is not None:
            y = y + self._σ * noise.standard_normal(y.shape)
        action = self.centre + self.half_width * y
        low, high = self._box
        action = np.minimum(np.maximum(action, low), high).astype(np.float32)
        return action if self.shape is None else action.reshape(*action.shape[:-1], *self.shape)

    def _discrete(self, y: np.ndarray, noise: np.random.Generator | None) -> np.ndarray | np.generic:
        return self.first + np.argmax(y if noise is None else y + noise.gumbel(size=y.shape), -1)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy as name.npz for `vr.load_policy`, or as name.onnx (see `onnx_file`), whole or not at all.
        A policy that is there is replaced; another npz file, such as one of skill data, is not."""
        from vendirl.skills import onnx_file, policy_file

        path = Path(path)
        writers = {".npz": policy_file.write, ".onnx": onnx_file.write}
        if path.suffix not in writers:
            raise ValueError(f"a policy is written as name.npz or name.onnx, but the path is {path}")
        writers[path.suffix](self, path)
        return path

    @property
    def actions(self) -> int:
        """How many numbers an action has; of discrete actions, how many there are."""
        outputs = len(self.layers[-1][1])
        return outputs // 2 if self.kind == "squashed" else outputs

    def __repr__(self) -> str:
        acts = f"one of {self.actions} actions" if self.kind == "discrete" else f"{self.actions} numbers"
        seen, all_ = self._known
        sees = f"{seen} features" if seen == all_ else f"{seen} of {all_} features"
        skill, env = (repr(text[:200])[1:-1] for text in (self.skill, self.env))  # a file may say what it likes
        return f"Policy of skill {skill} in {env}: {sees}{' and time' if self.timed else ''} -> {acts}"


def _check(policy: Policy) -> None:
    """Refuse what is no policy, whoever wrote it."""
    if policy.kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, but is {policy.kind[:80]!r}")
    if policy.activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, but is {policy.activation[:80]!r}")
    if policy.episode_length < 1 or not policy.layers:
        raise ValueError("an episode must have a step or more, and a network a layer or more")
    visible, all_ = policy.mean.size, len(policy.features)
    if not 1 <= visible <= all_:
        raise ValueError(f"mean must have a number for each feature that is seen, of {all_}, but has {visible}")
    given: dict[str, np.ndarray] = {"mean": policy.mean, "scale": policy.scale}
    wanted: dict[str, tuple[int, ...]] = {"mean": (visible,), "scale": (visible,)}
    inputs = visible + policy.timed
    for i, (W, b) in enumerate(policy.layers):
        given |= {f"weight_{i}": W, f"bias_{i}": b}
        wanted |= {f"weight_{i}": (b.size, inputs), f"bias_{i}": (b.size,)}
        inputs = b.size
    if inputs < 1 or (policy.kind == "squashed" and inputs % 2):
        raise ValueError(f"the last layer has {inputs} outputs, which make no {policy.kind} action")
    theirs = {"normal": OPTIONAL, "squashed": ("low", "high"), "discrete": ()}[policy.kind]
    for name in OPTIONAL:
        x = getattr(policy, name)
        if (x is not None) != (name in theirs):
            raise ValueError(
                f"{name} is {'not for' if x is not None else 'missing, and needed for'} {policy.kind} actions"
            )
        if x is not None:
            given, wanted = given | {name: x}, wanted | {name: (policy.actions,)}
    for name, x in given.items():
        if x.shape != wanted[name]:
            raise ValueError(f"{name} must have shape {wanted[name]}, but has {x.shape}")
        if np.isnan(x).any() or (name not in ("low", "high") and np.isinf(x).any()):
            raise ValueError(f"{name} has numbers that are not finite")
    if not (policy.scale > 0).all() or (policy.low is not None and not (policy.low <= policy.high).all()):
        raise ValueError("scale must be positive, and low at most high")
    ends = [np.abs(x[np.isfinite(x)]) for x in (policy.low, policy.high) if x is not None]
    if any((x > np.finfo(np.float32).max).any() for x in ends):
        raise ValueError("low and high must be numbers of float32, as actions are")
    if (
        policy.low is not None
        and policy.high is not None
        and not (policy.low < np.inf).all() & (policy.high > -np.inf).all()
    ):
        raise ValueError("low must be less than infinity, and high more than minus infinity")
    wrong = policy.shape is not None and (min(policy.shape, default=1) < 1 or math.prod(policy.shape) != policy.actions)
    if policy.shape is not None and (policy.kind == "discrete" or wrong):
        raise ValueError(f"shape must be that of {policy.actions} numbers, but is {str(policy.shape)[:80]}")


def _numbers(x: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} must be an array of numbers, but its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        what = f"has type {array.dtype}" if array.dtype.kind != "O" else f"is {_kind(x)}"
        raise TypeError(f"{name} must be an array of real numbers, but {what}")
    return array.astype(np.float32)


def _checked_step(step: Any, scenes: tuple[int, ...]) -> np.ndarray | int:
    steps = np.asarray(step)
    if steps.dtype.kind not in "iu" or steps.shape not in ((), scenes) or (steps < 0).any():
        each = f", or {scenes[0]} of them" if scenes else ""
        raise ValueError(f"step must be a whole number of at least 0{each}, but is {str(step)[:80]}")
    return steps if steps.ndim else int(steps)


def _kind(x: Any) -> str:
    return f"a {type(x).__name__}"
