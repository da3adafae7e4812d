"""What a run is: one set of settings that serves Python, the command line and the saved run."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Literal, get_args

from vendirl.algorithms.ppo import PPO
from vendirl.algorithms.sac import SAC
from vendirl.devices import fitting, offer_cores
from vendirl.environments import AnyEnvironment, Discrete, HostEnvironment, parse_environment
from vendirl.environments.checking import check
from vendirl.methods import Combined, Method, VendiRL, parse_method, terms
from vendirl.policies import SkillPolicy
from vendirl.reward import Transform
from vendirl.similarity import Similarity, parse
from vendirl.training.loop import Loop


@dataclasses.dataclass(frozen=True)
class Settings:
    """Learn a set of skills that are diverse in the sense of a similarity."""

    env: str = "point"
    """Where the skills act: a name, or one with settings such as "point(noise=0.01)". `vendirl list` has them all."""
    similarity: str = "mmd(scale=4)"
    """What "alike" means, such as "0.5*cosine + 0.5*covariance(scale=200)". `vendirl list` has them all. Skills of
    other methods are measured by it."""
    method: str = "vendirl"
    """What is rewarded: vendirl, a rival such as diayn or metra, or a sum such as "diayn + 0.5*vendirl"."""
    skills: int = 8
    """How many skills to learn."""
    steps: float = 4e6
    """Environment steps to train for (2e6 is fine), over all scenes; steps that refill the memory come on top."""
    seed: int = 0
    """Of everything random; with --seeds, of the first."""
    seeds: int = 1
    """How many seeds to train at once, in one compiled program."""
    scenes: int = 256
    """Parallel copies of the environment."""
    devices: int = 0
    """Devices that the scenes are spread over: JAX's, which are processor cores where there is nothing faster. 0 for as
    many as help; the run keeps the number that was found."""
    refill: str = "auto"
    """How the scenes' memories are refilled: scene (one each), shared (one for all), pool(m), off, or auto: a pool for
    which refilling takes at most half as many steps as training, an eighth where steps are costly."""
    synchronise: int = 10
    """With --refill off: all memories are refilled together every so many epochs."""
    episodes: int = 1
    """Trajectories of each skill in memory."""
    epoch: float = 1.0
    """Episodes for which a scene follows one skill before the memory is refilled; fractions are fine."""
    updates: int = 1
    """Updates of the skills in each epoch."""
    reward: Transform = "derivative"
    """What is rewarded: the score (raw), its change (derivative), penalty (score - n), or log(score / n)."""
    order: float = 1.0
    """Order q of the Vendi Score."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of actor and critic."""
    separate: bool = False
    """A network of its own for each skill, rather than one that is told the skill."""
    time: bool = True
    """Let the skills see how much of the episode has passed."""
    log_std: float = -0.5
    """Logarithm of the standard deviation of actions at first, in half widths of the action box."""
    learner: Literal["ppo", "sac"] = "ppo"
    """The algorithm of choice."""
    ppo: PPO = dataclasses.field(
        # The change in score adds up to the score of the whole trajectory, so nothing is discounted or bootstrapped.
        default_factory=lambda: PPO(learning_rate=2e-3, discount=1.0, gae_lambda=1.0, entropy_coefficient=0.01)
    )
    """Settings of PPO."""
    sac: SAC = dataclasses.field(default_factory=SAC)
    """Settings of SAC."""

    def _check(self) -> None:
        for name in ("skills", "seeds", "scenes", "synchronise", "episodes", "updates"):
            _at_least_one(name, getattr(self, name))
        if not self.steps > 0 or self.steps == float("inf"):
            raise ValueError(f"steps must be a positive number of environment steps, but is {self.steps}")
        if self.devices < 0:
            raise ValueError(f"devices must be a number of devices, or 0 for as many as help, but is {self.devices}")
        if self.reward not in get_args(Transform):
            raise ValueError(f"reward must be one of {', '.join(get_args(Transform))}, but is {self.reward!r}")
        if not self.order >= 0:
            raise ValueError(f"order must be in [0, inf], but is {self.order}")

    def build(self, environment: AnyEnvironment | None = None) -> tuple[AnyEnvironment, Similarity, Loop]:
        """The environment, the similarity and the loop; anything impossible is refused here, before compiling.

        `environment` is used in place of the one that `env` names.
        """
        self._check()
        offer_cores(self.devices)  # first, since making an environment may use JAX
        if environment is None:
            environment = parse_environment(self.env)
        else:
            check(environment)
        similarity = parse(self.similarity).resolve(environment.feature_names, environment.observation_size)
        T = environment.episode_length
        if similarity.least_observations > self.episodes * T:
            raise ValueError(f"{similarity} needs {similarity.least_observations} observations, an episode has {T}")
        steps = round(self.epoch * T)
        if steps < 1:
            raise ValueError(f"epoch={self.epoch} is less than one step of an episode of {T}; use at least {1 / T:.3g}")
        if steps % self.updates:
            raise ValueError(
                f"updates={self.updates} does not divide the {steps} steps of an epoch; use one of {_divisors(steps)}"
            )
        if self.learner not in ("ppo", "sac"):
            raise ValueError(f"learner must be ppo or sac, but is {self.learner!r}")
        if self.learner == "sac" and isinstance(environment.actions, Discrete):
            raise ValueError(f"SAC needs continuous actions, but those of {self.env} are discrete; use --learner ppo")
        if self.learner == "ppo" and self.scenes % self.ppo.minibatches:
            raise ValueError(
                f"ppo.minibatches={self.ppo.minibatches} does not divide the {self.scenes} scenes, of which whole ones "
                f"make a minibatch; use one of {_divisors(self.scenes)}"
            )
        method = self._bound(parse_method(self.method), environment, similarity).resolve(environment)
        loop = Loop(
            environment=environment,
            method=method,
            learner=self.sac
            if self.learner == "sac"
            else dataclasses.replace(self.ppo, anneal=self.epochs(steps) * self.updates),
            space=method.space(self.skills),
            skills=self.skills,
            scenes=self.scenes,
            epochs=self.epochs(steps),
            chunk=steps // self.updates,
            chunks=self.updates,
            devices=self._devices(environment, method),
        )
        if (self.separate or method.separate) and not loop.space.discrete:
            raise ValueError(f"separate networks need skills that are numbers, but those of {self.method} are vectors")
        return environment, similarity, loop

    def _bound(self, method: Method, environment: AnyEnvironment, similarity: Similarity) -> Method:
        """The method with what VendiRL's reward takes from these settings."""
        if isinstance(method, Combined):
            return Combined(tuple((w, self._bound(m, environment, similarity)) for w, m in method.terms))
        if not isinstance(method, VendiRL):
            return method
        own = method.similarity
        if own is not None:
            own = own if isinstance(own, Similarity) else parse(own)
            similarity = own.resolve(environment.feature_names, environment.observation_size)
        return VendiRL(
            similarity=similarity,
            environment=environment,
            skills=self.skills,
            memories=self._memories(isinstance(environment, HostEnvironment) or environment.costly_reset),
            synchronise=self.synchronise if self.refill == "off" else None,
            episodes=self.episodes,
            carry=self.updates > 1 or self.refill == "off",
            transform=self.reward,
            q=self.order,
        )

    def _devices(self, environment: AnyEnvironment, method: Method) -> int:
        """Over how many devices the scenes are spread: as many as asked for, or as many as help."""
        if self.devices == 1:
            return 1
        outside = isinstance(environment, HostEnvironment)
        if outside or self.learner != "ppo" or not method.spreads:
            if self.devices:
                reason = "its steps are made outside JAX" if outside else f"{self.learner} with {self.method} needs one"
                raise ValueError(f"devices={self.devices}: {self.env} cannot be spread, since {reason}; use 1")
            return 1
        pools = [m.memories for _, m in terms(method) if isinstance(m, VendiRL) and m.memories > 1]
        memories = math.gcd(*pools)  # of no pool: 0, which everything divides; one memory is on all devices
        if not self.devices:
            return fitting(self.scenes, self.ppo.minibatches, memories)
        if self.scenes % (self.ppo.minibatches * self.devices) or memories % self.devices:
            share = math.gcd(self.scenes // self.ppo.minibatches, memories)
            raise ValueError(
                f"devices={self.devices}: the scenes of a minibatch and the memories of the pool cannot be spread "
                f"evenly over so many; use one of {_divisors(share)}"
            )
        return self.devices

    def epochs(self, steps_per_epoch: int) -> int:
        """Epochs to train for, a whole number of blocks."""
        blocks = max(1, round(self.steps / (self.scenes * steps_per_epoch * BLOCK)))
        return blocks * BLOCK

    def policy(self, loop: Loop, key) -> SkillPolicy:
        """New skills."""
        return SkillPolicy(
            loop.environment.visible,
            loop.environment.actions,
            loop.space.size,
            key=key,
            hidden=self.hidden,
            separate=self.separate or loop.method.separate,
            time=self.time,
            log_std=self.log_std,
            squashed=self.learner == "sac",
        )

    def _memories(self, costly: bool = False) -> int:
        """The size m of the pool of memories, where steps are costly or cheap."""
        if self.refill in ("scene", "off"):
            return self.scenes
        if self.refill == "shared":
            return 1
        if self.refill == "auto":
            # the largest pool for which refilling takes an eighth, or half, as many steps as training
            most = self.epoch * self.scenes / ((8 if costly else 2) * self.skills * self.episodes)
            return max(m for m in range(1, self.scenes + 1) if self.scenes % m == 0 and (m == 1 or m <= most))
        found = re.fullmatch(r"pool\((\d+)\)", self.refill.replace(" ", ""))
        if not found:
            raise ValueError(f"refill must be auto, scene, shared, pool(m) or off, but is {self.refill!r}")
        m = int(found[1])
        if m < 1 or self.scenes % m:
            raise ValueError(
                f"refill={self.refill}: {m} memories cannot be dealt evenly to {self.scenes} scenes; "
                f"use one of {_divisors(self.scenes)}"
            )
        return m

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes the same settings."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        """Settings from a run's settings.json."""
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := set(data) - known:
            raise ValueError(f"these settings are from another version: {', '.join(sorted(unknown))} are not known")
        ppo = PPO(**data["ppo"]) if "ppo" in data else PPO()
        sac = SAC(**{**data["sac"], "hidden": tuple(data["sac"]["hidden"])}) if "sac" in data else SAC()
        # Runs that do not say over how many devices they were spread are older than the choice.
        return cls(**{"devices": 1, **data, "ppo": ppo, "sac": sac, "hidden": tuple(data.get("hidden", (64, 64)))})


BLOCK = 10
"""Epochs in one compiled call. Fixed, because resuming bit for bit needs the same program before and after."""


def _at_least_one(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, but is {value!r}")


def _divisors(n: int) -> str:
    return ", ".join(str(d) for d in range(1, n + 1) if n % d == 0)
