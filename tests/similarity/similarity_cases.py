"""Every similarity with its reference, in settings in which float32 can hold to 1e-4 on the skill sets of the tests."""

from functools import partial

from tests import reference
from vendirl import similarity as s

CENTER = (0.3, 0.2)


def on(features, pairwise):
    """A reference on some features."""
    return lambda a, b: pairwise([x[:, features] for x in a], [x[:, features] for x in b])


def total(*weighted):
    return lambda a, b: sum(w * k(a, b) for w, k in weighted) / sum(w for w, _ in weighted)


def product(*factors):
    def pairwise(a, b):
        value = 1.0
        for k in factors:
            value *= k(a, b)
        return value

    return pairwise


CASES = {
    "cosine": (s.cosine(), reference.cosine),
    "cosine_scale": (s.cosine(scale=0.7, center=CENTER), partial(reference.cosine, scale=0.7, center=CENTER)),
    "cosine_scaled": (s.cosine(scaled=True), partial(reference.cosine, scaled=True)),
    "angle": (s.angle(scale=4.0, center=0.3), partial(reference.angle, scale=4.0, center=0.3)),
    "mmd": (s.mmd(scale=4.0), partial(reference.mmd, scale=4.0)),
    "mmd_rbf": (s.mmd(kernel="rbf", bandwidth=0.7), partial(reference.mmd, kernel="rbf", bandwidth=0.7)),
    "covariance": (s.covariance(scale=2.0), partial(reference.covariance, scale=2.0)),
    "covariance_log": (
        s.covariance(scale=0.5, log=True, floor=0.1),
        partial(reference.covariance, scale=0.5, log=True, floor=0.1),
    ),
    "overlap": (s.overlap(), reference.overlap),
    "overlap_precision": (
        s.overlap(neighbours=1, measure="precision", scale=2.0),
        partial(reference.overlap, neighbours=1, measure="precision", scale=2.0),
    ),
    "final_state": (s.final_state(scale=0.5), partial(reference.final_state, scale=0.5)),
    "wasserstein": (
        s.wasserstein(directions=3, quantiles=4),
        partial(reference.wasserstein, directions=3, quantiles=4),
    ),
    "alignment": (s.alignment(bandwidth=2.0), partial(reference.alignment, bandwidth=2.0)),
    "alignment_scale": (s.alignment(scale=0.1), partial(reference.alignment, scale=0.1)),
    "sum": (
        0.5 * s.mmd(scale=2.0) + 1.5 * s.covariance(scale=0.5),
        total((0.5, partial(reference.mmd, scale=2.0)), (1.5, partial(reference.covariance, scale=0.5))),
    ),
    "product": (
        s.mmd(scale=2.0) * s.overlap(neighbours=2).on([0]),
        product(partial(reference.mmd, scale=2.0), on([0], partial(reference.overlap, neighbours=2))),
    ),
    "weighted_product": (  # the weight belongs to the product
        0.5 * s.mmd() * s.final_state() + 2 * s.angle(center=CENTER),
        total((0.5, product(reference.mmd, reference.final_state)), (2, partial(reference.angle, center=CENTER))),
    ),
}
