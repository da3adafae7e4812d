"""Soft actor-critic (Haarnoja et al., 2018), for skills that live in many scenes at once, with a replay on the device.

    Q is fitted to    y = Σ_{k<n} γ^k r_{t+k} + γ^n (1 - terminated) (min_i Q_i'(s', a') - α log π(a' | s'))
                      where s' = s_{t+n}
    π maximises       E[min_i Q_i(s, a) - α log π(a | s)],      a reparameterised
    α falls while the entropy of π is above its target, and rises while it is below

The replay holds stretches of scenes as they were collected, so that returns over several steps never cross the end
of an episode, and rewards can be computed anew from whole trajectories.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.environments.spaces import Discrete
from vendirl.networks import Network
from vendirl.policies import SkillPolicy
from vendirl.rollout import Transition

Relabel = Callable[[Transition], Float[Array, "rows steps *d"]]


class Replay(eqx.Module):
    """The latest stretches of scenes, (rows, steps, ...), their rewards, and how many were ever written."""

    rows: Transition
    rewards: Float[Array, "rows steps *d"]
    written: Int[Array, ""]

    def add(self, batch: Transition, rewards: Array) -> Replay:
        """Write the scenes' stretches over the oldest ones."""
        capacity, scenes = self.rewards.shape[0], rewards.shape[0]
        place = self.written % capacity  # capacity is a multiple of the number of scenes, so that none is split

        def write(old, new):
            return jax.lax.dynamic_update_slice_in_dim(old, new.astype(old.dtype), place, 0)

        rows = jax.tree.map(write, self.rows, batch)
        return Replay(rows, write(self.rewards, rewards), self.written + scenes)

    @property
    def filled(self) -> Int[Array, ""]:
        """How many rows hold something."""
        return jnp.minimum(self.written, self.rewards.shape[0])


class Learner(eqx.Module):
    """All that SAC keeps beside the policy."""

    critics: Network
    targets: Network
    log_alpha: Float[Array, ""]
    actor_state: Any
    critic_state: Any
    alpha_state: Any
    replay: Replay


@dataclasses.dataclass(frozen=True)
class SAC:
    """Settings of the learner, and the learner."""

    learning_rate: float = 1e-3
    discount: float = 0.99
    """γ"""
    polyak: float = 0.005
    """How far the target critics move towards the critics in each gradient step."""
    temperature: float = 0.1
    """α at first."""
    reward_scale: float = 10.0
    """Factor of rewards, which decides how much they count against entropy."""
    learn_temperature: bool = True
    target_entropy: float = -1.0
    """Entropy that α is learned towards, for each dimension of the action, in half widths of the action box."""
    steps: int = 1
    """n, the number of rewards in a target."""
    updates: int = 64
    """Gradient steps in one update."""
    batch: int = 512
    """Transitions in a gradient step."""
    capacity: int = 1_000_000
    """Transitions in the replay."""
    warmup: int = 10_000
    """Transitions in the replay before anything is learned."""
    relabel: bool = True
    """Compute the rewards of what is replayed anew by what the method knows now, rather than store them."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of the critics."""
    successor: bool = False
    """Learn vectors, the successor features ψ of a method's cumulants, with Q = ψ·z, and no entropy in the target."""

    def init(
        self, policy: SkillPolicy, key: PRNGKeyArray, example: Transition, rewards: Float[Array, "scenes steps *d"]
    ) -> Learner:
        """The state before the first update; `example` and `rewards` have the shapes of what updates will bring."""
        scenes, steps = rewards.shape[:2]
        if isinstance(policy.actions, Discrete):
            raise ValueError("SAC needs continuous actions, but these are discrete; use PPO")
        size = policy.statistics.size + policy.time + policy.actions.size + policy.skills
        sizes = (size, *self.hidden, rewards.shape[-1] if rewards.ndim == 3 else 1)
        normals = jax.random.normal(key, (2, Network.size(sizes)))
        critics = jax.lax.map(lambda normals: Network(sizes, 1.0, normals), normals)  # one after the other, as policies
        capacity = max(1, self.capacity // (scenes * steps)) * scenes

        def room(x):
            return jnp.zeros((capacity, *x.shape[1:]), x.dtype)

        replay = Replay(jax.tree.map(room, example), room(rewards), jnp.zeros((), jnp.int32))
        return Learner(
            critics,
            critics,
            jnp.log(self.temperature),
            self._optimiser.init(ravel_pytree(_actor(policy))[0]),
            self._optimiser.init(ravel_pytree(critics)[0]),
            self._optimiser.init(jnp.zeros(())),
            replay,
        )

    def update(
        self,
        policy: SkillPolicy,
        learner: Learner,
        batch: Transition,
        rewards: Float[Array, "scenes steps *d"],
        key: PRNGKeyArray,
        remaining: Float[Array, ""] | float = 1.0,
        relabel: Relabel | None = None,
        whole: bool = False,
    ) -> tuple[SkillPolicy, Learner, dict[str, Float[Array, ""]]]:
        """Write down what the scenes did, and improve the policy by what is written.

        Args:
            batch: transitions with leading axes (scenes, steps).
            rewards: to be written, or cumulants (scenes, steps, d) for successor features.
            remaining: not used; SAC settles by its temperature.
            relabel: the rewards that stretches of scenes would have now; None to use those that were written.
            whole: whether `relabel` needs stretches as they were collected, rather than single transitions.
        """
        replay = learner.replay.add(batch, rewards)
        learner = eqx.tree_at(lambda l: l.replay, learner, replay)
        row_key, step_key, noise_key = jax.random.split(key, 3)
        T = rewards.shape[1]
        whole = whole or (relabel is not None and self.steps > 1)  # several rewards in a row must be computed anew
        count = -(-self.batch // T) if whole else self.batch  # rows in a gradient step
        chance = jax.random.uniform(row_key, (self.updates, count))
        steps = jax.random.randint(step_key, (self.updates, count), 0, T)
        size = (count * T if whole else count, policy.actions.size)
        noise = jax.random.normal(noise_key, (self.updates, 2, *size))

        def gradient_step(carry, draws):
            policy, learner = carry
            chance, t, noise = draws
            rows = jnp.minimum((chance * replay.filled).astype(jnp.int32), replay.filled - 1)
            data = self._sample(replay, rows, t, relabel, whole)
            policy, learner, metrics = self._step(policy, learner, data, noise)
            return (policy, learner), metrics

        def learn(carry):
            return jax.lax.scan(gradient_step, carry, (chance, steps, noise))

        ready = replay.written * T >= self.warmup
        arrays, static = eqx.partition((policy, learner), eqx.is_array)

        def of_arrays(arrays):
            carry, metrics = learn(eqx.combine(arrays, static))
            return eqx.filter(carry, eqx.is_array), jax.tree.map(lambda m: m[-1], metrics)

        _, shapes = jax.eval_shape(of_arrays, arrays)
        nothing = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), shapes)
        arrays, metrics = jax.lax.cond(ready, of_arrays, lambda arrays: (arrays, nothing), arrays)
        policy, learner = eqx.combine(arrays, static)
        return policy, learner, metrics

    def _sample(self, replay: Replay, rows, t, relabel: Relabel | None, whole: bool):
        """Transitions as (observation, time, action, skill, return, bootstrap, successor, its time), flat."""
        if whole:
            stretch = jax.tree.map(lambda x: x[rows], replay.rows)
            rewards = replay.rewards[rows] if relabel is None else relabel(stretch)
            count, T = rewards.shape[:2]
            flat = lambda x: x.reshape(count * T, *x.shape[2:])  # noqa: E731
            returns, bootstrap, last = jax.vmap(self._returns)(rewards, stretch.terminated, stretch.truncated)
            take = jax.vmap(lambda x, last: x[last])
            successor, its_time = take(stretch.next_observation, last), take(stretch.next_time, last)
            skill = jnp.repeat(stretch.skill, T, axis=0)
            parts = (stretch.observation, stretch.time, stretch.action)
            return (*map(flat, parts), skill, *map(flat, (returns, bootstrap, successor, its_time)))
        stored = replay.rows  # of whose rows only single steps are looked up
        if relabel is None:
            ends = (stored.terminated[rows], stored.truncated[rows])
            found = jax.vmap(self._returns)(replay.rewards[rows], *ends)
            returns, bootstrap, last = (jax.vmap(lambda x, t: x[t])(x, t) for x in found)
        else:
            skill = stored.skill[rows]
            steps = jax.tree.map(lambda x: x[rows, t][:, None], eqx.tree_at(lambda s: s.skill, stored, None))
            single = eqx.tree_at(lambda s: s.skill, steps, skill, is_leaf=lambda x: x is None)
            returns, last = relabel(single)[:, 0], t
            bootstrap = self.discount * ~stored.terminated[rows, t]
        now = (x[rows, t] for x in (stored.observation, stored.time, stored.action))
        after = (x[rows, last] for x in (stored.next_observation, stored.next_time))
        return (*now, stored.skill[rows], returns, bootstrap, *after)

    def _returns(self, rewards: Float[Array, " T *d"], terminated, truncated):
        """For each step of a stretch: the discounted sum of the next n rewards of the same episode, the discount of the
        value to bootstrap with (0 after termination), and the step after which that value is taken."""
        T = rewards.shape[0]
        ended = terminated | truncated
        total, weight, last = rewards, jnp.full(T, self.discount), jnp.arange(T)
        open_ = ~ended
        for k in range(1, self.steps):
            ahead = jnp.minimum(jnp.arange(T) + k, T - 1)
            more = open_ & (jnp.arange(T) + k < T)
            extra = rewards[ahead] * _like(weight, rewards)
            total = jnp.where(_like(more, rewards), total + extra, total)
            last = jnp.where(more, ahead, last)
            weight = jnp.where(more, weight * self.discount, weight)
            open_ = more & ~ended[ahead]
        return total, weight * ~terminated[last], last

    def _step(self, policy: SkillPolicy, learner: Learner, data, noise):
        observation, time, action, skill, returns, bootstrap, successor, its_time = data
        alpha = jnp.exp(learner.log_alpha)
        z = skill if skill.ndim == 2 else jax.nn.one_hot(skill, policy.skills)

        def acted(policy, observation, time, noise):
            return jax.vmap(lambda o, t, g, e: policy.skill(g).act(o, t, e))(observation, time, skill, noise)

        next_action, next_log_prob = acted(policy, successor, its_time, noise[0])
        next_q = self._q(policy, learner.targets, successor, its_time, next_action, z)  # (2, B, outputs)
        target = self._lower(next_q, z)
        if not self.successor:
            target = target - alpha * next_log_prob[:, None]
        returns = self.reward_scale * (returns[:, None] if returns.ndim == 1 else returns)
        target = jax.lax.stop_gradient(returns + bootstrap[:, None] * target)

        def critic_loss(flat):
            q = self._q(policy, unflatten(flat), observation, time, action, z)
            return 0.5 * jnp.mean(jnp.sum((q - target) ** 2, (0, 2)))

        flat, unflatten = ravel_pytree(learner.critics)
        value_loss, gradient = jax.value_and_grad(critic_loss)(flat)
        updates, critic_state = self._optimiser.update(gradient, learner.critic_state)
        critics = unflatten(optax.apply_updates(flat, updates))
        targets = jax.tree.map(lambda t, c: t + self.polyak * (c - t), learner.targets, critics)

        def actor_loss(flat):
            new = _with_actor(policy, back(flat))
            action, log_prob = acted(new, observation, time, noise[1])
            q = self._lower(self._q(policy, critics, observation, time, action, z), z)
            q = jnp.sum(q * z, -1) if self.successor else q[:, 0]
            return jnp.mean(alpha * log_prob - q), (jnp.mean(log_prob), jnp.mean(q))

        flat, back = ravel_pytree(_actor(policy))
        gradient, (log_prob, q) = jax.grad(actor_loss, has_aux=True)(flat)
        updates, actor_state = self._optimiser.update(gradient, learner.actor_state)
        policy = _with_actor(policy, back(optax.apply_updates(flat, updates)))

        log_alpha, alpha_state = learner.log_alpha, learner.alpha_state
        if self.learn_temperature:
            gradient = -(log_prob + self.target_entropy * policy.actions.size)
            updates, alpha_state = self._optimiser.update(gradient, alpha_state)
            log_alpha = log_alpha + updates
        learner = Learner(critics, targets, log_alpha, actor_state, critic_state, alpha_state, learner.replay)
        return policy, learner, {"value_loss": value_loss, "entropy": -log_prob, "alpha": alpha, "q": q}

    def _q(self, policy: SkillPolicy, critics: Network, observation, time, action, z) -> Float[Array, "2 B outputs"]:
        normal = policy.statistics.normalise(observation[..., : policy.statistics.size])
        box = policy.actions
        parts = [normal, time[:, None]] if policy.time else [normal]
        x = jnp.concatenate([*parts, (action - box.centre) / box.half_width, z], -1)
        return jax.vmap(lambda critic: jax.vmap(critic)(x))(critics)

    def _lower(self, q: Float[Array, "2 B outputs"], z) -> Float[Array, "B outputs"]:
        """Of the two critics' values, or vectors, the one with the lower Q."""
        if not self.successor:
            return q.min(0)
        worth = jnp.sum(q * z, -1)
        return jnp.where((worth[0] < worth[1])[:, None], q[0], q[1])

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


def _actor(policy: SkillPolicy):
    """What SAC learns of the policy."""
    return policy.actor, policy.log_std


def _with_actor(policy: SkillPolicy, actor) -> SkillPolicy:
    return eqx.tree_at(lambda p: (p.actor, p.log_std), policy, actor, is_leaf=lambda x: x is None)


def _like(x: Array, rewards: Array) -> Array:
    """x with as many axes as the rewards have."""
    return x.reshape(*x.shape, *[1] * (rewards.ndim - x.ndim))
