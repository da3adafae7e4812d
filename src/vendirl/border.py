"""The score of a kernel matrix in which one row and column changes, without an eigenproblem for each change.

While one skill g is being followed only its row of K changes. Write A = K/n with g last,

    A = [[B, b], [b', a]],        a = 1/n,

B fixed. Decompose B = U diag(l) U' once; for each new row take z = U'b. Then with H(A) = -tr(A log A)

    H(A) = H(B) - a log a - ∫_0^∞ s R(s) ds
    R(s) = [(a + s) Σ z_i²/(l_i + s)² + Σ z_i²/(l_i + s)] / [(a + s) (a + s - Σ z_i²/(l_i + s))]

from -x log x = ∫ [x/(x + s) - x/(1 + s)] ds and the Schur complement of B + s in A + s. In u = log s the trapezoid
rule converges geometrically. All terms are positive, so nothing cancels, and a + s - Σ z²/(l + s) >= s exactly for a
positive semidefinite A; clamping it there is what keeps rank-deficient kernels right. The sums over i are products of
z² with tables that depend on B alone, so a row costs O(n²) multiplications for z and O(n) for each node.

Order 2 needs no spectrum: VS_2 = n²/‖K‖_F². Other orders, and kernels that may be indefinite, take the whole spectrum.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl.score import _hill_of_matrix, _is_list, _orders


class Border(eqx.Module):
    """What stays the same of K while skill g changes; `scores` gives the score for each new row.

    Attributes:
        others: (n - 1,) indices of the skills that stay.
        rest: (n - 1, n - 1) K without g, or None where only its decomposition is needed.
        vectors: (n - 1, n - 1) U, or None.
        base: H(B) - a log a for order 1; ‖K without g‖_F² + 1 for order 2; else None.
        tables: (n - 1, 2 nodes) 1/(l + s) and 1/(l + s)², or None.
    """

    others: Int[Array, " m"]
    rest: Float[Array, "m m"] | None
    vectors: Float[Array, "m m"] | None
    base: Float[Array, ""] | None
    tables: Float[Array, "m nodes"] | None
    q: float = eqx.field(static=True)

    @classmethod
    def of(cls, K: Float[Array, "n n"], skill: Int[Array, ""], q: float = 1.0, psd: bool = False) -> Border:
        """The border of K at a skill.

        Args:
            K: the kernel matrix.
            skill: g, the row that will change.
            q: order of the score.
            psd: whether K is known to stay positive semidefinite, so that the fast formulas hold.
        """
        if _is_list(q):
            raise ValueError(f"q must be one order, but is {q!r}")
        (q,) = _orders(q)
        n = K.shape[0]
        others = jnp.arange(n - 1) + (jnp.arange(n - 1) >= skill)
        rest = K[others[:, None], others[None, :]]
        if n == 1 or not psd or q not in (1.0, 2.0):
            return cls(others, rest, None, None, None, q)
        if q == 2.0:
            return cls(others, None, None, jnp.sum(rest * rest) + 1, None, q)
        a = 1 / n
        l, U = jnp.linalg.eigh(rest / n)
        l = jnp.maximum(l, 0)
        base = -jnp.sum(l * jnp.log(jnp.where(l > 0, l, 1))) - a * math.log(a)
        inverse = 1 / (l[:, None] + _nodes(K.dtype)[0])
        return cls(others, None, U, base, jnp.concatenate([inverse, inverse**2], 1), q)

    def scores(self, rows: Float[Array, "c n"]) -> Float[Array, " c"]:
        """VS of K with row and column g replaced by each of c rows (whose own entry, k(g, g) = 1, is not read)."""
        n = rows.shape[-1]
        if n == 1:
            return jnp.ones_like(rows[:, 0])
        b = rows[:, self.others]
        if self.rest is not None:
            tolerance = 4 * n * float(jnp.finfo(b.dtype).eps)
            return _hill_of_matrix(_assembled(self.rest, b) / n, (self.q,), tolerance)[..., 0]
        assert self.base is not None
        if self.tables is None or self.vectors is None:
            return n**2 / (self.base + 2 * jnp.sum(b * b, -1))
        s, weights = _nodes(b.dtype)
        z = (b / n) @ self.vectors
        first, second = jnp.split((z * z) @ self.tables, 2, axis=-1)
        raised = 1 / n + s
        complement = jnp.maximum(raised - first, s)
        integral = ((raised * second + first) / complement) @ (weights / raised)
        return jnp.exp(self.base - integral)


def _assembled(rest: Float[Array, "m m"], b: Float[Array, "c m"]) -> Float[Array, "c n n"]:
    """K with the changing skill last, for each row b."""
    c, m = b.shape
    top = jnp.concatenate([jnp.broadcast_to(rest, (c, m, m)), b[:, :, None]], -1)
    bottom = jnp.concatenate([b, jnp.ones((c, 1), b.dtype)], -1)
    return jnp.concatenate([top, bottom[:, None, :]], -2)


def _nodes(dtype) -> tuple[np.ndarray, np.ndarray]:
    """Nodes s = e^u of the trapezoid rule in u, and weights s² du: ∫ s R(s) ds = ∫ s² R(s) du."""
    low, high, count = (-16.0, 12.0, 26) if jnp.finfo(dtype).bits == 32 else (-34.0, 24.0, 84)
    u, step = np.linspace(low, high, count, retstep=True)
    s = np.exp(u)
    return s.astype(dtype), (s * s * step).astype(dtype)
