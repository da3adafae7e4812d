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

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import Index
from vendirl.score.hill import hill_of_matrix
from vendirl.score.inputs import is_list, orders_of


class Decomposition(eqx.Module):
    """A = U diag(l) U' of trace one, and what of the formula above depends on it alone.

    Attributes:
        vectors: (n, n) U; row g is y.
        metric: (n, S) 1 / (l + s).
        norms: (n, S) <y, y>_s for each g.
        drops: (n, S) b'(B + s)⁻¹b of the row that is in A, for each g.
        entropy: H(A).
    """

    vectors: Float[Array, "n n"]
    metric: Float[Array, "n S"]
    norms: Float[Array, "n S"]
    drops: Float[Array, "n S"]
    entropy: Float[Array, ""]

    @classmethod
    def of(cls, A: Float[Array, "n n"]) -> Decomposition:
        """The decomposition of a positive semidefinite matrix."""
        l, U = jnp.linalg.eigh(A)
        l = jnp.maximum(l, 0)
        metric = 1 / (l[:, None] + nodes(A.dtype)[0])
        norms = (U * U) @ metric
        return cls(U, metric, norms, _drops(l * U, U, metric, norms), entropy_of(l))

    def entropies(self, g: Index, rows: Float[Array, "c n"]) -> Float[Array, " c"]:
        """H of A with row and column g replaced by each of c rows."""
        s, weights = nodes(rows.dtype)
        z = (_twice(rows) if len(rows) == 1 else rows) @ self.vectors
        new, old = _drops(z[: len(rows)], self.vectors[g], self.metric, self.norms[g]), self.drops[g]
        return self.entropy + jnp.log1p((old - new) / (1 / rows.shape[-1] + s - old)) @ weights


class Border(eqx.Module):
    """A kernel matrix, made ready for the scores that it has with one of its rows replaced. Scenes may share it.

    Attributes:
        decomposition: for order 1, else None.
        squares: (n,) for order 2, ‖K‖_F² without row and column g for each g, else None.
        kernel: (n, n) K where the whole spectrum is needed, else None.
        q: order of the score.
    """

    decomposition: Decomposition | None
    squares: Float[Array, " n"] | None
    kernel: Float[Array, "n n"] | None
    q: float = eqx.field(static=True)

    @classmethod
    def of(cls, K: Float[Array, "n n"], q: float | Any = 1.0, psd: bool = False) -> Border:
        """The border of K.

        Args:
            K: the kernel matrix.
            q: order of the score.
            psd: whether K is known to stay positive semidefinite, so that the fast formulas hold.
        """
        if is_list(q):
            raise ValueError(f"q must be one order, but is {q!r}")
        (q,) = orders_of(q)
        if len(K) == 1 or not psd or q not in (1.0, 2.0):
            return cls(None, None, K, q)
        if q == 1.0:
            return cls(Decomposition.of(K / len(K)), None, None, q)
        rows = jnp.sum(K * K, -1)
        return cls(None, jnp.sum(rows) - 2 * rows + 1, None, q)

    @property
    def score(self) -> Float[Array, ""] | None:
        """VS of K as it is, if it is known from the decomposition."""
        return None if self.decomposition is None else jnp.exp(self.decomposition.entropy)

    def scores(self, skill: Index, rows: Float[Array, "c n"]) -> Float[Array, " c"]:
        """VS of K with row and column g replaced by each of c rows (whose own entry, k(g, g) = 1, is not read)."""
        n = rows.shape[-1]
        rows = rows.at[:, skill].set(1)
        if self.decomposition is not None:
            return jnp.exp(self.decomposition.entropies(skill, rows / n))
        if self.squares is not None:
            return n**2 / (self.squares[skill] - 1 + 2 * jnp.sum(rows * rows, -1))
        assert self.kernel is not None
        if n == 1:
            return rows[:, 0]
        tolerance = 4 * n * float(jnp.finfo(rows.dtype).eps)
        return hill_of_matrix(_replaced(self.kernel, skill, rows) / n, (self.q,), tolerance)[..., 0]


def _twice(row: Float[Array, "1 n"]) -> Float[Array, "_ n"]:
    """A single row, twice where a batch of products with two is the faster: XLA multiplies single rows on one core if
    they are shorter than about this."""
    return jnp.concatenate([row, row]) if 64 <= row.shape[-1] <= 160 else row


def _drops(
    z: Float[Array, "c n"],
    y: Float[Array, " n"] | Float[Array, "c n"],
    metric: Float[Array, "n S"],
    norm: Float[Array, " S"] | Float[Array, "c S"],
) -> Float[Array, "c S"]:
    """b'(B + s)⁻¹b for each row z, all of one y, (n,), or each of its own, (c, n)."""
    z = z - (jnp.sum(z * y * metric[:, 0], -1) / norm[..., 0])[:, None] * y
    zz, zy = _products([z * z, z * y], metric)
    return jnp.minimum(zz - zy**2 / norm, 1 / z.shape[-1])


def _products(rows: list[Float[Array, "_ n"]], metric: Float[Array, "n s"]) -> list[Float[Array, "_ s"]]:
    """Several blocks of rows, each times the metric: in one product where they are so few that reading it counts."""
    if len(rows[0]) > 8:
        return [block @ metric for block in rows]
    return jnp.split(jnp.concatenate(rows) @ metric, np.cumsum([len(block) for block in rows])[:-1])


def _replaced(K: Float[Array, "n n"], skill: Index, rows: Float[Array, "c n"]) -> Float[Array, "c n n"]:
    """K with each of the rows as row and column g."""
    own = jnp.arange(K.shape[0]) == skill
    return jnp.where(own[:, None], rows[:, None, :], jnp.where(own, rows[:, :, None], K))


def entropy_of(l: Float[Array, " n"]) -> Float[Array, ""]:
    """-Σ l log l."""
    return -jnp.sum(l * jnp.log(jnp.where(l > 0, l, 1)))


def nodes(dtype: np.dtype) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Nodes s = e^u of the trapezoid rule in u, and weights s du: ∫ f(s) ds = ∫ s f(s) du."""
    low, high, count = (-15.0, 11.0, 21) if jnp.finfo(dtype).bits == 32 else (-34.0, 24.0, 84)
    u, step = np.linspace(low, high, count, retstep=True)
    s = np.exp(u)
    return s.astype(dtype), (s * step).astype(dtype)
