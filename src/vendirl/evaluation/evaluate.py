"""How diverse a set of skills is, with error bars: score, ceiling, intervals and null (Definition 2, and beyond)."""

from __future__ import annotations

import dataclasses
import html
import importlib.metadata
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._checks import whole_number
from vendirl._text import preformatted
from vendirl.data import Trajectories, read
from vendirl.evaluation.chance import chance
from vendirl.evaluation.difference import Difference, differences
from vendirl.evaluation.diversity import Diversity, between, columns_said
from vendirl.evaluation.intervals import Intervals, intervals, too_few
from vendirl.evaluation.limits import Limit, limit
from vendirl.evaluation.measures import measures as other_measures
from vendirl.evaluation.measures.measure import Measure
from vendirl.evaluation.resampling import thinned
from vendirl.evaluation.variation import UNSEEN, variation
from vendirl.score.score import vendi, vendi_score
from vendirl.similarity import Similarity, as_similarity

ORDERS = (0.0, 0.5, 1.0, 2.0, math.inf)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` found: `results`, one for each similarity, and `measures`, the other numbers people report;
    `similarities` are those that it was asked for, so that other data can be evaluated under the same."""

    data: Trajectories
    results: tuple[Diversity, ...]
    measures: tuple[Measure, ...]
    similarities: tuple[Similarity | str, ...] = ()

    def __getitem__(self, similarity: int | str | Similarity) -> Diversity:
        """The result for a similarity, or for its place in the list."""
        if isinstance(similarity, int):
            return self.results[similarity]
        for result in self.results:
            if result.similarity == str(similarity):
                return result
        raise KeyError(f"{similarity} was not evaluated; there are {', '.join(r.similarity for r in self.results)}")

    def __contains__(self, similarity: str | Similarity) -> bool:
        """Whether there is a result for a similarity."""
        return any(result.similarity == str(similarity) for result in self.results)

    def minus(self, other: Evaluation | Any) -> tuple[Difference, ...]:
        """How much more diverse these skills are than others, with interval and p-value, for each similarity.

        Args:
            other: an evaluation under the same similarities, or what `evaluate` takes, which is then evaluated as
                this was. The seeds of two methods are compared by `vr.differences`.

        Example:
            >>> import numpy as np, vendirl as vr
            >>> noise = np.random.default_rng(0).normal(size=(8, 10, 20, 2))
            >>> apart = vr.evaluate(noise + np.arange(8)[:, None, None, None], "mmd", measures=False)
            >>> difference = apart.minus(noise)[0]
            >>> difference.interval[0] > 0, difference.p_value < 0.05
            (True, True)
        """
        if not isinstance(other, Evaluation):
            first = self.results[0]
            settings = {name: getattr(first, name) for name in ("q", "confidence", "resamples", "shuffles", "seed")}
            senses = self.similarities or [r.similarity for r in self.results]
            other = evaluate(other, senses, measures=False, **settings)
        return differences([self], [other])

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
        columns = ("similarity", "Vendi Score", "of at most", "a repetition", "the limit", "null", "p", "verdict")
        rows = [
            (
                html.escape(r.similarity),
                f"{r.vendi_score:.3f}",
                f"{r.ceiling:g}",
                between(r.repetition),
                between(r.limit),
                f"{r.null:.3f}",
                f"{r.p_value:.3f}",
                r.verdict,
            )
            for r in self.results
        ]
        head = "".join(f"<th>{column}</th>" for column in columns)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        notes = "\n".join(f"{r.similarity}: {said}" for r in self.results for said in r.sentences(tabled=True)[:-1])
        below = preformatted(f"{columns_said(self.results[0].confidence)}\n{notes}") if self.results else ""
        return f"{preformatted(repr(self.data))}<table><tr>{head}</tr>{body}</table>{below}"

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

    Two intervals, each of which may be None, with the reason in its note (see `intervals`):

    - `repetition`, for the score to be expected of as many episodes of each skill again. Noise inflates it just as it
      inflates the score, which always lies in this interval.
    - `limit`, for the score that infinitely many episodes would have (see `limits`), if the similarity has a limit,
      which `overlap` is not known to have. Its lower end is 1 unless the verdict is "more diverse than chance", or
      the score is far too high for skills that are alike; the score may lie outside.

    Null: the score when all episodes are dealt to the skills at random, in all ways there are if they are no more than
    `shuffles`, else in that many: what noise alone scores. With one episode for each skill dealing changes nothing, and
    the null is the score itself. `verdict` says what follows from it, or that so few episodes cannot tell.

    Args:
        trajectories: `Trajectories`, a file or folder that `vr.read` reads, or what `Trajectories.of` takes.
        similarities: one or several, as similarities or text.
        q: the order of the score; `orders` those of the profile.
        confidence: of the intervals.
        resamples: how many sets of episodes are scored to see how a score varies; 0 for no intervals, in less time.
        shuffles: at most how many deals the null is made from.
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
    whole_number(resamples, "resamples", 0)
    if resamples == 1:
        raise ValueError("resamples must be at least 2, or 0 for no intervals, but is 1")
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
    return Evaluation(data, results, tuple(others), tuple(senses))


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
    D, of_skill, episodes = len(data.features), data.of_skill, list(data)
    dealer = k.regroup(episodes)
    K = dealer.matrices([of_skill])[0]
    result = vendi(K, q)
    score = drawn_score = float(result.score)
    ceiling = k.ceiling(data.n, D)
    note = None
    few, stride = thinned(k, episodes)
    if stride > 1:  # hundreds of kernel matrices of all observations would take too long
        note = f"intervals and null from every {stride}th observation"
        dealer = k.regroup(few)
        drawn_score = float(vendi_score(dealer.matrices([of_skill])[0], q))
    sizes = [len(mine) for mine in of_skill]
    null = chance(dealer, of_skill, drawn_score, q, shuffles, np.random.default_rng([seed, 1]))
    refused = too_few(k, data.labels, sizes, min(map(len, few))) if resamples else "none was asked for (resamples=0)"
    if refused is None:
        most = max(ceiling, score, drawn_score)
        tails = k.least_evenness > 0
        unseen = UNSEEN if k.tails_matter else np.inf
        found = variation(dealer, of_skill, q, most, resamples, np.random.default_rng(seed), tails, unseen)

        def limit_of() -> Limit | None:
            generator, draws = np.random.default_rng([seed, 2]), max(2, resamples // 5)
            return limit(dealer, of_skill, drawn_score, q, found, null, confidence, draws, generator)

        ends = intervals(found, score, k, data.labels, min(sizes), confidence, limit_of)
    else:
        ends = Intervals(repetition_note=refused, limit_note=refused)
    low, high = np.percentile(null.scores, [50 * (1 - confidence), 50 * (1 + confidence)])
    twins = K - 2 * np.eye(data.n) * np.abs(K).max() if data.n > 1 else K
    nearest = twins.argmax(1)
    return Diversity(
        similarity=name,
        q=float(q),
        vendi_score=score,
        ceiling=ceiling,
        repetition=ends.repetition,
        repetition_note=ends.repetition_note,
        limit=ends.limit,
        limit_note=ends.limit_note,
        interval_note=ends.repetition_note or note,
        narrower=ends.narrower,
        bias=ends.bias,
        null=float(null.scores.mean()),
        null_interval=(float(low), float(high)),
        excess=score - float(null.scores.mean()),
        p_value=null.p_value,
        least_p=null.least_p,
        deals=null.deals,
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
        variation=ends.variation,
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
