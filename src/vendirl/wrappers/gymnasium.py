"""The VendiRL reward for any learner of Gymnasium's vector environments.

    envs = gymnasium.make_vec("HalfCheetah-v5", 16)
    envs = VendiVectorEnv(envs, "mmd(scale=1)", skills=8)

Each scene follows one skill, drawn anew for every episode, and observes which. All scenes share one memory: rewards of
an episode are made against the memory as it was when the episode began, and the episode is stored in it at its end.
Where several scenes end an episode of the same skill in the same step, the last of them is what is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Float, Int, Shaped

from vendirl.data import Trajectories
from vendirl.memory.memory import border_of
from vendirl.memory.reward import Transform
from vendirl.similarity import Similarity
from vendirl.wrappers.scene import Memory, Scene, checked, checked_transform, standing_still, where
from vendirl.wrappers.worlds import Infos, JaxVectorEnv, Mask, Seen, as_gymnasium, final_observations, given

__all__ = ["JaxVectorEnv", "VendiVectorEnv", "as_gymnasium"]

Features = Callable[[Any, Infos], Any]
Numbers = np.ndarray | Array


class VendiVectorEnv(VectorWrapper):
    """A vector environment that pays the VendiRL reward in place of its own.

    An observation is [the environment's, flattened; one-hot of the skill; with `time`, elapsed / episode_length]. Infos
    carry "skill" (that of the observation), "vendi_score" (after the step) and "environment_reward". The last
    observation of an episode, before any autoreset, is rewarded like every other; where scenes are reset in the same
    step, infos["final_obs"] has it, as the learner should see it, and infos["final_info"]["skill"] its skill.

    `reset(options={"skill": g})` begins episodes of a chosen skill, or of one for each scene. A reset abandons what
    was not finished and keeps the memory.

    Args:
        envs: of any autoreset mode.
        similarity: k, or its text. It compares `features`.
        skills: n.
        transform: "raw", "derivative", "penalty" or "log".
        q: order of the score.
        features: (observations, infos) -> (scenes, D), what the similarity sees; None for the flat observation. It is
            given what the environment gives, at the end of an episode that of the last step.
        feature_names: (D,), if the similarity chooses features by name.
        episode_length: T, the length of the memory; None for `spec.max_episode_steps`. Shorter episodes leave part of
            the memory, longer ones keep their last T steps.
        time: let the learner observe how much of the episode has passed.
        fading: keep running moments rather than the last T observations of each skill, see `FadingMemory`.
        seed: of the drawn skills, until a reset brings its own.

    Attributes:
        similarity, skills, transform, q, episode_length: as given, the similarity with its features resolved.
        features: (scenes, D) that were rewarded in the last step, or None.
    """

    def __init__(
        self,
        envs: VectorEnv | gym.Env,
        similarity: Similarity | str | object,
        skills: int,
        *,
        transform: Transform | str = "derivative",
        q: float = 1.0,
        features: Features | None = None,
        feature_names: Sequence[str] | None = None,
        episode_length: int | float | None = None,
        time: bool = False,
        fading: bool = False,
        seed: int = 0,
    ):
        if not isinstance(envs, VectorEnv):
            raise TypeError(
                f"envs must be a gymnasium.vector.VectorEnv, but is a {type(envs).__name__}; make it with "
                "gymnasium.make_vec, or turn an environment of VendiRL into one with as_gymnasium"
            )
        super().__init__(envs)
        length = _length(envs) if episode_length is None else episode_length
        self.similarity = checked(similarity, skills, length)
        self.transform = checked_transform(transform)
        self.episode_length, self.skills, self.q, self.time, self.fading = int(length), skills, float(q), time, fading
        self.mode = _mode(envs)
        self.single_observation_space = self._space(envs.single_observation_space)
        self.observation_space = batch_space(self.single_observation_space, envs.num_envs)
        self._function, self._names = features, None if feature_names is None else tuple(feature_names)
        size = self._flat if features is None else None if feature_names is None else len(feature_names)
        if size is not None:
            self._resolve(size)
        self._rng = np.random.default_rng(seed)
        self._memory: Memory | None = None
        self._scenes: Scene | None = None
        self.features: Float[np.ndarray, "E D"] | None = None
        E = envs.num_envs
        self._skill, self._elapsed = np.zeros(E, np.int32), np.zeros(E, np.int32)
        self._over, self._ready, self._learning = np.zeros(E, bool), False, True

    @property
    def memory(self) -> Memory:
        """M, which the episodes that began in the last step or reset are rewarded against."""
        if self._memory is None:
            raise RuntimeError("there is no memory before the first reset; call reset()")
        return self._memory

    @property
    def score(self) -> float:
        """The Vendi Score of the memory: of the episodes that were stored last, exploration included."""
        from vendirl.score.score import vendi_score

        return float(vendi_score(self.memory.kernel, self.q))

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Seen, Infos]:
        options = dict(options or {})
        skill, mask = options.pop("skill", None), options.get("reset_mask")
        if seed is not None:
            self._rng = np.random.default_rng(given(seed))
        if mask is not None and not self._ready:
            raise RuntimeError("options['reset_mask'] resets some scenes, but none has begun; call reset() once first")
        observations, infos = self.env.reset(seed=seed, options=options or None)
        if self._memory is None:
            first = jnp.asarray(self._features(observations, infos)[0])
            self._memory = standing_still(self.similarity, first, self.skills, self.episode_length, self.fading)
        starting = np.ones(self.num_envs, bool) if mask is None else np.asarray(mask)
        self._begin(starting, skill)
        self._ready = True
        return self._observed(observations), self._described(infos, skill=self._skill)

    def step(self, actions: Any) -> tuple[Seen, Float[np.ndarray, " E"], Mask, Mask, Infos]:
        if not self._ready or self._scenes is None:
            raise RuntimeError("call reset() before step()")
        if self.mode == AutoresetMode.DISABLED and self._over.any():
            raise RuntimeError(
                f"the episodes of scenes {np.flatnonzero(self._over).tolist()} are over and this environment does not "
                "reset by itself; call reset(options={'reset_mask': terminated | truncated})"
            )
        observations, paid, terminated, truncated, infos = self.env.step(actions)
        acted = ~self._over if self.mode == AutoresetMode.NEXT_STEP else np.ones(self.num_envs, bool)
        over = (np.asarray(terminated) | np.asarray(truncated)) & acted
        same_step = self.mode == AutoresetMode.SAME_STEP and over.any()
        successors, facts = _last(observations, infos, over) if same_step else (observations, infos)
        self.features = self._features(successors, facts, acted)
        # Scenes that did not act were reset: what they observe here is thrown away when they begin below.
        self._scenes, gains, scores = _observe(self.similarity, self._scenes, self.features, self.transform)
        self._elapsed += acted
        infos = self._described(infos, vendi_score=np.asarray(scores), environment_reward=np.asarray(paid))
        infos["_environment_reward"] = infos["_vendi_score"] = acted
        if same_step:
            infos["final_obs"] = final_observations(self._observed(successors), over)
            infos["final_info"] = self._described(infos.get("final_info", {}), skill=self._skill.copy())
            infos["_final_obs"] = infos["_final_info"] = infos["final_info"]["_skill"] = over
        if over.any() and self._learning:
            last = np.full(self.skills, -1)
            last[self._skill[over]] = np.flatnonzero(over)  # of several the last
            self._memory = _store(self.similarity, self.memory, self._scenes, last)
        starting = {AutoresetMode.NEXT_STEP: ~acted, AutoresetMode.SAME_STEP: over}.get(self.mode)
        self._over = over
        if starting is not None and starting.any():
            self._begin(starting)
        rewards = np.where(acted, np.asarray(gains, np.float64), 0.0)
        infos = self._described(infos, skill=self._skill)
        return self._observed(observations), rewards, terminated, truncated, infos

    def record(self, act: Callable[[Seen], Any], episodes: int = 1) -> Trajectories:
        """New episodes of every skill, for `vr.evaluate` and the like. They leave the memory as it is.

        It uses this environment, which must be reset before its next step; give a learner that is in the middle of
        something an environment of its own.

        Args:
            act: observations (scenes, ...) -> actions (scenes, ...).
            episodes: of each skill.
        """
        wanted, E = np.repeat(np.arange(self.skills), episodes), self.num_envs
        points: list[np.ndarray] = []
        self._learning = False
        try:
            for first in range(0, len(wanted), E):
                batch = np.resize(wanted[first : first + E], E)
                points += self._episodes(act, batch)[: len(wanted) - first]
        finally:
            self._learning, self._ready = True, False
        return Trajectories.of(points, skill=wanted, features=self._names, source="recorded episodes")

    def _episodes(self, act: Callable[[Seen], Any], skills: Int[np.ndarray, " E"]) -> list[Float[np.ndarray, "_ D"]]:
        """The features of one whole episode of each scene."""
        observations, _ = self.reset(options={"skill": skills})
        going, rows, goings = np.ones(self.num_envs, bool), [], []
        while going.any():
            observations, _, terminated, truncated, _ = self.step(act(observations))
            rows.append(self.features)
            goings.append(going)
            over = terminated | truncated
            if self.mode == AutoresetMode.DISABLED and over.any():
                observations, _ = self.reset(options={"reset_mask": over})
            going = going & ~over
        points, made = np.array(rows), np.array(goings)
        return [points[made[:, scene], scene] for scene in range(self.num_envs)]

    def _begin(self, starting: Mask, skill: Any = None) -> None:
        """Begin episodes in some scenes, of drawn or of chosen skills."""
        drawn = self._rng.integers(self.skills, size=self.num_envs)
        if skill is not None:
            drawn = np.broadcast_to(np.asarray(skill), (self.num_envs,))
            if drawn.dtype.kind not in "iu" or (drawn < 0).any() or (drawn >= self.skills).any():
                raise ValueError(
                    f"options['skill'] must be whole numbers from 0 to {self.skills - 1}, one or {self.num_envs}, but "
                    f"is {skill!r}"
                )
        self._skill = np.where(starting, drawn, self._skill).astype(np.int32)
        self._elapsed = np.where(starting, 0, self._elapsed)
        self._over = self._over & ~starting
        self._scenes = _begin(self.similarity, self.memory, self._scenes, self._skill, starting, self.q)

    def _features(self, observations: Any, infos: Infos, rows: Mask | slice = slice(None)) -> Float[np.ndarray, "E D"]:
        """What the similarity sees; checked in the rows that count."""
        E = self.num_envs
        if self._function is None:
            features = np.asarray(observations, np.float32).reshape(E, -1)
        else:
            features = np.asarray(self._function(observations, infos), np.float32)
            if features.ndim != 2 or len(features) != E:
                raise ValueError(
                    f"features(observations, infos) must return an array of shape (scenes, features) with {E} scenes, "
                    f"but returned shape {features.shape}"
                )
            self._resolve(features.shape[1])
        if not np.isfinite(features[rows]).all():
            scene, feature = np.argwhere(~np.isfinite(features[rows]))[0]
            scene = np.arange(E)[rows][scene]
            raise ValueError(
                f"features must be finite, but feature {feature} in scene {scene} is {features[scene, feature]}; give "
                "a `features` function that leaves it out or bounds it"
            )
        return features

    def _resolve(self, size: int) -> None:
        """Turn feature names into numbers, once, and check that the number of features stays the same."""
        known = getattr(self, "_size", None)
        if known is None:
            if self._names is not None and len(self._names) != size:
                raise ValueError(f"feature_names has {len(self._names)} names, but there are {size} features")
            self.similarity, self._size = self.similarity.resolve(self._names, size), size
        elif size != known:
            raise ValueError(
                f"features(observations, infos) must return {known} features each time, but returned {size}"
            )

    def _space(self, inner: gym.Space[Any]) -> gym.spaces.Box:
        """The space of one observation with its skill."""
        if not isinstance(inner, gym.spaces.Box):
            raise TypeError(
                f"envs must have Box observations, but they are {inner}; turn them into vectors first, for example "
                "with gymnasium.wrappers.vector.FlattenObservation"
            )
        self._flat = int(np.prod(inner.shape))
        more = self.skills + self.time
        low = np.concatenate([np.ravel(inner.low), np.zeros(more)]).astype(np.float32)
        high = np.concatenate([np.ravel(inner.high), np.ones(more)]).astype(np.float32)
        return gym.spaces.Box(low, high, dtype=np.float32)

    def _observed(self, observations: Any) -> Seen:
        """Observations with the skill, and with the time if it is wanted."""
        E = self.num_envs
        parts = [
            np.asarray(observations, np.float32).reshape(E, -1),
            np.eye(self.skills, dtype=np.float32)[self._skill],
        ]
        if self.time:
            parts.append(np.minimum(self._elapsed / self.episode_length, 1.0).astype(np.float32)[:, None])
        return np.concatenate(parts, 1)

    def _described(self, infos: Infos, **more: np.ndarray) -> Infos:
        """Infos with more entries, each with its mask."""
        masks = {f"_{name}": np.ones(self.num_envs, bool) for name in more}
        return {**infos, **more, **masks}


@eqx.filter_jit
def _begin(
    similarity: Similarity,
    memory: Memory,
    scenes: Scene | None,
    skills: Int[Numbers, " E"],
    starting: Bool[Numbers, " E"],
    q: float,
) -> Scene:
    """The scenes, of which some begin an episode."""
    border = border_of(similarity, memory, q)
    begun = jax.vmap(lambda skill: Scene.begin(memory, border, skill))(jnp.asarray(skills))
    return begun if scenes is None else where(jnp.asarray(starting), begun, scenes)


@eqx.filter_jit
def _observe(
    similarity: Similarity, scenes: Scene, features: Float[Numbers, "E D"], transform: Transform
) -> tuple[Scene, Float[Array, " E"], Float[Array, " E"]]:
    """The scenes after one observation each, rewards and scores."""
    return jax.vmap(lambda scene, x: scene.observe(similarity, x, transform))(scenes, jnp.asarray(features))


@eqx.filter_jit
def _store(similarity: Similarity, memory: Memory, scenes: Scene, last: Int[Numbers, " n"]) -> Memory:
    """The memory with, for each skill, what the last scene to end an episode of it observed; -1 for none."""

    def put(memory: Memory, scene: Int[Array, ""]) -> tuple[Memory, None]:
        def store() -> Memory:
            return jax.tree.map(lambda leaf: leaf[scene], scenes).store(similarity, memory)

        return jax.lax.cond(scene >= 0, store, lambda: memory), None

    return jax.lax.scan(put, memory, jnp.asarray(last))[0]


def _last(observations: Any, infos: Infos, over: Mask) -> tuple[Shaped[np.ndarray, "E ..."], Infos]:
    """Observations and infos of the step itself, where scenes were reset in the same step."""
    if "final_obs" not in infos:
        raise ValueError(
            "envs reset in the same step (AutoresetMode.SAME_STEP) but do not give infos['final_obs'], the last "
            "observation, without which the last step cannot be rewarded; use another autoreset mode"
        )
    successors = np.array(observations)
    for scene in np.flatnonzero(over):
        successors[scene] = infos["final_obs"][scene]
    facts = dict(infos)
    for name, value in infos.get("final_info", {}).items():
        if isinstance(value, np.ndarray) and len(value) == len(over):
            new = facts.get(name, value)
            chosen = over.reshape(-1, *[1] * (value.ndim - 1))
            facts[name] = np.where(chosen, value, new) if np.shape(new) == value.shape else value
    return successors, facts


def _mode(envs: VectorEnv) -> AutoresetMode:
    """When the environment resets scenes that are over."""
    try:
        return AutoresetMode(envs.metadata["autoreset_mode"])
    except (KeyError, ValueError):
        modes = ", ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
        raise ValueError(
            f"envs.metadata['autoreset_mode'] must be one of {modes}, but is "
            f"{envs.metadata.get('autoreset_mode')!r}; set it to what the environment does"
        ) from None


def _length(envs: VectorEnv) -> int:
    """Steps of an episode, as far as the environment says."""
    specs: Sequence[Any] = (envs.spec,)
    if hasattr(envs.unwrapped, "get_attr"):
        specs = (envs.spec, *envs.unwrapped.get_attr("spec"))
    for spec in specs:
        if spec is not None and spec.max_episode_steps is not None:
            return int(spec.max_episode_steps)
    raise ValueError("envs do not say how long an episode is (spec.max_episode_steps); give episode_length")
