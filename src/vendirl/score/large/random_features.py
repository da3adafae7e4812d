"""Random features: with K̂ from random frequencies, E K̂ = K.

For a convex g (x log x, x^q, or -x^q for q < 1), Jensen's inequality and Klein's, with σ any matrix independent of a
second K̂', give

    E tr g(K̂/N)  >=  tr g(ρ)  >=  E tr[g(σ) + g'(σ)(K̂'/N - σ)],

both estimated from independent draws; σ is made of other frequencies, mixed with a little of I/N.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vendirl._checks import AnyArray
from vendirl.score.large.convex_trace import convex_function
from vendirl.score.large.intervals import middle, student_quantile
from vendirl.score.large.kernel_blocks import Distance, tiles


def interval_by_features(
    kernel: Distance,
    X: Float[np.ndarray, "N D"],
    q: float,
    features: int,
    confidence: float,
    rng: np.random.Generator,
    pairs: int = 5,
) -> tuple[float, float, float]:
    """The score and its interval. The first pair of draws chooses how much of I/N to mix in, the others are the sample.

    exp(-scale ‖x - y‖²) is the mean of cos(ω·(x - y)) over normal ω with variance 2 scale, exp(-scale ‖x - y‖) that
    over Cauchy ω; a cosine and a sine for each ω give K̂, with K̂_ii = 1.
    """
    n, d = X.shape
    convex, slope, score = convex_function(q)

    shares = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5)
    above, below = [], []  # tr g(K̂/N), and its lower bound for each share
    for _ in range(pairs):
        frequencies = rng.normal(size=(2, features, d)) * kernel.spread(rng, (2, features, 1))
        with jax.enable_x64(True):
            G = sum(np.asarray(_feature_gram(x, frequencies)) for x in tiles(X)) / n
        spectra = []
        bounds = np.zeros((2, len(shares)))
        for a in (0, 1):
            nu, W = np.linalg.eigh(G[a, a])
            keep = nu > 1e-10 * nu[-1]
            nu, W = nu[keep], W[:, keep]
            spectra.append(nu / nu.sum())
            other = np.square(G[1 - a, a] @ W).sum(0) / nu  # u'(K̂'/N)u for the eigenvectors u of K̂/N
            for s, share in enumerate(shares):
                sigma, floor = (1 - share) * nu + share / n, share / n
                inside = np.sum(convex(sigma) + slope(sigma) * (other - sigma))
                outside = (n - len(nu)) * (convex(floor) - slope(floor) * floor) + slope(floor) * (1 - other.sum())
                bounds[a, s] = inside + outside
        above.append([float(np.sum(convex(nu))) for nu in spectra])
        below.append(bounds.mean(0))
    best = int(np.argmax(below[0]))
    upper_g = np.concatenate(above[1:])
    lower_g = np.array(below)[1:, best]
    tail = (1 - confidence) / 2
    high = upper_g.mean() + student_quantile(tail, len(upper_g)) * upper_g.std(ddof=1) / math.sqrt(len(upper_g))
    low = lower_g.mean() - student_quantile(tail, len(lower_g)) * lower_g.std(ddof=1) / math.sqrt(len(lower_g))
    lower, upper = (float(np.clip(score(g), 1, n)) for g in (high, low))
    return middle(lower, upper)


@jax.jit
def _feature_gram(x: Float[AnyArray, "A D"], frequencies: Float[AnyArray, "2 F D"]) -> Float[Array, "2 2 2*F 2*F"]:
    """(A, D), (2, F, D) -> (2, 2, 2F, 2F): Φ_p'Φ_q for the features Φ_p (A, 2F) of either set of frequencies."""
    angle = jnp.einsum("ad,pfd->paf", jnp.nan_to_num(x), frequencies)
    phi = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], -1) / math.sqrt(frequencies.shape[1])
    phi = jnp.where(jnp.isnan(x[:, :1]), 0, phi)
    return jnp.einsum("paf,qag->pqfg", phi, phi)
