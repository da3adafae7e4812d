"""All measures that need nothing but data, at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import ArrayLike, Float

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.archive import archive_coverage, qd_score
from vendirl.evaluation.cells import Bin, checked_widths
from vendirl.evaluation.conditional import conditional_vendi
from vendirl.evaluation.coverage import state_coverage
from vendirl.evaluation.discriminability import discriminability
from vendirl.evaluation.distances import pairwise_wasserstein
from vendirl.evaluation.information import mutual_information
from vendirl.evaluation.leinster import checked_kernel, leinster_cobbold, magnitude
from vendirl.evaluation.measure import Measure
from vendirl.evaluation.observed import Features, columns_of, names_of
from vendirl.evaluation.selection import selected_number
from vendirl.similarity import Similarity, kernel_matrix


def measures(
    data: Trajectories,
    K: Float[ArrayLike, "n n"] | None = None,
    similarity: Similarity | None = None,
    seed: int = 0,
    features: Features = None,
    bin: Bin = None,
) -> list[Measure]:
    """What others report of a set of skills, each with its settings.

    A measure that these data do not allow has the value None and a note that says why. Wrong arguments are refused.

    Args:
        data: skill data.
        K: (n, n) similarities of the skills, for Leinster-Cobbold diversity (orders 0, 1, 2 and ∞) and magnitude.
        similarity: for the Vendi Score between and within skills and, if K is None, for K, which takes as long as
            `effective_number`.
        seed: of all samples.
        features: names or numbers, for coverage, mutual information and archive; the first two if None.
            Discriminability and Wasserstein distance are of these too, or of all if None.
        bin: the width of cells, as in `state_coverage`.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> centres = np.array([[0, 0], [2, 0], [0, 2]])[:, None, None]
        >>> data = Trajectories.of(centres + np.random.default_rng(0).uniform(size=(3, 2, 10, 2)))
        >>> found = {measure.name: measure.value for measure in measures(data)}
        >>> found["discriminability"], round(found["mutual information"], 3)
        (1.0, 1.099)
    """
    columns = columns_of(data, features, default=2)
    chosen = names_of(data, columns)
    all_or_chosen = None if features is None else chosen
    if bin is not None:
        checked_widths(bin, len(columns))
    kernel = None if K is None else checked_kernel(K)
    if kernel is not None and len(kernel) != data.n:
        raise ValueError(f"K has shape {kernel.shape}, but the data have {data.n} skills")
    if similarity is not None and not isinstance(similarity, Similarity):
        raise TypeError(f"similarity must be a Similarity, but is {type(similarity).__name__}")
    asked: list[tuple[str, Callable[[], Measure]]] = [
        ("state coverage", lambda: state_coverage(data, chosen, bin)),
        ("state coverage per skill", lambda: state_coverage(data, chosen, bin, per_skill=True)),
        ("mutual information", lambda: mutual_information(data, chosen, bin)),
        ("discriminability", lambda: discriminability(data, all_or_chosen, seed=seed)),
        ("pairwise Wasserstein distance", lambda: pairwise_wasserstein(data, all_or_chosen, seed=seed)),
        ("effective number of selected skills", lambda: selected_number(data)),
        ("QD score", lambda: qd_score(data, chosen)),
        ("archive coverage", lambda: archive_coverage(data, chosen)),
    ]
    found = [_safely(name, measure) for name, measure in asked]
    return found + _of_kernel(data, kernel, similarity) + _between_and_within(data, similarity, seed)


def _of_kernel(data: Trajectories, K: np.ndarray | None, similarity: Similarity | None) -> list[Measure]:
    orders = (0.0, 1.0, 2.0, math.inf)
    if K is None and similarity is not None:
        try:
            K = checked_kernel(kernel_matrix(similarity, data.by_skill, data.features))
        except ValueError as error:
            return _missing(["Leinster-Cobbold diversity", "magnitude"], str(error))
    if K is None:
        return _missing(["Leinster-Cobbold diversity", "magnitude"], "needs K or a similarity")
    return [
        *(_safely("Leinster-Cobbold diversity", lambda q=q: leinster_cobbold(K, q)) for q in orders),  # type: ignore[misc]
        _safely("magnitude", lambda: magnitude(K)),
    ]


def _between_and_within(data: Trajectories, similarity: Similarity | None, seed: int) -> list[Measure]:
    names = ["vendi total", "vendi between", "vendi within"]
    if similarity is None:
        return _missing(names, "needs a similarity")
    # Those that compare every step with every other get fewer and shorter trajectories, lest it take minutes.
    fewer = {"limit": max(128, 2 * data.n), "steps": max(50, similarity.least_observations)}
    amount = {} if similarity.streams else fewer
    try:
        return list(conditional_vendi(data, similarity, seed=seed, **amount))
    except ValueError as error:
        return _missing(names, str(error))


def _safely(name: str, measure: Callable[[], Measure]) -> Measure:
    try:
        return measure()
    except ValueError as error:
        return Measure(name, None, note=str(error))


def _missing(names: list[str], why: str) -> list[Measure]:
    return [Measure(name, None, note=why) for name in names]
