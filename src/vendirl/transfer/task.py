"""What a task is: a reward over named features, as text or as a function.

    "tolerance(x_velocity, 4, inf, margin=4)"                   a wish of one feature
    "goal(x, y, range=7.5, radius=3, every=50)"                 goals that are drawn for every episode, and shown
    "0.5*value(x_velocity) + environment"                       sums, products and weights of these

A task sees one step of an episode and the parameters θ that were drawn for it, such as where its goals lie. It is a
function of features alone (but for `environment`), so that whatever a skill did is worth something in every task.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vendirl._checks import nearest, some_of
from vendirl._text import Expressions, written

Factory = TypeVar("Factory", bound=Callable[..., Any])
LARGEST = 1e15
"""Of the numbers in a task: rewards, their sums and squares are then numbers of float32."""


class Seen(eqx.Module):
    """The features of one observation by name: `seen["x_velocity"]`."""

    observation: Float[Array, " D"]
    names: tuple[str, ...] = eqx.field(static=True)

    def __getitem__(self, name: str) -> Float[Array, ""]:
        return self.observation[self.names.index(name)]

    def several(self, names: Sequence[str]) -> Float[Array, " F"]:
        """Several features as a vector."""
        return self.observation[jnp.asarray([self.names.index(name) for name in names])]


class Step(eqx.Module):
    """One step of an episode, as a task sees it; `step["x_velocity"]` is a feature after it.

    Attributes:
        before, after: what was observed.
        time: how many steps of the episode had passed before it.
        paid: the environment's own reward.
    """

    before: Seen
    after: Seen
    time: Int[Array, ""]
    paid: Float[Array, ""]

    def __getitem__(self, name: str) -> Float[Array, ""]:
        return self.after[name]


@dataclasses.dataclass(frozen=True)
class Task(abc.ABC):
    """A reward. What differs between two episodes of it is drawn as θ, a vector, at the beginning of each."""

    @property
    @abc.abstractmethod
    def features(self) -> tuple[str, ...]:
        """The names of the features that it looks at."""

    @property
    def parameters(self) -> int:
        """How many numbers θ has: 0 if all episodes are alike."""
        return 0

    @property
    def shows(self) -> int:
        """How many numbers of the task a learner is shown beside the observation: 0 if all episodes are alike."""
        return 0

    @property
    def needs_reward(self) -> bool:
        """Whether it looks at the environment's own reward."""
        return False

    def draw(self, key: PRNGKeyArray) -> Float[Array, " P"]:
        """θ of an episode."""
        return jnp.zeros(0)

    def shown(self, θ: Float[Array, " P"], now: Seen, time: Int[Array, ""]) -> Float[Array, " S"]:
        """What a learner is shown of θ after so many steps of the episode."""
        return jnp.zeros(0)

    @abc.abstractmethod
    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        """What one step is worth."""

    def check(self, names: Sequence[str], where: str) -> None:
        """Refuse an environment, or data, without the features that the task looks at."""
        for feature in self.features:
            if feature not in names:
                near = nearest(feature, names)
                hint = f"did you mean {near!r}? " if near else ""
                raise ValueError(
                    f"the task {self} looks at the feature {feature!r}, which {where} does not have; {hint}It has "
                    f"{some_of(list(names))}"
                )

    def __add__(self, other: Any) -> Task:
        return Sum((*_parts(Sum, self), *_parts(Sum, other))) if isinstance(other, Task) else NotImplemented

    def __mul__(self, other: Any) -> Task:
        if isinstance(other, Task):
            return Product((*_parts(Product, self), *_parts(Product, other)))
        if isinstance(other, bool) or not isinstance(other, int | float) or not math.isfinite(other):
            return NotImplemented
        weight, inner = (self.weight, self.inner) if isinstance(self, Weighted) else (1.0, self)
        product = weight * float(other)
        if not abs(product) <= LARGEST or (product == 0 and weight != 0 and other != 0):
            raise ValueError(
                f"the weight of a task must be a finite number of at most {LARGEST:g}, but {weight:g}*{other:g} is "
                f"{product:g}"
            )
        return Weighted(product, inner)

    __rmul__ = __mul__


@dataclasses.dataclass(frozen=True)
class Joined(Task):
    """Several tasks as one; θ, and what is shown, are theirs one after the other."""

    tasks: tuple[Task, ...]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for task in self.tasks for name in task.features))

    @property
    def parameters(self) -> int:
        return sum(task.parameters for task in self.tasks)

    @property
    def shows(self) -> int:
        return sum(task.shows for task in self.tasks)

    @property
    def needs_reward(self) -> bool:
        return any(task.needs_reward for task in self.tasks)

    def draw(self, key: PRNGKeyArray) -> Float[Array, " P"]:
        keys = jax.random.split(key, len(self.tasks))
        return jnp.concatenate([task.draw(k) for task, k in zip(self.tasks, keys, strict=True)])

    def shown(self, θ: Float[Array, " P"], now: Seen, time: Int[Array, ""]) -> Float[Array, " S"]:
        own = zip(self.tasks, self._split(θ), strict=True)
        return jnp.concatenate([task.shown(mine, now, time) for task, mine in own])

    def rewards(self, θ: Float[Array, " P"], step: Step) -> Float[Array, " tasks"]:
        """What the step is worth in each of the tasks."""
        own = zip(self.tasks, self._split(θ), strict=True)
        return jnp.stack([jnp.asarray(task.reward(mine, step), float) for task, mine in own])

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        raise ValueError("several tasks have a reward for each of them, not one for all")

    def _split(self, θ: Float[Array, " P"]) -> list[Float[Array, " p"]]:
        ends, found = 0, []
        for task in self.tasks:
            found.append(θ[ends : ends + task.parameters])
            ends += task.parameters
        return found


@dataclasses.dataclass(frozen=True)
class Sum(Joined):
    """r = Σ r_i"""

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self.rewards(θ, step).sum()

    def __str__(self) -> str:
        return " + ".join(map(str, self.tasks))


@dataclasses.dataclass(frozen=True)
class Product(Joined):
    """r = Π r_i"""

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self.rewards(θ, step).prod()

    def __str__(self) -> str:
        return "*".join(f"({task})" if isinstance(task, Sum | Weighted) else str(task) for task in self.tasks)


@dataclasses.dataclass(frozen=True)
class Weighted(Task):
    """w r"""

    weight: float
    inner: Task

    @property
    def features(self) -> tuple[str, ...]:
        return self.inner.features

    @property
    def parameters(self) -> int:
        return self.inner.parameters

    @property
    def shows(self) -> int:
        return self.inner.shows

    @property
    def needs_reward(self) -> bool:
        return self.inner.needs_reward

    def draw(self, key: PRNGKeyArray) -> Float[Array, " P"]:
        return self.inner.draw(key)

    def shown(self, θ: Float[Array, " P"], now: Seen, time: Int[Array, ""]) -> Float[Array, " S"]:
        return self.inner.shown(θ, now, time)

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        return self.weight * self.inner.reward(θ, step)

    def __str__(self) -> str:
        inner = f"({self.inner})" if isinstance(self.inner, Sum) else str(self.inner)
        return f"{written(self.weight)}*{inner}"


@dataclasses.dataclass(frozen=True)
class Function(Task):
    """A task of your own, `function(step)` in JAX, with what it is called.

    >>> run = lambda step: step["x"] - step.before["x"]
    >>> str(Function(run, ("x",), "to the right"))
    'to the right'
    """

    function: Callable[[Step], Any]
    looks_at: tuple[str, ...] = ()
    name: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        return self.looks_at

    def reward(self, θ: Float[Array, " P"], step: Step) -> Float[Array, ""]:
        try:
            found = jnp.asarray(self.function(step), float)
        except ValueError as error:
            if "tuple.index" not in str(error):
                raise
            raise ValueError(
                f"the task {self} looks at a feature that is not there; there are {some_of(list(step.after.names))}"
            ) from None
        if found.shape != ():
            raise ValueError(f"the task {self} must return one number for a step, but returned shape {found.shape}")
        return found

    def __str__(self) -> str:
        return self.name or getattr(self.function, "__name__", "function")


def _parts(kind: type[Joined], task: Task) -> tuple[Task, ...]:
    return task.tasks if type(task) is kind else (task,)


def term_text(name: str, places: Sequence[Any], settings: Any, *, without: Sequence[str] = ()) -> str:
    """`name(places, setting=value)` with the fields of a dataclass that differ from their defaults."""
    said = [x if isinstance(x, str) and x.isidentifier() else written(x) for x in places]
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.name not in without and value != field.default:
            said.append(f"{field.name}={written(value)}")
    return f"{name}({', '.join(said)})" if said else name


_tasks: Expressions[Task] = Expressions("task", Task, positional=True)


def register(name: str, factory: Factory) -> Factory:
    """Make a task known by name; `factory` may take features and numbers by place."""
    return _tasks.register(name, factory)


def known() -> dict[str, Callable[..., Task]]:
    """The tasks that have a name."""
    return _tasks.known()


def parse_task(text: str | Any) -> Task:
    """The task that a text describes. Nothing in it is evaluated.

    >>> print(parse_task("0.5*tolerance(x_velocity, 4, inf, margin=4)"))
    0.5*tolerance(x_velocity, 4, inf, margin=4)
    """
    return _tasks.parse(text)


def as_task(task: Task | str | Callable[[Step], Any] | Any) -> Task:
    """A task, its text, or a function of a step that returns its reward."""
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        return parse_task(task)
    if callable(task):
        return Function(task)
    raise TypeError(f"a task must be a Task, its text, or a function of a step, but is {type(task).__name__}")
