"""A block of epochs: what a run does between two looks at it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from vendirl._checks import AnyArray
from vendirl._host import undisturbed
from vendirl._programs import Shared, compiled, plain
from vendirl.environments import Environment, HostEnvironment
from vendirl.skills.rollout import act_out
from vendirl.training import processes
from vendirl.training.devices import replicated
from vendirl.training.host import HostLoop, score_of
from vendirl.training.loop import Loop, Training

_blocks = Shared()
LEVEL = "xla_backend_optimization_level"
"""XLA's flag; whoever sets it is obeyed."""
Metrics = dict[str, Any]
"""By name the metrics of the last epoch and the score of the skills, and in "finite" which metrics were always so."""


def make_block(loop: Loop, training: Training, seeds: int, seed: int) -> CompiledBlock | HostBlock:
    """What trains for a block of epochs; it must be closed.

    Args:
        loop: of the run.
        training: its state, for the shapes of what is in it; with several seeds, with an axis of them.
        seeds: how many seeds are trained at once.
        seed: of scenes outside of the compiled program.
    """
    if isinstance(loop.problem.environment, HostEnvironment):
        return HostBlock(loop, training, seeds, seed)
    return CompiledBlock(loop, training, seeds)


class CompiledBlock:
    """A block of epochs and the score of the skills after them, in one program."""

    def __init__(self, loop: Loop, training: Training, seeds: int):
        problem = loop.problem
        arrays, static = eqx.partition(training, eqx.is_array)
        environment, goals = problem.environment, problem.space.fixed(problem.skills)
        assert isinstance(environment, Environment)

        def block(arrays):
            def epoch(arrays, _):
                training, metrics = loop.epoch(eqx.combine(arrays, static))
                return eqx.filter(training, eqx.is_array), metrics

            arrays, metrics = jax.lax.scan(epoch, arrays, length=loop.block)
            policy = eqx.combine(arrays, static).policy
            points = act_out(environment, policy, goals, jax.random.key(0), True, episodes=1).next_observation
            score = score_of(points, problem.similarity, problem.order)
            last = {name: values[-1] for name, values in metrics.items()}
            finite = {name: jnp.all(jnp.isfinite(values)) for name, values in metrics.items()}
            return arrays, {**last, "vendi_score": score, "finite": finite}

        self.everywhere = None if loop.devices == 1 else replicated(loop.devices)
        where: dict[str, Any] = {}
        if loop.devices > 1:
            where = {"in_shardings": self.everywhere, "out_shardings": self.everywhere}
        function, options = block if seeds == 1 else jax.vmap(block), compiler_options()
        if processes.count() > 1:  # arrays of several processes cannot be made of random keys
            function, arrays = partial(_of_raw, function, arrays), processes.raw(arrays)
        known = plain((loop, seeds, options))
        if known is not None:  # of networks, the loop does not know which they are
            leaves, structure = jax.tree.flatten(arrays)
            known = known, structure, tuple(jax.tree.leaves(static)), tuple((x.shape, x.dtype) for x in leaves)

        def program():
            with undisturbed():
                lowered = jax.jit(function, **where).lower(arrays)
            return compiled(lowered, options)

        self.program = _blocks.get(known, program)

    def __call__(self, arrays: Training) -> tuple[Training, Metrics]:
        """The arrays of a state of training after a block of epochs more, and metrics."""
        if self.everywhere is None:
            return self.program(arrays)
        if processes.count() > 1:
            return self._together(arrays)
        # Between blocks everything is on one device, as if there were no other.
        return jax.device_put(self.program(jax.device_put(arrays, self.everywhere)), jax.local_devices()[0])

    def _together(self, arrays: Training) -> tuple[Training, Metrics]:
        """The same with devices of other processes among them: what all hold whole is given, and taken, here."""
        given = jax.tree.map(
            lambda x: jax.make_array_from_process_local_data(self.everywhere, x), processes.raw(arrays)
        )
        with processes.lost():
            done, metrics = jax.block_until_ready(self.program(given))
        here = jax.tree.map(lambda x: np.asarray(x.addressable_data(0)), (done, metrics))
        return processes.as_before(here[0], arrays), here[1]

    def close(self) -> None:
        """There is nothing to close."""


def _of_raw(block: Callable[[Training], Any], like: Training, arrays: PyTree[AnyArray]) -> tuple[Training, Metrics]:
    """A block of epochs, of arrays whose random keys are given and taken as their data."""
    done, metrics = block(processes.as_before(arrays, like))
    return processes.data_of_keys(done), metrics


def compiler_options() -> dict[str, Any] | None:
    """What XLA is told of a block of epochs."""
    if jax.default_backend() != "cpu":
        return None
    # A process that is paused must not be ended because one device waits for another.
    options = {"xla_cpu_collective_call_terminate_timeout_seconds": 10**6}
    # LLVM's level 2 compiles in a fifth less time than level 3, and its programs were measured to be as fast.
    return options if LEVEL in os.environ.get("XLA_FLAGS", "") else {**options, LEVEL: 2}


class HostBlock:
    """The same where the environment is outside the compiled program."""

    def __init__(self, loop: Loop, training: Training, seeds: int, seed: int):
        self.static = eqx.filter(training, eqx.is_array, inverse=True)
        self.problem, self.epochs = loop.problem, loop.block
        self.loop = HostLoop(loop, seeds, seed)

    def __call__(self, arrays: Training) -> tuple[Training, Metrics]:
        """The arrays of a state of training after a block of epochs more, and metrics."""
        training, rows = eqx.combine(arrays, self.static), []
        self.loop.begin_block(int(np.max(np.asarray(training.epoch))))
        for _ in range(self.epochs):
            training, metrics = self.loop.epoch(training)
            rows.append(metrics)
        problem = self.problem
        goals = problem.space.fixed(problem.skills)
        score = self.loop.score(training.policy, problem.similarity, goals, problem.order)
        finite = {name: np.all([np.isfinite(row[name]) for row in rows], axis=0) for name in rows[0]}
        return eqx.filter(training, eqx.is_array), {**rows[-1], "vendi_score": score, "finite": finite}

    def close(self) -> None:
        """End the scenes."""
        self.loop.close()
