"""The score of a kernel matrix in which one row and column changes, without an eigenproblem for each change.

While a skill g is being followed only its row of K changes. Write A = K/n with g last,

    A = [[B, b], [b', a]],        a = 1/n,        det(A + s) = det(B + s) C(s),        C(s) = a + s - b'(B + s)⁻¹b.

From -x log x = ∫_0^∞ [x/(x + s) - x/(1 + s)] ds follows, for a new row b* and its C*, by parts (the traces are equal)

    H(A*) = H(A) + ∫_0^∞ log(C*(s) / C(s)) ds,        H(A) = -tr(A log A),

in which B, the matrix of all other skills, needs no decomposition of its own. With A = U diag(l) U', y = U'e_g and
z = U'(b with any entry t at g), in the scalar product <x, y>_s = Σ x_i y_i / (l_i + s),

    b'(B + s)⁻¹b = <z, z>_s - <z, y>_s² / <y, y>_s,

whatever t is. It is chosen such that <z, y>_s = 0 at the smallest s: there <z, z>_s = b'(B + s)⁻¹b <= a + s, and at all
others it is less, so that nothing large is subtracted from something large, however alike the skills are. One
decomposition of K serves all skills; a row costs O(n²) multiplications for z and O(n) for each s. In u = log s the
trapezoid rule converges geometrically. C(s) >= s exactly for a positive semidefinite A; clamping it there is what
keeps rank-deficient kernels right.

Order 2 needs no spectrum: VS_2 = n²/‖K‖_F². Other orders, and kernels that may be indefinite, take the whole spectrum.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vendirl.score import _hill_of_matrix, _is_list, _orders


class Border(eqx.Module):
    """A kernel matrix, made ready for the scores that it has with one of its rows replaced. Scenes may share it.

    Attributes:
        values: (n,) l for order 1; for order 2 ‖K‖_F² without row and column g, for each g; else None.
        vectors: (n, n) U, or None.
        kernel: (n, n) K where the whole spectrum is needed, else None.
        q: order of the score.
    """

    values: Float[Array, " n"] | None
    vectors: Float[Array, "n n"] | None
    kernel: Float[Array, "n n"] | None
    q: float = eqx.field(static=True)

    @classmethod
    def of(cls, K: Float[Array, "n n"], q: float = 1.0, psd: bool = False) -> Border:
        """The border of K.

        Args:
            K: the kernel matrix.
            q: order of the score.
            psd: whether K is known to stay positive semidefinite, so that the fast formulas hold.
        """
        if _is_list(q):
            raise ValueError(f"q must be one order, but is {q!r}")
        (q,) = _orders(q)
        n = K.shape[0]
        if n == 1 or not psd or q not in (1.0, 2.0):
            return cls(None, None, K, q)
        if q == 2.0:
            rows = jnp.sum(K * K, -1)
            return cls(jnp.sum(rows) - 2 * rows + 1, None, None, q)
        l, U = jnp.linalg.eigh(K / n)
        return cls(jnp.maximum(l, 0), U, None, q)

    def scores(self, skill: Int[Array, ""], rows: Float[Array, "c n"]) -> Float[Array, " c"]:
        """VS of K with row and column g replaced by each of c rows (whose own entry, k(g, g) = 1, is not read)."""
        n = rows.shape[-1]
        rows = rows.at[:, skill].set(1)
        if self.kernel is not None:
            if n == 1:
                return rows[:, 0]
            tolerance = 4 * n * float(jnp.finfo(rows.dtype).eps)
            return _hill_of_matrix(_replaced(self.kernel, skill, rows) / n, (self.q,), tolerance)[..., 0]
        assert self.values is not None
        if self.vectors is None:
            return n**2 / (self.values[skill] - 1 + 2 * jnp.sum(rows * rows, -1))
        l, y = self.values, self.vectors[skill]
        s, weights = _nodes(rows.dtype)
        z = jnp.concatenate([(l * y)[None], (rows / n) @ self.vectors])  # the row that is in K, then the new ones
        metric = 1 / (l[:, None] + s)
        z = z - jnp.outer(jnp.sum(z * y * metric[:, 0], -1) / jnp.sum(y * y * metric[:, 0]), y)
        zz, zy, yy = _products([z * z, z * y, (y * y)[None]], metric)
        drop = jnp.minimum(zz - zy**2 / yy, 1 / n)  # b'(B + s)⁻¹b
        change = jnp.log1p((drop[0] - drop[1:]) / (1 / n + s - drop[0])) @ weights
        entropy = -jnp.sum(l * jnp.log(jnp.where(l > 0, l, 1)))
        return jnp.exp(entropy + change)


def _products(rows: list[Float[Array, "_ n"]], metric: Float[Array, "n s"]) -> list[Float[Array, "_ s"]]:
    """Several blocks of rows, each times the metric: in one product where they are so few that reading it counts."""
    if len(rows[0]) > 8:
        return [block @ metric for block in rows]
    return jnp.split(jnp.concatenate(rows) @ metric, np.cumsum([len(block) for block in rows])[:-1])


def _replaced(K: Float[Array, "n n"], skill: Int[Array, ""], rows: Float[Array, "c n"]) -> Float[Array, "c n n"]:
    """K with each of the rows as row and column g."""
    own = jnp.arange(K.shape[0]) == skill
    return jnp.where(own[:, None], rows[:, None, :], jnp.where(own, rows[:, :, None], K))


def _nodes(dtype) -> tuple[np.ndarray, np.ndarray]:
    """Nodes s = e^u of the trapezoid rule in u, and weights s du: ∫ f(s) ds = ∫ s f(s) du."""
    low, high, count = (-15.0, 11.0, 21) if jnp.finfo(dtype).bits == 32 else (-34.0, 24.0, 84)
    u, step = np.linspace(low, high, count, retstep=True)
    s = np.exp(u)
    return s.astype(dtype), (s * step).astype(dtype)
