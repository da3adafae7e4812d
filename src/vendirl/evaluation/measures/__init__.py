"""What others report of a set of skills: one file for each measure, and all of them at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import AnyArray
from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures import goals
from vendirl.evaluation.measures.archive import archive_coverage, qd_score
from vendirl.evaluation.measures.cells import Bin, checked_widths
from vendirl.evaluation.measures.conditional import conditional_vendi
from vendirl.evaluation.measures.coverage import metra_coverage, state_coverage
from vendirl.evaluation.measures.diffusion import diffusion_time
from vendirl.evaluation.measures.discriminability import discriminability
from vendirl.evaluation.measures.distances import pairwise_wasserstein
from vendirl.evaluation.measures.information import braxlines_information, mutual_information
from vendirl.evaluation.measures.leinster import checked_kernel, leinster_cobbold, magnitude
from vendirl.evaluation.measures.lsepin import lsepin
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features, columns_of, names_of
from vendirl.evaluation.measures.pwsep import pwsep
from vendirl.evaluation.measures.quality import quality_weighted_vendi
from vendirl.evaluation.measures.registry import Question, ask_all, known, register
from vendirl.evaluation.measures.returns import return_distribution
from vendirl.evaluation.measures.selection import selected_number
from vendirl.evaluation.measures.temporal import temporal_vendi
from vendirl.evaluation.measures.wsep import wsep
from vendirl.similarity import Similarity, kernel_matrix

__all__ = ["Measure", "Question", "known", "measures", "register"]


def measures(
    data: Trajectories,
    K: Float[AnyArray, "n n"] | Any | None = None,
    similarity: Similarity | Any | None = None,
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
    if bin is not None:
        checked_widths(bin, len(columns))
    kernel = None if K is None else checked_kernel(K)
    if kernel is not None and len(kernel) != data.n:
        raise ValueError(f"K has shape {kernel.shape}, but the data have {data.n} skills")
    if similarity is not None and not isinstance(similarity, Similarity):
        raise TypeError(f"similarity must be a Similarity, but is {type(similarity).__name__}")
    return ask_all(Question(data, chosen, None if features is None else chosen, bin, kernel, similarity, seed))


@register("state coverage")
def _(asked: Question) -> Measure:
    return state_coverage(asked.data, asked.features, asked.bin)


@register("state coverage per skill")
def _(asked: Question) -> Measure:
    return state_coverage(asked.data, asked.features, asked.bin, per_skill=True)


@register("state coverage (METRA)")
def _(asked: Question) -> Measure:
    return metra_coverage(asked.data, asked.features)


@register("diffusion time")
def _(asked: Question) -> Measure:
    return diffusion_time(asked.data, asked.features, asked.bin)


@register("mutual information")
def _(asked: Question) -> Measure:
    return mutual_information(asked.data, asked.features, asked.bin)


@register("mutual information (Braxlines)")
def _(asked: Question) -> Measure:
    return braxlines_information(asked.data, asked.features[:2])


@register("LSEPIN")
def _(asked: Question) -> Measure:
    return lsepin(asked.data, asked.features, asked.bin)


@register("discriminability")
def _(asked: Question) -> Measure:
    return discriminability(asked.data, asked.chosen, seed=asked.seed)


@register("pairwise Wasserstein distance", "WSEP")
def _(asked: Question) -> list[Measure]:
    mean = pairwise_wasserstein(asked.data, asked.chosen, seed=asked.seed)
    return [mean, wsep(mean)]


@register("PWSEP")
def _(asked: Question) -> Measure:
    return pwsep(asked.data, asked.chosen, points=128, seed=asked.seed)  # of 256 it would take a second


@register("effective number of selected skills")
def _(asked: Question) -> Measure:
    return selected_number(asked.data)


@register("QD score")
def _(asked: Question) -> Measure:
    return qd_score(asked.data, asked.features)


@register("archive coverage")
def _(asked: Question) -> Measure:
    return archive_coverage(asked.data, asked.features)


@register("return of the worst skill", "return of the median skill", "return of the best skill")
def _(asked: Question) -> list[Measure]:
    return return_distribution(asked.data)


@register("quality-weighted Vendi Score")
def _(asked: Question) -> Measure:
    return quality_weighted_vendi(_kernel(asked), asked.data)


@register("Leinster-Cobbold diversity")
def _(asked: Question) -> list[Measure]:
    K = _kernel(asked)
    return [leinster_cobbold(K, q) for q in (0.0, 1.0, 2.0, math.inf)]


@register("magnitude")
def _(asked: Question) -> Measure:
    return magnitude(_kernel(asked))


@register("Temporal Vendi Score")
def _(asked: Question) -> Measure:
    return temporal_vendi(asked.data, asked.features, seed=asked.seed)


@register("System Neural Diversity")
def _(asked: Question) -> Measure:
    raise ValueError("needs the skills themselves, and not only what they did: run.evaluate() has it")


@register(*goals.NAMES)
def _(asked: Question) -> Measure:
    model = "needs a model that tells which skill reaches a goal"
    raise ValueError(f"{model}: run.evaluate() has it for diayn, lsd, metra, csf and visr")


@register("vendi total", "vendi between", "vendi within")
def _(asked: Question) -> list[Measure]:
    k, data = asked.similarity, asked.data
    if k is None:
        raise ValueError("needs a similarity")
    # Those that compare every step with every other get fewer and shorter trajectories, lest it take minutes.
    fewer = {"limit": max(128, 2 * data.n), "steps": max(50, k.least_observations)}
    return list(conditional_vendi(data, k, seed=asked.seed, **({} if k.streams else fewer)))


def _kernel(asked: Question) -> Float[np.ndarray, "n n"]:
    if asked.K is not None:
        return asked.K
    if asked.similarity is None:
        raise ValueError("needs K or a similarity")
    return checked_kernel(kernel_matrix(asked.similarity, asked.data))
