"""Eigenvalues of many small symmetric matrices at once.

On CPU `jnp.linalg.eigvalsh` computes the eigenvectors too and calls LAPACK once per matrix. Here a whole block of
matrices is taken through the two classical steps together, so that every operation is a wide one:

1. Householder reflections reduce A to a tridiagonal T of the same spectrum. With the reflection I - u u', |u|^2 = 2,
   that zeroes column j below its subdiagonal, p = A u and w = p - (p'u / 2) u,

       (I - u u') A (I - u u') = A - u w' - w u'.

2. Bisection finds all eigenvalues of T. By Sylvester's law of inertia the number of eigenvalues of T below x is the
   number of negative pivots in a factorisation of T - x I, q_i = d_i - x - e_{i-1}^2 / q_{i-1}.

Both steps are backward stable: the error is a small multiple of n * eps * max|λ|.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

# Bytes of the matrices worked on together: what stays in the second-level caches of two cores.
_BLOCK_BYTES = 2**20
# With fewer matrices, or longer rows (in bytes: 96 float32, 48 float64), LAPACK is taken. At 128 float32 or 96 float64
# it was measured to be the faster; a batch under 16 is not worth the compilation.
_SMALLEST_BATCH = 16
_LONGEST_ROW = 384


def eigenvalues(A: Float[Array, "*batch n n"]) -> Float[Array, "*batch n"]:
    """Eigenvalues of symmetric A, ascending; made for large batches, by leading axes or by `vmap`, of small matrices.

    A must be symmetric: which triangle is read is not defined. A NaN makes all eigenvalues of its matrix NaN.
    It is not differentiable; a caller who needs a gradient has it in closed form (dλ_i/dA = v_i v_i').

    >>> eigenvalues(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
    Array([1., 3.], dtype=float32)
    """
    *batch, n, _ = A.shape
    return _of_stack(A.reshape(-1, n, n)).reshape(*batch, n)


@jax.custom_batching.custom_vmap
def _of_stack(A: Float[Array, "b n n"]) -> Float[Array, "b n"]:
    b, n, _ = A.shape
    if n < 2 or n * A.dtype.itemsize > _LONGEST_ROW or b < _SMALLEST_BATCH:
        return _lapack(A)
    return lax.platform_dependent(A, cpu=_in_blocks, default=_lapack)


@_of_stack.def_vmap
def _merge_vmapped_axis(
    axis_size: int, in_batched: list[bool], A: Float[Array, "m b n n"]
) -> tuple[Float[Array, "m b n"], bool]:
    """Under `vmap` the new axis joins the stack, so nested `vmap`s still make one large batch."""
    _, b, n, _ = A.shape
    return _of_stack(A.reshape(-1, n, n)).reshape(axis_size, b, n), in_batched[0]


def _lapack(A: Float[Array, "b n n"]) -> Float[Array, "b n"]:
    return jnp.linalg.eigvalsh(A, symmetrize_input=False)


def _in_blocks(A: Float[Array, "b n n"]) -> Float[Array, "b n"]:
    b, n, _ = A.shape
    blocks = -(-b // (_BLOCK_BYTES // (n * n * A.dtype.itemsize) + 16))
    size = 8 * -(-b // (8 * blocks))
    if size % 128 == 0:
        size += 8  # rows of (n, size) arrays a power of two apart would compete for the same cache lines
    padded = jnp.pad(A, ((0, blocks * size - b), (0, 0), (0, 0)))
    return lax.map(_of_block, padded.reshape(blocks, size, n, n)).reshape(blocks * size, n)[:b]


def _of_block(A: Float[Array, "b n n"]) -> Float[Array, "b n"]:
    largest = jnp.max(jnp.abs(A), axis=(1, 2))
    scale = jnp.where(largest == 0, 1, largest)
    d, e = _tridiagonalise(A / scale[:, None, None])
    return (_bisect(d, e) * scale).T


def _tridiagonalise(A: Float[Array, "b n n"]) -> tuple[Float[Array, "n b"], Float[Array, "n b"]]:
    """Diagonal d and subdiagonal e (its last entry is 0) of T, for matrices with entries of at most 1.

    The loop runs in up to two stages, each on the part of the matrix that is not yet tridiagonal. A reflection is
    applied at the start of the next step, when u and w are arrays in memory: XLA would otherwise recompute them per
    entry.
    """
    b, n, _ = A.shape
    negligible = jnp.finfo(A.dtype).tiny / jnp.finfo(A.dtype).eps
    u = w = jnp.zeros((b, n), A.dtype)
    diagonal, subdiagonal = [], []
    steps = 8 * -(-n // 16)
    for k in range(n, 0, -steps):
        row_index = jnp.arange(k)

        def reflect(j, state, row_index=row_index):
            A, u, w, d, e = state
            A = A - (u[:, :, None] * w[:, None, :] + w[:, :, None] * u[:, None, :])
            column = lax.dynamic_index_in_dim(A, j, axis=1, keepdims=False)
            below = jnp.where(row_index > j, column, 0)
            first = lax.dynamic_index_in_dim(below, j + 1, axis=1)
            square = jnp.sum(below * below, axis=1, keepdims=True)
            norm = jnp.sqrt(square)
            # u = (below + sign(first) |below| e_{j+1}) / normaliser, and 0 where there is nothing to reflect
            normaliser = jnp.sqrt(square + jnp.abs(first) * norm)
            entry = jnp.where(first < 0, norm, -norm)
            u = jnp.where(row_index == j + 1, below - entry, below)
            u = jnp.where(square > negligible, u / jnp.where(square > negligible, normaliser, 1), 0)
            p = jnp.einsum("bij,bj->bi", A, u, precision=lax.Precision.HIGHEST)
            w = jnp.where(row_index > j, p - jnp.sum(p * u, axis=1, keepdims=True) / 2 * u, 0)
            pivot = lax.dynamic_index_in_dim(column, j, axis=1, keepdims=False)
            d = lax.dynamic_update_index_in_dim(d, pivot, j, axis=0)
            e = lax.dynamic_update_index_in_dim(e, entry[:, 0], j, axis=0)
            return A, u, w, d, e

        done = min(steps, k)
        zeros = jnp.zeros((done, b), A.dtype)
        A, u, w, d, e = lax.fori_loop(0, done, reflect, (A, u, w, zeros, zeros))
        A, u, w = A[:, done:, done:], u[:, done:], w[:, done:]
        diagonal.append(d)
        subdiagonal.append(e)
    return jnp.concatenate(diagonal), jnp.concatenate(subdiagonal)


def _bisect(d: Float[Array, "n b"], e: Float[Array, "n b"]) -> Float[Array, "n b"]:
    """Eigenvalue j of each T by halving an interval, Gershgorin's at first, that has at most j eigenvalues below it."""
    n, b = d.shape
    radius = jnp.abs(e) + jnp.abs(jnp.roll(e, 1, axis=0))
    low, high = jnp.min(d - radius, axis=0), jnp.max(d + radius, axis=0)
    limits = jnp.finfo(d.dtype)
    # No zeros, so that 0/0 cannot occur below; the floor is far under rounding error.
    e_squared = jnp.maximum(e * e, limits.tiny / limits.eps**2)
    j = jnp.arange(n)[:, None]

    def halve(_, state):
        low, width = state
        width = width / 2
        middle = low + width
        return jnp.where(_number_below(middle, d, e_squared) <= j, middle, low), width

    low, width = lax.fori_loop(0, limits.nmant + 1, halve, (jnp.broadcast_to(low, (n, b)), high - low))
    return low + width / 2


def _number_below(x: Float[Array, "n b"], d: Float[Array, "n b"], e_squared: Float[Array, "n b"]) -> Int[Array, "n b"]:
    """How many eigenvalues of T lie below x: the negative pivots of T - x I.

    Elimination runs from both ends at once to row m = n//2, as two short chains of divisions keep the processor busier
    than one long chain; the last pivot is q_m = d_m - x - e_{m-1}^2 / q_{m-1} - e_m^2 / q_{m+1}. A pivot of 0 needs no
    care: it makes the next one infinite, of the other sign (which is why signs are counted by their bit), and the one
    after that normal.
    """
    n, m = len(d), len(d) // 2
    top, bottom = d[0] - x, d[-1] - x
    negative = _sign(top)
    if n > 2:
        negative += _sign(bottom)
    for i in range(1, m):
        top = d[i] - x - e_squared[i - 1] / top
        negative += _sign(top)
        if n - 1 - i > m:
            bottom = d[n - 1 - i] - x - e_squared[n - 1 - i] / bottom
            negative += _sign(bottom)
    last = d[m] - x - e_squared[m - 1] / top
    if n > 2:
        last -= e_squared[m] / bottom
    return negative + _sign(last)


def _sign(q: Float[Array, "n b"]) -> Int[Array, "n b"]:
    """1 where q is negative, -0 included, else 0."""
    bits = jnp.finfo(q.dtype).bits
    integer = lax.bitcast_convert_type(q, jnp.dtype(f"uint{bits}"))
    return lax.shift_right_logical(integer, jnp.array(bits - 1, integer.dtype)).astype(f"int{bits}")
