"""The loop that all methods share: choose goals, act, learn what the reward needs, reward, learn to act; in many
scenes.

One call of `epoch` is one pass of the outer loop of Algorithm 1 in all scenes at once. Within an epoch a scene
follows one skill; its steps come in chunks, each followed by an update of the skills.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.algorithms.ppo import PPO
from vendirl.algorithms.sac import SAC
from vendirl.environments.environment import Environment, State
from vendirl.methods.method import Method, Setting
from vendirl.policies import SkillPolicy, noise
from vendirl.rollout import Transition, rollout
from vendirl.skill_spaces import SkillSpace


class Training(eqx.Module):
    """All that changes during training, and all that a checkpoint must hold.

    Attributes:
        policy: the skills θ.
        learner: the state of the algorithm of choice: optimiser, critics, replay.
        states, elapsed: of the E scenes.
        method: the state of the method: memory, discriminator, ...
        key: of everything random that is still to come.
        epoch: how many epochs are done.
    """

    policy: SkillPolicy
    learner: Any
    states: State
    elapsed: Int[Array, " E"]
    method: Any
    key: PRNGKeyArray
    epoch: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Loop:
    """Training with everything it needs to know; `start` and `epoch` are pure and may be compiled and vmapped.

    Attributes:
        environment: where the skills act.
        method: what is rewarded.
        learner: the "algorithm of choice".
        space: where goals come from.
        skills: n.
        scenes: E.
        epochs: how many there will be, which exploration is spread over.
        chunk: steps between two updates.
        chunks: chunks in an epoch, which is thus chunk * chunks steps long.
    """

    environment: Environment
    method: Method
    learner: PPO | SAC
    space: SkillSpace
    skills: int
    scenes: int
    epochs: int
    chunk: int
    chunks: int

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Training:
        """The state of training before the first epoch."""
        key, reset_key, method_key, learner_key = jax.random.split(key, 4)
        states = jax.vmap(self.environment.reset)(jax.random.split(reset_key, self.scenes))
        setting = Setting(self.environment, self.skills, self.scenes, self.chunk, self.epochs)
        method = self.method.start(setting, policy, method_key)
        elapsed, epoch = jnp.zeros(self.scenes, jnp.int32), jnp.zeros((), jnp.int32)
        goals = self.space.sample(key, self.scenes)
        example = jax.eval_shape(lambda: self._act(policy, states, elapsed, goals, key)[2])
        rewards = jax.eval_shape(lambda b: self._paid(method, b, jnp.zeros((self.scenes, self.chunk))), example)
        learner = self.learner.init(policy, learner_key, example, rewards)
        return Training(policy, learner, states, elapsed, method, key, epoch)

    def epoch(self, training: Training) -> tuple[Training, dict[str, Float[Array, ""]]]:
        """One epoch in all scenes, and its metrics."""
        key, method_key, goal_key, chunk_key = jax.random.split(training.key, 4)
        remaining = jnp.maximum(1 - training.epoch / self.epochs, 0.0)
        goals = self.method.goals(training.method, self.space, self.scenes, training.epoch, goal_key)
        method = self.method.prepare(training.method, training.policy, goals, training.elapsed, method_key)

        def chunk(carry, key):
            policy, learner, states, elapsed, method = carry
            rollout_key, method_key, update_key = jax.random.split(key, 3)
            states, elapsed, batch = self._act(policy, states, elapsed, goals, rollout_key)
            if policy.time:  # whoever sees the time can value its end: nothing comes after a skill's last step
                ended = batch.terminated | batch.truncated
                batch = eqx.tree_at(lambda b: b.terminated, batch, ended)
            method, learned = self.method.learn(method, batch, method_key)
            method, rewards, rewarded = self.method.reward(method, batch)
            settings = {}
            if isinstance(self.learner, SAC) and self.learner.relabel:
                paid = lambda rows, m=method: self._paid(m, rows, self.method.relabel(m, rows))  # noqa: E731
                settings = {"relabel": paid, "whole": self.method.whole}
            if self.method.frozen:
                metrics = learned | rewarded | {"reward": rewards.mean(), "reward_std": rewards.std()}
                return (policy, learner, states, elapsed, method), metrics
            policy, learner, metrics = self.learner.update(
                policy, learner, batch, self._paid(method, batch, rewards), update_key, remaining, **settings
            )
            policy = policy.with_statistics(policy.statistics.update(batch.observation))
            metrics |= learned | rewarded | {"reward": rewards.mean(), "reward_std": rewards.std()}
            return (policy, learner, states, elapsed, method), metrics

        carry = (training.policy, training.learner, training.states, training.elapsed, method)
        carry, metrics = jax.lax.scan(chunk, carry, jax.random.split(chunk_key, self.chunks))
        policy, learner, states, elapsed, method = carry
        metrics = {name: values[-1] for name, values in metrics.items()}
        kept = self.method.finish(method)
        return Training(policy, learner, states, elapsed, kept, key, training.epoch + 1), metrics

    def _paid(self, method, batch: Transition, rewards: Array) -> Array:
        """What the learner learns from: rewards, or the features of which it learns successor features."""
        if isinstance(self.learner, SAC) and self.learner.successor:
            return self.method.features_of(method, batch)
        return rewards

    def _act(self, policy, states, elapsed, goals, key) -> tuple[State, Array, Transition]:
        def scene(state, elapsed, goal, key, noise):
            return rollout(self.environment, policy.skill(goal).act, state, elapsed, goal, self.chunk, key, noise)

        noise_key, world_key = jax.random.split(key)
        drawn = noise(policy.actions, noise_key, (self.scenes, self.chunk))
        return jax.vmap(scene)(states, elapsed, goals, jax.random.split(world_key, self.scenes), drawn)
