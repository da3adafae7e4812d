"""The Vendi Score of many items: exact where it can be, else an interval that holds it.

With ρ = K/N, whose eigenvalues λ sum to one, every order is decided by the spectrum of ρ, but at N = 100,000 neither
that spectrum nor K itself can be had. What can be had:

- *exact*: K and LAPACK, up to some thousand items.
- *dual*: the kernel "linear" has the D x D matrix X'X/N, whose non-zero eigenvalues are those of ρ.
- *order 2*: VS_2 = N²/‖K‖_F² needs no spectrum, only one pass over K in blocks (or over a sample of its rows).
- *pivoted Cholesky*: K = F F' + E with F of rank m and E positive semidefinite, whose trace is known from diagonals.
  If μ are the eigenvalues of F'F/N and τ = tr(E)/N, then λ_i >= μ_i for every i (Weyl) and Σ(λ_i - μ_i) = τ. Among all
  such spectra μ + τe_1 majorises every one, and max(μ, c), c filling up to a sum of one, is majorised by every one. The
  Vendi Score of any order is Schur-concave, so that, with certainty and for every q,

      VS_q(μ + τ e_1)  <=  VS_q(K)  <=  VS_q(max(μ, c)).

- *random features*: with K̂ from random frequencies, E K̂ = K. For a convex g (x log x, x^q, or -x^q for q < 1), Jensen's
  inequality and Klein's, with σ any matrix independent of a second K̂', give

      E tr g(K̂/N)  >=  tr g(ρ)  >=  E tr[g(σ) + g'(σ)(K̂'/N - σ)],

  both estimated from independent draws; σ is made of other frequencies, mixed with a little of I/N.
- *stochastic Lanczos*: tr f(ρ) = E z'f(ρ)z over random signs z. Each z'f(ρ)z lies between Lanczos' Gauss and
  Gauss-Radau quadratures (the derivatives of f = -x log x and x^q have constant signs), and z'f(F F'/N)z, whose mean
  is known from a pivoted Cholesky, is subtracted: what is left to chance is only what F F' leaves out.
  For q = ∞ the largest Ritz value is a lower bound of λ_1, and a random start bounds how far below it can be
  (Kuczyński and Woźniakowski 1992).
"""

from __future__ import annotations

import difflib
import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.special
from jaxtyping import ArrayLike, Float

from vendirl.score import _hill, vendi_score, vendi_score_features

Kernel = Callable[[Any, Any], Any]  # (A, D) and (B, D) items -> (A, B) block of K
Method = Literal[
    "auto", "exact", "dual", "order 2", "pivoted Cholesky", "random features", "stochastic Lanczos"
]  # in the order of the module's docstring

METHODS = ("auto", "exact", "dual", "order 2", "pivoted Cholesky", "random features", "stochastic Lanczos")
KERNELS = ("linear", "rbf", "laplace")
EXACT_ITEMS = 8192  # LAPACK on more than these takes minutes
PASS = 2.5e10  # kernel values that one pass over K may cost; 200,000 items by symmetry
TILE = 2048
ROUNDING = 1e-9  # relative; of results in float64 that are exact otherwise


@dataclass(frozen=True)
class LargeScore:
    """A Vendi Score, the interval that holds it, and how it was found.

    Attributes:
        score: VS_q, or the best guess at it.
        lower, upper: the exact value lies between, with probability `confidence`.
        q: the order.
        items: N.
        method: the method that found it.
        reason: why that method, and whether the tolerance was met.
        confidence: 1 for a bound that is certain; below 1 for one that depends on the random draw.
        details: numbers of the method: its rank, its residual τ, its probes.
    """

    score: float
    lower: float
    upper: float
    q: float
    items: int
    method: str
    reason: str
    confidence: float = 1.0
    details: dict[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The largest factor, less one, by which the score and a value in the interval can differ."""
        return max(self.upper / self.score, self.score / self.lower) - 1

    def __str__(self) -> str:
        certainty = "certain" if self.confidence == 1 else f"{self.confidence:.0%} confidence"
        return (
            f"VS_{self.q:g} of {self.items:,} items = {self.score:.6g} in [{self.lower:.6g}, {self.upper:.6g}] "
            f"({certainty}), by {self.method}: {self.reason}"
        )


def vendi_score_of_items(
    items: Float[ArrayLike, "N D"],
    kernel: Literal["linear", "rbf", "laplace"] | Kernel = "rbf",
    scale: float = 1.0,
    q: float = 1.0,
    method: Method = "auto",
    tolerance: float = 0.01,
    *,
    rank: int = 2048,
    probes: int = 16,
    steps: int = 16,
    features: int = 512,
    confidence: float = 0.99,
    seed: int = 0,
) -> LargeScore:
    """The Vendi Score of order q of a few or of very many items, with an interval that holds the exact value.

    Args:
        items: (N, D) one item in each row.
        kernel: "linear" (x·y of rows scaled to unit length: the cosine), "rbf" (exp(-scale ‖x - y‖²)), "laplace"
            (exp(-scale ‖x - y‖)), or a function of (A, D) and (B, D) items to the (A, B) block of K, with k(x, x) = 1.
            Such a function must be positive semidefinite; if it is not, "exact" sets negative eigenvalues to zero (as
            `vendi_score` does), "order 2" has them count, and pivoted Cholesky refuses as soon as it meets
            a negative residual. For "stochastic Lanczos" it must be written in `jax.numpy`.
        scale: of "rbf" and "laplace".
        q: the order, in [0, ∞].
        method: "auto" or one of those in the docstring of this module. "auto" takes "dual" for the linear kernel
            when D < N, "exact" up to 8,192 items, "order 2" for q = 2, and otherwise pivoted Cholesky, followed by
            stochastic Lanczos if the tolerance is not met and the package `matfree` is installed.
        tolerance: relative; what the methods that can be refined strive for, by no means a promise: see `error` of the
            result. "auto" ends with the narrowest interval it found.
        rank: most pivots of pivoted Cholesky, which needs 8 N rank bytes and O(N rank²) time.
        probes, steps: of stochastic Lanczos: `steps` passes over K for all the probes together.
        features: number of random frequencies, each of which gives a cosine and a sine.
        confidence: of the intervals of random features, stochastic Lanczos and sampled rows.
        seed: of the random draws. Bounds of pivoted Cholesky are certain whatever the draw.

    Returns:
        `LargeScore`. The intervals of random features and stochastic Lanczos are Student's over independent
        draws, which is approximate; for q < 1 eigenvalues below 4 N ε of the largest count as 0, as in `vendi_score`.

    Example:
        >>> import numpy as np
        >>> from vendirl.evaluation.large import vendi_score_of_items
        >>> corners = np.array([[i % 2, i // 2 % 2, i // 4 % 2] for i in range(20_000)], float)
        >>> found = vendi_score_of_items(corners, scale=50.0)
        >>> found.method, round(found.score, 6), found.details["rank"]
        ('pivoted Cholesky', 8.0, 8)
    """
    X, q = _checked_items(items), _checked_order(q)
    _check(tolerance > 0, "tolerance", "be a positive number", tolerance)
    _check(0 < confidence < 1, "confidence", "lie strictly between 0 and 1", confidence)
    for name, value in (("rank", rank), ("probes", probes), ("steps", steps), ("features", features)):
        _check(value == int(value) and value >= 2, name, "be a whole number, at least 2", value)
    _refuse_unknown(method, METHODS, "method")
    X, kernel = _prepared(X, kernel, scale)
    effort = _Effort(tolerance, rank, probes, steps, features, confidence)
    found = _found(kernel, X, q, method, effort, np.random.default_rng(seed))
    return _widened(found, kernel.eps) if isinstance(kernel, _Function) else found


@dataclass(frozen=True)
class _Effort:
    """The settings of `vendi_score_of_items`."""

    tolerance: float
    rank: int
    probes: int
    steps: int
    features: int
    confidence: float


def _found(kernel, X, q: float, method: str, effort: _Effort, rng) -> LargeScore:
    """The score of checked items by the method asked for, or the one that fits."""
    (n, d), tolerance, confidence = X.shape, effort.tolerance, effort.confidence
    chosen, reason = (method, "asked for") if method != "auto" else _choice(kernel, n, d, q)
    result = partial(LargeScore, q=q, items=n, method=chosen, reason=reason)

    if chosen == "dual":
        if kernel != "linear":
            raise ValueError("method 'dual' needs kernel='linear', the inner product of features; use 'auto'")
        return result(*_about(float(vendi_score_features(X, q))), details={"rank": min(n, d)})
    if chosen == "exact":
        return result(*_about(float(vendi_score(_block(kernel, X, X), q))))
    if chosen == "order 2":
        _check(q == 2, "q", "be 2 for method 'order 2'", q)
        *interval, certainty, details = _order_two(kernel, X, tolerance, confidence, rng)
        return result(*interval, confidence=certainty, details=details)
    if chosen == "random features":
        if not isinstance(kernel, _Distance):
            raise ValueError("method 'random features' needs kernel='rbf' or 'laplace'; use 'auto'")
        _check(0 < q < math.inf, "q", "lie strictly between 0 and infinity for method 'random features'", q)
        interval = _random_features(kernel, X, q, effort.features, confidence, rng)
        return result(*interval, confidence=confidence, details={"features": 2 * effort.features})

    if chosen == "stochastic Lanczos" and (obstacle := _no_lanczos(kernel, X, q)):
        raise (ImportError if "pip install" in obstacle else ValueError)(f"method 'stochastic Lanczos': {obstacle}")
    low_rank = _pivoted_cholesky(kernel, X, q, tolerance, min(effort.rank, n), rng)
    details = {"rank": len(low_rank.spectrum), "residual": low_rank.residual}
    certain = result(*_middle(low_rank.lower, low_rank.upper), details=details)
    if chosen == "pivoted Cholesky":
        if certain.error <= tolerance:
            return certain
        if method != "auto":
            return replace(certain, reason=f"{reason}; the tolerance was not met, a larger rank may help")
        if obstacle := _no_lanczos(kernel, X, q) or ("K is too large for many passes over it" if n * n > PASS else ""):
            return replace(certain, reason=f"{reason}; the tolerance was not met, and {obstacle}")
        reason = f"{reason}, and pivoted Cholesky of rank {details['rank']} leaves more than the tolerance"
    probes, steps = effort.probes, min(effort.steps, n)
    lower, upper = _stochastic_lanczos(kernel, X, q, tolerance, low_rank, probes, steps, confidence, rng)
    lower, upper = max(lower, certain.lower), min(upper, certain.upper)  # both hold
    if lower > upper:  # the draw was one of the few that the confidence leaves; what is certain stays
        lower, upper = certain.lower, certain.upper
    result = partial(result, method="stochastic Lanczos", reason=reason, confidence=confidence)
    found = result(*_middle(lower, upper), details=details | {"probes": probes, "steps": steps})
    return found if found.error <= tolerance else replace(found, reason=f"{reason}; the tolerance was not met")


def _choice(kernel, n: int, d: int, q: float) -> tuple[str, str]:
    if kernel == "linear" and d < n and d <= EXACT_ITEMS:
        return "dual", f"the linear kernel of {d} features has a {d} x {d} dual"
    if n <= EXACT_ITEMS:
        return "exact", f"{n:,} items are few enough for all eigenvalues"
    if q == 2:
        return "order 2", "order 2 needs no eigenvalues"
    return "pivoted Cholesky", f"{n:,} items are too many for all eigenvalues"


# ---- order 2 -------------------------------------------------------------------------------------------------------


def _order_two(kernel, X, tolerance, confidence, rng) -> tuple[float, float, float, float, dict]:
    """VS_2 = N²/‖K‖_F², its interval, the confidence of that, and details."""
    n = len(X)
    if n * n / 2 > PASS:
        return _order_two_sampled(kernel, X, confidence, rng)
    for dtype in (np.float32, np.float64) if isinstance(kernel, _Distance) and n > 16384 else (np.float64,):
        low, high = (float(part) for part in _squares(kernel, X, dtype))
        if math.sqrt(high / low) - 1 <= tolerance / 10:
            break
    low, high = low * (1 - ROUNDING), high * (1 + ROUNDING)
    return n * n / math.sqrt(low * high), n * n / high, n * n / low, 1.0, {"kernel values": n * (n + 1) / 2}


def _squares(kernel, X, dtype) -> np.ndarray:
    """Two bounds of ‖K‖_F² = N + 2 Σ_{i<j} K_ij², from the tiles on and above the diagonal."""
    Z = _tiles(X)
    squares = _tile_squares(kernel, dtype)
    total = np.array([len(X), len(X)], float)
    for i in range(len(Z)):
        for j in range(i, len(Z)):
            total += (1 if i == j else 2) * squares(Z[i], Z[j], i == j).sum(0)
    return total


def _order_two_sampled(kernel, X, confidence, rng):
    """By the rows of a sample with replacement: the mean of r_i = Σ_j K_ij²/N, which lies in [0, 1].

    The interval is the empirical Bernstein bound of Maurer and Pontil (2009), which holds for every sample size:
    |mean - E r| <= sqrt(2 V L/s) + 7 L/(3 (s - 1)), L = log(4/δ), V the sample variance.
    """
    n = len(X)
    size = int(np.clip(PASS / n, 256, 4096))
    Z, squares = _tiles(X), _tile_squares(kernel, np.float64)
    rows = np.zeros(size)
    chosen = rng.integers(n, size=size)
    sample = _tiles(X[chosen])
    for i, x in enumerate(sample):
        part = sum(squares(x, z, False) for z in Z).mean(1)[: len(rows[i * TILE :])]  # the mean of both bounds
        rows[i * TILE : i * TILE + len(part)] = part / n
    L = math.log(4 / (1 - confidence))
    half = math.sqrt(2 * rows.var(ddof=1) * L / size) + 7 * L / (3 * (size - 1))
    mean = rows.mean()
    low, high = max(mean - half, 1 / n), min(mean + half, 1.0)
    return 1 / mean, 1 / high, 1 / low, confidence, {"rows": size}


def _tiles(X) -> list[np.ndarray]:
    """(N, D) items in pieces of equal length; the rows that fill the last one are NaN."""
    count = -(-len(X) // TILE)
    length = -(-len(X) // count)
    padded = np.full((count * length, X.shape[1]), np.nan)
    padded[: len(X)] = X
    return list(padded.reshape(count, length, -1))


def _tile_squares(kernel, dtype) -> Callable:
    """(A, D), (B, D), whether they are the same -> (A, 2): bounds of Σ_j K_ij², without the diagonal if the same."""

    def by_distance(x, y, same):
        with jax.enable_x64(True):
            return np.asarray(_distance_squares(kernel, jnp.asarray(x, dtype), jnp.asarray(y, dtype), same))

    def by_block(x, y, same):
        real, other = ~np.isnan(x[:, 0]), ~np.isnan(y[:, 0])
        K2 = np.square(_block(kernel, x[real], y[other]))
        sums = np.zeros((len(x), 1))
        sums[real, 0] = K2.sum(1) - (np.diagonal(K2) if same else 0)
        return np.concatenate([sums, sums], 1)

    return by_distance if isinstance(kernel, _Distance) else by_block


@partial(jax.jit, static_argnums=(0, 3))
def _distance_squares(kernel, x, y, same):
    """`_tile_squares` of a kernel of distances: from squared distances less, and plus, what rounding may have done."""
    real, other = ~jnp.isnan(x[:, 0]), ~jnp.isnan(y[:, 0])
    square, error = _squared_distances(jnp.nan_to_num(x), jnp.nan_to_num(y))
    last = (8 + len(y)) * float(jnp.finfo(x.dtype).eps)  # of exp and of a sum of terms >= 0
    sums = []
    for distance, sign in ((jnp.maximum(square, 0) + error, -1), (jnp.maximum(square - error, 0), 1)):
        K2 = kernel.of_square(distance) ** 2
        if same:
            K2 = jnp.where(jnp.eye(len(x), dtype=bool), 0, K2)
        # a product, since XLA does not vectorise an exponential that it has fused into a sum
        sums.append(jnp.where(real, K2 @ other.astype(x.dtype), 0).astype(jnp.float64) * (1 + sign * last))
    return jnp.stack(sums, 1)


# ---- pivoted Cholesky ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LowRank:
    """K = F F' + E: F (N, m), the eigenvalues μ of F'F/N, τ = tr(E)/N, and the bounds these give."""

    factor: np.ndarray
    spectrum: np.ndarray
    residual: float
    lower: float
    upper: float


def _pivoted_cholesky(kernel, X, q, tolerance, rank, rng) -> _LowRank:
    """Pivots in blocks, drawn with probability proportional to the residual diagonal, until the bounds are near enough.

    Of each block only those are kept that, next to the others in it, still reduce the residual much.
    """
    n, eps = len(X), kernel.eps if isinstance(kernel, _Function) else float(np.finfo(float).eps)
    F = np.empty((n, rank))
    d = np.ones(n)
    m, check, found = 0, 16, 1
    while True:
        weights = np.maximum(d, 0)
        residual = float(np.abs(d).mean())  # negative ones are rounding, and count as doubt
        done = m == rank or residual <= max(4 * n * np.finfo(float).eps, 1e-13)
        done = done or found == 0 or not weights.any()  # what is left is rounding of the kernel's values
        if done or m >= check:
            spectrum = np.maximum(np.linalg.eigvalsh(F[:, :m].T @ F[:, :m] / n)[::-1], 0)
            spectrum *= (1 - residual) / spectrum.sum()
            lower, upper = _spectrum_bounds(spectrum, residual, n, q)
            if done or math.sqrt(upper / lower) - 1 <= tolerance:
                return _LowRank(F[:, :m], spectrum, residual, lower, upper)
            check = 2 * m
        size = min(max(m, 16), 128, rank - m, int((weights > 0).sum()))
        pivots = rng.choice(n, size, replace=False, p=weights / weights.sum())
        G = _block(kernel, X, X[pivots]) - F[:, :m] @ F[pivots, :m].T
        # a pivot near the rounding of the kernel's values would magnify it
        least = max(min(residual / 10, float(d[pivots].max()) / 2), 300 * eps if isinstance(kernel, _Function) else 0)
        L, order, found, _ = scipy.linalg.lapack.dpstrf(G[pivots], tol=least, lower=1)
        if found == 0:
            continue
        kept = order[:found] - 1
        new = scipy.linalg.solve_triangular(L[:found, :found], G[:, kept].T, lower=True, check_finite=False).T
        F[:, m : m + found] = new
        m += found
        d -= np.square(new).sum(1)
        d[pivots[kept]] = 0
        if not d.min() >= -math.sqrt(eps):
            raise ValueError(
                f"kernel is not positive semidefinite: item {int(d.argmin())} has a residual of {d.min():.3g} after "
                f"{m} pivots. Use method='exact' on fewer items, or a kernel that is positive semidefinite"
            )


def _spectrum_bounds(mu: np.ndarray, residual: float, n: int, q: float) -> tuple[float, float]:
    """VS_q(μ + τ e_1) and VS_q(max(μ, c)): the least and the most diverse spectrum that μ and τ leave possible.

    μ: (m,) descending, with sum 1 - τ; n: the number of eigenvalues.
    """
    noise = 4 * n * np.finfo(float).eps
    least = mu.copy()
    least[0] += residual
    lower = float(_hill(least, q, noise, np))
    padded = np.concatenate([mu, np.zeros(n - len(mu))])
    if q == 0:  # as many as τ can lift above the noise
        short = np.maximum(noise * mu[0] - padded, 0)
        upper = float(np.sum(short.cumsum() <= residual))
    else:
        equal = (residual + padded[::-1].cumsum()[::-1]) / np.arange(n, 0, -1)  # of the rest, if the first j stay
        upper = float(_hill(np.maximum(padded, equal[np.argmax(equal >= padded)]), q, 0.0, np))
    return lower * (1 - ROUNDING), upper * (1 + ROUNDING)


# ---- random features -----------------------------------------------------------------------------------------------


def _random_features(kernel, X, q, features, confidence, rng, pairs: int = 5):
    """The score and its interval. The first pair of draws chooses how much of I/N to mix in, the others are the sample.

    exp(-scale ‖x - y‖²) is the mean of cos(ω·(x - y)) over normal ω with variance 2 scale, exp(-scale ‖x - y‖) that
    over Cauchy ω; a cosine and a sine for each ω give K̂, with K̂_ii = 1.
    """
    n, d = X.shape
    convex, slope, score = _convex(q)

    shares = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5)
    above, below = [], []  # tr g(K̂/N), and its lower bound for each share
    for _ in range(pairs):
        frequencies = rng.normal(size=(2, features, d)) * kernel.spread(rng, (2, features, 1))
        with jax.enable_x64(True):
            G = sum(np.asarray(_feature_gram(x, frequencies)) for x in _tiles(X)) / n
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
    high = upper_g.mean() + _student(tail, len(upper_g)) * upper_g.std(ddof=1) / math.sqrt(len(upper_g))
    low = lower_g.mean() - _student(tail, len(lower_g)) * lower_g.std(ddof=1) / math.sqrt(len(lower_g))
    lower, upper = (float(np.clip(score(g), 1, n)) for g in (high, low))
    return _middle(lower, upper)


@jax.jit
def _feature_gram(x, frequencies):
    """(A, D), (2, F, D) -> (2, 2, 2F, 2F): Φ_p'Φ_q for the features Φ_p (A, 2F) of either set of frequencies."""
    angle = jnp.einsum("ad,pfd->paf", jnp.nan_to_num(x), frequencies)
    phi = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], -1) / math.sqrt(frequencies.shape[1])
    phi = jnp.where(jnp.isnan(x[:, :1]), 0, phi)
    return jnp.einsum("paf,qag->pqfg", phi, phi)


def _convex(q: float) -> tuple[Callable, Callable, Callable]:
    """A convex g with g(0) = 0, its derivative, and the Vendi Score as a (decreasing) function of G = Σ g(λ)."""
    if q == 1:
        return lambda x: x * np.log(x), lambda x: np.log(x) + 1, lambda G: np.exp(-G)
    sign = 1 if q > 1 else -1
    return (
        lambda x: sign * x**q,
        lambda x: sign * q * x ** (q - 1),
        lambda G: np.maximum(sign * G, 1e-300) ** (1 / (1 - q)),
    )


# ---- stochastic Lanczos --------------------------------------------------------------------------------------------


def _stochastic_lanczos(kernel, X, q, tolerance, low_rank: _LowRank, probes, steps, confidence, rng):
    """The interval of the score from `probes` random vectors and `steps` passes over K."""
    n = len(X)
    if q == math.inf:
        T = _tridiagonals(kernel, X, rng.normal(size=(probes, n)), steps, np.float64)
        top = max([*low_rank.spectrum[:1], *(np.linalg.eigvalsh(t)[-1] for t in T)])
        # P(λ_1 - θ > ε λ_1) <= 1.648 sqrt(n) exp(-sqrt(ε)(2 steps - 1)) for each start, and all of them would have to
        gap = math.log(1.648 * math.sqrt(n)) - math.log(1 - confidence) / probes
        epsilon = min((gap / (2 * steps - 1)) ** 2, 1 - top)
        return 1 / (top / (1 - epsilon)), min(1 / top * (1 + ROUNDING), n)
    convex, _, score = _convex(q)

    def f(x):
        return np.where(x > 0, convex(np.where(x > 0, x, 1)), 0.0)

    dtype, allowance = _precision(kernel, X, q, tolerance, low_rank, rng)
    z = rng.choice([-1.0, 1.0], size=(probes, n))
    quadratures = np.array([_quadratures(t, f) for t in _tridiagonals(kernel, X, z, steps, dtype)]) * n
    mu, W = np.linalg.eigh(low_rank.factor.T @ low_rank.factor / n)
    keep = mu > 1e-12 * mu[-1]
    mu, W = mu[keep], W[:, keep]
    known = np.square(z @ low_rank.factor @ W) @ (f(mu) / (mu * n))  # z'f(F F'/N)z
    sample = quadratures.mean(1) - known
    half = _student((1 - confidence) / 2, probes) * sample.std(ddof=1) / math.sqrt(probes) + allowance
    low, high = (f(mu).sum() + (quadratures - known[:, None]).mean(0)).tolist()
    return float(np.clip(score(high + half), 1, n)), float(np.clip(score(low - half), 1, n))


def _tridiagonals(kernel, X, starts, steps, dtype) -> list[np.ndarray]:
    """Lanczos on K/N from each of the (P, N) starts: P symmetric tridiagonal matrices, cut where β vanishes.

    Blocks of K are computed in `dtype` once for all starts in each step and forgotten; vectors are in float64.
    """
    with jax.enable_x64(True):
        starts = jnp.asarray(starts / np.linalg.norm(starts, axis=1, keepdims=True))
        T = np.asarray(_lanczos(kernel, steps, starts, jnp.asarray(np.nan_to_num(np.stack(_tiles(X))), dtype)))
    return [_unbroken(t) for t in T]


@partial(jax.jit, static_argnums=(0, 1))
def _lanczos(kernel, steps, starts, Z):
    """(P, N) unit starts, (B, L, D) tiles of items -> (P, steps, steps)."""
    from matfree import decomp

    n = starts.shape[1]
    count, length, _ = Z.shape

    def matvec(v, Z):
        V = jnp.pad(v, (0, count * length - n)).reshape(count, length)

        def rows(i):
            def add(total, j):
                K = _traced_block(kernel, Z[i], Z[j])
                K = jnp.where((i == j) & jnp.eye(length, dtype=bool), 1, K)
                return total + K.astype(v.dtype) @ V[j], None

            return jax.lax.scan(add, jnp.zeros(length, v.dtype), jnp.arange(count))[0]

        return jax.lax.map(rows, jnp.arange(count)).reshape(-1)[:n] / n

    tridiagonal = decomp.tridiag_sym(steps, custom_vjp=False)
    return jax.vmap(lambda v: tridiagonal(matvec, v, Z).J_small)(starts)


def _unbroken(T: np.ndarray) -> np.ndarray:
    """T up to where its off-diagonal vanishes: there the start's Krylov space ends, and what follows is noise."""
    beta = np.append(np.abs(np.diagonal(T, 1)), 0)
    with np.errstate(invalid="ignore"):
        ends = ~(beta > 1e-12 * np.abs(T[0, 0])) | ~np.isfinite(np.diagonal(T))
    length = int(np.argmax(ends)) + 1
    if not np.isfinite(T[length - 1, length - 1]):
        length -= 1
    if length < 1:
        raise FloatingPointError("kernel gave values that are not finite")
    return T[:length, :length]


def _quadratures(T: np.ndarray, f: Callable) -> tuple[float, float]:
    """Gauss and Gauss-Radau (a node at 0) quadrature of v'f(ρ)v for a unit v, the smaller first."""
    nodes, U = np.linalg.eigh(T)
    gauss = float(np.square(U[0]) @ f(np.maximum(nodes, 0)))
    if len(T) < 2:
        return gauss, gauss
    theta, S = np.linalg.eigh(T[:-1, :-1])
    theta = np.maximum(theta, 1e-14 * theta[-1])
    R = T.copy()  # its last entry such that 0 is an eigenvalue: β² e'T⁻¹e
    R[-1, -1] = T[-1, -2] ** 2 * float(np.square(S[-1]) @ (1 / theta))
    nodes, U = np.linalg.eigh(R)
    radau = float(np.square(U[0]) @ f(np.maximum(nodes, 0)))
    return min(gauss, radau), max(gauss, radau)


def _precision(kernel, X, q, tolerance, low_rank: _LowRank, rng) -> tuple[Any, float]:
    """The type for blocks of K, and what their rounding can do to tr g(ρ).

    The rounding Δ of K is measured in some rows, and ‖Δ/N‖_1 <= ‖Δ‖_F/sqrt(N).
    """
    n = len(X)
    rows = rng.choice(n, min(n, 64), replace=False)
    for dtype in (np.float32, np.float64) if n > 16384 and q >= 1 else (np.float64,):
        with jax.enable_x64(True):
            rough = np.array(_traced_block(kernel, jnp.asarray(X[rows], dtype), jnp.asarray(X, dtype)), np.float64)
        rough[np.arange(len(rows)), rows] = 1
        double = math.sqrt(n * np.square(rough - _block(kernel, X[rows], X)).mean())
        allowance = _allowance(double, n, q)
        worth = tolerance if q == 1 else abs(1 - q) * tolerance * float(np.sum(low_rank.spectrum**q))
        if allowance <= worth / 4:
            break
    return dtype, allowance


def _allowance(change: float, n: int, q: float) -> float:
    """How much tr g(ρ) can change if ρ changes by 2T = `change` in the trace norm.

    T log N + H(T) for the entropy (Fannes and Audenaert), 2qT for q > 1, N^(1-q) (2T)^q for q < 1.
    """
    if q == 1:
        T = min(change / 2, 0.5)
        return T * math.log(n) + float(scipy.special.entr(T) + scipy.special.entr(1 - T))
    return q * change if q > 1 else n ** (1 - q) * change**q


def _widened(found: LargeScore, eps: float) -> LargeScore:
    """The interval for a kernel whose values carry a rounding of 4 ε, which ‖Δ/N‖_1 <= 4 ε sqrt(N) allows for."""
    n, q, change = found.items, found.q, 4 * eps * math.sqrt(found.items)
    if q == 0:
        return found  # a count has no neighbourhood
    if q == math.inf:
        lower, upper = 1 / (1 / found.lower + change), 1 / max(1 / found.upper - change, 1 / n)
    else:
        power, allowance = (
            (lambda VS: -math.log(VS)) if q == 1 else (lambda VS: math.copysign(VS ** (1 - q), q - 1)),
            _allowance(change, n, q),
        )
        score = _convex(q)[2]
        lower, upper = float(score(power(found.lower) + allowance)), float(score(power(found.upper) - allowance))
    return replace(found, lower=lower, upper=upper)


def _no_lanczos(kernel, X, q) -> str:
    """Why stochastic Lanczos is not possible, or nothing."""
    if q == 0:
        return "order 0 counts eigenvalues however small, which Lanczos does not see"
    if importlib.util.find_spec("matfree") is None:
        return "stochastic Lanczos needs the package matfree (pip install matfree)"
    two = jax.ShapeDtypeStruct((2, X.shape[1]), np.float32)
    try:
        jax.eval_shape(partial(_traced_block, kernel), two, two)
    except jax.errors.JAXTypeError:
        return "stochastic Lanczos needs a kernel written in jax.numpy"
    return ""


# ---- kernels -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Distance:
    """A kernel that falls with the distance; items are multiplied by sqrt(scale), or by scale, beforehand."""

    root: bool

    def of_square(self, square):
        xp = np if isinstance(square, np.ndarray) else jnp
        return xp.exp(-(xp.sqrt(square) if self.root else square))

    def spread(self, rng, shape):
        """What normal frequencies are multiplied by: sqrt(2) for the normal, 1/|normal| for the Cauchy distribution."""
        return 1 / np.abs(rng.normal(size=shape)) if self.root else math.sqrt(2)


@dataclass(frozen=True)
class _Function:
    """A kernel of the user's, and the relative rounding ε of the values it returns."""

    call: Kernel  # a function of ours around it, which has a hash whatever the kernel is
    eps: float

    def __call__(self, x, y):
        return self.call(x, y)


def _prepared(X, kernel, scale):
    """Items such that the kernel has no scale left, centred or of unit length; and the kernel."""
    if isinstance(kernel, str):
        _refuse_unknown(kernel, KERNELS, "kernel")
    elif not callable(kernel):
        raise TypeError(
            f"kernel must be one of {', '.join(KERNELS)} or a function of two (batches of) items, not {kernel!r}"
        )
    _check(isinstance(scale, int | float | np.number) and 0 < scale < math.inf, "scale", "be a positive number", scale)
    if kernel in ("rbf", "laplace"):
        centred = X - np.median(X, 0)  # so that differences of squares lose little
        return centred * (scale if kernel == "laplace" else math.sqrt(scale)), _Distance(kernel == "laplace")
    if scale != 1:
        raise ValueError(f"scale is {scale}, but only the kernels rbf and laplace have one; leave it at 1")
    if kernel == "linear":
        if (empty := np.flatnonzero(~X.any(1))).size:
            raise ValueError(f"items: row {empty[0]} is all zero and has no direction; remove it")
        X = X / np.abs(X).max(1, keepdims=True)
        return X / np.linalg.norm(X, axis=1, keepdims=True), kernel
    few = X[:64]
    dtype = getattr(kernel(few, few), "dtype", np.dtype(np.float64))
    function = _Function(lambda x, y: kernel(x, y), float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps))
    K = _block(function, few, few)
    if np.abs(np.diagonal(K) - 1).max() > 1e-3:
        raise ValueError(f"kernel: k(x, x) must be 1, but is {np.diagonal(K)[np.abs(np.diagonal(K) - 1).argmax()]:.6g}")
    if np.abs(K - K.T).max() > 1e-4:
        raise ValueError("kernel: k(x, y) must equal k(y, x), but does not among the first items")
    return X, function


def _block(kernel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(A, B) of K in float64, by differences where the kernel has distances, so that equal items have similarity 1."""
    if isinstance(kernel, _Distance):
        from scipy.spatial.distance import cdist

        return kernel.of_square(cdist(x, y, "sqeuclidean"))
    if kernel == "linear":
        return x @ y.T
    K = np.asarray(kernel(x, y), np.float64)
    if K.shape != (len(x), len(y)):
        raise ValueError(f"kernel must return a ({len(x)}, {len(y)}) block for that many items, but returned {K.shape}")
    if not np.isfinite(K.sum()):
        raise ValueError("kernel returned values that are not finite")
    return K


def _traced_block(kernel, x, y):
    """(A, B) of K inside `jit`, in the type of the items."""
    if isinstance(kernel, _Distance):
        return kernel.of_square(jnp.maximum(_squared_distances(x, y)[0], 0))
    return x @ y.T if kernel == "linear" else jnp.asarray(kernel(x, y), x.dtype)


def _squared_distances(x, y):
    """‖x_i - y_j‖² by a product of matrices, and a bound of its rounding, (D + 8) ε (‖x_i‖² + ‖y_j‖²)."""
    xx, yy = jnp.sum(x * x, 1)[:, None], jnp.sum(y * y, 1)
    square = xx + yy - 2 * jnp.matmul(x, y.T, precision="highest")
    return square, (x.shape[1] + 8) * float(jnp.finfo(x.dtype).eps) * (xx + yy)


# ---- input ---------------------------------------------------------------------------------------------------------


def _checked_items(items) -> np.ndarray:
    try:
        X = np.asarray(items)
    except ValueError:
        raise ValueError("items must be a rectangular (N, D) array, but its rows differ in length") from None
    if X.dtype.kind not in "fiub":
        raise TypeError(f"items must be an array of real numbers, but has type {X.dtype}")
    if X.ndim != 2:
        hint = "; use items[:, None] for items of one feature" if X.ndim == 1 else ""
        raise ValueError(f"items must be an (N, D) array, one item in each row, but has shape {X.shape}{hint}")
    if 0 in X.shape:
        raise ValueError(f"items has shape {X.shape}: there is nothing to score")
    X = X.astype(np.float64)
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"items must be finite, but items[{i}, {j}] is {X[i, j]}")
    return X


def _checked_order(q) -> float:
    sound = isinstance(q, int | float | np.number) and not math.isnan(float(q)) and float(q) >= 0
    _check(sound, "q", "be a number in [0, inf]", q)
    return float(q)


def _check(sound: bool, name: str, must: str, value) -> None:
    if not sound:
        raise ValueError(f"{name} must {must}, but is {value!r}")


def _refuse_unknown(name, known: tuple[str, ...], what: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1, cutoff=0.0)[0]
        raise ValueError(f"{what} must be one of {', '.join(known)}, but is {name!r}; did you mean {near!r}?")


def _about(score: float) -> tuple[float, float, float]:
    """A score that is exact but for rounding, and its interval."""
    return score, score * (1 - ROUNDING), score * (1 + ROUNDING)


def _middle(lower: float, upper: float) -> tuple[float, float, float]:
    """The score that is off by the same factor at either end, and the interval."""
    return math.sqrt(lower * upper), lower, upper


def _student(tail: float, size: int) -> float:
    """The quantile of Student's distribution for the mean of `size` draws."""
    return float(scipy.special.stdtrit(size - 1, 1 - tail))
