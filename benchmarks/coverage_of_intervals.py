"""Do intervals hold what they say, and is a verdict of "more diverse than chance" wrong as rarely as it should be?

python benchmarks/coverage_of_intervals.py            half an hour or more on one core
python benchmarks/coverage_of_intervals.py --quick    a fifth of the draws, and every third cell

Coverage at nominal 95 %, of `repetition` and of `limit`, over 200 draws of each cell of two designs. The first covers
every pair of: identical, half-distinct and well-separated skills; normal, heavy-tailed (Student's t of 3 degrees),
autocorrelated (a random walk) and skewed (exponential) noise; 2, 5, 10 and 50 episodes; 3, 8 and 32 skills; six
similarities. Many of its cells have too few episodes for an interval. The second covers every pair where there are
enough. A cell holds if between 90 % and 99 % of the intervals that were given cover; where fewer than one draw in ten
was given one, it counts as refused. What is to be covered is the mean score of 2,000 other draws, and the score of
20,000 episodes of each skill.

Then 1,000 draws of identical skills: how often chance is taken for more. It should be 5 %.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import vendirl as vr
from timing import table

STEPS, FEATURES = 4, 2
SKILLS = ("identical", "half-distinct", "well-separated")
NOISE = ("normal", "heavy-tailed", "autocorrelated", "skewed")
SIMILARITIES = ("mmd", "angle(scale=4)", "covariance(scale=2)", "final_state", "wasserstein", "overlap")
EPISODES, NUMBERS = (2, 5, 10, 50), (3, 8, 32)
ENOUGH = ((8, 8), (10, 8), (10, 32), (50, 3), (50, 8))
SLOW, MOST = ("wasserstein", "overlap"), 160  # episodes in all; their kernel matrices are computed one by one
Cell = tuple[str, str, str, tuple[int, int]]


def noise(kind: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """(..., steps, features): a part that is the same all through an episode, and one of each step."""
    if kind == "autocorrelated":
        return 0.5 * generator.normal(size=shape).cumsum(-2) / np.sqrt(STEPS)
    draw = {
        "normal": generator.normal,
        "heavy-tailed": lambda size: generator.standard_t(3, size) / np.sqrt(3),
        "skewed": lambda size: generator.exponential(size=size) - 1,
    }[kind]
    return 0.5 * draw(size=(*shape[:-2], 1, shape[-1])) + 0.25 * draw(size=shape)


def episodes(cell: Cell, draws: int, generator: np.random.Generator, count: int | None = None) -> np.ndarray:
    """(draws, skills, episodes, steps, features)."""
    similarity, skills, kind, (N, n) = cell
    x = noise(kind, (draws, n, count or N, STEPS, FEATURES), generator)
    turn = 2 * np.pi * np.arange(n) / n
    place = np.stack([np.cos(turn), np.sin(turn)], -1) * max(1.0, 1.2 * n / (2 * np.pi))
    spread = np.linspace(0.4, 2.0, n)
    same = {"identical": n, "half-distinct": n // 2, "well-separated": 0}[skills]
    place[n - same :], spread[n - same :] = place[0], spread[0]
    if similarity.startswith("covariance"):
        return x * spread[:, None, None, None]
    return x + place[:, None, None]


def scores(cell: Cell, draws: int, generator: np.random.Generator, count: int | None = None) -> np.ndarray:
    """(draws,) scores of new episodes."""
    found = [
        vr.effective_number(x, cell[0])
        for _ in range(-(-draws // 100))
        for x in episodes(cell, min(draws, 100), generator, count)
    ]
    return np.array(found[:draws])


def pairwise(factors: Sequence[Sequence[Any]], generator: np.random.Generator) -> list[tuple[Any, ...]]:
    """Few cells that hold every pair of values of two factors (but of slow similarities with many episodes, where both
    sizes are one factor): greedily, the best of many at random each time."""
    places = list(itertools.combinations(range(len(factors)), 2))
    missing = {(a, b, x, y) for a, b in places for x in factors[a] for y in factors[b]}
    missing = {pair for pair in missing if not (isinstance(pair[3], tuple) and _slow((pair[2], 0, 0, pair[3])))}
    cells = []
    while missing:
        tried = [tuple(f[generator.integers(len(f))] for f in factors) for _ in range(300)]
        tried = [cell for cell in tried if not _slow(cell)]
        held = [{(a, b, cell[a], cell[b]) for a, b in places} & missing for cell in tried]
        best = max(range(len(tried)), key=lambda i: len(held[i]))
        cells.append(tried[best])
        missing -= held[best]
    return cells


def _slow(cell: Sequence[Any]) -> bool:
    N, n = cell[3] if isinstance(cell[3], tuple) else cell[3:]
    return cell[0] in SLOW and N * n > MOST


def design(generator: np.random.Generator) -> list[Cell]:
    """The cells of both designs."""
    first = pairwise((SIMILARITIES, SKILLS, NOISE, EPISODES, NUMBERS), generator)
    second = pairwise((SIMILARITIES, SKILLS, NOISE, ENOUGH), generator)
    cells: list[Cell] = [(*cell[:3], cell[3:]) for cell in first]  # type: ignore[misc]
    return list(dict.fromkeys([*cells, *second]))  # type: ignore[arg-type]


def coverage(cell: Cell, draws: int, others: int, seed: int = 0) -> dict[str, Any]:
    """Shares of intervals given and of those that cover, and the reason that was given most often."""
    generator = np.random.default_rng(seed)
    results = [
        vr.evaluate(x, cell[0], shuffles=1, measures=False, seed=i)[0]
        for i, x in enumerate(episodes(cell, draws, generator))
    ]
    report: dict[str, Any] = {}
    for which in ("repetition", "limit"):
        given = [interval for r in results if (interval := getattr(r, which)) is not None]
        notes = Counter(note for r in results if (note := getattr(r, f"{which}_note")) is not None)
        report[which] = {"given": len(given) / draws, "note": notes.most_common(1)[0][0] if notes else ""}
        if len(given) < draws / 10:
            continue
        if which == "repetition":
            true = float(scores(cell, others, generator).mean())
        else:
            true = float(scores(cell, 1, generator, count=20_000)[0])
        report[which] |= {"true": true, "covered": float(np.mean([low <= true <= high for low, high in given]))}
    return report


def shown(found: dict[str, Any]) -> tuple[str, str, bool]:
    """How an interval did, how often it was given, and whether that is as it should be."""
    if "covered" not in found:
        return "refused", f"{found['given']:.0%}", True
    holds = 0.9 <= found["covered"] <= 0.99
    return f"{found['covered']:.1%}" + ("" if holds else " (!)"), f"{found['given']:.0%}", holds


def false_positives(draws: int, episodes_each: int, n: int = 8) -> float:
    """How often identical skills are said to be more diverse than chance."""
    x = np.random.default_rng(episodes_each).normal(size=(draws, n, episodes_each, 2, 2))
    found = (vr.evaluate(each, "mmd", resamples=5, measures=False, seed=i)[0] for i, each in enumerate(x))
    return sum(r.p_value <= 0.05 for r in found) / draws


def run(quick: bool = False) -> str:
    draws, others = (40, 400) if quick else (200, 2000)
    rows, failed, start = [], 0, time.perf_counter()
    for cell in design(np.random.default_rng(0))[:: 3 if quick else 1]:
        begun = time.perf_counter()
        found = coverage(cell, draws, others)
        similarity, skills, kind, (N, n) = cell
        one, two = shown(found["repetition"]), shown(found["limit"])
        failed += (not one[2]) + (not two[2])
        seconds = f"{time.perf_counter() - begun:.1f}"
        rows.append([f"`{similarity}`", skills, kind, f"{N}", f"{n}", *one[:2], *two[:2], seconds])
        print(*rows[-1], found["repetition"]["note"][:80], found["limit"]["note"][:80], sep="\t", flush=True)
    columns = ["similarity", "skills", "noise", "N", "n", "repetition", "given", "limit", "given", "seconds"]
    title = f"Coverage of nominal 95 % intervals over {draws} draws; {failed} of {2 * len(rows)} outside 90 % to 99 %"
    text = table(title, columns, rows)
    chance = [
        [f"{N}", f"{false_positives(200 if quick else 1000, N):.1%}"] for N in ((2, 20) if quick else (2, 3, 5, 10, 20))
    ]
    text += "\n" + table(
        "Eight identical skills said to be more diverse than chance, mmd", ["N", "how often (5 % is right)"], chance
    )
    return f"{text}\n{time.perf_counter() - start:.0f} seconds"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the draws, and every third cell")
    print(run(parser.parse_args().quick))
