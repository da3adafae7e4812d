"""Similarity of order in time: the global alignment kernel."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from vendirl._checks import Number, checked_by, positive
from vendirl.similarity.kinds import TrajectorySimilarity
from vendirl.similarity.observations import Observations

Padded = tuple[Float[Array, "_ _ D"], Int[Array, " _"]]
"""Trajectories, (N, T, D), and the length of each, (N,)."""
Aligned = tuple[Float[Array, "_ _ D"], Int[Array, " _"], Float[Array, ""]]
"""The same, and their L with themselves."""
Diagonals = tuple[Float[Array, " T"], Float[Array, " T"], Float[Array, " T"]]
"""The last diagonal of the table, the one before, and where alignments start."""
_NOTHING = -1e30  # stands for log 0 in the table: with -inf derivatives would be NaN


class alignment(TrajectorySimilarity):  # noqa: N801
    """Similarity of two trajectories as sequences, however they are stretched in time (Cuturi 2011).

    The global alignment kernel sums, over all monotone alignments π of the two sequences, the product of local
    similarities along π (dynamic time warping keeps only the best one):

        G(x, y) = Σ_π Π κ(x_π, y_π),     log κ = -d - log(2 - exp(-d)),     d = ‖x - y‖² / (2 bandwidth²)
        k(a, b) = exp(scale [L(a, b) - (L(a, a) + L(b, b))/2]),     L = log mean over pairs of trajectories of G

    Positive semidefinite for scale = 1; for other scales that is not guaranteed. Ceiling n. Long trajectories are
    easily all unlike each other: choose a bandwidth of the order of the distances between skills, or a scale
    of the order of 1/T. Cost O(T²) for each pair of trajectories.

    Args:
        scale: exponent of the normalised kernel.
        bandwidth: in the units of the features.
    """

    scale: Number = eqx.field(default=1.0, converter=checked_by(positive, "alignment: scale"))
    bandwidth: Number = eqx.field(default=1.0, converter=checked_by(positive, "alignment: bandwidth"))

    name: ClassVar[str] = "alignment"

    @property
    def psd(self) -> bool:
        return isinstance(self.scale, float | int) and self.scale == 1

    def summary(self, skill: Observations) -> Aligned:
        N, T, _ = skill.points.shape
        lengths = jnp.full(N, T) if skill.lengths is None else skill.lengths
        return skill.points, lengths, self._log_kernel((skill.points, lengths), (skill.points, lengths))

    def compare(self, a: Aligned, b: Aligned) -> Float[Array, ""]:
        return jnp.exp(self.scale * jnp.minimum(self._log_kernel(a[:2], b[:2]) - (a[2] + b[2]) / 2, 0))

    def _log_kernel(self, a: Padded, b: Padded) -> Float[Array, ""]:
        """L: log of the mean of G over all pairs of trajectories."""
        pairs = jax.vmap(jax.vmap(self._log_alignment, (None, None, 0, 0)), (0, 0, None, None))
        logs = pairs(*a, *b)
        real = (a[1][:, None] > 0) & (b[1][None, :] > 0)
        return jax.nn.logsumexp(jnp.where(real, logs, -jnp.inf)) - jnp.log(jnp.sum(real))

    def _log_alignment(
        self, x: Float[Array, "T D"], length_x: Int[Array, ""], y: Float[Array, "S D"], length_y: Int[Array, ""]
    ) -> Float[Array, ""]:
        """log G by dynamic programming, M_ij = κ_ij (M_{i-1,j-1} + M_{i-1,j} + M_{i,j-1}), diagonal by diagonal."""
        T, S = x.shape[0], y.shape[0]
        d = jnp.sum((x[:, None] - y[None, :]) ** 2, -1) / (2 * self.bandwidth**2)
        log_local = -d - jnp.log(2 - jnp.exp(-d))
        i, j = jnp.arange(T), jnp.arange(T + S - 1)[:, None] - jnp.arange(T)[None, :]
        skewed = jnp.where((j >= 0) & (j < S), log_local[i[None, :], jnp.clip(j, 0, S - 1)], _NOTHING)
        nothing = jnp.full(T, _NOTHING, x.dtype)
        origin = jnp.where(i == 0, 0.0, nothing)  # the empty alignment, before the first diagonal

        def diagonal(carry: Diagonals, log_kappa: Float[Array, " T"]) -> tuple[Diagonals, Float[Array, " T"]]:
            last, before, start = carry
            steps = jnp.stack([last, _shifted(last), _shifted(before), start])
            here = log_kappa + jax.nn.logsumexp(steps, 0)
            return (here, last, nothing), here

        _, table = jax.lax.scan(diagonal, (nothing, nothing, origin), skewed)
        return table[jnp.maximum(length_x + length_y - 2, 0), jnp.maximum(length_x - 1, 0)]


def _shifted(diagonal: Float[Array, " T"]) -> Float[Array, " T"]:
    return jnp.concatenate([jnp.full(1, _NOTHING, diagonal.dtype), diagonal[:-1]])
