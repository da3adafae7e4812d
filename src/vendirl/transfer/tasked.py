"""Environments in JAX whose rewards are tasks, and whose actions may be skills.

`Tasked` draws θ at the beginning of every episode, shows a learner what tasks show, and writes down what every task
pays as features that nobody sees: one environment serves all tasks at once, each skill of a learner its own
(`learning`). `OverSkills` is the same with frozen skills for actions, each held for K steps:

    s_0, skill g  ->  s_K,      r_m = Σ_{k<K} r_m(s_k, s_k+1),      until the episode ends, if that is earlier
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from vendirl.environments import Box, Discrete, Environment, State
from vendirl.skills.policy import Action, SkillPolicy
from vendirl.skills.spaces import SkillSpace
from vendirl.transfer.task import Joined, Seen, Step

PAID, SHOWN = "task_reward", "task_shows"
"""What the features are called that tasks add."""


class Doing(eqx.Module):
    """Where an episode is: the inner state, θ, and how many of its steps have passed."""

    state: State
    θ: Float[Array, " P"]
    elapsed: Int[Array, ""]


class Tasked(Environment):
    """An environment in which tasks are to be done.

    Attributes:
        inner: where the body acts.
        tasks: what is paid.
    """

    inner: Environment
    tasks: Joined = eqx.field(static=True)

    @property
    def episode_length(self) -> int:
        return self.inner.episode_length

    @property
    def observation_size(self) -> int:
        return self.inner.observation_size + self.tasks.shows + len(self.tasks.tasks)

    @property
    def visible(self) -> int:
        return self.inner.visible + self.tasks.shows

    @property
    def feature_names(self) -> tuple[str, ...]:
        return names_with(self.inner.feature_names, self.inner.visible, self.tasks)

    @property
    def actions(self) -> Discrete | Box:
        return self.inner.actions

    @property
    def costly_reset(self) -> bool:
        return self.inner.costly_reset

    @property
    def differentiable(self) -> bool:
        return False

    def reset(self, key: PRNGKeyArray) -> State:
        inner_key, θ_key = jax.random.split(key)
        doing = Doing(self.inner.reset(inner_key), self.tasks.draw(θ_key), jnp.zeros((), jnp.int32))
        return self._state(doing, jnp.zeros(len(self.tasks.tasks)))

    def step(self, state: State, action: Float[Array, " A"] | Int[Array, ""], key: PRNGKeyArray) -> State:
        return self._state(*self.act(state.physics, action, key))

    def act(self, doing: Doing, action: Action, key: PRNGKeyArray) -> tuple[Doing, Float[Array, " tasks"]]:
        """One step of the body, and what it is worth in each task."""
        before = doing.state
        after = self.inner.step(before, action, key)
        names = self.inner.feature_names
        done = Step(Seen(before.observation, names), Seen(after.observation, names), doing.elapsed, after.reward)
        rewards = self.tasks.rewards(doing.θ, done)
        return Doing(after, doing.θ, doing.elapsed + 1), rewards

    def _state(self, doing: Doing, rewards: Float[Array, " tasks"]) -> State:
        features, visible = doing.state.observation, self.inner.visible
        shown = self.tasks.shown(doing.θ, Seen(features, self.inner.feature_names), doing.elapsed)
        observation = jnp.concatenate([features[:visible], shown, features[visible:], rewards])
        return State(doing, observation, doing.state.terminated, rewards.mean())


class OverSkills(Tasked):
    """The same, but an action is a skill, which is held for several steps of the body.

    Attributes:
        policy: the skills, which stay as they are and take their likeliest actions.
        space: where skills come from: one is chosen by its number or, if they are vectors, by one.
        hold: K: how many steps of the body a step here has.
    """

    policy: SkillPolicy
    space: SkillSpace = eqx.field(static=True)
    hold: int = eqx.field(static=True)

    @property
    def episode_length(self) -> int:
        return -(-self.inner.episode_length // self.hold)

    @property
    def actions(self) -> Discrete | Box:
        return Discrete(self.space.size) if self.space.discrete else Box(self.space.size, -1.0, 1.0)

    def step(self, state: State, action: Float[Array, " A"] | Int[Array, ""], key: PRNGKeyArray) -> State:
        T = self.inner.episode_length
        skill = self.policy.skill(action if self.space.discrete else self.space.along(action))

        def one(carry, key):
            doing, total = carry
            chosen = skill.mode(doing.state.observation, doing.elapsed / T)
            after, rewards = self.act(doing, chosen, key)
            goes_on = ~doing.state.terminated & (doing.elapsed < T)
            return (_where(goes_on, after, doing), total + jnp.where(goes_on, rewards, 0.0)), None

        start = (state.physics, jnp.zeros(len(self.tasks.tasks)))
        (doing, rewards), _ = jax.lax.scan(one, start, jax.random.split(key, self.hold))
        return self._state(doing, rewards)


def names_with(names: tuple[str, ...], visible: int, tasks: Joined) -> tuple[str, ...]:
    """The names of an environment's features with those that tasks add: what they show after what a policy sees, and
    what they pay at the end."""
    shown = tuple(f"{SHOWN}_{i}" for i in range(tasks.shows))
    paid = tuple(f"{PAID}_{i}" for i in range(len(tasks.tasks)))
    return (*names[:visible], *shown, *names[visible:], *paid)


def _where(choice: Bool[Array, ""], a: Doing, b: Doing) -> Doing:
    return jax.tree.map(lambda x, y: jnp.where(choice, x, y), a, b)
