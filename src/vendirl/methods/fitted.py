"""Methods that fit a model by gradient descent: they say what the model is, its loss, and the reward."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Shaped

from vendirl._checks import LARGEST, Bounds, one_of
from vendirl._text import divisors
from vendirl.methods.method import Method, Metrics, Rewards
from vendirl.methods.problem import Problem
from vendirl.similarity.features import feature_indices, listed_features
from vendirl.skills.networks import ACTIVATIONS, Network
from vendirl.skills.policy import AnyArray, SkillPolicy
from vendirl.skills.rollout import Transition
from vendirl.skills.statistics import RunningStatistics

Loss = tuple[Float[Array, ""], Metrics]
"""What a model minimises, and metrics."""


class Fit(eqx.Module):
    """What a `Fitted` method has learned."""

    model: PyTree
    opt_state: PyTree[Array]
    statistics: RunningStatistics
    beside: PyTree[Array] = None
    """What is counted rather than learned, if there is something (`Fitted.beside`)."""


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
        activation: what is between the layers of its networks, tanh or relu.
        replay: learn from the transitions that a learner replays, by `passes` gradient steps in each of its own, rather
            than from what the scenes just did.
    """

    features: Sequence[int | str] | None = None
    hidden: Sequence[int] = (64, 64)
    learning_rate: float = 1e-3
    passes: int = 2
    minibatches: int = 4
    normalise: bool = True
    activation: str = "tanh"
    replay: bool = False

    bounds: ClassVar[Mapping[str, Bounds]] = {
        "learning_rate": (0, LARGEST),
        **dict.fromkeys(("passes", "minibatches", "dimension", "embedding", "neighbours", "particles"), (1, 10**6)),
        "shrink": (1, 10**6),
        "samples": (1, 10**6),
        "temperature": (1e-6, 1e6),
        **dict.fromkeys(("clip", "sharpness", "barrier", "dual", "slack", "dual_rate"), (0, math.inf)),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.activation, list(ACTIVATIONS), f"{self.name}: activation")

    def network(self, inputs: int, outputs: int, key: PRNGKeyArray) -> Network:
        """A new network with hidden layers as the settings say."""
        return network(inputs, self.widths, outputs, key, activation=self.activation)

    @property
    def widths(self) -> Sequence[int]:
        """Of the hidden layers of its networks."""
        return self.hidden

    @abc.abstractmethod
    def model(self, observation_size: int, key: PRNGKeyArray) -> PyTree:
        """The model before it has learned anything, for observations of so many (chosen) features."""

    @abc.abstractmethod
    def loss(self, model: PyTree, batch: Transition, key: PRNGKeyArray) -> Loss:
        """What the model minimises over a minibatch of scenes, and metrics."""

    @abc.abstractmethod
    def rewards(self, model: PyTree, batch: Transition) -> Rewards:
        """The rewards of transitions."""

    def bind(self, problem: Problem) -> Method:
        names, size = problem.environment.feature_names, problem.environment.observation_size
        if problem.scenes % self.minibatches:
            raise ValueError(
                f"{self.name}: minibatches={self.minibatches} does not divide the {problem.scenes} scenes, of which "
                f"whole ones make a minibatch; use one of {divisors(problem.scenes)}"
            )
        chosen = None if self.features is None else tuple(feature_indices(self.features, names, size, self.name))
        return super(Fitted, dataclasses.replace(self, features=chosen)).bind(problem)

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> Fit:
        chosen = self.problem.environment.observation_size if self.features is None else len(self.features)
        model = self.model(chosen, key)
        flat, _ = _flatten(model)
        return Fit(model, self._optimiser.init(flat), RunningStatistics.empty(chosen), self.beside(chosen))

    def learn(self, state: Fit, batch: Transition, key: PRNGKeyArray) -> tuple[Fit, Metrics]:
        batch = self._chosen(batch)
        statistics = state.statistics.update(batch.observation)
        if self.replay:
            return eqx.tree_at(lambda s: s.statistics, state, statistics), {}
        state = eqx.tree_at(lambda s: s.statistics, state, statistics)
        return self._fitted(state, self._standardised(statistics, batch), key, self.minibatches)

    @property
    def learns_from_replay(self) -> bool:
        return self.replay

    def learn_replayed(self, state: Fit, batch: Transition, key: PRNGKeyArray) -> tuple[Fit, Metrics]:
        return self._fitted(state, self.as_seen(state, batch), key, 1) if self.replay else (state, {})

    def _fitted(self, state: Fit, batch: Transition, key: PRNGKeyArray, minibatches: int) -> tuple[Fit, Metrics]:
        """The state after `passes` over a batch as the model sees it, and the metrics of the last step."""
        flat, unflatten = _flatten(state.model)
        optimiser = self._optimiser

        def step(carry, turn):
            flat, opt_state = carry
            part, key = turn
            minibatch = jax.tree.map(lambda x: x.reshape(-1, minibatches, *x.shape[1:])[:, part], batch)
            gradient, metrics = jax.grad(lambda flat: self.loss(unflatten(flat), minibatch, key), has_aux=True)(flat)
            updates, opt_state = optimiser.update(gradient, opt_state, flat)
            return (self._after(optax.apply_updates(flat, updates), unflatten), opt_state), metrics

        steps = self.passes * minibatches
        turns = (jnp.arange(steps) % minibatches, jax.random.split(key, steps))
        (flat, opt_state), metrics = jax.lax.scan(step, (flat, state.opt_state), turns)
        state = Fit(unflatten(flat), opt_state, state.statistics, state.beside)
        state = Fit(state.model, opt_state, state.statistics, self.counted(state, batch))
        return state, {name: values[-1] for name, values in metrics.items()}

    def reward(self, state: Fit, batch: Transition) -> tuple[Fit, Rewards, Metrics]:
        return state, self.paid(state, self.as_seen(state, batch)), {}

    def paid(self, state: Fit, batch: Transition) -> Rewards:
        """The rewards of transitions as the model sees them, where they depend on more than the model."""
        return self.rewards(state.model, batch)

    def beside(self, observation_size: int) -> PyTree[Array]:
        """What is to be kept beside the model, before anything was seen."""
        return None

    def counted(self, state: Fit, batch: Transition) -> PyTree[Array]:
        """What is kept beside the model, after it has learned from a batch as it sees it."""
        return state.beside

    def features_of(self, state: Fit, batch: Transition) -> Float[Array, "E steps d"]:
        return self.cumulants(state.model, self.as_seen(state, batch))

    def as_seen(self, state: Fit, batch: Transition) -> Transition:
        """The transitions as the model sees them: of chosen features, standardised."""
        return self._standardised(state.statistics, self._chosen(batch))

    def observed(self, state: Fit, observation: Float[Array, " D"]) -> Float[Array, " d"]:
        """One observation as the model sees it."""
        x = observation if self.features is None else observation[jnp.array(self.features)]
        return state.statistics.normalise(x) if self.normalise else x

    def skill_vectors(self, batch: Transition) -> Float[Array, "E 1 d"]:
        """z of each scene, for all of its steps."""
        return jax.vmap(self.problem.space.vector)(batch.skill)[:, None]

    def cumulants(self, model: PyTree, batch: Transition) -> Float[Array, "E steps d"]:
        """The vectors whose product with z is the reward, where there are such."""
        return super().features_of(model, batch)

    def constrain(self, model: PyTree) -> PyTree:
        """The model after a gradient step, within its constraints if it has any."""
        return model

    def on(self, *features: Any) -> Fitted:
        return dataclasses.replace(self, features=listed_features(features))

    def _after(
        self, flat: Float[Array, " parameters"], unflatten: Callable[[Float[Array, " parameters"]], PyTree]
    ) -> Float[Array, " parameters"]:
        return _flatten(self.constrain(unflatten(flat)))[0]

    def _chosen(self, batch: Transition) -> Transition:
        if self.features is None:
            return batch
        columns = jnp.array(self.features)  # numbers: `bind` has looked up the names
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


def network(
    inputs: int, hidden: Sequence[int], outputs: int, key: PRNGKeyArray, gain: float = 1.0, activation: str = "tanh"
) -> Network:
    """A new network."""
    sizes = (inputs, *hidden, outputs)
    return Network(sizes, gain, jax.random.normal(key, (Network.size(sizes),)), activation)


def every(
    function: Callable[[Float[Array, " D"]], Float[Array, " F"]], x: Float[AnyArray, "*batch D"]
) -> Float[Array, "*batch F"]:
    """A function of one vector, of all vectors of an array."""
    return jax.vmap(function)(jnp.asarray(x).reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


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


def along(skill: Shaped[AnyArray, " E *d"], steps: int) -> Shaped[Array, "E {steps} *d"]:
    """The skill of each scene, (E, ...), for each of its steps, (E, steps, ...)."""
    return jnp.broadcast_to(skill[:, None], (skill.shape[0], steps, *skill.shape[1:]))


def _flatten(
    model: PyTree,
) -> tuple[Float[Array, " parameters"], Callable[[Float[Array, " parameters"]], PyTree]]:
    """The model's parameters as one vector, for which Adam is one operation; and the way back."""
    arrays, static = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(arrays)
    return flat, lambda flat: eqx.combine(unravel(flat), static)
