"""The same as `tasked` for environments outside of compiled programs: what tasks add, and skills as actions."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from vendirl._programs import Recent
from vendirl.environments import Box, Discrete, HostEnvironment, Scenes
from vendirl.environments import Step as Stepped
from vendirl.environments.host import Actions, Features
from vendirl.skills.host_rollout import acting
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.spaces import SkillSpace
from vendirl.transfer.task import Joined, Seen, Step
from vendirl.transfer.tasked import names_with


@dataclasses.dataclass(frozen=True)
class Skills:
    """Frozen skills to act by.

    Attributes:
        policy: the skills.
        space: where skills come from.
        hold: for how many steps of the body each skill is held.
    """

    policy: SkillPolicy
    space: SkillSpace
    hold: int

    @property
    def actions(self) -> Discrete | Box:
        return Discrete(self.space.size) if self.space.discrete else Box(self.space.size, -1.0, 1.0)


class TaskedHost(HostEnvironment):
    """An environment outside JAX in which tasks are to be done, by the body's own actions or by skills."""

    def __init__(self, inner: HostEnvironment, tasks: Joined, skills: Skills | None = None):
        self.inner, self.tasks, self.skills = inner, tasks, skills
        self.name = inner.name
        self.hold = 1 if skills is None else skills.hold
        self.episode_length = -(-inner.episode_length // self.hold)
        self.visible = inner.visible + tasks.shows
        self.feature_names = names_with(inner.feature_names, inner.visible, tasks)
        self.actions = inner.actions if skills is None else skills.actions
        self.timeout = inner.timeout * self.hold

    def _open(self, scenes: int, seed: int) -> Scenes:
        return _Scenes(self, scenes, seed)


class _Scenes(Scenes):
    def __init__(self, world: TaskedHost, count: int, seed: int):
        self.world, self.count = world, count
        self.scenes = world.inner.open(count, seed)
        D, tasks = world.inner.observation_size, world.tasks
        self.features = np.zeros((count, D), np.float32)
        self.θ = np.zeros((count, tasks.parameters), np.float32)
        self.elapsed = np.zeros(count, np.int32)
        self.key = _key(seed)

    def reset(self, which: Bool[np.ndarray, " E"]) -> Features:
        fresh = self.scenes.reset(which)
        self.features = np.where(which[:, None], fresh, self.features).astype(np.float32)
        self.elapsed = np.where(which, 0, self.elapsed).astype(np.int32)
        self.key, key = jax.random.split(self.key)
        θ = _draw(self.world.tasks, jax.random.split(key, self.count))
        self.θ = np.where(which[:, None], np.asarray(θ), self.θ)
        return self._seen(np.zeros((self.count, len(self.world.tasks.tasks)), np.float32))

    def step(self, actions: Actions) -> Stepped:
        if self.world.skills is None:
            found, rewards = self._inner_step(actions)
            return Stepped(self._seen(rewards), found.terminated, found.truncated, rewards.mean(1))
        return self._hold(self.world.skills, actions)

    def reseed(self, seed: int) -> bool:
        self.scenes.reseed(seed)
        self.key = _key(seed)
        return True

    def close(self) -> None:
        self.scenes.close()

    def _hold(self, skills: Skills, actions: Actions) -> Stepped:
        """Steps of the body by the skills that were chosen, one for each scene, up to where its episode ends."""
        T = self.world.inner.episode_length
        chosen = jnp.asarray(actions)
        if not skills.space.discrete:
            chosen = jax.vmap(skills.space.along)(chosen)
        act = acting(skills.policy, chosen, deterministic=True)
        actions_of = skills.policy.actions
        noise = np.zeros(
            (self.count, actions_of.n if isinstance(actions_of, Discrete) else actions_of.size), np.float32
        )
        total = np.zeros((self.count, len(self.world.tasks.tasks)), np.float32)
        terminated, truncated = np.zeros(self.count, bool), np.zeros(self.count, bool)
        kept, elapsed = self.features, self.elapsed
        for _ in range(skills.hold):
            going = ~terminated & ~truncated & (self.elapsed < T)
            if not going.any():
                break
            action, _ = act(self.features, (self.elapsed / T).astype(np.float32), noise)
            found, rewards = self._inner_step(action)
            total += np.where(going[:, None], rewards, 0.0)
            kept = np.where(going[:, None], self.features, kept)
            elapsed = np.where(going, self.elapsed, elapsed)
            terminated |= going & found.terminated
            truncated |= going & found.truncated & ~found.terminated
            over = going & (terminated | truncated)
            if over.any():  # the body must not be stepped beyond its end; whoever steps asks for the reset that counts
                fresh = self.scenes.reset(over)
                self.features = np.where(over[:, None], fresh, self.features).astype(np.float32)
        self.features, self.elapsed = kept.astype(np.float32), elapsed
        return Stepped(self._seen(total), terminated, truncated, total.mean(1))

    def _inner_step(self, actions: Actions) -> tuple[Stepped, Float[np.ndarray, "E tasks"]]:
        before = self.features
        found = self.scenes.step(actions)
        self.features = np.asarray(found.features, np.float32)
        paid = np.asarray(found.rewards, np.float32)
        arrays = [jnp.asarray(x) for x in (self.θ, before, self.features, self.elapsed, paid)]
        rewards = np.asarray(_rewards(self.world.tasks, self.world.inner.feature_names, *arrays))
        self.elapsed = self.elapsed + 1
        return found, rewards

    def _seen(self, rewards: Float[np.ndarray, "E tasks"]) -> Features:
        visible, tasks = self.world.inner.visible, self.world.tasks
        parts = [self.features[:, :visible], self.features[:, visible:], rewards]
        if tasks.shows:
            arrays = [jnp.asarray(x) for x in (self.θ, self.features, self.elapsed)]
            parts.insert(1, np.asarray(_shown(tasks, self.world.inner.feature_names, *arrays)))
        return np.concatenate(parts, 1).astype(np.float32)


def _key(seed: int) -> PRNGKeyArray:
    return jax.random.key(seed % 2**32)


def _rewards_of(tasks, names, θ, before, after, elapsed, paid):
    def one(θ, before, after, elapsed, paid):
        return tasks.rewards(θ, Step(Seen(before, names), Seen(after, names), elapsed, paid))

    return jax.vmap(one)(θ, before, after, elapsed, paid)


_rewards = Recent(_rewards_of)
_shown = Recent(lambda tasks, names, *rows: jax.vmap(lambda θ, x, t: tasks.shown(θ, Seen(x, names), t))(*rows))
_draw = Recent(lambda tasks, keys: jax.vmap(tasks.draw)(keys))
