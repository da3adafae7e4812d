"""What a method of skill discovery is: a skill space, something that it learns from what the skills did, and a reward.

All methods share the same loop (`training.loop`) and learners. In each epoch

    prepare     before the scenes act: what the reward will need (VendiRL refills its memory here)
    learn       from what the scenes did: a discriminator, an encoder, ...
    reward      what they did, from what was learned
    finish      what is kept until the next epoch

Most methods fit a model by gradient descent; they extend `Fitted` and say only what the model is, its loss and the
reward.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from vendirl.environments import AnyEnvironment
from vendirl.networks import Network
from vendirl.normalisation import RunningStatistics
from vendirl.policies import SkillPolicy
from vendirl.rollout import Transition
from vendirl.skill_spaces import Discrete, SkillSpace

Metrics = dict[str, Float[Array, ""]]

Rehearse = Callable[[PRNGKeyArray, int], Float[Array, "n N T D"]]
"""(key, N) -> N new trajectories of each of the n skills as they are now."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a method is used: the environment, n skills, E scenes, `steps` between two updates, `epochs` in all."""

    environment: AnyEnvironment
    skills: int
    scenes: int
    steps: int
    epochs: int


@dataclasses.dataclass(frozen=True)
class Method(abc.ABC):
    """A method; its fields are its settings. The state that the hooks pass on is any pytree of arrays, or None."""

    name: ClassVar[str]
    separate: ClassVar[bool] = False
    """Whether each skill is to have a network of its own."""
    needs_numbers: ClassVar[bool] = False
    """Whether skills must be numbers, 0 to n - 1, for this method to tell them apart."""
    frozen: ClassVar[bool] = False
    """Whether the skills are to stay as they are, whatever the learner would make of the rewards."""
    whole: ClassVar[bool] = False
    """Whether a reward depends on more than its own transition, so that only whole stretches can be rewarded anew."""
    spreads: ClassVar[bool] = False
    """Whether scenes are rewarded each by itself, without learning from all of them, so that spreading them over
    devices pays."""

    def space(self, skills: int) -> SkillSpace:
        """The skill space for n skills."""
        return Discrete(skills)

    def resolve(self, environment: AnyEnvironment) -> Method:
        """The same method with feature names turned into indices; refuses what does not fit the environment."""
        return self

    def start(self, setting: Setting, policy: SkillPolicy, key: PRNGKeyArray) -> PyTree:
        """The state before the first epoch."""
        return None

    def goals(self, state: PyTree, space: SkillSpace, scenes: int, epoch: Array, key: PRNGKeyArray) -> Array:
        """The goals that the scenes will follow in this epoch."""
        return space.sample(key, scenes)

    def prepare(self, state: PyTree, goals: Array, elapsed: Array, key: PRNGKeyArray, rehearse: Rehearse) -> PyTree:
        """The state that is carried through this epoch. `rehearse` gives new trajectories of all skills."""
        return state

    @property
    def rehearsal(self) -> int:
        """How many trajectories of each skill `prepare` asks for at most."""
        return 0

    @property
    def rehearsal_period(self) -> int:
        """After how many epochs it asks for new ones."""
        return 1

    def learn(self, state: PyTree, batch: Transition, key: PRNGKeyArray) -> tuple[PyTree, Metrics]:
        """Learn from (E, steps) transitions."""
        return state, {}

    @abc.abstractmethod
    def reward(self, state: PyTree, batch: Transition) -> tuple[PyTree, Float[Array, "E steps"], Metrics]:
        """The rewards of (E, steps) transitions."""

    def relabel(self, state: PyTree, batch: Transition) -> Float[Array, "R steps"]:
        """The rewards that stored transitions, of any scenes, would have now."""
        return self.reward(state, batch)[1]

    def features_of(self, state: PyTree, batch: Transition) -> Float[Array, "E steps d"]:
        """The vectors whose product with z is the reward, for learners of successor features."""
        raise ValueError(f"{self.name} has no features for a learner of successor features; csf, visr and aps have")

    def finish(self, state: PyTree) -> PyTree:
        """The state that is kept after this epoch."""
        return state

    def on(self, *features: int | str) -> Method:
        """This method looking only at chosen features, by name or number."""
        raise TypeError(f"{self.name} does not look at features, so .on() means nothing for it")

    def __add__(self, other: Method) -> Method:
        return Combined(terms(self) + terms(other)) if isinstance(other, Method) else NotImplemented

    def __mul__(self, weight: float) -> Method:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            return NotImplemented
        return Combined(tuple((weight * w, method) for w, method in terms(self)))

    __rmul__ = __mul__


class Fit(eqx.Module):
    """What a `Fitted` method has learned."""

    model: PyTree
    opt_state: PyTree
    statistics: RunningStatistics


@dataclasses.dataclass(frozen=True)
class Fitted(Method):
    """A method that fits a model by gradient descent to what the scenes did.

    Attributes:
        features: what its model looks at, by name or number; all if None (`.on` sets it).
        hidden: widths of the hidden layers of its networks.
        learning_rate: of Adam.
        passes: how often each epoch's transitions are used.
        minibatches: gradient steps in a pass, each on every so many-th scene.
        normalise: whether the model sees standardised observations.
    """

    features: tuple[int | str, ...] | None = None
    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    passes: int = 2
    minibatches: int = 4
    normalise: bool = True

    @abc.abstractmethod
    def model(self, observation_size: int, setting: Setting, key: PRNGKeyArray) -> PyTree:
        """The model before it has learned anything, for observations of so many (chosen) features."""

    @abc.abstractmethod
    def loss(self, model: PyTree, batch: Transition, key: PRNGKeyArray) -> tuple[Float[Array, ""], Metrics]:
        """What the model minimises over a minibatch of scenes, and metrics."""

    @abc.abstractmethod
    def rewards(self, model: PyTree, batch: Transition) -> Float[Array, "E steps"]:
        """The rewards of transitions."""

    def start(self, setting, policy, key):
        chosen = self._columns(setting.environment)
        model = self.model(len(chosen), setting, key)
        flat, _ = _flatten(model)
        return Fit(model, self._optimiser.init(flat), RunningStatistics.empty(len(chosen)))

    def learn(self, state: Fit, batch, key):
        batch = self._chosen(batch)
        statistics = state.statistics.update(batch.observation)
        batch = self._standardised(statistics, batch)
        flat, unflatten = _flatten(state.model)
        optimiser = self._optimiser

        def step(carry, turn):
            flat, opt_state = carry
            part, key = turn
            minibatch = jax.tree.map(lambda x: x.reshape(-1, self.minibatches, *x.shape[1:])[:, part], batch)
            gradient, metrics = jax.grad(lambda flat: self.loss(unflatten(flat), minibatch, key), has_aux=True)(flat)
            updates, opt_state = optimiser.update(gradient, opt_state, flat)
            return (self._after(optax.apply_updates(flat, updates), unflatten), opt_state), metrics

        steps = self.passes * self.minibatches
        turns = (jnp.arange(steps) % self.minibatches, jax.random.split(key, steps))
        (flat, opt_state), metrics = jax.lax.scan(step, (flat, state.opt_state), turns)
        return Fit(unflatten(flat), opt_state, statistics), {name: values[-1] for name, values in metrics.items()}

    def reward(self, state: Fit, batch):
        batch = self._standardised(state.statistics, self._chosen(batch))
        return state, self.rewards(state.model, batch), {}

    def features_of(self, state: Fit, batch):
        batch = self._standardised(state.statistics, self._chosen(batch))
        return self.cumulants(state.model, batch)

    def cumulants(self, model: PyTree, batch: Transition) -> Float[Array, "E steps d"]:
        """The vectors whose product with z is the reward, where there are such."""
        return super().features_of(model, batch)

    def constrain(self, model: PyTree) -> PyTree:
        """The model after a gradient step, within its constraints if it has any."""
        return model

    def resolve(self, environment):
        return dataclasses.replace(self, features=None if self.features is None else self._columns(environment))

    def on(self, *features):
        chosen = tuple(features[0]) if len(features) == 1 and isinstance(features[0], list | tuple) else features
        return dataclasses.replace(self, features=chosen)

    def _after(self, flat, unflatten):
        return _flatten(self.constrain(unflatten(flat)))[0]

    def _columns(self, environment: AnyEnvironment) -> tuple[int, ...]:
        names, D = environment.feature_names, environment.observation_size
        if self.features is None:
            return tuple(range(D))
        columns = []
        for feature in self.features:
            if isinstance(feature, str) and feature not in names:
                raise ValueError(f"{self.name}: no feature is called {feature!r}; there are {', '.join(names)}")
            column = names.index(feature) if isinstance(feature, str) else feature
            if not 0 <= column < D:
                raise ValueError(f"{self.name}: feature {feature} is out of range: there are {D}, numbered from 0")
            columns.append(column)
        return tuple(columns)

    def _chosen(self, batch: Transition) -> Transition:
        if self.features is None:
            return batch
        columns = jnp.array(self.features)
        return eqx.tree_at(
            lambda b: (b.observation, b.next_observation),
            batch,
            (batch.observation[..., columns], batch.next_observation[..., columns]),
        )

    def _standardised(self, statistics: RunningStatistics, batch: Transition) -> Transition:
        if not self.normalise:
            return batch
        return eqx.tree_at(
            lambda b: (b.observation, b.next_observation),
            batch,
            (statistics.normalise(batch.observation), statistics.normalise(batch.next_observation)),
        )

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


def network(inputs: int, hidden: Sequence[int], outputs: int, key: PRNGKeyArray, gain: float = 1.0) -> Network:
    """A new network."""
    sizes = (inputs, *hidden, outputs)
    return Network(sizes, gain, jax.random.normal(key, (Network.size(sizes),)))


def every(function, x: Float[Array, "*batch D"]) -> Array:
    """A function of one vector, of all vectors of an array."""
    return jax.vmap(function)(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


def firsts(batch: Transition) -> Float[Array, "E steps D"]:
    """s_0: for each step the observation that its episode, or what is known of it, began with."""
    ended = (batch.terminated | batch.truncated)[..., None]

    def scene(observations, ended):
        def step(first, row):
            observation, new = row
            first = jnp.where(new, observation, first)
            return first, first

        new = jnp.concatenate([jnp.ones((1, 1), bool), ended[:-1]])
        return jax.lax.scan(step, observations[0], (observations, new))[1]

    return jax.vmap(scene)(batch.observation, ended)


def along(skill: Array, steps: int) -> Array:
    """The skill of each scene, (E, ...), for each of its steps, (E, steps, ...)."""
    return jnp.broadcast_to(skill[:, None], (skill.shape[0], steps, *skill.shape[1:]))


@dataclasses.dataclass(frozen=True)
class Combined(Method):
    """A weighted sum of methods' rewards. The skill space is that of the first that has one of its own."""

    terms: tuple[tuple[float, Method], ...] = ()
    name: ClassVar[str] = "combined"

    def space(self, skills):
        spaces = [method.space(skills) for _, method in self.terms]
        special = [space for space in spaces if type(space) is not Discrete]
        if len(set(special)) > 1:
            raise ValueError(f"methods with different skill spaces cannot be added: {', '.join(map(str, special))}")
        if special and not special[0].discrete and any(method.needs_numbers for _, method in self.terms):
            raise ValueError("a method with continuous skills cannot be added to one that counts its skills")
        return special[0] if special else spaces[0]

    def resolve(self, environment):
        return Combined(tuple((w, method.resolve(environment)) for w, method in self.terms))

    def start(self, setting, policy, key):
        keys = jax.random.split(key, len(self.terms))
        return tuple(m.start(setting, policy, k) for (_, m), k in zip(self.terms, keys, strict=True))

    def prepare(self, state, goals, elapsed, key, rehearse):
        keys = jax.random.split(key, len(self.terms))
        triples = zip(self.terms, state, keys, strict=True)
        return tuple(m.prepare(s, goals, elapsed, k, rehearse) for (_, m), s, k in triples)

    @property
    def rehearsal(self):
        return max(method.rehearsal for _, method in self.terms)

    @property
    def rehearsal_period(self):
        return math.gcd(*(method.rehearsal_period for _, method in self.terms if method.rehearsal))

    def learn(self, state, batch, key):
        keys, states, metrics = jax.random.split(key, len(self.terms)), [], {}
        for (_, method), s, k in zip(self.terms, state, keys, strict=True):
            s, found = method.learn(s, batch, k)
            states.append(s)
            metrics |= found
        return tuple(states), metrics

    def reward(self, state, batch):
        states, total, metrics = [], 0.0, {}
        for (weight, method), s in zip(self.terms, state, strict=True):
            s, rewards, found = method.reward(s, batch)
            states.append(s)
            total = total + weight * rewards
            metrics |= {**found, f"reward_{method.name}": rewards.mean()}
        return tuple(states), total, metrics

    def relabel(self, state, batch):
        pairs = zip(self.terms, state, strict=True)
        return sum(w * method.relabel(s, batch) for (w, method), s in pairs)

    def finish(self, state):
        return tuple(method.finish(s) for (_, method), s in zip(self.terms, state, strict=True))

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return any(method.whole for _, method in self.terms)

    @property
    def spreads(self) -> bool:  # type: ignore[override]
        return all(method.spreads for _, method in self.terms)

    @property
    def separate(self) -> bool:  # type: ignore[override]
        return any(method.separate for _, method in self.terms)

    def goals(self, state, space, scenes, epoch, key):
        return self.terms[0][1].goals(state[0], space, scenes, epoch, key)

    def on(self, *features):
        return Combined(tuple((w, method.on(*features)) for w, method in self.terms))


def terms(method: Method) -> tuple[tuple[float, Method], ...]:
    """The methods that a method is a weighted sum of."""
    return method.terms if isinstance(method, Combined) else ((1.0, method),)


def _flatten(model: PyTree) -> tuple[Float[Array, " parameters"], Any]:
    """The model's parameters as one vector, for which Adam is one operation; and the way back."""
    arrays, static = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(arrays)
    return flat, lambda flat: eqx.combine(unravel(flat), static)
