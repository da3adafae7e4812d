"""`vendi_score` of kernel matrices, one at a time and in batches, against the package `vendi_score`.

The last column is a limit: the speed of a single product of two such matrices, 2 n³ operations. To reduce a matrix to
the tridiagonal form that its eigenvalues are computed from takes 4/3 n³, two thirds of that, less smoothly.
"""

from __future__ import annotations

import warnings

import jax
import numpy as np

import vendirl as vr
from timing import seconds, table


def run() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from vendi_score import vendi as package
    rows = []
    for n, batch in ((8, 1024), (16, 1024), (32, 512), (64, 256), (512, 4), (2048, 1)):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(batch, n, n))
        X /= np.linalg.norm(X, axis=-1, keepdims=True)
        K = X @ np.swapaxes(X, -1, -2)
        K32 = jax.numpy.asarray(K, jax.numpy.float32)
        compiled, product = jax.jit(vr.vendi_score), jax.jit(lambda K: K @ K)

        def theirs(K=K):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return [package.score_K(matrix) for matrix in K]

        def one(K=K):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return package.score_K(K[0])

        loop, alone, ours_alone, ours, in_graph, limit = seconds(
            theirs,
            one,
            lambda K=K: vr.vendi_score(K[0]),
            lambda K=K: vr.vendi_score(K),
            lambda f=compiled, K=K32: f(K),
            lambda f=product, K=K32: f(K),
            repeat=4,
        )
        np.testing.assert_allclose(vr.vendi_score(K), theirs(), rtol=1e-9)
        rows.append(
            [
                f"{n:,}",
                f"{alone * 1e6:,.0f} us",
                f"{alone / ours_alone:.2f}x",
                f"{batch:,}",
                f"{loop / ours:.1f}x",
                f"{loop / in_graph:.1f}x",
                f"{loop / limit:.1f}x",
            ]
        )
        print(*rows[-1], sep="\t", flush=True)
    return table(
        "`vendi_score(K)` against the package `vendi_score` 0.0.3",
        [
            "items",
            "package",
            "one matrix",
            "batch",
            "batch, float64 NumPy",
            "batch, float32 in `jit`",
            "one float32 product",
        ],
        rows,
    )


if __name__ == "__main__":
    print(run())
