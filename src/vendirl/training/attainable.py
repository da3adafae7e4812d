"""The attainable score: the most diverse n skills that an environment allows, as far as gradient ascent finds them.

A score means nothing without its ceiling. Where the environment is differentiable, open-loop actions u of n skills are
improved by gradient ascent through its dynamics on the order-q score of the resulting trajectories,

    max over u in [-1, 1]^(n x T x A) of VS_q(K(trajectories(u))),

from several random beginnings at once; the best is reported. It is a lower bound of the true ceiling, and what a
learner can be compared with. Elsewhere the bound is the rank of the kernel, min(n, rank).
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from vendirl._checks import seed_number
from vendirl._programs import Program
from vendirl.environments import AnyEnvironment, Environment, HostEnvironment, parse_environment
from vendirl.environments.spaces import Box
from vendirl.score.score import vendi_score
from vendirl.similarity import Similarity, SkillSet, as_similarity
from vendirl.training.devices import offer_cores


class Attainable(eqx.Module):
    """How diverse skills can be.

    Attributes:
        score: the ceiling.
        trajectories: of skills that reach it, or None if it is a bound that was not constructed.
        method: "ascent" or "rank".
    """

    score: float
    trajectories: Float[np.ndarray, "n T D"] | None
    method: str = eqx.field(static=True)

    @property
    def bound(self) -> bool:
        """Whether this is only a bound, by the rank of the kernel, which nothing was found to reach."""
        return self.method == "rank"

    def __float__(self) -> float:
        return self.score


def attainable(
    environment: AnyEnvironment | str,
    similarity: Similarity | str,
    n: int,
    *,
    q: float = 1.0,
    restarts: int | None = None,
    iterations: int | None = None,
    learning_rate: float = 0.1,
    seed: int = 0,
) -> Attainable:
    """The score of the most diverse n skills found in an environment, by gradient ascent on open-loop actions.

    Args:
        environment: an `Environment` or its name. Noise in its dynamics is left out.
        similarity: k, or its text.
        n: number of skills.
        q: order of the score.
        restarts: random beginnings, which run at once; by default 32, and fewer where there are more than 32 skills:
            the time that they take grows with the cube of n, and they find hardly more.
        iterations: of the ascent; by default 1,500, and fewer for more than 256 skills, for the same reason.
        learning_rate, seed: of the ascent.

    Example:
        >>> import vendirl as vr
        >>> round(float(vr.attainable("point", "mmd(scale=4)", 4, restarts=4, iterations=200)), 2)
        4.0
    """
    offer_cores()  # before JAX is used: whoever asks for this may well want to train next
    world = parse_environment(environment) if isinstance(environment, str) else environment
    similarity = as_similarity(similarity)
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a positive whole number of skills, but is {n!r}")
    seed_number(seed)
    similarity = similarity.resolve(world.feature_names, world.observation_size)
    bound = similarity.ceiling(n, world.observation_size)
    can = world.differentiable and similarity.differentiable
    if isinstance(world, HostEnvironment) or not isinstance(world.actions, Box) or not can:
        return Attainable(bound, None, "rank")
    restarts = max(1 if n > 512 else 2, min(32, 32 * 32**2 // n**2)) if restarts is None else restarts
    iterations = max(200, min(1500, 1500 * 256 // n)) if iterations is None else iterations
    climb = Program(_ascend)  # let go after this: it is the program of one similarity, n and q
    scores, paths = climb(world, similarity, n, q, restarts, iterations, learning_rate, jax.random.key(seed))
    best = int(np.argmax(np.asarray(scores)))
    if not np.isfinite(scores[best]):
        return Attainable(bound, None, "rank")
    return Attainable(min(float(scores[best]), bound), np.asarray(paths[best]), "ascent")


def _ascend(
    environment: Environment,
    similarity: Similarity,
    n: int,
    q: float,
    restarts: int,
    iterations: int,
    rate: float,
    key: PRNGKeyArray,
) -> tuple[Float[Array, " {restarts}"], Float[Array, "{restarts} {n} T D"]]:
    """Scores and trajectories after gradient ascent from random actions."""
    T, box = environment.episode_length, environment.actions
    assert isinstance(box, Box)
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, iterations))

    def trajectories(u: Float[Array, "n T A"]) -> Float[Array, "n T D"]:
        def one(actions):
            def step(state, action):
                state = environment.step(state, action, jax.random.key(0))
                return state, state.observation

            return jax.lax.scan(step, environment.reset(jax.random.key(0)), actions)[1]

        return jax.vmap(one)(box.centre + box.half_width * jnp.tanh(u))

    def score(u):
        summaries = similarity.summaries(SkillSet(trajectories(u)[:, None]))
        return vendi_score(similarity.matrix(summaries), q)

    def climb(key):
        # Each skill drifts in a direction of its own with a vigour of its own, so that extents differ from the start.
        drawn = jax.random.normal(key, (n, T + 2, box.size))
        drift, vigour, noise = drawn[:, :1], jnp.abs(drawn[:, 1:2, :1]), drawn[:, 2:]
        u = vigour * (drift + 0.3 * noise)

        def ascend(carry, _):
            u, opt_state, best_u, best = carry
            value, gradient = jax.value_and_grad(score)(u)
            gradient = jnp.nan_to_num(gradient)
            updates, opt_state = optimiser.update(-gradient / (jnp.sqrt(jnp.mean(gradient**2)) + 1e-12), opt_state)
            better = value > best
            best_u, best = jnp.where(better, u, best_u), jnp.where(better, value, best)
            return (optax.apply_updates(u, updates), opt_state, best_u, best), None

        carry = (u, optimiser.init(u), u, jnp.array(-jnp.inf))
        (_, _, u, best), _ = jax.lax.scan(ascend, carry, length=iterations)
        return best, trajectories(u)

    return jax.vmap(climb)(jax.random.split(key, restarts))
