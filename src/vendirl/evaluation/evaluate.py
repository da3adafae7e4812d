"""How diverse a set of skills is, with error bars: score, ceiling, interval and null (Definition 2, and beyond)."""

from __future__ import annotations

import dataclasses
import html
import importlib.metadata
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from vendirl._checks import whole_number
from vendirl._text import preformatted
from vendirl.data import Trajectories, read
from vendirl.evaluation.measures import measures as other_measures
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.resampling import half_deals, shuffled_deals, thinned
from vendirl.score.score import vendi, vendi_score
from vendirl.similarity import Similarity, as_similarity

ORDERS = (0.0, 0.5, 1.0, 2.0, math.inf)


@dataclasses.dataclass(frozen=True, eq=False)
class Diversity:
    """The diversity of a set of skills in the sense of one similarity.

    Attributes:
        similarity: k, as text: as it was given, if as text.
        q: the order of the score.
        vendi_score: the effective number of unique skills, all episodes of a skill pooled.
        ceiling: no set of as many skills can score more.
        interval: a confidence interval of the score that infinitely many episodes would have, or None.
        interval_note: why there is no interval, or how it was made if not from all observations, or None.
        bias: by how much the score is inflated (or deflated) by having few episodes, as estimated; 0 if not known.
        null: the mean score when episodes are dealt to skills at random; `null_interval` is where such scores lie.
        excess: the score minus the null.
        p_value: how often chance alone scores at least as much.
        negative_mass: minus the sum of the negative eigenvalues of K/n, which are clipped.
        profile: the score by order q.
        spectrum: the eigenvalues of K/n, largest first.
        contributions: for each skill VS - VS without it.
        twins: for each skill the one most like it, and how alike they are.
        kernel: K.
        confidence, resamples, shuffles, seed: how interval and null were made.
    """

    similarity: str
    q: float
    vendi_score: float
    ceiling: float
    interval: tuple[float, float] | None
    interval_note: str | None
    bias: float
    null: float
    null_interval: tuple[float, float]
    excess: float
    p_value: float
    negative_mass: float
    profile: dict[float, float]
    spectrum: Float[np.ndarray, " n"]
    contributions: Float[np.ndarray, " n"]
    twins: list[tuple[int, float]]
    kernel: Float[np.ndarray, "n n"]
    confidence: float
    resamples: int
    shuffles: int
    seed: int
    method: str = "exact"

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite orders are written "inf"."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            "q": _order(self.q),
            "interval": None if self.interval is None else list(self.interval),
            "null_interval": list(self.null_interval),
            "profile": {str(_order(q)): score for q, score in self.profile.items()},
            "spectrum": self.spectrum.tolist(),
            "contributions": self.contributions.tolist(),
            "twins": [{"skill": i, "twin": j, "similarity": s} for i, (j, s) in enumerate(self.twins)],
            "kernel": self.kernel.tolist(),
        }

    def __str__(self) -> str:
        interval = "no interval" if self.interval is None else f"{self.confidence:.0%} interval {_range(self.interval)}"
        return (
            f"{self.similarity}: Vendi Score {self.vendi_score:.3f} of at most {self.ceiling:g}, {interval}, "
            f"null {self.null:.3f} {_range(self.null_interval)}"
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` found: `results`, one for each similarity, and `measures`, the other numbers people report."""

    data: Trajectories
    results: tuple[Diversity, ...]
    measures: tuple[Measure, ...]

    def __getitem__(self, similarity: int | str | Similarity) -> Diversity:
        """The result for a similarity, or for its place in the list."""
        if isinstance(similarity, int):
            return self.results[similarity]
        for result in self.results:
            if result.similarity == str(similarity):
                return result
        raise KeyError(f"{similarity} was not evaluated; there are {', '.join(r.similarity for r in self.results)}")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "source": self.data.source,
            "skills": list(self.data.labels),
            "episodes": [len(mine) for mine in self.data.of_skill],
            "features": list(self.data.features),
            "results": {result.similarity: result.to_json() for result in self.results},
            "measures": [dataclasses.asdict(measure) for measure in self.measures],
            "versions": {name: importlib.metadata.version(name) for name in ("vendirl", "jax", "numpy", "scipy")},
        }

    def _repr_html_(self) -> str:
        columns = ("similarity", "Vendi Score", "of at most", "interval", "null", "p")
        rows = [
            (
                html.escape(r.similarity),
                f"{r.vendi_score:.3f}",
                f"{r.ceiling:g}",
                "-" if r.interval is None else _range(r.interval),
                f"{r.null:.3f}",
                f"{r.p_value:.3f}",
            )
            for r in self.results
        ]
        head = "".join(f"<th>{column}</th>" for column in columns)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"{preformatted(repr(self.data))}<table><tr>{head}</tr>{body}</table>"

    def __str__(self) -> str:
        lines = [repr(self.data), *map(str, self.results)]
        return "\n".join(lines + [f"{m.name}: {'-' if m.value is None else f'{m.value:.4g}'}" for m in self.measures])

    __repr__ = __str__


def evaluate(
    trajectories: Trajectories | str | Path | Any,
    similarities: Sequence[Similarity | str] | Similarity | str | Any = ("overlap",),
    *,
    q: float | Any = 1.0,
    orders: Sequence[float] | Any = ORDERS,
    confidence: float = 0.95,
    resamples: int | Any = 200,
    shuffles: int | Any = 100,
    seed: int | Any = 0,
    measures: bool = True,
) -> Evaluation:
    """Measure a set of skills, from any method, in any senses.

    Score: the Vendi Score of the kernel matrix, the episodes of each skill pooled (Definition 2, Appendix A).

    Interval: for the score θ that infinitely many episodes would have. Half of each skill's N episodes are drawn
    without repetition, `resamples` times. Without repetition, because a repeated episode is its own nearest neighbour;
    within skills, because a repeated skill is its own twin. Halves vary as the whole does about θ, and are inflated
    by noise twice as much, so with θ^ the score of all and θ_b that of half b, d_b = θ_b - θ^, c² = m / (N - m), m the
    size of a half,

        bias = c² mean(d),      interval = θ^ - bias - c (quantiles of d - mean(d))

    within what is possible. The score itself is not corrected. Close to 1, where skills are all but identical, the bias
    falls more slowly than with 1/N and is corrected in part only: there the null tells. One episode of a skill is
    not enough for an interval.

    Null: the score when all episodes are dealt to the skills at random, `shuffles` times: what noise alone scores.
    With one episode for each skill dealing changes nothing, and the null is the score itself.

    Args:
        trajectories: `Trajectories`, a file or folder that `vr.read` reads, or what `Trajectories.of` takes.
        similarities: one or several, as similarities or text.
        q: the order of the score; `orders` those of the profile.
        confidence: of the intervals.
        seed: of everything random: the same data and seed give the same numbers.
        measures: whether to compute the other measures too.

    Example:
        >>> import numpy as np, vendirl as vr
        >>> noise = np.random.default_rng(0).normal(size=(4, 10, 20, 2))         # four skills that do the same
        >>> alike = vr.evaluate(noise, "mmd", measures=False)["mmd"]
        >>> apart = vr.evaluate(noise + 9 * np.arange(4)[:, None, None, None], "mmd", measures=False)["mmd"]
        >>> alike.p_value > 0.05, apart.p_value < 0.05, round(apart.vendi_score, 3)
        (True, True, 4.0)
    """
    data = _data(trajectories)
    senses = [similarities] if isinstance(similarities, Similarity | str) else list(similarities)
    if not senses:
        raise ValueError("similarities is empty: give at least one, such as 'overlap'")
    whole_number(resamples, "resamples", 2)
    whole_number(shuffles, "shuffles", 1)
    whole_number(seed, "seed", 0)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")
    data.check_finite()
    resolved = [as_similarity(k).resolve(data.features, len(data.features)) for k in senses]
    for k in resolved:  # refuse what is impossible before anything is computed
        _check(k, data)
    settings = (q, tuple(orders), confidence, resamples, shuffles, seed)
    results = tuple(_diversity(data, k, str(name), *settings) for k, name in zip(resolved, senses, strict=True))
    others: Sequence[Measure] = ()
    if measures:
        others = other_measures(data, K=results[0].kernel, similarity=resolved[0], seed=seed)
    return Evaluation(data, results, tuple(others))


def _diversity(
    data: Trajectories,
    k: Similarity,
    name: str,
    q: float | Any,
    orders: Sequence[float],
    confidence: float,
    resamples: int,
    shuffles: int,
    seed: int,
) -> Diversity:
    D = len(data.features)
    of_skill = data.of_skill
    dealer = k.regroup(list(data))
    K = dealer.matrices([of_skill])[0]
    result = vendi(K, q)
    score = float(result.score)
    ceiling = k.ceiling(data.n, D)
    generator = np.random.default_rng(seed)
    tails = [50 * (1 - confidence), 50 * (1 + confidence)]
    interval, note, bias, drawn_score = None, None, 0.0, score
    episodes, stride = thinned(k, list(data))
    if stride > 1:  # hundreds of kernel matrices of all observations would take too long
        note = f"interval and null from every {stride}th observation"
        dealer = k.regroup(episodes)
        drawn_score = float(vendi_score(dealer.matrices([of_skill])[0], q))
    sizes = np.array([len(mine) for mine in of_skill])
    short = [data.labels[i] for i in np.flatnonzero(sizes < 2)]
    halves = np.maximum(1, sizes // 2)
    if short:
        note = f"an interval needs at least two episodes of each skill, but skill {short[0]} has one"
    elif min(map(len, episodes)) * halves.min() < k.least_observations:
        note = f"half the episodes are too short for {k}, which needs {k.least_observations} observations of a skill"
    else:
        d = vendi_score(dealer.matrices(half_deals(of_skill, resamples, generator)), q) - drawn_score
        c2 = float(np.mean(halves / (sizes - halves)))
        bias = c2 * float(d.mean())
        low, high = np.percentile(math.sqrt(c2) * (d - d.mean()), tails)
        most = max(ceiling, score)
        interval = (float(np.clip(score - bias - high, 1, most)), float(np.clip(score - bias - low, 1, most)))
    chance = vendi_score(dealer.matrices(shuffled_deals(of_skill, shuffles, generator)), q)
    twins = K - 2 * np.eye(data.n) * np.abs(K).max() if data.n > 1 else K
    nearest = twins.argmax(1)
    return Diversity(
        similarity=name,
        q=float(q),
        vendi_score=score,
        ceiling=ceiling,
        interval=interval,
        interval_note=note,
        bias=bias,
        null=float(chance.mean()),
        null_interval=(float(np.percentile(chance, tails[0])), float(np.percentile(chance, tails[1]))),
        excess=score - float(chance.mean()),
        p_value=float((1 + (chance >= drawn_score * (1 - 1e-9)).sum()) / (1 + shuffles)),
        negative_mass=abs(float(result.negative_mass)),
        profile=dict(zip(map(float, orders), map(float, vendi_score(K, list(orders))), strict=True)),
        spectrum=np.asarray(result.spectrum),
        contributions=np.asarray(result.contributions),
        twins=[(int(j), float(K[i, j])) for i, j in enumerate(nearest)],
        kernel=K,
        confidence=confidence,
        resamples=resamples,
        shuffles=shuffles,
        seed=seed,
    )


def _data(trajectories: Any) -> Trajectories:
    if isinstance(trajectories, Trajectories):
        return trajectories
    if isinstance(trajectories, str | Path):
        return read(trajectories)
    return Trajectories.of(trajectories)


def _check(k: Similarity, data: Trajectories) -> None:
    for i, mine in enumerate(data.of_skill):
        count = int(data.lengths[mine].sum())
        if count < k.least_observations:
            raise ValueError(
                f"{data.source}: {k} needs at least {k.least_observations} observations of each skill, but skill "
                f"{data.labels[i]} has {count}; give longer or more episodes, or fewer neighbours"
            )


def _order(q: float) -> float | str:
    return "inf" if math.isinf(q) else q


def _range(interval: Sequence[float]) -> str:
    return f"[{interval[0]:.3f}, {interval[1]:.3f}]"
