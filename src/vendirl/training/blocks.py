"""A block of epochs: what a run does between two looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vendirl.devices import replicated
from vendirl.rollout import trajectories
from vendirl.training.host import HostLoop, score_of
from vendirl.training.loop import Training
from vendirl.training.settings import BLOCK

if TYPE_CHECKING:
    from vendirl.training.run import Run


def compiled_block(this: Run, static: Training) -> Callable:
    """`BLOCK` epochs and the score of the skills after them, compiled: arrays -> (arrays, metrics)."""
    goals, order, similarity = this.loop.space.fixed(this.settings.skills), this.settings.order, this.similarity

    def block(arrays):
        def epoch(arrays, _):
            training, metrics = this.loop.epoch(eqx.combine(arrays, static))
            return eqx.filter(training, eqx.is_array), metrics

        arrays, metrics = jax.lax.scan(epoch, arrays, length=BLOCK)
        policy = eqx.combine(arrays, static).policy
        points = trajectories(this.environment, policy, goals, jax.random.key(0), True, episodes=1)
        score = score_of(points, similarity, order)
        last = {name: values[-1] for name, values in metrics.items()}
        finite = {name: jnp.all(jnp.isfinite(values)) for name, values in metrics.items()}
        return arrays, {**last, "vendi_score": score, "finite": finite}

    function = block if this.settings.seeds == 1 else jax.vmap(block)
    options: Any = None
    if jax.default_backend() == "cpu":
        # LLVM's level 2 compiles in a fifth less time than level 3, and its programs were measured to be as fast. A
        # process that is paused must not be ended because one device waits for another.
        options = {"xla_backend_optimization_level": 2, "xla_cpu_collective_call_terminate_timeout_seconds": 10**6}
    arrays, devices = eqx.filter(this.training, eqx.is_array), this.loop.devices
    if devices == 1:
        return _compiled(jax.jit(function).lower(arrays), options)
    everywhere = replicated(devices)
    spread = jax.jit(function, in_shardings=everywhere, out_shardings=everywhere)
    compiled = _compiled(spread.lower(arrays), options)
    # Between blocks everything is on one device, as if there were no other.
    return lambda arrays: jax.device_put(compiled(jax.device_put(arrays, everywhere)), jax.local_devices()[0])


def _compiled(lowered: jax.stages.Lowered, advice: Any) -> Callable:
    """The program, compiled with options that another release of JAX may not know, and can do without."""
    try:
        return lowered.compile(advice)
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return lowered.compile()


class HostBlock:
    """The same where the environment is outside the compiled program."""

    def __init__(self, this: Run, static: Training):
        self.run, self.static = this, static
        # Scenes cannot be saved; a run that goes on begins new episodes, and not those that it began with.
        self.loop = HostLoop(this.loop, this.settings.seeds, this.settings.seed + 7919 * this.done)
        self.close = self.loop.close

    def __call__(self, arrays):
        training, rows = eqx.combine(arrays, self.static), []
        for _ in range(BLOCK):
            training, metrics = self.loop.epoch(training)
            rows.append(metrics)
        settings = self.run.settings
        goals = self.run.loop.space.fixed(settings.skills)
        score = self.loop.score(training.policy, self.run.similarity, goals, settings.order)
        finite = {name: np.all([np.isfinite(row[name]) for row in rows], axis=0) for name in rows[0]}
        return eqx.filter(training, eqx.is_array), {**rows[-1], "vendi_score": score, "finite": finite}
