"""The spectrum of a matrix of similarities, by NumPy or JAX, and what becomes of its negative eigenvalues."""

from __future__ import annotations

from types import ModuleType

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray, SameArray
from vendirl.score.eigenvalues import eigenvalues


def namespace(x: AnyArray) -> ModuleType:
    """The library whose functions an array is for."""
    return np if isinstance(x, np.ndarray) else jnp


def spectrum(A: Float[SameArray, "*batch n n"]) -> Float[SameArray, "*batch n"]:
    """(..., n) ascending eigenvalues."""
    if not isinstance(A, np.ndarray):
        return eigenvalues(A)
    if A.shape[-1] < 256:
        return np.linalg.eigvalsh(A)
    import scipy.linalg  # late, since it takes a fifth of a second that training has no use for

    # SciPy brings a LAPACK of its own, the faster one for large matrices. It wants them by columns: a symmetric matrix
    # that is transposed is copied as it is, which spares up to a tenth of the time.
    each = [scipy.linalg.eigvalsh(one.T, check_finite=False) for one in A.reshape(-1, *A.shape[-2:])]
    return np.array(each).reshape(A.shape[:-1])


def clipped(
    raw: Float[SameArray, "*batch n"], lam: Float[SameArray, "*batch n"]
) -> tuple[Float[SameArray, "*batch n"], Float[SameArray, "*batch 1"]]:
    """λ with negatives set to zero, rescaled to the sum it had (one); and the factor of that rescaling."""
    xp = namespace(lam)
    clipped = xp.maximum(lam, 0)
    factor = raw.sum(-1, keepdims=True) / clipped.sum(-1, keepdims=True)
    return clipped * factor, factor
