"""The Vendi Score of many items: exact where it can be, else an interval that holds it.

With ρ = K/N, whose eigenvalues λ sum to one, every order is decided by the spectrum of ρ, but at N = 100,000 neither
that spectrum nor K itself can be had. What can be had, each of the last four explained in its own file:

- *exact*: K and LAPACK, up to some thousand items.
- *dual*: the kernel "linear" has the D x D matrix X'X/N, whose non-zero eigenvalues are those of ρ.
- *order 2*: needs no spectrum, only one pass over K in blocks or over a sample of its rows (`order_two`).
- *pivoted Cholesky*: bounds that are certain, for every order, from a part of K of low rank (`pivoted_cholesky`).
- *random features*: bounds from independent draws of random frequencies (`random_features`).
- *stochastic Lanczos*: bounds from random vectors and a few passes over K, which start from what pivoted Cholesky
  found (`stochastic_lanczos`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl._text import percent
from vendirl.score.large.convex_trace import allowance_for, convex_function
from vendirl.score.large.input_checks import check, checked_items, checked_order, refuse_unknown
from vendirl.score.large.intervals import about, middle
from vendirl.score.large.kernel_blocks import PASS, Distance, Function, Kernel, Prepared, block, prepared
from vendirl.score.large.order_two import score_of_order_two
from vendirl.score.large.pivoted_cholesky import factorise
from vendirl.score.large.random_features import interval_by_features
from vendirl.score.large.stochastic_lanczos import interval_by_lanczos, no_lanczos
from vendirl.score.score import vendi_score, vendi_score_features

__all__ = ["LargeScore", "vendi_score_of_items"]

Method = Literal[
    "auto", "exact", "dual", "order 2", "pivoted Cholesky", "random features", "stochastic Lanczos"
]  # in the order of the module's docstring

METHODS = ("auto", "exact", "dual", "order 2", "pivoted Cholesky", "random features", "stochastic Lanczos")
EXACT_ITEMS = 8192  # LAPACK on more than these takes minutes


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
        certainty = "certain" if self.confidence == 1 else f"{percent(self.confidence)} confidence"
        return (
            f"VS_{self.q:g} of {self.items:,} items = {self.score:.6g} in [{self.lower:.6g}, {self.upper:.6g}] "
            f"({certainty}), by {self.method}: {self.reason}"
        )


def vendi_score_of_items(
    items: Float[AnyArray, "N D"] | Any,
    kernel: Literal["linear", "rbf", "laplace"] | Kernel | Any = "rbf",
    scale: float | Any = 1.0,
    q: float | Any = 1.0,
    method: Method | Any = "auto",
    tolerance: float = 0.01,
    *,
    rank: int | Any = 2048,
    probes: int | Any = 16,
    steps: int | Any = 16,
    features: int | Any = 512,
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
        >>> from vendirl.score.large import vendi_score_of_items
        >>> corners = np.array([[i % 2, i // 2 % 2, i // 4 % 2] for i in range(20_000)], float)
        >>> found = vendi_score_of_items(corners, scale=50.0)
        >>> found.method, round(found.score, 6), found.details["rank"]
        ('pivoted Cholesky', 8.0, 8)
    """
    X, q = checked_items(items), checked_order(q)
    check(tolerance > 0, "tolerance", "be a positive number", tolerance)
    check(0 < confidence < 1, "confidence", "lie strictly between 0 and 1", confidence)
    for name, value in (("rank", rank), ("probes", probes), ("steps", steps), ("features", features)):
        check(value == int(value) and value >= 2, name, "be a whole number, at least 2", value)
    refuse_unknown(method, METHODS, "method")
    X, ready = prepared(X, kernel, scale)
    effort = _Effort(tolerance, int(rank), int(probes), int(steps), int(features), confidence)
    found = _found(ready, X, q, method, effort, np.random.default_rng(seed))
    return _widened(found, ready.eps) if isinstance(ready, Function) else found


@dataclass(frozen=True)
class _Effort:
    """The settings of `vendi_score_of_items`."""

    tolerance: float
    rank: int
    probes: int
    steps: int
    features: int
    confidence: float


def _found(
    kernel: Prepared,
    X: Float[np.ndarray, "N D"],
    q: float,
    method: Method,
    effort: _Effort,
    rng: np.random.Generator,
) -> LargeScore:
    """The score of checked items by the method asked for, or the one that fits."""
    (n, d), tolerance, confidence = X.shape, effort.tolerance, effort.confidence
    chosen, reason = (method, "asked for") if method != "auto" else _choice(kernel, n, d, q)
    result = partial(LargeScore, q=q, items=n, method=chosen, reason=reason)

    if chosen == "dual":
        if kernel != "linear":
            raise ValueError("method 'dual' needs kernel='linear', the inner product of features; use 'auto'")
        return result(*about(float(vendi_score_features(X, q))), details={"rank": min(n, d)})
    if chosen == "exact":
        return result(*about(float(vendi_score(block(kernel, X, X), q))))
    if chosen == "order 2":
        check(q == 2, "q", "be 2 for method 'order 2'", q)
        *interval, certainty, details = score_of_order_two(kernel, X, tolerance, confidence, rng)
        return result(*interval, confidence=certainty, details=details)
    if chosen == "random features":
        if not isinstance(kernel, Distance):
            raise ValueError("method 'random features' needs kernel='rbf' or 'laplace'; use 'auto'")
        check(0 < q < math.inf, "q", "lie strictly between 0 and infinity for method 'random features'", q)
        bounds = interval_by_features(kernel, X, q, effort.features, confidence, rng)
        return result(*bounds, confidence=confidence, details={"features": 2 * effort.features})

    if chosen == "stochastic Lanczos" and (obstacle := no_lanczos(kernel, X, q)):
        raise (ImportError if "pip install" in obstacle else ValueError)(f"method 'stochastic Lanczos': {obstacle}")
    low_rank = factorise(kernel, X, q, tolerance, min(effort.rank, n), rng)
    details = {"rank": len(low_rank.spectrum), "residual": low_rank.residual}
    certain = result(*middle(low_rank.lower, low_rank.upper), details=details)
    if chosen == "pivoted Cholesky":
        if certain.error <= tolerance:
            return certain
        if method != "auto":
            return replace(certain, reason=f"{reason}; the tolerance was not met, a larger rank may help")
        if obstacle := no_lanczos(kernel, X, q) or ("K is too large for many passes over it" if n * n > PASS else ""):
            return replace(certain, reason=f"{reason}; the tolerance was not met, and {obstacle}")
        reason = f"{reason}, and pivoted Cholesky of rank {details['rank']} leaves more than the tolerance"
    probes, steps = effort.probes, min(effort.steps, n)
    lower, upper = interval_by_lanczos(kernel, X, q, tolerance, low_rank, probes, steps, confidence, rng)
    lower, upper = max(lower, certain.lower), min(upper, certain.upper)  # both hold
    if lower > upper:  # the draw was one of the few that the confidence leaves; what is certain stays
        lower, upper = certain.lower, certain.upper
    result = partial(result, method="stochastic Lanczos", reason=reason, confidence=confidence)
    found = result(*middle(lower, upper), details=details | {"probes": probes, "steps": steps})
    return found if found.error <= tolerance else replace(found, reason=f"{reason}; the tolerance was not met")


def _choice(kernel: Prepared, n: int, d: int, q: float) -> tuple[Method, str]:
    if kernel == "linear" and d < n and d <= EXACT_ITEMS:
        return "dual", f"the linear kernel of {d} features has a {d} x {d} dual"
    if n <= EXACT_ITEMS:
        return "exact", f"{n:,} items are few enough for all eigenvalues"
    if q == 2:
        return "order 2", "order 2 needs no eigenvalues"
    return "pivoted Cholesky", f"{n:,} items are too many for all eigenvalues"


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
            allowance_for(change, n, q),
        )
        score = convex_function(q)[2]
        lower, upper = float(score(power(found.lower) + allowance)), float(score(power(found.upper) - allowance))
    return replace(found, lower=lower, upper=upper)
