"""The loop that all methods share: choose goals, act, learn what the reward needs, reward, learn to act; in many
scenes.

One call of `epoch` is one pass of the outer loop of Algorithm 1 in all scenes at once. Within an epoch a scene
follows one skill; its steps come in chunks, each followed by an update of the skills. `epoch` is one compiled program;
where the environment is not a part of it, `training.host` does the same in pieces.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from vendirl.algorithms.ppo import PPO
from vendirl.algorithms.sac import SAC
from vendirl.devices import spread
from vendirl.environments import AnyEnvironment, State
from vendirl.methods.method import Method, Metrics, Rehearse, Setting
from vendirl.policies import SkillPolicy, noise
from vendirl.rollout import Transition, rollout, trajectories
from vendirl.skill_spaces import SkillSpace


class Training(eqx.Module):
    """All that changes during training, and all that a checkpoint must hold.

    Attributes:
        policy: the skills θ.
        learner: the state of the algorithm of choice: optimiser, critics, replay.
        states, elapsed: of the E scenes; of scenes that are outside the program nothing is known here.
        method: the state of the method: memory, discriminator, ...
        key: of everything random that is still to come.
        epoch: how many epochs are done.
    """

    policy: SkillPolicy
    learner: Any
    states: State | None
    elapsed: Int[Array, " E"]
    method: Any
    key: PRNGKeyArray
    epoch: Int[Array, ""]


class Learned(eqx.Module):
    """What changes within an epoch, but for the scenes."""

    policy: SkillPolicy
    learner: Any
    method: Any


@dataclasses.dataclass(frozen=True)
class Loop:
    """Training with everything it needs to know; its methods are pure and may be compiled and vmapped.

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
        devices: over which the scenes are spread.
    """

    environment: AnyEnvironment
    method: Method
    learner: PPO | SAC
    space: SkillSpace
    skills: int
    scenes: int
    epochs: int
    chunk: int
    chunks: int
    devices: int = 1

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Training:
        """The state of training before the first epoch."""
        key, reset_key, method_key, learner_key = jax.random.split(key, 4)
        setting = Setting(self.environment, self.skills, self.scenes, self.chunk, self.epochs)
        method = self.method.start(setting, policy, method_key)
        states = None
        if hasattr(self.environment, "reset"):
            states = jax.vmap(self.environment.reset)(jax.random.split(reset_key, self.scenes))
        elapsed, epoch = jnp.zeros(self.scenes, jnp.int32), jnp.zeros((), jnp.int32)
        example = jax.eval_shape(self._example, policy, key)
        rewards = jax.eval_shape(lambda b: self._paid(method, b, jnp.zeros((self.scenes, self.chunk))), example)
        learner = self.learner.init(policy, learner_key, example, rewards)
        return Training(policy, learner, states, elapsed, method, key, epoch)

    def epoch(self, training: Training) -> tuple[Training, Metrics]:
        """One epoch in all scenes, and its metrics."""
        skills = jnp.arange(self.skills)

        def rehearse(key, episodes):
            return trajectories(self.environment, training.policy, skills, key, episodes=episodes)

        goals, learned, keys, key = self.begin(training, rehearse)

        def chunk(carry, keys):
            states, elapsed, learned = carry
            states, elapsed, batch = self._act(learned.policy, states, elapsed, goals, keys[0])
            learned, metrics = self.learn(learned, batch, training.epoch, keys[1])
            return (states, elapsed, learned), metrics

        carry, metrics = jax.lax.scan(chunk, (training.states, training.elapsed, learned), keys)
        states, elapsed, learned = carry
        return self.end(training, learned, states, elapsed, key), {name: x[-1] for name, x in metrics.items()}

    def begin(self, training: Training, rehearse: Rehearse) -> tuple[Array, Learned, PRNGKeyArray, PRNGKeyArray]:
        """The goals of the scenes in this epoch, what is learned in it, (chunks, 2) keys to act and learn with, and the
        key for what comes after."""
        key, method_key, goal_key, chunk_key = jax.random.split(training.key, 4)
        goals = spread(
            self.method.goals(training.method, self.space, self.scenes, training.epoch, goal_key), self.devices
        )
        method = self.method.prepare(training.method, goals, training.elapsed, method_key, rehearse)
        learned = Learned(training.policy, training.learner, method)
        return goals, learned, jax.random.split(chunk_key, (self.chunks, 2)), key

    def learn(
        self, learned: Learned, batch: Transition, epoch: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[Learned, Metrics]:
        """Learn from a chunk of what the scenes did, and its metrics."""
        policy, learner = learned.policy, learned.learner
        method_key, update_key = jax.random.split(key)
        if policy.time:  # whoever sees the time can value its end: nothing comes after a skill's last step
            batch = eqx.tree_at(lambda b: b.terminated, batch, batch.terminated | batch.truncated)
        method, found = self.method.learn(learned.method, batch, method_key)
        method, rewards, rewarded = self.method.reward(method, batch)
        metrics = {**found, **rewarded, "reward": rewards.mean(), "reward_std": rewards.std()}
        if self.method.frozen:
            return Learned(policy, learner, method), metrics
        settings: dict[str, Any] = {"devices": self.devices} if isinstance(self.learner, PPO) else {}
        if isinstance(self.learner, SAC) and self.learner.relabel:
            settings["relabel"] = lambda rows: self._paid(method, rows, self.method.relabel(method, rows))
            settings["whole"] = self.method.whole
        remaining = jnp.maximum(1 - epoch / self.epochs, 0.0)
        policy, learner, updated = self.learner.update(
            policy, learner, batch, self._paid(method, batch, rewards), update_key, remaining, **settings
        )
        seen = batch.observation[..., : policy.statistics.size]
        policy = policy.with_statistics(policy.statistics.update(seen))
        return Learned(policy, learner, method), {**updated, **metrics}

    def end(self, training: Training, learned: Learned, states, elapsed, key: PRNGKeyArray) -> Training:
        """The state of training after an epoch."""
        kept = self.method.finish(learned.method)
        return Training(learned.policy, learned.learner, states, elapsed, kept, key, training.epoch + 1)

    def _example(self, policy: SkillPolicy, key: PRNGKeyArray) -> Transition:
        """Transitions of the shapes and types that the scenes bring."""
        E, c, D = self.scenes, self.chunk, self.environment.observation_size
        goals, drawn = self.space.sample(key, E), noise(policy.actions, key, (E, c))
        observations, times = jnp.zeros((E, c, D)), jnp.zeros((E, c))

        def scene(goal, observations, times, drawn):
            return jax.vmap(policy.skill(goal).act)(observations, times, drawn)

        action, log_prob = jax.vmap(scene)(goals, observations, times, drawn)
        ends = jnp.zeros((E, c), bool)
        return Transition(observations, times, action, log_prob, observations, times, ends, ends, times, goals)

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
        done = jax.vmap(scene)(states, elapsed, goals, jax.random.split(world_key, self.scenes), drawn)
        return spread(done, self.devices)
