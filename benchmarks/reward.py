"""The reward of one environment step in 1,024 scenes, against `jnp.linalg.eigvalsh` on the rebuilt kernel matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import vendirl as vr
from timing import seconds, table

SCENES, STEPS = 1024, 50
REQUIRED = {8: 6, 16: 10, 32: 30, 64: 70, 128: 150, 256: 200}


@jax.jit
def rival(kernels, rows, skills):
    """Put the new row into K, decompose, and take the exponential of the entropy: what a literal reward does."""

    def one(K, row, g):
        K = K.at[g].set(row).at[:, g].set(row).at[g, g].set(1)
        lam = jnp.maximum(jnp.linalg.eigvalsh(K / K.shape[0]), 0)
        return jnp.exp(-jnp.sum(lam * jnp.log(jnp.where(lam > 0, lam, 1))))

    return jax.vmap(one)(kernels, rows, skills)


@jax.jit
def prepare(kernels):
    return jax.vmap(lambda K: vr.Border.of(K, psd=True))(kernels)


@jax.jit
def score(borders, skills, rows):
    return jax.vmap(lambda border, g, rows: border.scores(g, rows))(borders, skills, rows)


def run() -> str:
    rows_of_table = []
    for n, required in REQUIRED.items():
        rng = np.random.default_rng(n)
        means = rng.normal(size=(SCENES, n, 2)).astype(np.float32)
        new = rng.normal(size=(SCENES, STEPS, 2)).astype(np.float32)
        kernels = np.exp(-np.linalg.norm(means[:, :, None] - means[:, None], axis=-1))
        rows = jnp.asarray(np.exp(-np.linalg.norm(new[:, :, None] - means[:, None], axis=-1)))
        kernels, skills = jnp.asarray(kernels), jnp.asarray(rng.integers(n, size=SCENES))
        borders = jax.block_until_ready(prepare(kernels))
        one_row, one_step = rows[:, 0], rows[:, :1]
        theirs, step, chunk, once = seconds(
            lambda k=kernels, r=one_row, s=skills: rival(k, r, s),
            lambda b=borders, s=skills, r=one_step: score(b, s, r),
            lambda b=borders, s=skills, r=rows: score(b, s, r),
            lambda k=kernels: prepare(k),
            repeat=3,
        )
        error = float(jnp.max(jnp.abs(rival(kernels, one_row, skills) / score(borders, skills, one_step)[:, 0] - 1)))
        assert error < 1e-4, f"the two scores differ by {error}"
        per_step = chunk / STEPS
        whole = (chunk + once) / STEPS
        shared = (chunk + once / SCENES) / STEPS
        rows_of_table.append(
            [f"{n}", f"{theirs * 1e3:.3g} ms"]
            + [f"{theirs / ours:.0f}x" for ours in (per_step, step, shared, whole)]
            + [f"{required}x"]
        )
        print(*rows_of_table[-1], sep="\t", flush=True)
    return table(
        f"Reward of one step in {SCENES:,} scenes, against `jnp.linalg.eigvalsh` on the rebuilt kernel",
        [
            "skills",
            "eigvalsh",
            f"faster, {STEPS} steps",
            "one step",
            f"{STEPS} steps, with `eigh`",
            "a memory per scene, with `eigh`",
            "goal",
        ],
        rows_of_table,
    )


if __name__ == "__main__":
    print(run())
