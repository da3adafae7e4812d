"""What a method of skill discovery is: a skill space, something that it learns from what the skills did, and a reward.

A method is bound to a problem first (`bind`), which is where it sees its environment, skill space and settings. All
methods share the same loop (`training.loop`) and learners. In each epoch

    prepare     before the scenes act: what the reward will need (VendiRL refills its memory here)
    learn       from what the scenes did: a discriminator, an encoder, ...
    reward      what they did, from what was learned
    finish      what is kept until the next epoch

Most methods fit a model by gradient descent; they extend `Fitted` and say only what the model is, its loss and the
reward.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from vendirl._checks import Bounds, check_settings
from vendirl._moved import no_more
from vendirl._text import settings_text
from vendirl.methods.problem import Problem
from vendirl.similarity import Similarity
from vendirl.skills.policy import SkillPolicy
from vendirl.skills.rollout import Transition
from vendirl.skills.spaces import OneHot, SkillSpace

Metrics = dict[str, Float[Array, ""]]
Goals = Int[Array, " E"] | Float[Array, "E d"]
"""The skill of each scene: a number or a vector."""
Rewards = Float[Array, "E steps"]

Rehearse = Callable[[PRNGKeyArray, int], Float[Array, "n N T D"]]
"""(key, N) -> N new trajectories of each of the n skills as they are now."""


@no_more(
    relabel="reward(state, batch)[1]",
    resolve="bind(problem)",
    whole="whole_stretches",
    environment="problem.environment",
    skills="problem.skills",
    carry="problem.updates > 1",
)
@dataclasses.dataclass(frozen=True)
class Method(abc.ABC):
    """A method; its fields are its settings. The state that the hooks pass on is any pytree of arrays, or None."""

    name: ClassVar[str]
    bounds: ClassVar[Mapping[str, Bounds]] = {}
    """The least and the most that its settings may be, by name."""

    def __post_init__(self) -> None:
        check_settings(self, f"{self.name}: ")

    # What most methods are not. One that is says so by a class variable, `separate: ClassVar[bool] = True`.

    @property
    def separate(self) -> bool:
        """Whether each skill is to have a network of its own."""
        return False

    @property
    def needs_numbers(self) -> bool:
        """Whether skills must be numbers, 0 to n - 1, for this method to tell them apart."""
        return False

    @property
    def frozen(self) -> bool:
        """Whether the skills are to stay as they are, whatever the learner would make of the rewards."""
        return False

    @property
    def whole_stretches(self) -> bool:
        """Whether a reward depends on more than its own transition, so that only whole stretches can be rewarded
        anew."""
        return False

    @property
    def spreads(self) -> bool:
        """Whether scenes are rewarded each by itself, without learning from all of them, so that spreading them over
        devices pays."""
        return False

    @property
    def linear(self) -> bool:
        """Whether its reward is the product of its features and z and nothing else, so that successor features can be
        learned from the features alone."""
        return True

    @property
    def caveat(self) -> str | None:
        """What whoever trains this bound method must know of its problem, in one sentence, if there is something."""
        return None

    @property
    def plans_ahead(self) -> bool:
        """Whether it divides the epochs among the skills, so that a run cannot be given more of them later."""
        return False

    @property
    def knows_goals(self) -> bool:
        """Whether what it has learned tells which skill reaches a goal (`goal_skill`)."""
        return False

    def space(self, skills: int) -> SkillSpace:
        """The skill space for n skills."""
        return OneHot(skills)

    def bind(self, problem: Problem) -> Method:
        """This method put to a problem; what does not fit the problem is refused here, before anything compiles."""
        bound = copy.copy(self)
        object.__setattr__(bound, "_problem", problem)
        return bound

    @property
    def problem(self) -> Problem:
        """The problem that this method was bound to."""
        problem = getattr(self, "_problem", None)
        if problem is None:
            raise ValueError(f"{self.name} is not bound to a problem yet; use method.bind(problem)")
        return problem

    def start(self, policy: SkillPolicy, key: PRNGKeyArray) -> PyTree:
        """The state before the first epoch."""
        return None

    def goals(self, state: PyTree, epoch: Int[Array, ""], key: PRNGKeyArray) -> Goals:
        """The goals that the scenes will follow in this epoch."""
        return self.problem.space.sample(key, self.problem.scenes)

    def prepare(
        self, state: PyTree, goals: Goals, elapsed: Int[Array, " E"], key: PRNGKeyArray, rehearse: Rehearse
    ) -> PyTree:
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

    def rehearsed(self, epochs: int) -> int:
        """How many trajectories of each skill it has asked for in so many epochs."""
        return -(-epochs // self.rehearsal_period) * self.rehearsal

    @property
    def pools(self) -> tuple[int, ...]:
        """The numbers of groups, each more than one, that the scenes are dealt to; devices must divide them."""
        return ()

    @property
    def depends_on_similarity(self) -> bool:
        """Whether what it rewards depends on the similarity of the run."""
        return False

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        """The similarities that a bound method rewards by, to name the one that is not finite."""
        return ()

    def learn(self, state: PyTree, batch: Transition, key: PRNGKeyArray) -> tuple[PyTree, Metrics]:
        """Learn from (E, steps) transitions."""
        return state, {}

    @property
    def learns_from_replay(self) -> bool:
        """Whether it learns from what a learner replays, in each of the learner's gradient steps (`learn_replayed`)."""
        return False

    def learn_replayed(self, state: PyTree, batch: Transition, key: PRNGKeyArray) -> tuple[PyTree, Metrics]:
        """Learn from (E, steps) transitions that a learner replays and is about to learn from."""
        return state, {}

    @abc.abstractmethod
    def reward(self, state: PyTree, batch: Transition) -> tuple[PyTree, Rewards, Metrics]:
        """The rewards of (E, steps) transitions."""

    def reward_stored(self, state: PyTree, batch: Transition) -> Rewards:
        """The rewards that stored transitions, of any scenes, would have now."""
        return self.reward(state, batch)[1]

    @property
    def reassigns(self) -> bool:
        """Whether what is stored counts as another skill's when it is replayed, so that it must be rewarded anew."""
        return False

    def replayed(self, state: PyTree, batch: Transition) -> Transition:
        """Stored transitions as they are to be learned from now: those of the skills that acted, unless a method
        `reassigns` them to another."""
        return batch

    def features_of(self, state: PyTree, batch: Transition) -> Float[Array, "E steps d"]:
        """The vectors whose product with z is the reward, for learners of successor features. Where the reward has a
        part beside it, the method is not `linear`, and they learn from the reward."""
        raise ValueError(f"{self.name} has no features for a learner of successor features; csf, visr and aps have")

    def goal_skill(
        self, state: PyTree, observation: Float[Array, " D"], goal: Float[Array, " D"]
    ) -> Int[Array, ""] | Float[Array, " d"]:
        """The skill, a number or a vector, that is to lead from an observation to a goal, which is an observation too:
        what zero-shot goal reaching needs. Methods that have it say `knows_goals: ClassVar[bool] = True`."""
        raise ValueError(f"{self.name} has no model that tells which skill reaches a goal; diayn, metra and csf have")

    def finish(self, state: PyTree) -> PyTree:
        """The state that is kept after this epoch."""
        return state

    def on(self, *features: int | str | list[int | str] | tuple[int | str, ...]) -> Method:
        """This method looking only at chosen features, by name or number."""
        raise TypeError(f"{self.name} does not look at features, so .on() means nothing for it")

    def __add__(self, other: Any) -> Method:
        from vendirl.methods.combined import Combined, terms  # it is a method, so it knows this file

        return Combined(terms(self) + terms(other)) if isinstance(other, Method) else NotImplemented

    def __mul__(self, weight: Any) -> Method:
        from vendirl.methods.combined import Combined, terms

        if isinstance(weight, bool) or not isinstance(weight, int | float):
            return NotImplemented
        return Combined(tuple((weight * w, method) for w, method in terms(self)))

    __rmul__ = __mul__

    def __str__(self) -> str:
        return settings_text(self.name, self)
