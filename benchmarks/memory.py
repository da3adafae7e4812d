"""Bytes of skill memory for each scene, by length of an episode."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import vendirl as vr
from timing import table

SKILLS, FEATURES = 16, 8


def size(tree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))


def run() -> str:
    k = vr.similarity.parse("0.5*cosine + 0.5*covariance(scale=200)")
    rows = []
    for T in (50, 500, 5000):
        shape = jax.ShapeDtypeStruct((SKILLS, T, FEATURES), jnp.float32)
        queue = jax.eval_shape(lambda x: vr.SkillMemory.fill(k, x), shape)
        fading = jax.eval_shape(lambda x: vr.FadingMemory.fill(k, x), shape)
        rows.append([f"{T:,}", f"{size(queue):,}", f"{size(fading):,}", f"{size(queue) / size(fading):.1f}x"])
        print(*rows[-1], sep="\t", flush=True)
    assert len({row[2] for row in rows}) == 1, "the moments' memory must not grow with T"
    return table(
        f"Bytes of memory for each scene, {SKILLS} skills, {FEATURES} features, mean and covariance",
        ["episode", "queue of observations (exact)", "running moments (`FadingMemory`)", "smaller"],
        rows,
    )


if __name__ == "__main__":
    print(run())
