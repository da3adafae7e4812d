"""The VendiRL reward for learners of Brax and MuJoCo Playground, in compiled code.

    wrap_env_fn = functools.partial(vr.wrappers.brax.wrap, similarity="mmd(scale=1)", skills=8)
    brax.training.agents.ppo.train.train(environment, wrap_env_fn=wrap_env_fn, episode_length=1000, ...)

Every scene has a memory of its own, the paper's, in `state.info`: it is rewarded against it, and each episode is stored
in it. It holds n T D numbers; `fading=True` keeps moments instead, which do not grow with T.

Discount by less than 1: Brax's PPO leaves out the last step of episodes that are cut off, so that undiscounted values
have nothing to hold on to.

Only what environments of this kind have in common is used: `reset(key)` and `step(state, action)` of one scene, and
states with `obs`, `reward`, `done`, `metrics`, `info` and `replace`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, Shaped, UInt32

from vendirl.memory.memory import border_of
from vendirl.memory.reward import Following, Transform
from vendirl.score.border import Border
from vendirl.score.dual import Dual
from vendirl.similarity import Similarity
from vendirl.wrappers.scene import Memory, Scene, checked, checked_transform, standing_still, where

__all__ = ["VendiEnv", "wrap"]

State = Any
Keys = Key[Array, " E"] | UInt32[Array, "E 2"]
Size = int | tuple[int, ...]


def wrap(
    env: Any,
    similarity: Similarity | str | object,
    skills: int,
    episode_length: int = 1000,
    action_repeat: int = 1,
    randomization_fn: Callable[..., Any] | None = None,
    *,
    transform: Transform | str = "derivative",
    q: float = 1.0,
    features: Callable[[State], Array] | None = None,
    feature_names: Sequence[str] | None = None,
    time: bool = False,
    fading: bool = False,
    full_reset: bool = False,
) -> VendiEnv:
    """Many scenes of an environment, which pay the VendiRL reward; all that `wrap_env_fn` must do.

    Args:
        env: one scene, from Brax, MuJoCo Playground or with the same interface.
        similarity: k, or its text. It compares `features`.
        skills: n.
        episode_length: after how many steps of the environment an episode is cut off.
        action_repeat: steps of the environment for each action; the last of them is observed.
        randomization_fn: as Brax passes it, for environments with a Brax system.
        transform: "raw", "derivative", "penalty" or "log".
        q: order of the score.
        features: of the state of one scene, (D,), what the similarity sees; None for the observation.
        feature_names: (D,), if the similarity chooses features by name.
        time: let the learner observe how much of the episode has passed.
        fading: keep running moments rather than the last observations of each skill.
        full_reset: begin each episode anew, rather than in the scene's first state, which is what Brax does.
    """
    k = checked(similarity, skills, episode_length)
    if isinstance(action_repeat, bool) or not isinstance(action_repeat, int) or action_repeat < 1:
        raise ValueError(f"action_repeat must be a positive whole number, but is {action_repeat!r}")
    chosen = checked_transform(transform)
    names = None if feature_names is None else tuple(feature_names)
    settings = (episode_length, action_repeat, chosen, float(q), features, names, time, fading, full_reset)
    return VendiEnv(_batched(env, randomization_fn), env, k, skills, *settings)


class Kept(eqx.Module):
    """What scenes keep between steps, each its own.

    Attributes:
        memory: M.
        border: that of M.
        following: the skill in the present episode.
        key: for the next episode.
        first: where each episode begins, or None if it begins anew.
    """

    memory: Memory
    border: Border | Dual
    following: Following
    key: Keys
    first: dict[str, Any] | None


@dataclasses.dataclass(frozen=True, eq=False)
class VendiEnv:
    """Scenes of an environment with the VendiRL reward; see `wrap`.

    An observation is [the environment's; one-hot of the skill; with `time`, elapsed / episode_length]. `state.info` has
    "skill" (that of the observation), and of the last step "features", "vendi_score" and "environment_reward", besides
    what Brax counts. At the end of an episode the true last observation is rewarded, and the state is already the first
    of the next.
    """

    scenes: Any
    env: Any
    similarity: Similarity
    skills: int
    episode_length: int
    action_repeat: int
    transform: Transform
    q: float
    features: Callable[[State], Array] | None
    feature_names: tuple[str, ...] | None
    time: bool
    fading: bool
    full_reset: bool

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def observation_size(self) -> int | dict[str, Size]:
        more = self.skills + self.time
        inner = self.env.observation_size
        if isinstance(inner, int):
            return inner + more
        return {name: _longer(size, more) for name, size in inner.items()}

    @property
    def action_size(self) -> int:
        return self.env.action_size

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def reset(self, rng: Keys) -> State:
        """The first states of as many scenes as there are keys, each with a memory in which all skills stand still."""
        keys = jax.vmap(partial(jax.random.split, num=3))(rng)
        state = self.scenes.reset(keys[:, 0])
        points = self._features(state)
        k = self._resolved(points)
        steps = -(-self.episode_length // self.action_repeat)
        memory = jax.vmap(lambda point: standing_still(k, point, self.skills, steps, self.fading))(points)
        border, following = jax.vmap(partial(self._begin, k))(memory, keys[:, 1])
        first = None if self.full_reset else _place(state)
        zero = jnp.zeros(len(points), jnp.float32)
        sums = dict.fromkeys(("sum_reward", "length", *state.metrics), zero)
        counts = {"steps": zero, "truncation": zero, "episode_done": zero, "episode_metrics": sums}
        score = jax.vmap(lambda border, f: f.score(k, border))(border, following)
        told = {"vendi_score": score, "environment_reward": zero, "features": points}
        return self._told(state, Kept(memory, border, following, keys[:, 2], first), counts | told)

    def step(self, state: State, action: Float[Array, "E A"]) -> State:
        """The next states. Scenes whose episode is over are in the first state of the next one, and `done`."""
        kept: Kept = state.info["vendirl"]
        raw, info = self._untold(state)
        after, paid, terminated = self._acted(raw, action)
        points = self._features(after)
        k = self._resolved(points)
        observe = jax.vmap(lambda scene, point: scene.observe(k, point, self.transform))
        scene, rewards, scores = observe(Scene(kept.following, kept.memory, kept.border), points)

        steps = jnp.where(state.done > 0, 0, info["steps"]) + self.action_repeat
        truncation = jnp.where(steps >= self.episode_length, 1 - terminated, 0.0)
        done = jnp.maximum(terminated, truncation)
        sums = self._metrics(info, rewards, after.metrics)
        counts = {"steps": steps, "truncation": truncation, "episode_done": done, "episode_metrics": sums}
        told = {"vendi_score": scores, "environment_reward": paid, "features": points}

        kept = dataclasses.replace(kept, following=scene.following)
        # Beginning an episode takes decompositions, so nothing is done while all scenes are in the middle of one.
        restart = partial(self._restart, k, done > 0)
        kept, after = jax.lax.cond((done > 0).any(), restart, lambda kept, after: (kept, after), kept, after)
        after = after.replace(reward=rewards, done=done.astype(state.done.dtype))
        return self._told(after, kept, counts | told)

    def follow(self, state: State, skill: Int[Array, " E"]) -> State:
        """The state at the beginning of an episode, to go on with chosen skills."""
        kept: Kept = state.info["vendirl"]
        raw, info = self._untold(state)
        following = jax.vmap(Following.start)(kept.memory, jnp.asarray(skill, jnp.int32))
        return self._told(raw, dataclasses.replace(kept, following=following), info)

    def _begin(self, k: Similarity, memory: Memory, key: PRNGKeyArray) -> tuple[Border | Dual, Following]:
        following = Following.start(memory, jax.random.randint(key, (), 0, self.skills))
        return border_of(k, memory, self.q), following

    def _restart(self, k: Similarity, over: Bool[Array, " E"], kept: Kept, state: State) -> tuple[Kept, State]:
        """Store the episodes that are over and begin the next ones."""
        scenes = Scene(kept.following, kept.memory, kept.border)
        stored = jax.vmap(lambda scene: scene.store(k, scene.memory))(scenes)
        memory = where(over, stored, kept.memory)
        keys = jax.vmap(partial(jax.random.split, num=3))(kept.key)
        begun = jax.vmap(partial(self._begin, k))(memory, keys[:, 0])
        border, following = where(over, begun, (kept.border, kept.following))
        if kept.first is None:
            fresh = self.scenes.reset(keys[:, 1])
            state = state.replace(**where(over, _place(fresh), _place(state)), info=where(over, fresh.info, state.info))
        else:
            state = state.replace(**where(over, kept.first, _place(state)))
        return Kept(memory, border, following, keys[:, 2], kept.first), state

    def _acted(self, state: State, action: Float[Array, "E A"]) -> tuple[State, Float[Array, " E"], Float[Array, " E"]]:
        """Repeat an action as long as the episode goes on: the state, the sum of rewards, and whether it ended."""

        def once(state: State, _: None) -> tuple[State, Float[Array, " E"]]:
            after = self.scenes.step(state, action)
            going = state.done == 0
            return where(going, after, state), jnp.where(going, after.reward, 0.0)

        state, rewards = jax.lax.scan(once, state.replace(done=jnp.zeros_like(state.done)), None, self.action_repeat)
        return state, rewards.sum(0), (state.done > 0).astype(jnp.float32)

    def _features(self, state: State) -> Float[Array, "E D"]:
        if self.features is None:
            if not isinstance(state.obs, jax.Array):
                raise TypeError(
                    f"observations are {type(state.obs).__name__}, not arrays; say what the similarity sees, for "
                    "example features=lambda state: state.obs['state']"
                )
            return state.obs.reshape(len(state.obs), -1)
        points = jax.vmap(self.features)(state)
        if points.ndim != 2:
            raise ValueError(
                f"features must return a vector for the state of one scene, but shape is {points.shape[1:]}"
            )
        return points

    def _resolved(self, points: Float[Array, "E D"]) -> Similarity:
        size, names = points.shape[1], self.feature_names
        if names is not None and len(names) != size:
            raise ValueError(f"feature_names has {len(names)} names, but there are {size} features")
        return self.similarity.resolve(names, size)

    def _metrics(
        self, info: dict[str, Any], rewards: Float[Array, " E"], metrics: dict[str, Any]
    ) -> dict[str, Shaped[Array, "E ..."]]:
        """Sums over the episode, as Brax reports them."""
        now = metrics | {"sum_reward": rewards, "length": float(self.action_repeat)}
        sums = info["episode_metrics"]
        return {name: jnp.where(info["episode_done"] > 0, 0, total) + now[name] for name, total in sums.items()}

    def _told(self, state: State, kept: Kept, told: dict[str, Any]) -> State:
        """The state as the learner sees it."""
        skill = kept.following.skill
        more = jax.nn.one_hot(skill, self.skills)
        if self.time:
            elapsed = jnp.where(told["episode_done"] > 0, 0, told["steps"])
            more = jnp.concatenate([more, (elapsed / self.episode_length)[:, None]], 1)
        obs = jax.tree.map(
            lambda x: jnp.concatenate([x, more.astype(x.dtype)], 1) if x.ndim == 2 else x,  # images stay as they are
            state.obs,
        )
        return state.replace(obs=obs, info={**state.info, **told, "vendirl": kept, "skill": skill})

    def _untold(self, state: State) -> tuple[State, dict[str, Any]]:
        """The state as the environment knows it, and what was added."""
        more = self.skills + self.time
        obs = jax.tree.map(lambda x: x[:, :-more] if x.ndim == 2 else x, state.obs)
        own = {name: value for name, value in state.info.items() if name not in _ADDED}
        added = {name: value for name, value in state.info.items() if name in _ADDED - {"vendirl", "skill"}}
        return state.replace(obs=obs, info=own), added


_ADDED = {"vendirl", "skill", "features", "vendi_score", "environment_reward"}
_ADDED |= {"steps", "truncation", "episode_done", "episode_metrics"}


@dataclasses.dataclass(frozen=True)
class _Scenes:
    """Many scenes of one environment."""

    env: Any

    def reset(self, keys: Keys) -> State:
        return jax.vmap(self.env.reset)(keys)

    def step(self, state: State, action: Float[Array, "E A"]) -> State:
        return jax.vmap(self.env.step)(state, action)


def _batched(env: Any, randomization_fn: Callable[..., Any] | None) -> Any:
    if randomization_fn is None:
        return _Scenes(env)
    if not hasattr(env, "sys"):
        raise ValueError(
            f"randomization_fn needs an environment with a Brax system, but {type(env).__name__} has no `sys`; leave "
            "it out, or randomise in the environment's reset"
        )
    from brax.envs.wrappers.training import DomainRandomizationVmapWrapper

    return DomainRandomizationVmapWrapper(env, randomization_fn)


def _place(state: State) -> dict[str, Any]:
    """Where a scene is: all of a state but what the last step brought."""
    brought = ("reward", "done", "metrics", "info")
    return {f.name: getattr(state, f.name) for f in dataclasses.fields(state) if f.name not in brought}


def _longer(size: Size, more: int) -> Size:
    """The size of an observation with more features; images stay as they are."""
    if isinstance(size, int):
        return size + more
    return (size[0] + more,) if len(size) == 1 else size
