"""Proximal policy optimisation (Schulman et al., 2017), for skills that live in many scenes at once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray, PyTree

from vendirl._checks import LARGEST, Bounds
from vendirl._text import divisors
from vendirl.algorithms.algorithm import Algorithm, Context, Metrics, ShapeOfRewards
from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.policy import AnyArray, SkillPolicy
from vendirl.skills.rollout import Transition


def advantages(
    rewards: Float[AnyArray, " T"],
    values: Float[AnyArray, " T"],
    next_values: Float[AnyArray, " T"],
    terminated: Bool[AnyArray, " T"],
    truncated: Bool[AnyArray, " T"],
    discount: Float[ArrayLike, ""],
    gae_lambda: Float[ArrayLike, ""],
) -> Float[Array, " T"]:
    """Generalised advantages (Schulman et al., 2016) of one scene.

        δ_t = r_t + γ (1 - terminated_t) V(s'_t) - V(s_t)
        A_t = δ_t + γ λ (1 - terminated_t) (1 - truncated_t) A_{t+1},    A_{T+1} = 0

    s'_t is the true successor of step t, whatever scene t+1 begins with. Termination leaves no future to value;
    truncation does, and is valued by V(s'_t), as is the future beyond the last step.
    """
    δ = rewards + discount * ~terminated * next_values - values
    decay = discount * gae_lambda * ~(terminated | truncated)

    def backwards(advantage, row):
        δ_t, decay_t = row
        advantage = δ_t + decay_t * advantage
        return advantage, advantage

    return jax.lax.scan(backwards, jnp.zeros(()), (δ, decay), reverse=True)[1]


class ReturnScale(eqx.Module):
    """What rewards are divided by: the deviation of the discounted sums of rewards so far (Engstrom et al., 2020).

        R_t = γ R_{t-1} + r_t, which begins anew after the end of an episode;    r_t / σ(R)

    Attributes:
        sums: R of each scene.
        count, mean, square: how many sums were seen, their mean, and the sum of their squared distances to it.
    """

    sums: Float[Array, " scenes"]
    count: Float[Array, ""]
    mean: Float[Array, ""]
    square: Float[Array, ""]

    @classmethod
    def start(cls, scenes: int) -> ReturnScale:
        """Before anything was seen."""
        zero = jnp.zeros(())
        return cls(jnp.zeros(scenes), zero, zero, zero)

    def scaled(
        self,
        rewards: Float[Array, "scenes steps"],
        ended: Bool[Array, "scenes steps"],
        discount: Float[ArrayLike, ""],
        most: float = 10.0,
    ) -> tuple[ReturnScale, Float[Array, "scenes steps"]]:
        """The scale after these rewards, and they divided by it, at most ten in size."""

        def step(R, row):
            reward, ended = row
            R = discount * R + reward
            return jnp.where(ended, 0.0, R), R

        sums, found = jax.lax.scan(step, self.sums, (rewards.T, ended.T))
        n, mean, square = found.size, found.mean(), jnp.sum((found - found.mean()) ** 2)
        count, apart = self.count + n, mean - self.mean
        square = self.square + square + apart**2 * self.count * n / count
        scale = ReturnScale(sums, count, self.mean + apart * n / count, square)
        return scale, jnp.clip(rewards / jnp.sqrt(square / count + 1e-8), -most, most)


def shuffled(
    key: PRNGKeyArray, scenes: int, epochs: int, minibatches: int, devices: int = 1
) -> Int[Array, "steps scenes_of_one"]:
    """The scenes of each minibatch of each epoch, one row a gradient step. A row has a part for each device, which
    shuffles its own scenes and counts them from 0."""
    keys = jax.random.split(key, (epochs, devices))
    order = jax.vmap(jax.vmap(lambda key: jax.random.permutation(key, scenes // devices)))(keys)
    return order.reshape(epochs, devices, minibatches, -1).swapaxes(1, 2).reshape(epochs * minibatches, -1)


@dataclasses.dataclass(frozen=True)
class PPO(Algorithm):
    """Proximal policy optimisation: learn from what the skills just did, a little at a time.

    Attributes:
        learning_rate: The learning rate of Adam.
        discount: The discount γ.
        gae_lambda: The λ of generalised advantage estimation.
        clip: How far, as a fraction, the probability of an action may move before its gradient is cut.
        entropy_coefficient: How much the entropy of actions counts in the loss.
        value_coefficient: How much the error of the critic counts in the loss.
        epochs: How often each transition is used in one update.
        minibatches: How many gradient steps an epoch has; it must divide the number of scenes.
        max_grad_norm: The norm that a longer gradient is cut to.
        normalise_advantage: Whether the advantages of a minibatch are shifted and scaled to mean 0 and deviation 1.
        scale_rewards: Divide rewards by the deviation of returns so far, so that neither value nor step size depends on
            how large they are.
        anneal: The number of updates over which the learning rate falls linearly to zero; None keeps it constant.
    """

    name: ClassVar[str] = "ppo"
    spreads: ClassVar[bool] = True
    bounds: ClassVar[Mapping[str, Bounds]] = {
        "learning_rate": (0, LARGEST),
        **dict.fromkeys(("discount", "gae_lambda"), (0, 1)),
        **dict.fromkeys(("clip", "max_grad_norm"), (1e-12, math.inf)),
        **dict.fromkeys(("entropy_coefficient", "value_coefficient"), (-1e6, 1e6)),
        **dict.fromkeys(("epochs", "minibatches"), (1, 10**6)),
        "anneal": (1, 2**31 - 1),
    }

    learning_rate: float = 1e-3
    discount: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy_coefficient: float = 0.0
    value_coefficient: float = 0.5
    epochs: int = 4
    minibatches: int = 8
    max_grad_norm: float = 0.5
    normalise_advantage: bool = True
    anneal: int | None = None
    scale_rewards: bool = False

    def check(self, actions: Discrete | Box, scenes: int) -> None:
        if scenes % self.minibatches:
            raise ValueError(
                f"ppo.minibatches={self.minibatches} does not divide the {scenes} scenes, of which whole ones make a "
                f"minibatch; use one of {divisors(scenes)}"
            )

    def minibatch(self, scenes: int) -> int:
        return scenes // self.minibatches

    def for_updates(self, updates: int) -> PPO:
        return dataclasses.replace(self, anneal=updates)

    def init(
        self,
        policy: SkillPolicy,
        key: PRNGKeyArray | None = None,
        example: Transition | None = None,
        rewards: ShapeOfRewards | None = None,
    ) -> PyTree[Array]:
        """The state of the optimiser before the first update, and of the scale of rewards if there is one."""
        state = self._optimiser.init(_flatten(policy)[0])
        if not self.scale_rewards:
            return state
        assert rewards is not None, "their shape says of how many scenes sums are kept"
        return state, ReturnScale.start(rewards.shape[0])

    def update(
        self,
        policy: SkillPolicy,
        state: PyTree[Array],
        batch: Transition,
        rewards: Float[Array, "scenes steps"],
        key: PRNGKeyArray,
        context: Context = Context(),  # noqa: B008
    ) -> tuple[SkillPolicy, PyTree[Array], Metrics]:
        """Improve the policy by what the scenes did.

        Minibatches are made of whole scenes: a scene's skill is looked up once, and shuffling moves a few long rows
        where shuffling single steps would gather every number of the batch. Scenes that are spread over devices stay
        where they are, and each device brings its share of every minibatch. The entropy bonus is multiplied by
        `context.remaining`: skills explore at first and settle at last.

        Returns:
            The new policy, the new state of the optimiser, and metrics averaged over the gradient steps.
        """
        scenes, devices, remaining = rewards.shape[0], context.devices, jnp.asarray(context.remaining, float)
        if scenes % (self.minibatches * devices):
            each = f" of each of {devices} devices" if devices > 1 else ""
            raise ValueError(
                f"minibatches={self.minibatches} does not divide the {scenes // devices} scenes{each}; minibatches are "
                "made of whole scenes, so choose a divisor."
            )

        scale = None
        if self.scale_rewards:
            state, scale = state
            scale, rewards = scale.scaled(rewards, batch.terminated | batch.truncated, self.discount)

        # Only an episode that is cut off has a successor that no later row has valued.
        cut_off = jnp.any(batch.truncated & ~batch.terminated)
        values = policy.values(batch.skill, batch.observation, batch.time)
        next_values = jax.lax.cond(cut_off, _next_values, _values_of_next_rows, policy, batch, values)
        estimate = jax.vmap(partial(advantages, discount=self.discount, gae_lambda=self.gae_lambda))
        A = estimate(rewards, values, next_values, batch.terminated, batch.truncated)
        returns = A + values
        if self.normalise_advantage:
            A = (A - A.mean()) / (A.std() + 1e-8)
        data = (batch, A, returns)

        # Adam on one vector is one elementwise operation; on a tree it is several for each of its leaves.
        flat, unflatten = _flatten(policy)
        optimiser = self._optimiser

        def gradient(parameters, share):
            data, scenes = share
            minibatch = jax.tree.map(lambda x: x[scenes], data)
            return jax.grad(self._loss, has_aux=True)(*parameters, unflatten, *minibatch)

        def gradient_step(carry, scenes):
            flat, opt_state = carry
            found, metrics = context.averaged(gradient)((flat, remaining), (data, scenes))
            updates, opt_state = optimiser.update(found, opt_state)
            return (optax.apply_updates(flat, updates), opt_state), metrics

        order = shuffled(key, scenes, self.epochs, self.minibatches, devices)
        (flat, state), metrics = jax.lax.scan(gradient_step, (flat, state), order)
        metrics = jax.tree.map(jnp.mean, metrics)
        metrics["explained_variance"] = 1 - jnp.var(returns - values) / (jnp.var(returns) + 1e-8)
        return unflatten(flat), state if scale is None else (state, scale), metrics

    def _loss(
        self,
        flat: Float[Array, " weights"],
        remaining: Float[Array, ""],
        unflatten: Callable[[Float[Array, " weights"]], SkillPolicy],
        batch: Transition,
        A: Float[Array, "scenes steps"],
        returns: Float[Array, "scenes steps"],
    ) -> tuple[Float[Array, ""], Metrics]:
        """-E[min(ρ A, clip(ρ, 1 - c, 1 + c) A)] + c_V E[(V - R)²] / 2 - c_H E[H],    ρ = π(a|s) / π_old(a|s)."""
        log_prob, entropy, value = unflatten(flat).evaluate_scenes(
            batch.skill, batch.observation, batch.time, batch.action
        )
        log_ratio = log_prob - batch.log_prob
        ratio = jnp.exp(log_ratio)
        clipped = jnp.clip(ratio, 1 - self.clip, 1 + self.clip)
        policy_loss = -jnp.mean(jnp.minimum(ratio * A, clipped * A))
        value_loss = 0.5 * jnp.mean((value - returns) ** 2)
        entropy = jnp.mean(entropy)
        loss = policy_loss + self.value_coefficient * value_loss - remaining * self.entropy_coefficient * entropy
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": jnp.mean(ratio - 1 - log_ratio),
            "clip_fraction": jnp.mean(jnp.abs(ratio - 1) > self.clip),
        }

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        rate = self.learning_rate
        if self.anneal is not None:
            rate = optax.linear_schedule(rate, 0.0, self.anneal * self.epochs * self.minibatches)
        return optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.adam(rate, eps=1e-5))


def _next_values(
    policy: SkillPolicy, batch: Transition, _: Float[Array, "scenes steps"]
) -> Float[Array, "scenes steps"]:
    """V(s'_t)."""
    return policy.values(batch.skill, batch.next_observation, batch.next_time)


def _values_of_next_rows(
    policy: SkillPolicy, batch: Transition, values: Float[Array, "scenes steps"]
) -> Float[Array, "scenes steps"]:
    """V(s'_t) = V(s_{t+1}), which is known, but for the last step; not so after an end, which has no future anyway."""
    end = policy.values(batch.skill, batch.next_observation[:, -1:], batch.next_time[:, -1:])
    return jnp.concatenate([values[:, 1:], end], 1)


def _flatten(
    policy: SkillPolicy,
) -> tuple[Float[Array, " weights"], Callable[[Float[Array, " weights"]], SkillPolicy]]:
    """The weights as one vector, and the function that makes a policy of such a vector."""
    weights, rest = eqx.partition(policy, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(weights)
    return flat, lambda flat: eqx.combine(unravel(flat), rest)
