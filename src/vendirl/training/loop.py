"""The loop that all methods share: choose goals, act, learn what the reward needs, reward, learn to act; in many
scenes.

One call of `epoch` is one pass of the outer loop of Algorithm 1 in all scenes at once. Within an epoch a scene
follows one skill; its steps come in chunks, each followed by an update of the skills. `epoch` is one compiled program;
where the environment is not a part of it, `training.host` does the same in pieces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from vendirl._moved import no_more
from vendirl.algorithms import Algorithm, Context, Model
from vendirl.algorithms.algorithm import Rewards
from vendirl.environments import Environment, State
from vendirl.methods.method import Goals, Method, Metrics, Rehearse
from vendirl.methods.problem import Problem
from vendirl.skills.policy import SkillPolicy, noise
from vendirl.skills.rollout import Transition, act_out, rollout
from vendirl.training.budget import block_of
from vendirl.training.devices import averaged, spread
from vendirl.training.visited import Coverage, Visited

OBSERVATIONS = "observations"
"""The metric that is not finite if the environment returned something that is not finite."""


class Training(eqx.Module):
    """All that changes during training, and all that a checkpoint must hold.

    Attributes:
        policy: the skills θ.
        learner: the state of the algorithm of choice: optimiser, critics, replay.
        states, elapsed: of the E scenes; of scenes that are outside the program nothing is known here.
        method: the state of the method: memory, discriminator, ...
        key: of everything random that is still to come.
        epoch: how many epochs are done.
        visited: the cells that were visited in training, if they are counted.
    """

    policy: SkillPolicy
    learner: PyTree[Array]
    states: State | None
    elapsed: Int[Array, " E"]
    method: PyTree[Array]
    key: PRNGKeyArray
    epoch: Int[Array, ""]
    visited: Visited | None = None


class Learned(eqx.Module):
    """What changes within an epoch, but for the scenes."""

    policy: SkillPolicy
    learner: PyTree[Array]
    method: PyTree[Array]
    visited: Visited | None


@no_more(
    chunk="loop.epoch",
    chunks="loop.problem.updates",
    environment="loop.problem.environment",
    epochs="loop.problem.epochs",
    learner="loop.algorithm",
    scenes="loop.problem.scenes",
    skills="loop.problem.skills",
    space="loop.problem.space",
)
@dataclasses.dataclass(frozen=True)
class Loop:
    """Training with everything it needs to know; its methods are pure and may be compiled and vmapped.

    Attributes:
        problem: where the skills act, and how training goes about it.
        method: what is rewarded, bound to the problem.
        algorithm: the "algorithm of choice".
        devices: how many devices the scenes are spread over.
        coverage: of which features the cells that training visits are counted, if they are.
    """

    problem: Problem
    method: Method
    algorithm: Algorithm
    devices: int = 1
    coverage: Coverage | None = None

    @property
    def steps_of_an_epoch(self) -> int:
        """Steps of one scene in an epoch."""
        return self.problem.steps * self.problem.updates

    @property
    def block(self) -> int:
        """Epochs in one block."""
        return block_of(self.problem.epochs - self.problem.extended)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Training:
        """The state of training before the first epoch."""
        problem = self.problem
        key, reset_key, method_key, learner_key = jax.random.split(key, 4)
        method = self.method.start(policy, method_key)
        states = None
        if isinstance(problem.environment, Environment):
            states = jax.vmap(problem.environment.reset)(jax.random.split(reset_key, problem.scenes))
        elapsed, epoch = jnp.zeros(problem.scenes, jnp.int32), jnp.zeros((), jnp.int32)
        example = jax.eval_shape(self._example, policy, key)
        nothing = jnp.zeros((problem.scenes, problem.steps))
        rewards = jax.eval_shape(lambda batch: self._paid(method, batch, nothing), example)
        learner = self.algorithm.init(policy, learner_key, example, rewards)
        visited = None if self.coverage is None else self.coverage.start()
        return Training(policy, learner, states, elapsed, method, key, epoch, visited)

    def epoch(self, training: Training) -> tuple[Training, Metrics]:
        """One epoch in all scenes, and its metrics."""
        environment, skills = self._world, jnp.arange(self.problem.skills)

        def rehearse(key, episodes):
            return act_out(environment, training.policy, skills, key, episodes=episodes).next_observation

        goals, learned, keys, key = self.begin(training, rehearse)

        def chunk(carry, keys):
            states, elapsed, learned = carry
            states, elapsed, batch = self._act(learned.policy, states, elapsed, goals, keys[0])
            learned, metrics = self.learn(learned, batch, training.epoch, keys[1])
            return (states, elapsed, learned), metrics

        carry, metrics = jax.lax.scan(chunk, (training.states, training.elapsed, learned), keys)
        states, elapsed, learned = carry
        return self.end(training, learned, states, elapsed, key), {name: x[-1] for name, x in metrics.items()}

    def begin(
        self, training: Training, rehearse: Rehearse
    ) -> tuple[Goals, Learned, Key[Array, "updates 2"], PRNGKeyArray]:
        """The goals of the scenes in this epoch, what is learned in it, keys to act and learn with in each update, and
        the key for what comes after."""
        key, method_key, goal_key, chunk_key = jax.random.split(training.key, 4)
        goals = spread(self.method.goals(training.method, training.epoch, goal_key), self.devices)
        method = self.method.prepare(training.method, goals, training.elapsed, method_key, rehearse)
        learned = Learned(training.policy, training.learner, method, training.visited)
        return goals, learned, jax.random.split(chunk_key, (self.problem.updates, 2)), key

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
        metrics[OBSERVATIONS] = jnp.where(_environment_is_sound(batch), 0.0, jnp.nan)
        visited = learned.visited
        if self.coverage is not None and visited is not None:
            visited = self.coverage.visit(visited, jnp.stack([batch.observation, batch.next_observation]))
            metrics |= self.coverage.metrics(visited)
        if self.method.frozen:
            return Learned(policy, learner, method, visited), metrics
        context = Context(
            remaining=jnp.maximum(1 - epoch / self.problem.epochs, 0.0),
            devices=self.devices,
            averaged=partial(averaged, self.devices),
            rewards_now=self._rewards_now(method) if self.algorithm.rewards_anew else None,
            whole_stretches=self.method.whole_stretches,
            replayed=partial(self.method.replayed, method),
        )
        paid = self._paid(method, batch, rewards)
        data = (policy, learner, batch, paid, update_key, context)
        if self.method.learns_from_replay:
            model = Model(self.method.learn_replayed, lambda method, stored: self._rewards_now(method)(stored))
            method, policy, learner, updated = self.algorithm.update_with(model, method, *data)
        else:
            policy, learner, updated = self.algorithm.update(*data)
        seen = batch.observation[..., : policy.statistics.size]
        policy = policy.with_statistics(policy.statistics.update(seen))
        return Learned(policy, learner, method, visited), {**updated, **metrics}

    def end(
        self,
        training: Training,
        learned: Learned,
        states: State | None,
        elapsed: Int[Array, " E"],
        key: PRNGKeyArray,
    ) -> Training:
        """The state of training after an epoch."""
        kept = self.method.finish(learned.method)
        done = training.epoch + 1
        return Training(learned.policy, learned.learner, states, elapsed, kept, key, done, learned.visited)

    def _example(self, policy: SkillPolicy, key: PRNGKeyArray) -> Transition:
        """Transitions of the shapes and types that the scenes bring."""
        E, c, D = self.problem.scenes, self.problem.steps, self.problem.environment.observation_size
        goals, drawn = self.problem.space.sample(key, E), noise(policy.actions, key, (E, c))
        observations, times = jnp.zeros((E, c, D)), jnp.zeros((E, c))

        def scene(goal, observations, times, drawn):
            return jax.vmap(policy.skill(goal).act)(observations, times, drawn)

        action, log_prob = jax.vmap(scene)(goals, observations, times, drawn)
        ends = jnp.zeros((E, c), bool)
        return Transition(observations, times, action, log_prob, observations, times, ends, ends, times, goals)

    def _paid(self, method: PyTree[Array], batch: Transition, rewards: Float[Array, "scenes steps"]) -> Rewards:
        """What the learner learns from: rewards, or the features of which it learns successor features."""
        features = self.algorithm.successor_features and self.method.linear
        return self.method.features_of(method, batch) if features else rewards

    def _rewards_now(self, method: PyTree[Array]) -> Callable[[Transition], Rewards]:
        return lambda stored: self._paid(method, stored, self.method.reward_stored(method, stored))

    @property
    def _world(self) -> Environment:
        assert isinstance(self.problem.environment, Environment), "scenes outside of the program: see training.host"
        return self.problem.environment

    def _act(
        self, policy: SkillPolicy, states: State, elapsed: Int[Array, " E"], goals: Goals, key: PRNGKeyArray
    ) -> tuple[State, Int[Array, " E"], Transition]:
        scenes, steps, environment = self.problem.scenes, self.problem.steps, self._world

        def scene(state, elapsed, goal, key, noise):
            return rollout(environment, policy.skill(goal).act, state, elapsed, goal, steps, key, noise)

        noise_key, world_key = jax.random.split(key)
        drawn = noise(policy.actions, noise_key, (scenes, steps))
        done = jax.vmap(scene)(states, elapsed, goals, jax.random.split(world_key, scenes), drawn)
        return spread(done, self.devices)


def _environment_is_sound(batch: Transition) -> Bool[Array, ""]:
    """Whether finite actions in finite states always led to finite states; if not, the environment is to blame."""
    asked = jnp.isfinite(batch.observation).all(-1)
    if batch.action.ndim > asked.ndim:  # discrete actions are always finite
        asked = asked & jnp.isfinite(batch.action).all(-1)
    return (jnp.isfinite(batch.next_observation).all(-1) | ~asked).all()
