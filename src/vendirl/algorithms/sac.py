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
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Shaped

from vendirl._checks import LARGEST, Bounds, one_of
from vendirl.algorithms.algorithm import Algorithm, Context, Metrics, Model, Rewards, ShapeOfRewards
from vendirl.algorithms.replay import Replay
from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.networks import ACTIVATIONS, Network
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition

Actor = tuple[Network, Float[Array, "..."] | None]
"""What SAC learns of a policy: the network, and the deviation of actions that are not squashed."""

Sampled = tuple[
    Float[Array, "B D"],
    Float[Array, " B"],
    Float[Array, "B A"],
    Int[Array, " B"] | Float[Array, "B n"],
    Float[Array, "B *d"],
    Float[Array, " B"],
    Float[Array, "B D"],
    Float[Array, " B"],
]
"""Transitions: observation, time, action, skill, return, bootstrap, successor, its time."""


class SACState(eqx.Module):
    """All that SAC keeps beside the policy."""

    critics: Network
    targets: Network
    log_alpha: Float[Array, ""]
    actor_state: PyTree[Array]
    critic_state: PyTree[Array]
    alpha_state: PyTree[Array]
    replay: Replay


@dataclasses.dataclass(frozen=True)
class SAC(Algorithm):
    """Soft actor-critic: learn from all that the skills did, as it is remembered.

    Attributes:
        learning_rate: The learning rate of Adam.
        discount: The discount γ.
        polyak: How far the target critics move towards the critics in each gradient step.
        temperature: The temperature α that learning begins with.
        reward_scale: The factor of rewards, which decides how much they count against entropy.
        learn_temperature: Whether α is learned, or stays what it is at first.
        target_entropy: The entropy that α is learned towards, for each dimension of the action, in half widths of the
            action box.
        steps: How many rewards a target sums up before it bootstraps.
        updates: How many gradient steps an update has.
        batch: How many transitions a gradient step has.
        capacity: How many transitions the replay holds.
        warmup: How many transitions the replay must hold before anything is learned.
        relabel: Compute the rewards of what is replayed anew by what the method knows now, rather than store them.
        ratio: How many gradient steps there are for each step of a scene. If it is None, `updates` says how many.
        hidden: The widths of the hidden layers of the critics.
        activation: The activation between the layers of the critics: tanh or relu.
        noise: None for SAC. Otherwise actions are tanh μ plus noise of this deviation, in half widths of their box, and
            there is neither entropy nor temperature: DDPG with twin critics and delayed targets, as URLB has it.
        noise_clip: The bound on that noise in gradient steps.
        successor: Learn vectors ψ with Q = ψ·z, and no entropy in the target: from vectors, a method's cumulants, their
            successor features; from rewards that have a part beside them, ψ such that ψ·z is the value.
    """

    name: ClassVar[str] = "sac"
    squashes: ClassVar[bool] = True
    replays: ClassVar[bool] = True
    bounds: ClassVar[Mapping[str, Bounds]] = {
        "learning_rate": (0, LARGEST),
        **dict.fromkeys(("discount", "polyak"), (0, 1)),
        "temperature": (1e-30, 1e6),
        **dict.fromkeys(("reward_scale", "target_entropy"), (-1e6, 1e6)),
        "steps": (1, 10**4),
        **dict.fromkeys(("updates", "batch"), (1, 10**6)),
        "capacity": (1, 2**31 - 1),
        "warmup": (0, 2**31 - 1),
        **dict.fromkeys(("ratio", "noise", "noise_clip"), (1e-6, 1e6)),
    }

    learning_rate: float = 1e-3
    discount: float = 0.99
    polyak: float = 0.005
    temperature: float = 0.1
    reward_scale: float = 10.0
    learn_temperature: bool = True
    target_entropy: float = -1.0
    steps: int = 1
    updates: int = 64
    batch: int = 512
    capacity: int = 1_000_000
    warmup: int = 10_000
    relabel: bool = True
    hidden: Sequence[int] = (64, 64)
    successor: bool = False
    ratio: float | None = None
    activation: str = "tanh"
    noise: float | None = None
    noise_clip: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.activation, list(ACTIVATIONS), "sac.activation")

    @property
    def deviation(self) -> float | None:
        return self.noise

    @property
    def rewards_anew(self) -> bool:
        return self.relabel

    @property
    def successor_features(self) -> bool:
        return self.successor

    def check(self, actions: Discrete | Box, scenes: int) -> None:
        if isinstance(actions, Discrete):
            raise ValueError("SAC needs continuous actions, but these are discrete; use --learner ppo")

    def init(self, policy: SkillPolicy, key: PRNGKeyArray, example: Transition, rewards: ShapeOfRewards) -> SACState:
        """The state before the first update; `example` and `rewards` have the shapes of what updates will bring."""
        scenes, steps = rewards.shape[:2]
        self.check(policy.actions, scenes)
        size = policy.statistics.size + policy.time + _box(policy).size + policy.skills
        outputs = rewards.shape[-1] if rewards.ndim == 3 else policy.skills if self.successor else 1
        sizes = (size, *self.hidden, outputs)
        normals = jax.random.normal(key, (2, Network.size(sizes)))
        critics = jax.lax.map(
            lambda normals: Network(sizes, 1.0, normals, self.activation), normals
        )  # one after the other, as policies
        capacity = max(1, self.capacity // (scenes * steps)) * scenes

        def room(x):
            return jnp.zeros((capacity, *x.shape[1:]), x.dtype)

        replay = Replay(jax.tree.map(room, example), room(rewards), jnp.zeros((), jnp.int32))
        return SACState(
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
        state: SACState,
        batch: Transition,
        rewards: Rewards,
        key: PRNGKeyArray,
        context: Context = Context(),  # noqa: B008
    ) -> tuple[SkillPolicy, SACState, Metrics]:
        """Write down what the scenes did, and improve the policy by what is written.

        `rewards` are cumulants (scenes, steps, d) for successor features. What remains of training is not used: SAC
        settles by its temperature.
        """
        _, policy, state, metrics = self._improved(None, None, policy, state, batch, rewards, key, context)
        return policy, state, metrics

    def update_with(
        self,
        model: Model,
        known: PyTree[Array],
        *data: Any,
    ) -> tuple[PyTree[Array], SkillPolicy, SACState, Metrics]:
        """In each gradient step the method learns from the transitions, then rewards them by what it knows."""
        return self._improved(model, known, *data)

    def _improved(
        self,
        model: Model | None,
        known: PyTree[Array],
        policy: SkillPolicy,
        learner: SACState,
        batch: Transition,
        rewards: Rewards,
        key: PRNGKeyArray,
        context: Context,
    ) -> tuple[PyTree[Array], SkillPolicy, SACState, Metrics]:
        whole = context.whole_stretches
        if model is not None and (self.steps > 1 or whole):
            raise ValueError(f"a method that learns from a replay needs sac.steps=1, but it is {self.steps}")
        replay = learner.replay.add(batch, rewards)
        learner = eqx.tree_at(lambda l: l.replay, learner, replay)
        row_key, step_key, noise_key = jax.random.split(key, 3)
        T = rewards.shape[1]
        # several rewards in a row must be computed anew
        whole = whole or (context.rewards_now is not None and self.steps > 1)
        count = -(-self.batch // T) if whole else self.batch  # rows in a gradient step
        updates = self.updates if self.ratio is None else max(1, round(self.ratio * rewards.shape[0] * T))
        chance = jax.random.uniform(row_key, (updates, count))
        steps = jax.random.randint(step_key, (updates, count), 0, T)
        size = (count * T if whole else count, _box(policy).size)
        noise = jax.random.normal(noise_key, (updates, 2, *size))
        if self.noise is not None:
            noise = jnp.clip(noise, -self.noise_clip / self.noise, self.noise_clip / self.noise)
        keys = None if model is None else jax.random.split(jax.random.fold_in(key, 1), updates)

        def gradient_step(carry, draws):
            known, policy, learner = carry
            chance, t, noise, model_key = draws
            rows = jnp.minimum((chance * replay.filled).astype(jnp.int32), replay.filled - 1)
            if model is None:
                data, found = self._sample(replay, rows, t, context, whole), {}
            else:
                stretch = context.replayed(replay.stretches(rows, t))
                known, found = model.learn(known, stretch, model_key)
                data = self._of_stretches(stretch, model.rewards(known, stretch))
            policy, learner, metrics = self._step(policy, learner, data, noise)
            return (known, policy, learner), {**found, **metrics}

        ready = replay.written * T >= self.warmup
        arrays, static = eqx.partition((known, policy, learner), eqx.is_array)

        def learned(arrays):
            carry, metrics = jax.lax.scan(gradient_step, eqx.combine(arrays, static), (chance, steps, noise, keys))
            return eqx.filter(carry, eqx.is_array), jax.tree.map(lambda m: m[-1], metrics)

        _, shapes = jax.eval_shape(learned, arrays)
        nothing = jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), shapes)
        arrays, metrics = jax.lax.cond(ready, learned, lambda arrays: (arrays, nothing), arrays)
        return *eqx.combine(arrays, static), metrics

    def _sample(
        self, replay: Replay, rows: Int[Array, " rows"], t: Int[Array, " rows"], context: Context, whole: bool
    ) -> Sampled:
        """Of stored stretches all transitions if they are wanted `whole`, else the t-th of each."""
        if context.rewards_now is None and not whole:  # rewards of several steps are looked up where they are stored
            stored = replay.rows
            found = jax.vmap(self._returns)(replay.rewards[rows], stored.terminated[rows], stored.truncated[rows])
            returns, bootstrap, last = (jax.vmap(lambda x, t: x[t])(x, t) for x in found)
            observation, time, action = (x[rows, t] for x in (stored.observation, stored.time, stored.action))
            successor, its_time = (x[rows, last] for x in (stored.next_observation, stored.next_time))
            return observation, time, action, stored.skill[rows], returns, bootstrap, successor, its_time
        stretch = context.replayed(replay.stretches(rows, None if whole else t))
        rewards = replay.rewards[rows] if context.rewards_now is None else context.rewards_now(stretch)
        return self._of_stretches(stretch, rewards)

    def _of_stretches(self, stretch: Transition, rewards: Rewards) -> Sampled:
        """All transitions of stretches, with what came after them."""
        count, T = rewards.shape[:2]
        flat = lambda x: x.reshape(count * T, *x.shape[2:])  # noqa: E731
        ends = (jnp.asarray(stretch.terminated), jnp.asarray(stretch.truncated))
        returns, bootstrap, last = jax.vmap(self._returns)(rewards, *ends)
        take = jax.vmap(lambda x, last: x[last])
        successor, its_time = take(stretch.next_observation, last), take(stretch.next_time, last)
        skill = jnp.repeat(stretch.skill, T, axis=0)
        observation, time, action = map(flat, (stretch.observation, stretch.time, stretch.action))
        returns, bootstrap, successor, its_time = map(flat, (returns, bootstrap, successor, its_time))
        return observation, time, action, skill, returns, bootstrap, successor, its_time

    def _returns(
        self, rewards: Float[Array, " T *d"], terminated: Bool[Array, " T"], truncated: Bool[Array, " T"]
    ) -> tuple[Float[Array, " T *d"], Float[Array, " T"], Int[Array, " T"]]:
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

    def _step(
        self, policy: SkillPolicy, learner: SACState, data: Sampled, noise: Float[Array, "2 B A"]
    ) -> tuple[SkillPolicy, SACState, Metrics]:
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
        scalar = returns.ndim == 1
        if self.successor and scalar:
            target = jnp.sum(target * z, -1, keepdims=True)
        returns = self.reward_scale * (returns[:, None] if scalar else returns)
        target = jax.lax.stop_gradient(returns + bootstrap[:, None] * target)

        def critic_loss(flat):
            q = self._q(policy, unflatten(flat), observation, time, action, z)
            if self.successor and scalar:
                q = jnp.sum(q * z, -1, keepdims=True)
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
        if self.learn_temperature and self.noise is None:
            gradient = -(log_prob + self.target_entropy * _box(policy).size)
            updates, alpha_state = self._optimiser.update(gradient, alpha_state)
            log_alpha = log_alpha + updates
        learner = SACState(critics, targets, log_alpha, actor_state, critic_state, alpha_state, learner.replay)
        return policy, learner, {"value_loss": value_loss, "entropy": -log_prob, "alpha": alpha, "q": q}

    def _q(
        self,
        policy: SkillPolicy,
        critics: Network,
        observation: Float[Array, "B D"],
        time: Float[Array, " B"],
        action: Float[Array, "B A"],
        z: Float[Array, "B n"],
    ) -> Float[Array, "2 B outputs"]:
        normal = policy.statistics.normalise(observation[..., : policy.statistics.size])
        box = _box(policy)
        parts = [normal, time[:, None]] if policy.time else [normal]
        x = jnp.concatenate([*parts, (action - box.centre) / box.half_width, z], -1)
        return jax.vmap(lambda critic: jax.vmap(critic)(x))(critics)

    def _lower(self, q: Float[Array, "2 B outputs"], z: Float[Array, "B n"]) -> Float[Array, "B outputs"]:
        """Of the two critics' values, or vectors, the one with the lower Q.

        It is chosen rather than `q.min(0)`, whose derivative divides by how many of the values equal the least: a
        compiler that computes them twice, with other rounding, finds that none does, and 0 / 0 is not a number.
        """
        worth = jnp.sum(q * z, -1) if self.successor else q[..., 0]
        return jnp.where((worth[0] < worth[1])[:, None], q[0], q[1])

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


def _box(policy: SkillPolicy) -> Box:
    assert isinstance(policy.actions, Box), "`check` sees to it"
    return policy.actions


def _actor(policy: SkillPolicy) -> Actor:
    return policy.actor, policy.log_std


def _with_actor(policy: SkillPolicy, actor: Actor) -> SkillPolicy:
    return eqx.tree_at(lambda p: (p.actor, p.log_std), policy, actor, is_leaf=lambda x: x is None)


def _like(x: Shaped[Array, " T"], rewards: Float[Array, " T *d"]) -> Shaped[Array, " T *ones"]:
    """x with as many axes as the rewards have."""
    return x.reshape(*x.shape, *[1] * (rewards.ndim - x.ndim))
