"""Algorithm 1: refill the skill memory, choose goals, act, reward the change in diversity, learn; over many scenes.

One call of `epoch` is one pass of the paper's outer loop in all scenes at once. Scenes are dealt evenly to a pool of m
memories, each filled with trajectories of its own:

    scene       m = number of scenes: the paper's, a memory for each scene, E n T steps for each refill
    pool(m)     between the two
    shared      m = 1: one memory for all scenes, n T steps for each refill
    off         a memory for each scene that goes on filling with what the scene observes; all are refilled together
                every `synchronise` epochs

Within an epoch a scene follows one skill; its steps come in chunks, each followed by an update of the skills.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl.algorithms.ppo import PPO
from vendirl.environments.environment import Environment, State
from vendirl.memory import SkillMemory
from vendirl.policies import SkillPolicy, noise
from vendirl.reward import Following, Transform, borders
from vendirl.rollout import Transition, rollout, trajectories
from vendirl.similarity import Similarity


class Training(eqx.Module):
    """All that changes during training, and all that a checkpoint must hold.

    Attributes:
        policy: the skills θ.
        opt_state: the learner's.
        states, elapsed: of the E scenes.
        memory: the scenes' memories, if they outlast an epoch (`off`), else None.
        key: of everything random that is still to come.
        epoch: how many epochs are done.
    """

    policy: SkillPolicy
    opt_state: Any
    states: State
    elapsed: Int[Array, " E"]
    memory: SkillMemory | None
    key: PRNGKeyArray
    epoch: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class VendiRL:
    """Algorithm 1 with everything it needs to know; `start` and `epoch` are pure and may be compiled and vmapped.

    Attributes:
        environment: where the skills act.
        similarity: k.
        skills: n.
        algorithm: the "algorithm of choice".
        scenes: E.
        memories: m, the size of the pool.
        synchronise: None if memories are refilled at every epoch; else after how many epochs (`off`).
        episodes: N, trajectories per skill in memory.
        epochs: how many there will be, which exploration is spread over.
        chunk: steps between two updates.
        chunks: chunks in an epoch, which is thus chunk * chunks steps long.
        transform, q: of the reward.
    """

    environment: Environment
    similarity: Similarity
    skills: int
    algorithm: PPO
    scenes: int
    memories: int
    synchronise: int | None
    episodes: int
    epochs: int
    chunk: int
    chunks: int
    transform: Transform
    q: float

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Training:
        """The state of training before the first epoch."""
        key, reset_key, fill_key = jax.random.split(key, 3)
        states = jax.vmap(self.environment.reset)(jax.random.split(reset_key, self.scenes))
        memory = None if self.synchronise is None else self.refill(policy, fill_key)
        elapsed, epoch = jnp.zeros(self.scenes, jnp.int32), jnp.zeros((), jnp.int32)
        return Training(policy, self.algorithm.init(policy), states, elapsed, memory, key, epoch)

    def refill(self, policy: SkillPolicy, key: PRNGKeyArray) -> SkillMemory:
        """m memories of new trajectories of all skills, (m, ...)."""
        skills, episodes = jnp.arange(self.skills), self.memories * self.episodes
        points = trajectories(self.environment, policy, skills, key, episodes=episodes)
        n, _, T, D = points.shape
        points = points.reshape(n, self.memories, self.episodes, T, D)
        return jax.vmap(partial(SkillMemory.fill, self.similarity), in_axes=1)(points)

    def epoch(self, training: Training) -> tuple[Training, dict[str, Float[Array, ""]]]:
        """Lines 4 to 12 of Algorithm 1 in all scenes."""
        key, fill_key, goal_key, chunk_key = jax.random.split(training.key, 4)
        if training.memory is None:
            memory = self.refill(training.policy, fill_key)
        else:
            assert self.synchronise is not None
            due = (training.epoch > 0) & (training.epoch % self.synchronise == 0)
            memory = jax.lax.cond(due, lambda: self.refill(training.policy, fill_key), lambda: training.memory)
        remaining = jnp.maximum(1 - training.epoch / self.epochs, 0.0)
        goals = jax.random.randint(goal_key, (self.scenes,), 0, self.skills)
        followings = self._dealt(self._follow, memory, (goals, training.elapsed))

        def chunk(carry, key):
            policy, opt_state, states, elapsed, followings = carry
            rollout_key, update_key = jax.random.split(key)
            states, elapsed, batch = self._act(policy, states, elapsed, goals, rollout_key)
            if policy.time:  # whoever sees the time can value its end: nothing comes after a skill's last step
                ended = batch.terminated | batch.truncated
                batch = eqx.tree_at(lambda b: b.terminated, batch, ended)
            observe = partial(self._observe, update=self.chunks > 1 or training.memory is not None)
            followings, rewards, scores = self._dealt(observe, memory, (followings, batch.next_observation))
            policy, opt_state, metrics = self.algorithm.update(policy, opt_state, batch, rewards, update_key, remaining)
            policy = policy.with_statistics(policy.statistics.update(batch.observation))
            metrics |= {"score": scores[:, -1].mean(), "reward": rewards.mean(), "reward_std": rewards.std()}
            return (policy, opt_state, states, elapsed, followings), metrics

        carry = (training.policy, training.opt_state, training.states, training.elapsed, followings)
        carry, metrics = jax.lax.scan(chunk, carry, jax.random.split(chunk_key, self.chunks))
        policy, opt_state, states, elapsed, followings = carry
        if training.memory is not None:
            memory = jax.vmap(lambda memory, f: memory.store(self.similarity, f.skill, f.track, f.summary))(
                memory, followings
            )
        metrics = {name: values[-1] for name, values in metrics.items()}
        after = None if training.memory is None else memory
        return Training(policy, opt_state, states, elapsed, after, key, training.epoch + 1), metrics

    def _act(self, policy, states, elapsed, goals, key) -> tuple[State, Array, Transition]:
        def scene(state, elapsed, goal, key, noise):
            return rollout(self.environment, policy.skill(goal).act, state, elapsed, goal, self.chunk, key, noise)

        noise_key, world_key = jax.random.split(key)
        drawn = noise(policy.actions, noise_key, (self.scenes, self.chunk))
        return jax.vmap(scene)(states, elapsed, goals, jax.random.split(world_key, self.scenes), drawn)

    def _follow(self, memory: SkillMemory, scenes) -> Following:
        """Begin to follow the goals of the scenes that share a memory; slots are steps of the episode."""
        goals, elapsed = scenes
        shared = None
        if goals.shape[0] > self.skills:  # fewer decompositions than one for each scene
            shared = borders(self.similarity, memory, self.q)

        def scene(goal, elapsed):
            border = None if shared is None else jax.tree.map(lambda leaf: leaf[goal], shared)
            following = Following.start(self.similarity, memory, goal, self.q, border)
            return eqx.tree_at(lambda f: f.track.position, following, elapsed)

        return jax.vmap(scene)(goals, elapsed)

    def _observe(self, memory: SkillMemory, scenes, update: bool):
        def scene(following, observations):
            after, rewards, scores = following.observe(self.similarity, memory, observations, self.transform)
            return after if update else following, rewards, scores

        return jax.vmap(scene)(*scenes)

    def _dealt(self, function, memory: SkillMemory, scenes):
        """Apply a function of (one memory, the scenes that use it) to the pool and the scenes dealt to it."""
        m = self.memories
        grouped = jax.tree.map(lambda leaf: leaf.reshape(m, -1, *leaf.shape[1:]), scenes)
        out = jax.vmap(function)(memory, grouped)
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), out)
