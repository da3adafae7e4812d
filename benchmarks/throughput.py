"""Training speed with the diversity reward in the loop, against rejax's PPO without any, on equally small environments.

rejax gets a virtual environment of its own (it does not go with our versions). Both: 256 scenes x 50 steps, 64 x 64
tanh networks, 4 epochs x 8 minibatches; ours in the plane, rejax on Pendulum. The two are measured in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax

from timing import table
from vendirl.training.run import _compiled_block, begin
from vendirl.training.settings import BLOCK, Settings

SCENES, STEPS = 256, 50
ENVIRONMENT = Path(".venv-rejax")

RIVAL = f"""
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


def install() -> str | None:
    """Make rejax's environment; the reason if that cannot be done."""
    if (ENVIRONMENT / "installed").exists():
        return None
    python = str(ENVIRONMENT / "bin" / "python")
    for command in (
        [sys.executable, "-m", "venv", str(ENVIRONMENT)],
        [python, "-m", "pip", "install", "--quiet", "rejax==0.1.3", "gymnax==0.0.9", "jax==0.10.1", "jaxlib==0.10.1"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    (ENVIRONMENT / "installed").touch()
    return None


def ours(skills: int):
    settings = Settings(similarity="mmd(scale=4)", skills=skills, scenes=SCENES)
    this = begin(settings)
    block = _compiled_block(this, eqx.filter(this.training, eqx.is_array, inverse=True))
    arrays = eqx.filter(this.training, eqx.is_array)
    jax.block_until_ready(block(arrays))

    def measure() -> float:
        start = time.perf_counter()
        jax.block_until_ready(block(arrays))
        return SCENES * STEPS * BLOCK / (time.perf_counter() - start)

    return measure


def run(rounds: int = 8) -> str:
    if reason := install():
        print(f"skipped: rejax could not be installed ({reason})")
        return f"Training speed against rejax: skipped, it could not be installed ({reason})\n"
    rival = subprocess.Popen(
        [str(ENVIRONMENT / "bin" / "python"), "-c", RIVAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert rival.stdin
    assert rival.stdout
    if rival.stdout.readline().strip() != "ready":
        return "Training speed against rejax: skipped, it did not run\n"
    measures = {n: ours(n) for n in (8, 64)}
    best = dict.fromkeys(["rejax", *measures], 0.0)
    for _ in range(rounds):
        rival.stdin.write("go\n")
        rival.stdin.flush()
        best["rejax"] = max(best["rejax"], json.loads(rival.stdout.readline()))
        for n, measure in measures.items():
            best[n] = max(best[n], measure())
    rival.stdin.close()
    rival.wait()
    rows = [["rejax 0.1.3 PPO, Pendulum, no diversity reward", f"{best['rejax']:,.0f}", "1x", ""]]
    for n, goal in ((8, "1.2x"), (64, "")):
        label = f"VendiRL, plane, {n} skills, diversity reward and refills in the loop"
        rows.append([label, f"{best[n]:,.0f}", f"{best[n] / best['rejax']:.2f}x", goal])
    for row in rows:
        print(*row, sep="\t", flush=True)
    return table("Training, environment steps per second", ["", "steps per second", "ratio", "goal"], rows)


if __name__ == "__main__":
    print(run())
