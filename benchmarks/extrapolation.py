"""What an epoch would take with very many skills on very many machines: a model, fitted to small sizes that are
measured, checked at larger ones, and extrapolated.

    python benchmarks/extrapolation.py [--latency 1e-4] [--bandwidth 1.25e9] [--repeat 3]

With n skills on h machines, of which each has one device and `SCENES` scenes, an epoch takes

    a + b n                  to act and to learn, and to visit the weights that each skill has of its own
    + c n                    to act out every skill when the memory is refilled, on every machine alike
    + d n^2 + e n^3          to score steps and to decompose the memory; d + e n for a similarity of few features
    + k (2 (h - 1) latency + 2 (h - 1) / h * bytes / bandwidth)     to average k gradients along a ring of machines

in processor time, where a to e are not negative and are fitted to the sizes in `FITTED`, each part by itself.

The model does not pass its own check yet: beyond the sizes that it is fitted to it says too little, down to half of
what is measured at 2,048 skills, and a quarter for four processes on two cores. So its last table is not to be relied
on.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import nnls

import cost
from timing import seconds, table
from vendirl.training import devices, processes
from vendirl.training.beginning import begin
from vendirl.training.settings import Settings

EVERY, KEEP, SCENES = 25, 10, 256
FITTED = (128, 256, 512)
CHECKED = {"mmd(scale=4)": (1024, 2048), "mmd(scale=4, features=128)": (1024, 2048, 4096)}
POWERS = {
    "mmd(scale=4)": {"rest": (0, 1), "refill": (1,), "reward": (2, 3)},
    "mmd(scale=4, features=128)": {"rest": (0, 1), "refill": (1,), "reward": (0, 1)},
}
"""By similarity, with which powers of n the parts of an epoch grow."""
SKILLS = (8, 1024, 10_000, 100_000)
MACHINES = (1, 10, 100)
BYTES = (2**14, 2**18, 2**22)
"""Sizes of gradients whose exchange is measured."""
TAKES = "seconds:"
MEMORY = 64 * 2**30
"""Of a machine; beyond this there is no room for the matrix of a similarity."""

Parts = dict[str, dict[int, float]]


def settings_of(similarity: str, n: int) -> Settings:
    return Settings(similarity=similarity, skills=n, every=EVERY, keep=KEEP, scenes=SCENES, devices=1)


def measured(similarity: str) -> Parts:
    """Processor seconds of the parts of an epoch, and of all of it, by the number of skills."""
    found: Parts = {"rest": {}, "refill": {}, "reward": {}}
    for n in (*FITTED, *CHECKED[similarity]):
        this = cost.cost_of(settings_of(similarity, n))
        found["refill"][n], found["reward"][n] = this.refill, this.reward
        found["rest"][n] = this.epoch - this.refill - this.reward
    return found


def fitted(part: dict[int, float], powers: tuple[int, ...]) -> np.ndarray:
    """Coefficients of powers of n that are not negative, by least squares of relative errors at the sizes fitted."""
    sizes = np.array(FITTED, float)
    seen = np.array([part[n] for n in FITTED])
    scale = sizes[-1] ** np.array(powers)  # so that all columns are of one size
    return nnls(sizes[:, None] ** np.array(powers) / scale / seen[:, None], np.ones(len(sizes)))[0] / scale


class Model:
    """Seconds of an epoch by the number of skills and machines."""

    def __init__(self, similarity: str, parts: Parts, latency: float, bandwidth: float):
        self.similarity, self.latency, self.bandwidth = similarity, latency, bandwidth
        self.powers = POWERS[similarity]
        self.coefficients = {name: fitted(part, self.powers[name]) for name, part in parts.items()}
        self.weights = np.polyfit(FITTED, [weights(settings_of(similarity, n)) for n in FITTED], 1)

    def alone(self, n: int) -> float:
        """On one machine."""
        return sum(float(c @ float(n) ** np.array(self.powers[name])) for name, c in self.coefficients.items())

    def exchanged(self, n: int, h: int) -> float:
        """For all gradients of an epoch."""
        ppo = settings_of(self.similarity, n).ppo
        size = 4 * float(np.polyval(self.weights, n))
        return ppo.epochs * ppo.minibatches * ring(size, h, self.latency, self.bandwidth)


def ring(size: float, h: int, latency: float, bandwidth: float) -> float:
    """Seconds to average so many bytes over h machines, each of which passes on a part to the next."""
    return 2 * (h - 1) * (latency + size / h / bandwidth)


def weights(settings: Settings) -> int:
    """How many numbers a gradient has."""
    return sum(leaf.size for leaf in jax.tree.leaves(begin(settings).training.policy) if eqx.is_array(leaf))


def exchange(count: int) -> dict[int, float]:
    """Seconds to average vectors of so many bytes over processes on the loopback interface, measured in the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    told = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", processes.COORDINATOR: where, processes.COUNT: str(count)}
    command = [sys.executable, __file__, "--exchange"]
    all_of_them = [
        subprocess.Popen(command, env={**told, processes.INDEX: str(i)}, stdout=subprocess.PIPE, text=True)
        for i in range(count)
    ]
    first, *_ = [process.communicate()[0] for process in all_of_them]
    said = [line.split() for line in first.splitlines() if line.startswith(TAKES)]
    return {int(size): float(took) for _, size, took in said}


def exchange_here() -> None:
    """The part of one process in `exchange`."""
    devices.join_processes()
    count = processes.count()
    where = devices.replicated(count)
    for size in BYTES:
        x = jax.device_put(jnp.zeros(size // 4), where)
        batch = jax.make_array_from_callback(
            (count,),
            jax.sharding.NamedSharding(where.mesh, jax.sharding.PartitionSpec(devices.SCENES)),
            lambda _: np.ones(1, np.float32),
        )
        average = jax.jit(devices.averaged(count, lambda x, batch: x + batch.mean()))
        (took,) = seconds(partial(average, x, batch), repeat=20, least=0)
        if processes.first():
            print(TAKES, size, took, flush=True)


def checked(models: list[Model], parts: list[Parts]) -> str:
    """What the models say of an epoch at the sizes that were measured."""
    rows = []
    for model, part in zip(models, parts, strict=True):
        for n in (*FITTED, *CHECKED[model.similarity]):
            seen = sum(of_size[n] for of_size in part.values())
            said = model.alone(n)
            use = "fitted" if n in FITTED else "checked"
            rows.append(
                [
                    f"`{model.similarity}`",
                    f"{n:,}",
                    use,
                    f"{seen * 1e3:.0f} ms",
                    f"{said * 1e3:.0f} ms",
                    f"{said / seen:.2f}",
                ]
            )
    title = f"An epoch of {SCENES} scenes x 50 steps, every={EVERY}, keep={KEEP}, processor time"
    return table(title, ["similarity", "skills", "used", "measured", "model", "model / measured"], rows)


def checked_exchange() -> str:
    """Latency and bandwidth of the loopback interface from two processes, and what they say of four."""
    two, four = exchange(2), exchange(4)
    slope, latency = np.polyfit(BYTES, list(two.values()), 1, w=1 / np.array(list(two.values())))
    bandwidth = 1 / slope
    rows = []
    for count, seen in ((2, two), (4, four)):
        for size, took in seen.items():
            said = ring(size, count, max(0.0, latency) / 2, bandwidth)
            use = "fitted" if count == 2 else "checked"
            rows.append(
                [
                    f"{count}",
                    f"{size // 1024:,} kB",
                    use,
                    f"{took * 1e3:.2f} ms",
                    f"{said * 1e3:.2f} ms",
                    f"{said / took:.2f}",
                ]
            )
    return table(
        "A gradient averaged over processes on this machine, by the clock",
        ["processes", "gradient", "used", "measured", "model", "model / measured"],
        rows,
    )


def extrapolated(models: list[Model]) -> str:
    """Seconds of an epoch, and steps of all machines in a second, where nobody has measured them."""
    rows = []
    for model in models:
        for n in SKILLS:
            matrix = 8 * n**2 if "features" not in model.similarity else 0
            row = [f"`{model.similarity}`", f"{n:,}"]
            for h in MACHINES:
                took = model.alone(n) + model.exchanged(n, h)
                rate = h * SCENES * 50 / took
                share = model.exchanged(n, h) / took
                row.append("no room" if matrix > MEMORY else f"{took:.3g} s, {rate:,.0f} steps/s, {share:.0%} exchange")
            rows.append(row)
    title = f"Extrapolated: an epoch of {SCENES} scenes x 50 steps a machine; `no room` is a matrix above 64 GB"
    return table(title, ["similarity", "skills", *(f"{h} machine{'s' * (h > 1)}" for h in MACHINES)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=1e-4, help="seconds from one machine to the next")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second between them")
    parser.add_argument("--repeat", type=int, default=3, help="how often each part is timed")
    parser.add_argument("--exchange", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.exchange:
        exchange_here()
        return
    cost.REPEAT = asked.repeat
    parts = [measured(similarity) for similarity in POWERS]
    models = [
        Model(similarity, part, asked.latency, asked.bandwidth) for similarity, part in zip(POWERS, parts, strict=True)
    ]
    print("\n".join([checked(models, parts), checked_exchange(), extrapolated(models)]))


if __name__ == "__main__":
    main()
