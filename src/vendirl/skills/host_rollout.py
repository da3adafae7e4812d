"""Acting in an environment outside of compiled programs, and writing down what happened: `rollout` for many scenes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from vendirl._programs import Recent
from vendirl.environments.host import HostEnvironment, Scenes
from vendirl.skills.policy import AnyArray, SkillPolicy
from vendirl.skills.policy import noise as draw_noise
from vendirl.skills.rollout import Transition

Actions = Float[np.ndarray, "E A"] | Int[np.ndarray, " E"]
Act = Callable[
    [Float[np.ndarray, "E D"], Float[np.ndarray, " E"], Float[np.ndarray, "E A"]],
    tuple[Actions, Float[np.ndarray, " E"]],
]
"""(observations, times, noise) of all scenes -> (actions, log_probs)."""


class Stage:
    """Scenes with where they are: the features they show, and the steps of their episodes that have passed."""

    def __init__(self, environment: HostEnvironment, count: int, seed: int, film: tuple[int, int] | None = None):
        self.environment, self.count = environment, count
        self.scenes: Scenes = environment.open(count, seed, film)
        self.restart()

    def restart(self, seed: int | None = None) -> None:
        """Begin new episodes in all scenes; with a seed, those of new scenes of that seed."""
        if seed is not None:
            self.scenes.reseed(seed)
        self.features: Float[np.ndarray, "E D"] = self.scenes.reset(np.ones(self.count, bool))
        self.elapsed: Int[np.ndarray, " E"] = np.zeros(self.count, np.int32)

    def roll(
        self,
        act: Act,
        skill: Int[np.ndarray, " E"] | Float[np.ndarray, "E d"],
        noise: Float[np.ndarray, "E steps A"],
        watch: Callable[[Bool[np.ndarray, " E"]], None] | None = None,
    ) -> Transition:
        """Continue all scenes for as many steps as there is noise for, as `rollout` does for one.

        `watch` is called after each step with the scenes whose episodes it ended, before they begin anew.
        """
        T, (E, steps) = self.environment.episode_length, noise.shape[:2]
        D = self.environment.observation_size
        observation, successor = np.empty((E, steps, D), np.float32), np.empty((E, steps, D), np.float32)
        time, later = np.empty((E, steps), np.float32), np.empty((E, steps), np.float32)
        log_prob, reward = (np.empty((E, steps), np.float32) for _ in range(2))
        terminated, truncated = np.zeros((E, steps), bool), np.zeros((E, steps), bool)
        actions: list[Actions] = []
        for t in range(steps):
            observation[:, t], time[:, t] = self.features, self.elapsed / T
            action, log_prob[:, t] = act(self.features, time[:, t], noise[:, t])
            actions.append(action)
            step = self.scenes.step(action)
            self.features = step.features
            self.elapsed += 1
            successor[:, t], later[:, t], reward[:, t] = self.features, self.elapsed / T, step.rewards
            terminated[:, t] = step.terminated
            truncated[:, t] = (step.truncated | (self.elapsed >= T)) & ~step.terminated
            ended = terminated[:, t] | truncated[:, t]
            if watch is not None:
                watch(ended)
            if ended.any():
                self.features = np.where(ended[:, None], self.scenes.reset(ended), self.features)
                self.elapsed[ended] = 0
        action = np.stack(actions, 1)
        return Transition(observation, time, action, log_prob, successor, later, terminated, truncated, reward, skill)

    def close(self) -> None:
        self.scenes.close()


def acting(
    policy: SkillPolicy,
    skills: Int[Array, "*S E"] | Float[Array, "*S E d"],
    seeds: bool = False,
    deterministic: bool = False,
) -> Act:
    """How (E,) skills of a policy act, compiled; with `seeds`, (S, E) skills of S policies, in S E scenes."""
    arrays, static = eqx.partition(policy, eqx.is_array)
    shape = skills.shape[: 2 if seeds else 1]
    shapes = tuple(leaf.shape for leaf in (*jax.tree.leaves(arrays), skills))
    compiled = _compiled(static, seeds, deterministic, shapes)

    def act(observations, times, noise):
        def split(x):
            return x.reshape(*shape, *x.shape[1:])

        found = compiled(arrays, skills, split(observations), split(times), split(noise))
        return tuple(np.asarray(x).reshape(-1, *x.shape[len(shape) :]) for x in found)

    return act


_programs: dict[tuple, tuple[SkillPolicy, Any]] = {}
"""Programs of kinds of policies, with what tells the kind; those that were asked for last come last."""
_MOST = 16


def _compiled(static: SkillPolicy, seeds: bool, deterministic: bool, shapes: tuple[tuple[int, ...], ...]) -> Callable:
    """One program for all policies of a kind and size; those of the kinds that were asked for last are kept."""
    leaves, kind = jax.tree.flatten(static)
    known = (kind, tuple(map(id, leaves)), seeds, deterministic, shapes)
    if known in _programs:
        _programs[known] = _programs.pop(known)
    else:

        def one(arrays, skill, observation, time, noise):
            skill_ = eqx.combine(arrays, static).skill(skill)
            if deterministic:
                return skill_.mode(observation, time), jnp.zeros(())
            return skill_.act(observation, time, noise)

        scenes = jax.vmap(one, (None, 0, 0, 0, 0))
        _programs[known] = static, jax.jit(jax.vmap(scenes) if seeds else scenes)
        while len(_programs) > _MOST:
            _, old = _programs.pop(next(iter(_programs)))
            old.clear_cache()
    return _programs[known][1]


def act_out(
    environment: HostEnvironment,
    policy: SkillPolicy,
    skills: Int[AnyArray, " n"] | Float[AnyArray, "n d"],
    key: PRNGKeyArray,
    deterministic: bool = False,
    episodes: int = 1,
) -> Transition:
    """As `rollout.act_out`, in scenes that are opened for it and closed after it."""
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    stage = Stage(environment, len(skills) * episodes, seed)
    try:
        rows = _acted_out(stage, policy, jnp.asarray(skills), key, episodes, deterministic)
    finally:
        stage.close()
    return jax.tree.map(lambda x: np.asarray(x).reshape(len(skills), episodes, *x.shape[1:]), rows)


def rehearsed(
    stage: Stage,
    policy: SkillPolicy,
    skills: Int[Array, " n"] | Float[Array, "n d"],
    key: PRNGKeyArray,
    episodes: int,
    deterministic: bool = False,
    seeds: int | None = None,
) -> Float[np.ndarray, "*S n N T D"]:
    """The observations of T steps in each of n N scenes, N for each skill, in which a skill whose episode ends early
    begins anew; with `seeds`, of the skills of S policies in S n N scenes."""
    before = () if seeds is None else (seeds,)
    points = _acted_out(stage, policy, skills, key, episodes, deterministic, seeds).next_observation
    return np.asarray(points).reshape(*before, len(skills), episodes, stage.environment.episode_length, -1)


def _acted_out(
    stage: Stage,
    policy: SkillPolicy,
    skills: Int[Array, " n"] | Float[Array, "n d"],
    key: PRNGKeyArray,
    episodes: int,
    deterministic: bool,
    seeds: int | None = None,
) -> Transition:
    T = stage.environment.episode_length
    chosen = jnp.repeat(skills, episodes, axis=0)
    stage.restart()
    shape = (stage.count, T)
    noise = np.asarray(drawn(policy.actions, key, shape))
    if seeds is not None:
        chosen = jnp.broadcast_to(chosen, (seeds, *chosen.shape))
    act = acting(policy, chosen, seeds is not None, deterministic)
    skill = np.asarray(chosen).reshape(stage.count, *skills.shape[1:])
    return stage.roll(act, skill, noise)


drawn = Recent(draw_noise)
