"""Training speed with the diversity reward in the loop, against rejax's PPO without any, on equally small environments.

rejax gets a virtual environment of its own (it does not go with our versions). Both: 256 scenes x 50 steps, 64 x 64
tanh networks, 4 epochs x 8 minibatches; ours in the plane, rejax on Pendulum. The two are measured in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import equinox as eqx
import jax

from rival import HEADER, Rival, in_turns, speeds
from timing import table
from vendirl.training.beginning import begin
from vendirl.training.blocks import CompiledBlock
from vendirl.training.budget import BLOCK
from vendirl.training.settings import Settings

SCENES, STEPS = 256, 50

REJAX = f"""
import json, sys, time
import jax
from rejax import PPO

steps = {SCENES * STEPS * BLOCK}
ppo = PPO.create(
    env="Pendulum-v1", num_envs={SCENES}, num_steps={STEPS}, num_epochs=4, num_minibatches=8, total_timesteps=steps,
    eval_freq=steps, skip_initial_evaluation=True, learning_rate=1e-3,
    agent_kwargs=dict(hidden_layer_sizes=(64, 64), activation="tanh"),
)
ppo = ppo.replace(eval_callback=lambda *_: ())  # training only
train = jax.jit(lambda key: PPO.train(ppo, key)[0])
jax.block_until_ready(train(jax.random.key(0)))
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    jax.block_until_ready(train(jax.random.key(1)))
    print(json.dumps(steps / (time.perf_counter() - start)), flush=True)
"""


def ours(settings: Settings) -> Callable[[], float]:
    """A function that trains one block of epochs and returns the steps per second."""
    this = begin(settings)
    block = CompiledBlock(this.loop, this.training, seeds=1)
    arrays = eqx.filter(this.training, eqx.is_array)
    arrays, _ = jax.block_until_ready(block(arrays))
    steps = settings.scenes * this.loop.steps_of_an_epoch * BLOCK

    def measure() -> float:
        start = time.perf_counter()
        jax.block_until_ready(block(arrays))
        return steps / (time.perf_counter() - start)

    return measure


def run(rounds: int = 40) -> str:
    rival = Rival("rejax", ["rejax==0.1.3", "gymnax==0.0.9", "jax==0.10.1", "jaxlib==0.10.1"], REJAX)
    if reason := rival.start():
        print(f"skipped: {reason}")
        return f"Training speed against rejax: skipped ({reason})\n"
    # 0: as many devices as help, which is what `vendirl train` does
    measures = {
        (n, devices): ours(Settings(similarity="mmd(scale=4)", skills=n, scenes=SCENES, devices=devices))
        for n, devices in ((8, 0), (64, 0), (8, 1))
    }
    found = in_turns({"rejax": rival.measure, **measures}, rounds)
    rival.stop()
    rows = [[*speeds("rejax 0.1.3 PPO, Pendulum, no diversity reward", found["rejax"], found["rejax"]), ""]]
    for (n, devices), goal in zip(measures, ("1.2x", "", ""), strict=True):
        label = f"VendiRL, plane, {n} skills, diversity reward and refills in the loop" + ", one device" * devices
        rows.append([*speeds(label, found[n, devices], found["rejax"]), goal])
    for row in rows:
        print(*row, sep="\t", flush=True)
    return table("Training, environment steps per second", HEADER, rows)


if __name__ == "__main__":
    print(run())
