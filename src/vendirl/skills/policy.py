"""Skill-conditioned policies π(a | s, g) with a critic beside them.

A `SkillPolicy` holds all skills; `policy.skill(g)` is one of them, an ordinary actor and critic. All methods are
unbatched, but for `evaluate_scenes` and `values`, which learners call.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray, Real

from vendirl.environments.spaces import Box, Discrete
from vendirl.skills.networks import Network
from vendirl.skills.statistics import RunningStatistics

AnyArray = Array | np.ndarray
Action = Float[Array, " A"] | Int[Array, ""]
GivenAction = Float[AnyArray, " A"] | Int[ArrayLike, ""]
GivenSkill = float | np.number | Real[AnyArray, "..."]
"""A whole number or a vector; whatever is neither, or has the wrong shape, is refused with a sentence."""
Observation = Float[AnyArray, " D"]
Time = Float[ArrayLike, ""]
"""The fraction of the episode that has passed."""


def noise(actions: Discrete | Box, key: PRNGKeyArray, shape: tuple[int, ...] = ()) -> Float[Array, "*shape A"]:
    """What `Skill.act` needs of chance, and nothing of the state: normal or, for discrete actions, Gumbel."""
    if isinstance(actions, Discrete):
        return jax.random.gumbel(key, (*shape, actions.n))
    return jax.random.normal(key, (*shape, actions.size))


class Skill(eqx.Module):
    """One skill: an actor and a critic of the observation, and of the time where `timed`.

    Continuous actions are normal with a standard deviation that does not depend on the state,
    a ~ N(centre + half_width * actor(x), (half_width * exp(log_std))²), and are *not* clipped here: the environment
    clips, and log π is that of the unclipped action. Where `squashed`, the actor gives μ and log σ for each state, and
    a = centre + half_width * tanh(u), u ~ N(μ, σ²), with log π in half widths. With a `deviation` the actor gives only
    μ, and a = centre + half_width * clip(tanh μ + deviation * ε, -1, 1), whose log π nobody asks for and is given as 0.
    Discrete actions are categorical with logits actor(x).
    """

    actor: Network
    critic: Network
    log_std: Float[Array, " A"] | None
    statistics: RunningStatistics
    actions: Discrete | Box = eqx.field(static=True)
    timed: bool = eqx.field(static=True)
    squashed: bool = eqx.field(static=True, default=False)
    features: int | None = eqx.field(static=True, default=None)
    deviation: float | None = eqx.field(static=True, default=None)

    def action_and_value(
        self, observation: Observation, time: Time, key: PRNGKeyArray
    ) -> tuple[Action, Float[Array, ""], Float[Array, ""]]:
        """a ~ π(. | s), log π(a | s), V(s)."""
        return *self.act(observation, time, noise(self.actions, key)), self.value(observation, time)

    def act(self, observation: Observation, time: Time, noise: Float[Array, " A"]) -> tuple[Action, Float[Array, ""]]:
        """a and log π(a | s), where a is a function of the state and of `noise`."""
        output = self.actor(self._inputs(observation, time))
        if isinstance(self.actions, Discrete):
            action = jnp.argmax(output + noise)
            return action, jax.nn.log_softmax(output)[action]
        if self.deviation is not None:
            a = jnp.tanh(output) + self.deviation * noise
            inside = a + jax.lax.stop_gradient(jnp.clip(a, -1, 1) - a)  # the wall does not stop the gradient
            return self._to_box(inside), jnp.zeros(())
        if self.squashed:
            μ, log_σ = self._squashed(output)
            u = μ + jnp.exp(log_σ) * noise
            # log(1 - tanh² u) = 2 (log 2 - u - softplus(-2u)), which does not round to log 0
            slope = 2 * (jnp.log(2.0) - u - jax.nn.softplus(-2 * u))
            log_prob = -jnp.sum(0.5 * noise**2 + log_σ + 0.5 * jnp.log(2 * jnp.pi) + slope)
            return self._to_box(jnp.tanh(u)), log_prob
        action = self._to_box(output + jnp.exp(self._log_std) * noise)
        return action, self._normal_log_density(noise)

    def evaluate(
        self, observation: Observation, time: Time, action: GivenAction
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """log π(a | s), the entropy of π(. | s), V(s)."""
        x = self._inputs(observation, time)
        return *self.judge(self.actor(x), action), self.critic(x)[0]

    def judge(self, output: Float[Array, " outputs"], action: GivenAction) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """log π(a | s) and the entropy of π(. | s), given what the actor says of s."""
        if isinstance(self.actions, Discrete):
            log_probs = jax.nn.log_softmax(output)
            # A masked sum instead of an index, again for the derivative's sake.
            log_prob = jnp.sum(jax.nn.one_hot(action, self.actions.n) * log_probs)
            return log_prob, -jnp.sum(jnp.exp(log_probs) * log_probs)
        ε = (self._from_box(jnp.asarray(action)) - output) * jnp.exp(-self._log_std)
        entropy = jnp.sum(self._log_std + jnp.log(self._box.half_width) + 0.5 * jnp.log(2 * jnp.pi * jnp.e))
        return self._normal_log_density(ε), entropy

    def value(self, observation: Observation, time: Time) -> Float[Array, ""]:
        """V(s)."""
        return self.critic(self._inputs(observation, time))[0]

    def mode(self, observation: Observation, time: Time) -> Action:
        """The likeliest action."""
        output = self.actor(self._inputs(observation, time))
        if isinstance(self.actions, Discrete):
            return jnp.argmax(output)
        if self.deviation is not None:
            return self._to_box(jnp.tanh(output))
        return self._to_box(jnp.tanh(self._squashed(output)[0]) if self.squashed else output)

    def _squashed(
        self, output: Float[Array, " outputs"]
    ) -> tuple[Float[Array, " outputs//2"], Float[Array, " outputs//2"]]:
        """μ and log σ, the latter bounded."""
        μ, raw = jnp.split(output, 2)
        return μ, -5 + 3.5 * (jnp.tanh(raw) + 1)

    def _inputs(self, observation: Observation, time: Time) -> Float[Array, " inputs"]:
        seen = self.statistics.size
        if observation.shape[-1] not in (seen, self.features or seen):
            both = f"{seen}" if self.features in (None, seen) else f"{seen} that it sees, or of all {self.features}"
            raise ValueError(f"observation must be a vector of the {both} features, but has shape {observation.shape}")
        x = self.statistics.normalise(observation[:seen])
        return jnp.append(x, time) if self.timed else x

    @property
    def _box(self) -> Box:
        assert isinstance(self.actions, Box), "discrete actions have no box"
        return self.actions

    @property
    def _log_std(self) -> Float[Array, " A"]:
        assert self.log_std is not None, "only actions that are normal have one for all states"
        return self.log_std

    def _to_box(self, x: Float[Array, " A"]) -> Float[Array, " A"]:
        return self._box.centre + self._box.half_width * x

    def _from_box(self, action: Float[Array, " A"]) -> Float[Array, " A"]:
        return (action - self._box.centre) / self._box.half_width

    def _normal_log_density(self, ε: Float[Array, " A"]) -> Float[Array, ""]:
        scale = self._log_std + jnp.log(self._box.half_width)
        return -jnp.sum(0.5 * ε**2 + scale + 0.5 * jnp.log(2 * jnp.pi))


class SkillPolicy(eqx.Module):
    """Skills of one kind: 0, ..., n - 1, or vectors of n numbers.

    The skill is an input of one network that all share, one-hot if it is a number; or, with `separate`, a number that
    is the index of a network of its own.
    Observations are normalised by `statistics`, which training replaces between updates (`with_statistics`); time, the
    fraction of the episode that has passed, is an input where `time` is set.

    >>> policy = SkillPolicy(2, Box(2), skills=8, key=jax.random.key(0))
    >>> policy.mode(jnp.array([0.5, 0.5]), skill=3, time=0.0).shape
    (2,)
    """

    actor: Network
    critic: Network
    log_std: Float[Array, " *skills A"] | None
    statistics: RunningStatistics
    actions: Discrete | Box = eqx.field(static=True)
    skills: int = eqx.field(static=True)
    separate: bool = eqx.field(static=True)
    time: bool = eqx.field(static=True)
    squashed: bool = eqx.field(static=True)
    numbered: bool = eqx.field(static=True)
    features: int = eqx.field(static=True)
    deviation: float | None = eqx.field(static=True)

    def __init__(
        self,
        observation_size: int,
        actions: Discrete | Box,
        skills: int,
        *,
        key: PRNGKeyArray,
        hidden: Sequence[int] = (64, 64),
        separate: bool = False,
        time: bool = False,
        log_std: float = -0.5,
        squashed: bool = False,
        numbered: bool = True,
        features: int | None = None,
        activation: str = "tanh",
        deviation: float | None = None,
    ):
        """
        Args:
            observation_size: how many features of an observation the skills see, the first ones.
            actions: what the environment accepts.
            skills: n, how many skills there are or, where a skill is a vector, how many numbers it has.
            key: draws the first weights.
            hidden: widths of the hidden layers of the actor, and of the critic.
            separate: a network for each skill rather than one for all.
            time: let actor and critic see how much of the episode has passed.
            log_std: of continuous actions at first, in units of half the width of the action box.
            squashed: continuous actions are squashed into the box by tanh, with a deviation for each state (for SAC).
            numbered: whether a skill is a number, 0 to n - 1, rather than a vector.
            features: how many features an observation has, if there are some that the skills do not see.
            activation: what is between the layers, tanh or relu.
            deviation: where actions are squashed, of noise that is added after tanh, in half widths of the box; None
                for noise before tanh, whose deviation the network gives.
        """
        if skills < 1:
            raise ValueError(f"skills={skills} must be at least 1.")
        if not hidden or min(hidden) < 1:
            raise ValueError(
                f"hidden={tuple(hidden)} must name at least one layer, each at least 1 wide, e.g. (64, 64)."
            )
        squashed = squashed and not isinstance(actions, Discrete)
        deviation = deviation if squashed else None
        outputs = actions.n if isinstance(actions, Discrete) else actions.size
        outputs = 2 * outputs if squashed and deviation is None else outputs
        inputs = observation_size + time + (0 if separate else skills)
        std_shape = (skills, outputs) if separate else (outputs,)

        # A small last layer lets every policy begin near the centre of its actions, whatever the state.
        actor_sizes, critic_sizes = (inputs, *hidden, outputs), (inputs, *hidden, 1)
        count = Network.size(actor_sizes)

        def networks(normals):
            actor = Network(actor_sizes, 0.01, normals[:count], activation)
            return actor, Network(critic_sizes, 1.0, normals[count:], activation)

        copies = (skills,) if separate else ()
        normals = jax.random.normal(key, (*copies, count + Network.size(critic_sizes)))
        # One after the other: see `training.run.begin` on batches of decompositions.
        self.actor, self.critic = jax.lax.map(networks, normals) if separate else networks(normals)
        self.log_std = None if isinstance(actions, Discrete) or squashed else jnp.full(std_shape, log_std, float)
        self.statistics = RunningStatistics.empty(observation_size)
        self.actions = actions
        self.skills = skills
        self.separate = separate
        self.time = time
        self.squashed = squashed
        self.deviation = deviation
        self.numbered = numbered
        self.features = observation_size if features is None else features

    def skill(self, skill: GivenSkill) -> Skill:
        """Skill g by itself: a number from 0 to n - 1 or, where skills are vectors, a vector."""
        self._check_skill(skill)
        if not self.separate:
            return self._shared_skill(self._skill_biases(skill))
        actor, critic, log_std = jax.tree.map(lambda p: p[skill], (self.actor, self.critic, self.log_std))
        return self._skill(actor, critic, log_std)

    def _check_skill(self, skill: GivenSkill) -> None:
        shape = jnp.shape(skill)
        if not self.numbered:
            if shape != (self.skills,):
                raise ValueError(
                    f"these skills are vectors of {self.skills} numbers, but the skill given has shape {shape}; a run "
                    "has the vectors of those that it evaluates as run.goals, and run.skill(i) is the i-th of them"
                )
        elif shape:
            raise ValueError(f"skill must be a number from 0 to {self.skills - 1}, but has shape {shape}")
        elif not jnp.issubdtype(jnp.result_type(skill), jnp.integer):
            raise ValueError(f"skill must be a number from 0 to {self.skills - 1}, but is {skill}")
        elif not isinstance(skill, jax.core.Tracer) and not 0 <= int(skill) < self.skills:
            raise ValueError(f"skill must be a number from 0 to {self.skills - 1}, but is {int(skill)}")

    def evaluate_scenes(
        self,
        skills: Int[AnyArray, " scenes"] | Float[AnyArray, "scenes {self.skills}"],
        observations: Float[AnyArray, "scenes steps D"],
        times: Float[AnyArray, "scenes steps"],
        actions: Float[AnyArray, "scenes steps A"] | Int[AnyArray, "scenes steps"],
    ) -> tuple[Float[Array, "scenes steps"], Float[Array, "scenes steps"], Float[Array, "scenes steps"]]:
        """`evaluate` for scenes of one skill each: what the skill adds is computed once a scene, not in each step."""

        def one_scene(skill, *rows):
            return jax.vmap(self.skill(skill).evaluate)(*rows)

        if self.separate:
            return jax.vmap(one_scene)(skills, observations, times, actions)

        inputs = self._scene_inputs(skills, observations, times)
        output, value = self.actor.of_scenes(*inputs, self.skills), self.critic.of_scenes(*inputs, self.skills)[0]
        anyone = self._shared_skill(self._skill_biases(0))  # all judge actions alike, given what the actor says
        log_prob, entropy = jax.vmap(jax.vmap(anyone.judge, in_axes=(1, 0)), in_axes=(1, 0))(output, actions)
        return log_prob, entropy, value

    def values(
        self,
        skills: Int[AnyArray, " scenes"] | Float[AnyArray, "scenes {self.skills}"],
        observations: Float[AnyArray, "scenes steps D"],
        times: Float[AnyArray, "scenes steps"],
    ) -> Float[Array, "scenes steps"]:
        """V(s, g) for scenes of one skill each."""
        if self.separate:
            return jax.vmap(lambda skill, *rows: jax.vmap(self.skill(skill).value)(*rows))(skills, observations, times)
        return self.critic.of_scenes(*self._scene_inputs(skills, observations, times), self.skills)[0]

    def _scene_inputs(
        self,
        skills: Int[AnyArray, " scenes"] | Float[AnyArray, "scenes {self.skills}"],
        observations: Float[AnyArray, "scenes steps D"],
        times: Float[AnyArray, "scenes steps"],
    ) -> tuple[Float[Array, "inputs scenes steps"], Int[Array, " scenes"] | Float[Array, "scenes {self.skills}"]]:
        """What the shared networks are given: states, features first, and skills."""
        x = self.statistics.normalise(observations[..., : self.statistics.size])
        x = jnp.concatenate([x, times[..., None]], -1) if self.time else x
        return jnp.moveaxis(x, -1, 0), jnp.asarray(skills)

    def _skill_biases(
        self, skill: Int[ArrayLike, ""] | Real[ArrayLike, " {self.skills}"]
    ) -> tuple[Float[Array, " hidden"], Float[Array, " hidden"]]:
        return self.actor.skill_bias(skill, self.skills), self.critic.skill_bias(skill, self.skills)

    def _shared_skill(self, biases: tuple[Float[Array, " hidden"], Float[Array, " hidden"]]) -> Skill:
        actor, critic = self.actor.given(biases[0], self.skills), self.critic.given(biases[1], self.skills)
        return self._skill(actor, critic, self.log_std)

    def _skill(self, actor: Network, critic: Network, log_std: Float[Array, " A"] | None) -> Skill:
        kind = (self.actions, self.time, self.squashed, self.features, self.deviation)
        return Skill(actor, critic, log_std, self.statistics, *kind)

    def with_statistics(self, statistics: RunningStatistics) -> SkillPolicy:
        """The same weights behind other observation statistics."""
        return eqx.tree_at(lambda policy: policy.statistics, self, statistics)

    def action_and_value(
        self, observation: Observation, skill: GivenSkill, time: Time, key: PRNGKeyArray
    ) -> tuple[Action, Float[Array, ""], Float[Array, ""]]:
        """a ~ π(. | s, g), log π(a | s, g), V(s, g)."""
        return self.skill(skill).action_and_value(observation, time, key)

    def evaluate(
        self, observation: Observation, skill: GivenSkill, time: Time, action: GivenAction
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """log π(a | s, g), the entropy of π(. | s, g), V(s, g)."""
        return self.skill(skill).evaluate(observation, time, action)

    def mode(self, observation: Observation, skill: GivenSkill, time: Time) -> Action:
        """The likeliest action of skill g."""
        return self.skill(skill).mode(observation, time)
