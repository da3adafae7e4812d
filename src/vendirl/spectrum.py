import jax.numpy as jnp

def eigenvalues(A):
    return jnp.linalg.eigvalsh(A)
