"""What "alike" means: similarities between skills, and how to combine, write and add them."""

from vendirl.similarity.algebra import MomentSimilarity, On, Product, Similarity, Sum, TrajectorySimilarity
from vendirl.similarity.alignment import alignment
from vendirl.similarity.cosine import angle, cosine
from vendirl.similarity.covariance import covariance
from vendirl.similarity.define import moments, trajectories
from vendirl.similarity.kernel import kernel_matrix
from vendirl.similarity.mmd import final_state, mmd
from vendirl.similarity.observations import Moments, Observations
from vendirl.similarity.overlap import overlap
from vendirl.similarity.parsing import known, parse, register
from vendirl.similarity.wasserstein import wasserstein

for _factory in (alignment, angle, cosine, covariance, final_state, mmd, overlap, wasserstein):
    register(_factory.__name__, _factory)

__all__ = [
    "MomentSimilarity",
    "Moments",
    "Observations",
    "On",
    "Product",
    "Similarity",
    "Sum",
    "TrajectorySimilarity",
    "alignment",
    "angle",
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
