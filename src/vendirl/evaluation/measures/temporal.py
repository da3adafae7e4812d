"""The Temporal Vendi Score: how many different ways through a world the trajectories take, by time to reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from vendirl.data.trajectories import Trajectories
from vendirl.evaluation.measures.cells import Bin
from vendirl.evaluation.measures.conditional import sample_of_each
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.measures.observed import Features
from vendirl.evaluation.measures.reaching import times_to_reach, visited_cells
from vendirl.score.score import vendi


def temporal_vendi(
    data: Trajectories,
    features: Features = None,
    bin: Bin = None,
    bandwidth: float | None = None,
    restarts: bool = True,
    limit: int = 64,
    steps: int = 25,
    seed: int = 0,
) -> Measure:
    """The Vendi Score of trajectories under the global alignment kernel (Cuturi 2011), with the time that it takes to
    reach one state from another for their distance:

        G(x, y) = Σ over alignments π of Π κ(x_π, y_π),   log κ = -δ - log(2 - exp(-δ)),   δ = d² / (2 bandwidth²)
        K_ab = G(a, b) / sqrt(G(a, a) G(b, b)),           d(s, s') = (steps from s to s' + steps from s' to s) / 2

    Times are counted on the episodes themselves, as in `times_to_reach`: the fastest ways that they put together, which
    are above the true times where few episodes were seen. The note says by how much the times that one half of the
    episodes gives differ from those of the other, which is what more episodes would mend. States between which no way
    was seen are not alike at all.

    What is published learns time to reach by a network from much more experience than the trajectories that are scored,
    and its abstract is all that this was written from: values need not agree. K need not be positive semidefinite,
    since d is no distance in a vector space; negative eigenvalues are clipped, and their mass is in the settings.

    Args:
        data: skill data.
        features, bin, restarts: as in `times_to_reach`: the first two features, cells as wide as the longest step.
        bandwidth: in steps; the median of d over states of different trajectories times the square root of the number
            of steps that are compared if None, as Cuturi advises.
        limit: of more trajectories a sample of so many is used, of each skill in proportion.
        steps: of a longer trajectory so many are compared, evenly spaced.
        seed: of the sample.

    Example:
        >>> import numpy as np
        >>> from vendirl.data import Trajectories
        >>> there_and_back = np.array([0.0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0])
        >>> ways = np.stack([np.outer(there_and_back, way) for way in [[1, 0], [1, 0], [0, 1], [-1, 0]]])
        >>> round(temporal_vendi(Trajectories.of(ways), bandwidth=1.0).value, 2)        # two are the same
        2.83
    """
    if limit < 1 or steps < 2:
        raise ValueError(f"limit={limit} must be at least 1 trajectory, and steps={steps} at least 2")
    if bandwidth is not None and not (bandwidth > 0 and math.isfinite(bandwidth)):
        raise ValueError(f"bandwidth must be a positive number of steps, but is {bandwidth}")
    found = times_to_reach(data, features, bin, restarts)
    chosen = sample_of_each(data, limit, seed)
    walks = [visited_cells(found, int(e), steps) for e in chosen]
    d = (found.times + found.times.T) / 2
    given = bandwidth is not None
    if bandwidth is None:
        bandwidth = _usual_bandwidth(d, walks)
    result = vendi(alignment_matrix(walks, d, bandwidth))
    settings = {
        **found.cells.settings,
        "bandwidth": bandwidth,
        "restarts": restarts,
        "trajectories_used": len(chosen),
        "steps_each": max(map(len, walks)),
        "seed": seed,
        "halves_differ_by": found.disagreement,
        "unreached": float(np.mean(~np.isfinite(found.times))),
        "negative_mass": abs(float(result.negative_mass)),
    }
    halves = "there is one episode of each skill, so how far times can be trusted is not known"
    if found.disagreement is not None:
        halves = f"times by one half of the episodes differ from those by the other by {found.disagreement:.0%}"
    chose = [] if given else ["bandwidth was chosen from these data; give it to compare with other data"]
    return Measure(
        "Temporal Vendi Score", float(result.score), settings, "trajectories", "higher", "; ".join([halves, *chose])
    )


def _usual_bandwidth(d: Float[np.ndarray, "count count"], walks: Sequence[Int[np.ndarray, " _"]]) -> float:
    longest = max(map(len, walks))
    between = [d[np.ix_(a, b)].ravel() for i, a in enumerate(walks) for b in walks[:i]]
    known = np.concatenate(between) if between else d.ravel()
    known = known[np.isfinite(known)]
    median = float(np.median(known)) if len(known) else 0.0
    return max(median, 0.5) * math.sqrt(longest)


def alignment_matrix(
    walks: Sequence[Int[np.ndarray, " _"]], d: Float[np.ndarray, "count count"], bandwidth: float
) -> Float[np.ndarray, "n n"]:
    """K of sequences of states, by the distances d between states, which may be infinite: where no alignment has a
    chance, K is 0."""
    T, n = max(map(len, walks)), len(walks)
    with np.errstate(over="ignore"):
        δ = d**2 / (2 * bandwidth**2)
    log_local = -δ - np.log(2 - np.exp(-δ))
    lengths = np.array([len(walk) for walk in walks])
    padded = np.stack([np.pad(walk, (0, T - len(walk))) for walk in walks])
    i, j = np.triu_indices(n)
    # All pairs at once: M_ts = κ_ts (M_{t-1,s-1} + M_{t-1,s} + M_{t,s-1}), row by row
    table = np.full((T + 1, T + 1, len(i)), -np.inf)
    table[0, 0] = 0.0
    for t in range(T):
        for s in range(T):
            ways = np.logaddexp(np.logaddexp(table[t, s], table[t, s + 1]), table[t + 1, s])
            table[t + 1, s + 1] = log_local[padded[i, t], padded[j, s]] + ways
    log_G = table[lengths[i], lengths[j], np.arange(len(i))]
    own = log_G[i == j]  # in order
    K = np.zeros((n, n))
    K[i, j] = np.exp(np.minimum(log_G - (own[i] + own[j]) / 2, 0.0))
    return np.maximum(K, K.T)
