"""What "alike" means: similarities between skills, and how to combine, write and add them."""

from vendirl.similarity.alignment import alignment
from vendirl.similarity.combining import Combination, Product, Sum
from vendirl.similarity.cosine import angle, cosine
from vendirl.similarity.covariance import covariance
from vendirl.similarity.define import moments, trajectories
from vendirl.similarity.features import On
from vendirl.similarity.kernel import kernel_matrix
from vendirl.similarity.kinds import MomentSimilarity, TrajectorySimilarity
from vendirl.similarity.mmd import final_state, mmd
from vendirl.similarity.moments import Moments
from vendirl.similarity.observations import Observations, SkillSet
from vendirl.similarity.overlap import overlap
from vendirl.similarity.parsing import as_similarity, known, parse, register
from vendirl.similarity.similarity import Similarity
from vendirl.similarity.wasserstein import wasserstein

for _factory in (alignment, angle, cosine, covariance, final_state, mmd, overlap, wasserstein):
    register(_factory.__name__, _factory)

__all__ = [
    "Combination",
    "MomentSimilarity",
    "Moments",
    "Observations",
    "On",
    "Product",
    "Similarity",
    "SkillSet",
    "Sum",
    "TrajectorySimilarity",
    "alignment",
    "angle",
    "as_similarity",
    "cosine",
    "covariance",
    "final_state",
    "kernel_matrix",
    "known",
    "mmd",
    "moments",
    "overlap",
    "parse",
    "register",
    "trajectories",
    "wasserstein",
]
