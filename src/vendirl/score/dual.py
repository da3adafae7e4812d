"""The score of a kernel matrix of few features in which one item changes, by a matrix as small as the features are few.

Let k(a, b) = φ(a)·φ(b) with d features of length one, and Φ (n, d) the items'. K/n = ΦΦ'/n has the eigenvalues of

    C = Φ'Φ/n,        (d, d),

and zeros besides, so that all scores of K are scores of C. Where item g becomes another, with v = φ(g)/√n and
u = φ(g*)/√n, C* = C + uu' - vv', and in the scalar product <x, y>_s = x'(C + s)⁻¹y

    det(C* + s) / det(C + s) = (1 + <u, u>_s) (1 - <v, v>_s) + <u, v>_s².

The entropy follows as in `border`: H(C*) = H(C) + ∫_0^∞ log(det(C* + s) / det(C + s)) ds. Both terms are positive, and
<v, v>_s <= 1 / (1 + n s), since vv' is a part of C: little is lost to rounding, however alike the items are. A new item
costs O(d²), whatever n is.

Order 2 needs no spectrum: ‖C*‖² = ‖C‖² + 2 (u'Cu - v'Cv) + ‖u‖⁴ + ‖v‖⁴ - 2 (u'v)². Others take that of each C*.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from vendirl._checks import Index
from vendirl.score.border import entropy_of, nodes
from vendirl.score.hill import hill_of_matrix
from vendirl.score.inputs import is_list, orders_of


class Spectrum(eqx.Module):
    """C = U diag(l) U', and what of the formula above depends on it alone.

    Attributes:
        vectors: (d, d) U.
        metric: (d, S) 1 / (l + s).
        norms: (n, S) <v, v>_s for each g.
        entropy: H(C).
    """

    vectors: Float[Array, "d d"]
    metric: Float[Array, "d S"]
    norms: Float[Array, "n S"]
    entropy: Float[Array, ""]

    @classmethod
    def of(cls, C: Float[Array, "d d"], rows: Float[Array, "n d"]) -> Spectrum:
        """The spectrum of C = V'V, and the norms of the rows of V."""
        l, U = jnp.linalg.eigh(C)
        l = jnp.maximum(l, 0)
        metric = 1 / (l[:, None] + nodes(C.dtype)[0])
        return cls(U, metric, (rows @ U) ** 2 @ metric, entropy_of(l))

    def entropies(self, g: Index, old: Float[Array, " d"], new: Float[Array, "c d"]) -> Float[Array, " c"]:
        """H of C with v = `old`, the row g, replaced by each of c others u."""
        s, weights = nodes(new.dtype)
        n = len(self.norms)
        u, v = new @ self.vectors, old @ self.vectors
        uu, uv = (u * u) @ self.metric, (u * v) @ self.metric
        vv = jnp.minimum(self.norms[g], 1 / (1 + n * s))
        # Less its 1, which would swallow what is left of it where s is large, and much of the integral with it.
        return self.entropy + jnp.log1p(uu * (1 - vv) + uv**2 - vv) @ weights


class Dual(eqx.Module):
    """Items of d features, made ready for the scores that they have with one of them replaced. Scenes may share it.

    Attributes:
        rows: (n, d) V = Φ/√n.
        matrix: C = V'V.
        spectrum: of C, for order 1, else None.
        q: order of the score.
    """

    rows: Float[Array, "n d"]
    matrix: Float[Array, "d d"]
    spectrum: Spectrum | None
    q: float = eqx.field(static=True)

    @classmethod
    def of(cls, features: Float[Array, "n d"], q: float | Any = 1.0) -> Dual:
        """The dual of items with these features, each of length one."""
        if is_list(q):
            raise ValueError(f"q must be one order, but is {q!r}")
        (q,) = orders_of(q)
        rows = features / jnp.sqrt(jnp.asarray(len(features), features.dtype))
        C = rows.T @ rows
        return cls(rows, C, Spectrum.of(C, rows) if q == 1.0 else None, q)

    @property
    def score(self) -> Float[Array, ""] | None:
        """VS of the items as they are, if it is known from the spectrum."""
        return None if self.spectrum is None else jnp.exp(self.spectrum.entropy)

    def scores(self, item: Index, features: Float[Array, "c d"]) -> Float[Array, " c"]:
        """VS of the items with item g replaced by each of c others, of length one too."""
        n, d = self.rows.shape
        new, old = features / jnp.sqrt(jnp.asarray(n, features.dtype)), self.rows[item]
        if self.spectrum is not None:
            return jnp.exp(self.spectrum.entropies(item, old, new))
        if self.q == 2.0:
            C = self.matrix
            moved = jnp.sum((new @ C) * new, -1) - old @ C @ old
            lengths = jnp.sum(new * new, -1) ** 2 + jnp.sum(old * old) ** 2
            return 1 / (jnp.sum(C * C) + 2 * moved + lengths - 2 * (new @ old) ** 2)
        changed = self.matrix - old[:, None] * old + new[:, :, None] * new[:, None, :]
        tolerance = 4 * d * float(jnp.finfo(new.dtype).eps)
        return hill_of_matrix(changed, (self.q,), tolerance)[..., 0]
