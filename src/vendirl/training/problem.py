"""A run's problem, made of objects: the environment, the similarity, the method, the learner, and the loop over them.

`Settings` is its text form. An object that was given takes the place of the one that the text names; where text cannot
rebuild an object (a lambda, an environment of your own), loading the run asks for it again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from jaxtyping import PRNGKeyArray

from vendirl._text import divisors, divisors_of
from vendirl.algorithms import Algorithm
from vendirl.environments import AnyEnvironment, HostEnvironment, as_environment, parse_environment
from vendirl.environments.checking import check
from vendirl.methods import Method, Problem, parse_method
from vendirl.similarity import Similarity, parse
from vendirl.skills.policy import SkillPolicy
from vendirl.training import processes
from vendirl.training.devices import fits, fitting, offer_cores
from vendirl.training.loop import Loop
from vendirl.training.settings import Settings
from vendirl.training.visited import coverage_of

Thing = TypeVar("Thing")
OBJECT = "object:"
"""What the text of an environment begins with that was an object."""


Begun = Callable[[SkillPolicy, Loop], SkillPolicy]
"""Makes of new skills those that a run begins with, and refuses what does not fit its loop."""


@dataclasses.dataclass(frozen=True)
class Objects:
    """What was given as an object, rather than as text; None for what was not."""

    environment: AnyEnvironment | None = None
    similarity: Similarity | None = None
    method: Method | None = None
    algorithm: Algorithm | None = None
    begun: Begun | None = None


def described(
    env: object, similarity: object, method: object, learner: object | None, length: int | None = None
) -> tuple[Objects, dict[str, str]]:
    """What was given, as objects and as the text that settings keep of them; refused if it is neither. A learner that
    was not given is left open."""
    environment, name = None, env
    if not isinstance(name, str):
        environment = as_environment(env, length)
        name = f"{OBJECT}{getattr(environment, 'name', type(environment).__name__)}"
    for given, kind, what in (
        (similarity, Similarity, "similarity"),
        (method, Method, "method"),
        (learner, Algorithm, "learner"),
    ):
        if not isinstance(given, kind | str) and (given is not None or what != "learner"):
            raise TypeError(f"{what} must be a {kind.__name__} or its text, but is {type(given).__name__}")
    objects = Objects(
        environment,
        similarity if isinstance(similarity, Similarity) else None,
        method if isinstance(method, Method) else None,
        learner if isinstance(learner, Algorithm) else None,
    )
    texts = {"env": name, "similarity": str(similarity), "method": str(method)}
    return objects, texts if learner is None else {**texts, "learner": str(learner)}


def build(settings: Settings, objects: Objects = Objects()) -> tuple[Settings, Loop]:  # noqa: B008  (it is frozen)
    """The loop that settings and objects describe, and the settings with what was decided on the way. Anything
    impossible is refused here, before anything compiles."""
    settings.check()
    offer_cores(settings.devices // processes.count())  # first, since making an environment may use JAX
    environment = objects.environment
    if environment is None:
        environment = _environment(settings)
    else:
        check(environment)
    similarity = objects.similarity or _rebuilt(parse, settings.similarity, "similarity")
    similarity = similarity.resolve(environment.feature_names, environment.observation_size)
    method = objects.method or _rebuilt(parse_method, settings.method, "method")
    algorithm = objects.algorithm or settings.algorithm
    made = partial(_loop, environment=environment, similarity=similarity, method=method, algorithm=algorithm)
    settings = _within_budget(settings, _steps_of_an_epoch(settings, environment.episode_length), made)
    loop = made(settings)
    return dataclasses.replace(settings, devices=loop.devices), loop


def _loop(
    settings: Settings, environment: AnyEnvironment, similarity: Similarity, method: Method, algorithm: Algorithm
) -> Loop:
    """The loop of so many scenes and steps as the settings say, refused if its parts do not go together."""
    algorithm.check(environment.actions, settings.scenes)
    steps = _steps_of_an_epoch(settings, environment.episode_length)
    epochs = settings.epochs(steps)
    space = method.space(settings.skills)
    if (settings.separate or method.separate) and not space.discrete:
        raise ValueError(f"separate networks need skills that are numbers, but those of {settings.method} are vectors")
    if method.reassigns and algorithm.replays and not algorithm.rewards_anew:
        raise ValueError(
            f"{settings.method} lets the current skill learn from what others did, which must be rewarded anew; use "
            f"{algorithm.name}.relabel=True"
        )
    if method.learns_from_replay and not algorithm.replays:
        raise ValueError(
            f"{settings.method} learns from what its learner replays, but {algorithm.name} replays nothing; use "
            "learner sac, or replay=False in the method"
        )
    problem = Problem(
        environment=environment,
        similarity=similarity,
        space=space,
        skills=settings.skills,
        scenes=settings.scenes,
        steps=steps // settings.updates,
        epochs=epochs,
        updates=settings.updates,
        transform=settings.reward,
        order=settings.order,
        refill=settings.refill,
        synchronise=settings.synchronise,
        episodes=settings.episodes,
        every=settings.every,
        keep=settings.keep,
        extended=settings.extended,
    )
    method = method.bind(problem)
    devices = _devices(settings, environment, method, algorithm)
    counted = coverage_of(settings.coverage, settings.cell, environment.feature_names, settings.env)
    return Loop(problem, method, algorithm.for_updates(epochs * settings.updates), devices, counted)


def _within_budget(settings: Settings, steps: int, made: Callable[[Settings], Loop]) -> Settings:
    """The settings with as many scenes as one epoch of their steps can have, if those asked for are too many.

    Whatever goes with the scenes (minibatches, memories, devices) divides them, so the fewest that it goes with are a
    divisor of those asked for, and others are multiples of these.
    """
    if settings.rounding == "nearest" or settings.steps >= settings.scenes * steps:
        return settings

    def of(scenes: int) -> Loop:
        return made(dataclasses.replace(settings, scenes=scenes, steps=float(scenes * steps)))

    def goes(scenes: int) -> bool:
        try:
            of(scenes)
        except ValueError:
            return False
        return True

    of(settings.scenes)  # refuses what no budget would mend
    fewest = next(scenes for scenes in divisors_of(settings.scenes) if goes(scenes))
    most = math.floor(settings.steps) // steps
    if most < fewest:
        which = "one scene" if fewest == 1 else f"{fewest} scenes, the fewest that go with the other settings"
        raise ValueError(
            f"steps={settings.steps:g} is less than an epoch of {which}; use at least {fewest * steps} steps, or a "
            "smaller epoch"
        )
    scenes = next(scenes for scenes in range(most // fewest * fewest, 0, -fewest) if goes(scenes))
    return dataclasses.replace(settings, scenes=scenes)


def new_policy(settings: Settings, loop: Loop, key: PRNGKeyArray) -> SkillPolicy:
    """Skills that have not learned anything yet."""
    environment = loop.problem.environment
    return SkillPolicy(
        environment.visible,
        environment.actions,
        loop.problem.space.size,
        key=key,
        hidden=settings.hidden,
        separate=settings.separate or loop.method.separate,
        time=settings.time,
        log_std=settings.log_std,
        squashed=loop.algorithm.squashes,
        numbered=loop.problem.space.discrete,
        features=environment.observation_size,
        activation=settings.activation,
        deviation=loop.algorithm.deviation,
    )


def _environment(settings: Settings) -> AnyEnvironment:
    if settings.env.startswith(OBJECT):
        raise ValueError(
            f"the run's environment, {settings.env.removeprefix(OBJECT)}, was an object, which its text cannot "
            "rebuild; pass it again: vr.load(folder, env=...), or vr.train(env=..., out=folder, resume=True)"
        )
    return parse_environment(settings.env, settings.episode_length)


def _rebuilt(parse: Callable[[str], Thing], text: str, what: str) -> Thing:
    """What a text describes, or an error that says how else to provide it."""
    try:
        return parse(text)
    except ValueError as error:
        how = f"pass it as an object: vr.load(folder, {what}=...) or vr.train({what}=...)"
        raise ValueError(
            f"{error}. If it is your own, import the module that defines it first (--import my_module on the command "
            f"line), or {how}"
        ) from None


def _steps_of_an_epoch(settings: Settings, T: int) -> int:
    steps = round(settings.epoch * T)
    if steps < 1:
        raise ValueError(f"epoch={settings.epoch} is less than one step of an episode of {T}; use at least {1 / T:.3g}")
    if steps % settings.updates:
        raise ValueError(
            f"updates={settings.updates} does not divide the {steps} steps of an epoch; use one of {divisors(steps)}"
        )
    return steps


def _devices(settings: Settings, environment: AnyEnvironment, method: Method, algorithm: Algorithm) -> int:
    """Over how many devices the scenes are spread: as many as asked for, or as many as help."""
    several = processes.count()
    if settings.devices == 1 and several == 1:
        return 1
    if isinstance(environment, HostEnvironment):
        if settings.devices > 1 or several > 1:
            what = f"devices={settings.devices}" if several == 1 else f"a run over {several} processes"
            raise ValueError(f"{what}: {settings.env} cannot be spread, since its steps are made outside JAX; use 1")
        return 1
    if not settings.devices and several == 1 and not (algorithm.spreads and method.spreads):
        return 1  # more would not help
    pools = math.gcd(*method.pools)  # of no pool: 0, which everything divides; one memory is on all devices
    share = algorithm.minibatch(settings.scenes)
    found = settings.devices or fitting(share, pools)
    if found % several:
        raise ValueError(
            f"devices={found}: {several} processes train this run, each with as many devices as the others; use a "
            f"multiple of {several}, or 0 for as many as help"
        )
    if not fits(found, share, pools):
        raise ValueError(
            f"devices={found}: the scenes of a minibatch and the memories of the pool cannot be spread "
            f"evenly over so many; use one of {divisors(math.gcd(share, pools))}"
        )
    return found
