"""The effective number of unique skills (Definition 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.score.score import PSD, Order, vendi_score
from vendirl.similarity import Similarity, kernel_matrix


def effective_number(
    trajectories: Any,
    similarity: Similarity | str | Any,
    q: Order | Any = 1.0,
    weights: Float[AnyArray, " n"] | Any = None,
    psd: PSD | Any = "clip",
    names: Sequence[str] | None = None,
) -> Float[AnyArray, " *orders"]:
    """The effective number of unique skills: the Vendi Score of the skills' kernel matrix, VS_k(θ_1, ..., θ_n).

    Args:
        trajectories: as in `kernel_matrix`: (n, T, D), (n, N, T, D), or a list per skill of (T_i, D) arrays.
        similarity: k, what "alike" means, or its text.
        q, weights, psd: as in `vendi_score`.
        names: of the features, if the similarity chooses features by name.

    Returns:
        A number between 1 (all skills alike) and the number of skills n (none like another); compare it with
        `similarity.ceiling(n, D)`. With a list of orders, one number each.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> fan = [[[np.cos(t), np.sin(t)]] * 5 for t in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
        >>> float(np.round(vr.effective_number(np.array(fan), vr.similarity.angle(scale=4.0)), 3))
        7.242
    """
    return vendi_score(kernel_matrix(similarity, trajectories, names), q, weights, psd)
