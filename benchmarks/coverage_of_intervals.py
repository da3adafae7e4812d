"""Do intervals hold what they say, and is a verdict of "more diverse than chance" wrong as rarely as it should be?

python benchmarks/coverage_of_intervals.py                         all four tables of cells, then the verdict
python benchmarks/coverage_of_intervals.py --jobs 2 --keep FILE    in two processes; what is done is kept in a file
python benchmarks/coverage_of_intervals.py --kept --keep FILE      the tables of what is in the file, nothing more
python benchmarks/coverage_of_intervals.py --quick                 a fifth of the draws, and every third cell

Coverage at nominal 95 %, of `repetition` and of `limit`, over 200 draws of each cell of two designs. The first covers
every pair of: identical, half-distinct and well-separated skills; normal, heavy-tailed (Student's t of 3 degrees),
autocorrelated (a random walk) and skewed (exponential) noise; 2, 5, 10 and 50 episodes; 3, 8 and 32 skills; six
similarities. Many of its cells have too few episodes for an interval. The second covers every pair where there are
enough. Then come cells of other noise, sizes and similarities (`OTHERS`, and some drawn at random), which were held out
until they changed a rule, and at last cells drawn at random from ten more kinds of noise, by which no rule was chosen.
A cell holds if between 90 % and 99 % of the intervals that were given cover; where fewer than one draw in ten was given
one, it counts as refused. Where 200 draws leave open whether it does, because less than 92 % or more than 98 % of them
cover, on whichever side of the bound, the cell is measured with five times as many, and that is what counts. What is to
be covered is the mean score of 1,000 other draws, and the score of up to 20,000 episodes that all skills share but for
where they are and how far they spread, so that skills that are the same are so to the last digit.

Then 1,000 draws of identical skills: how often chance is taken for more. It should be 5 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import vendirl as vr
from timing import table

SKILLS = ("identical", "half-distinct", "well-separated")
NOISE = ("normal", "heavy-tailed", "autocorrelated", "skewed")
SIMILARITIES = ("mmd", "angle(scale=4)", "covariance(scale=2)", "final_state", "wasserstein", "overlap")
EPISODES, NUMBERS = (2, 5, 10, 50), (3, 8, 32)
ENOUGH = ((8, 8), (10, 8), (10, 32), (50, 3), (50, 8))
SLOW, MOST = ("overlap", "alignment"), 400  # episodes in all; their kernel matrices are computed one by one
HOLDS, SETTLED = (0.9, 0.99), (0.92, 0.98)
"""What is right, and what 200 draws decide."""
AGAIN = 5
"""How many times as many draws decide the rest."""
Cell = tuple[str, str, str, tuple[int, int]]
OTHERS: tuple[Cell, ...] = (
    ("mmd", "identical", "Laplace", (20, 5)),
    ("mmd", "half-distinct", "log-normal", (12, 10)),
    ("mmd", "well-separated", "bimodal", (9, 6)),
    ("mmd", "half-distinct", "unequal", (30, 4)),
    ("mmd(scale=4)", "identical", "log-normal", (15, 8)),
    ("mmd(kernel='rbf')", "identical", "bimodal", (10, 8)),
    ("mmd(kernel='rbf')", "half-distinct", "uniform", (15, 6)),
    ("mmd(kernel='rbf')", "well-separated", "Laplace", (12, 8)),
    ("angle(scale=2)", "half-distinct", "uniform", (12, 12)),
    ("angle(scale=8)", "well-separated", "log-normal", (20, 6)),
    ("cosine(scale=0.5)", "half-distinct", "Laplace", (10, 10)),
    ("covariance(scale=1, log=True)", "half-distinct", "Laplace", (30, 6)),
    ("covariance(scale=1)", "well-separated", "bimodal", (25, 8)),
    ("final_state(scale=0.5)", "half-distinct", "log-normal", (16, 16)),
    ("final_state", "identical", "unequal", (10, 6)),
    ("wasserstein(scale=2)", "half-distinct", "bimodal", (12, 6)),
    ("wasserstein", "identical", "log-normal", (10, 6)),
    ("0.5*mmd + 0.5*angle(scale=4)", "half-distinct", "uniform", (14, 8)),
    ("mmd*final_state", "well-separated", "Laplace", (10, 8)),
    ("mmd.on(0)", "half-distinct", "bimodal", (25, 8)),
    ("alignment(scale=0.2)", "well-separated", "uniform", (8, 5)),
    ("overlap(neighbours=5)", "half-distinct", "Laplace", (8, 8)),
    ("covariance(scale=2)", "identical", "log-normal", (50, 8)),
    ("mmd", "evenly near", "Laplace", (10, 8)),
    ("angle(scale=3)", "evenly near", "Laplace", (10, 8)),
    ("angle(scale=3)", "evenly near", "Weibull", (10, 8)),
    ("final_state", "evenly near", "Laplace", (10, 8)),
    ("wasserstein", "evenly near", "Weibull", (10, 8)),
)
"""Cells of other noise, of seven steps and three features, that were held out until they changed a rule; skills that
are evenly near lie on a circle of half the size."""
NEW_SIMILARITIES = (
    *("mmd", "mmd(scale=2)", "mmd(kernel='rbf')", "angle(scale=3)", "cosine(scale=0.5)", "covariance(scale=1)"),
    *("final_state", "wasserstein", "wasserstein(scale=2)", "overlap", "0.5*final_state + 0.5*angle(scale=4)"),
)
OTHER_NOISE = ("gamma", "contaminated", "Gumbel", "Student's t of 5", "autoregressive", "arcsine")
NEW_NOISE = (
    *("autoregressive of 0.5", "autoregressive of 0.9", "autoregressive of 0.99", "long walk", "unequal walk"),
    *("log-normal of 0.5", "log-normal of 1.2", "logistic", "Weibull", "mixture"),
)
NEW_EPISODES, NEW_NUMBERS = (9, 13, 18, 40), (4, 6, 7, 9)
STEPS = {"long walk": 25, "unequal walk": 12}


def noise(kind: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """(..., n, episodes, steps, features): a part that is the same all through an episode, and one of each step."""
    if kind == "autocorrelated":
        return 0.5 * generator.normal(size=shape).cumsum(-2) / np.sqrt(shape[-2])
    if kind.endswith("walk"):
        return 0.7 * generator.normal(size=shape).cumsum(-2) / np.sqrt(shape[-2])
    if kind.startswith("autoregressive"):
        of = float(kind.partition(" of ")[2] or 0.8)
        x = 0.5 * generator.normal(size=shape)
        for t in range(1, shape[-2]):
            x[..., t, :] = of * x[..., t - 1, :] + np.sqrt(1 - of**2) * x[..., t, :]
        return x
    draw = {
        "normal": generator.normal,
        "heavy-tailed": lambda size: generator.standard_t(3, size) / np.sqrt(3),
        "skewed": lambda size: generator.exponential(size=size) - 1,
        "Laplace": lambda size: generator.laplace(size=size) / np.sqrt(2),
        "log-normal": lambda size: (generator.lognormal(0, 0.8, size) - np.exp(0.32)) / 1.31,
        "log-normal of 0.5": lambda size: (generator.lognormal(0, 0.5, size) - np.exp(0.125)) / 0.604,
        "log-normal of 1.2": lambda size: (generator.lognormal(0, 1.2, size) - np.exp(0.72)) / 3.69,
        "logistic": lambda size: generator.logistic(size=size) * np.sqrt(3) / np.pi,
        "Weibull": lambda size: (generator.weibull(0.7, size) - 1.266) / 1.851,
        "mixture": lambda size: generator.choice([-0.45, 1.8], size, p=[0.8, 0.2]) + 0.44 * generator.normal(size=size),
        "uniform": lambda size: generator.uniform(-np.sqrt(3), np.sqrt(3), size),
        "bimodal": lambda size: 0.9 * generator.choice([-1.0, 1.0], size) + 0.44 * generator.normal(size=size),
        "unequal": generator.normal,
        "gamma": lambda size: (generator.gamma(0.5, size=size) - 0.5) / np.sqrt(0.5),
        "contaminated": lambda size: generator.normal(size=size) * generator.choice([1, 3], size, p=[0.9, 0.1]) / 1.34,
        "Gumbel": lambda size: (generator.gumbel(size=size) - np.euler_gamma) * np.sqrt(6) / np.pi,
        "Student's t of 5": lambda size: generator.standard_t(5, size) * np.sqrt(3 / 5),
        "arcsine": lambda size: np.sqrt(8) * (generator.beta(0.5, 0.5, size) - 0.5),
    }[kind]
    return 0.5 * draw(size=(*shape[:-2], 1, shape[-1])) + 0.25 * draw(size=shape)


def episodes(cell: Cell, draws: int, generator: np.random.Generator, shared: int = 0) -> np.ndarray:
    """(draws, skills, episodes, steps, features); if `shared`, of so many episodes, the same for all skills."""
    similarity, skills, kind, (N, n) = cell
    steps, features = (4, 2) if kind in NOISE else (STEPS.get(kind, 7), 3)
    if shared:
        x = noise(kind, (draws, 1, shared, steps, features), generator).repeat(n, 1)
    else:
        x = noise(kind, (draws, n, N, steps, features), generator)
    if kind.startswith("unequal"):
        x = x * np.linspace(0.5, 1.5, n)[:, None, None, None]
    turn, radius = 2 * np.pi * np.arange(n) / n, max(1.0, 1.2 * n / (2 * np.pi))
    place = np.zeros((n, features))
    radius /= 2 if skills == "evenly near" else 1
    place[:, 0], place[:, 1] = radius * np.cos(turn), radius * np.sin(turn)
    spread = np.linspace(0.4, 2.0, n)
    same = {"identical": n, "half-distinct": n // 2, "well-separated": 0, "evenly near": 0}[skills]
    place[n - same :], spread[n - same :] = place[0], spread[0]
    if similarity.startswith("covariance"):
        return x * spread[:, None, None, None]
    return x + place[:, None, None]


def repeated(cell: Cell, draws: int, generator: np.random.Generator) -> float:
    """The mean score of other draws, ten of them at a time."""
    k, (N, n), found = vr.similarity.parse(cell[0]), cell[3], []
    for _ in range(0, draws, 10):
        x = episodes(cell, 10, generator)
        if k.has_limit:  # as the same episodes dealt in ten ways, which is faster
            deals = list(np.arange(10 * n * N).reshape(10, n, N))
            K = k.resolve(None, x.shape[-1]).regroup(list(x.reshape(-1, *x.shape[-2:]))).matrices(deals)
        else:
            K = np.stack([vr.kernel_matrix(k, each) for each in x])
        found += list(vr.vendi_score(K))
    return float(np.mean(found))


def in_the_limit(cell: Cell, generator: np.random.Generator) -> float:
    """The score of very many episodes."""
    if "rbf" not in cell[0]:
        many = 5_000 if "wasserstein" in cell[0] else 20_000
        return float(vr.effective_number(episodes(cell, 1, generator, shared=many)[0], cell[0]))
    k, n, found = vr.similarity.parse(cell[0]), cell[3][1], []
    for x in episodes(cell, 20, generator, shared=300):  # whose pairs are as many as can be looked at
        regrouped = k.resolve(None, x.shape[-1]).regroup(list(x.reshape(-1, *x.shape[-2:])))
        found.append(vr.vendi_score(regrouped.matrices([list(np.arange(300 * n).reshape(n, 300))])[0]))
    return float(np.mean(found))


def pairwise(factors: Sequence[Sequence[Any]], generator: np.random.Generator) -> list[tuple[Any, ...]]:
    """Few cells that hold every pair of values of two factors (but not of slow similarities with many episodes, or of
    any with too few, where both sizes are one factor): greedily, the best of many at random each time."""
    places = list(itertools.combinations(range(len(factors)), 2))
    missing = {(a, b, x, y) for a, b in places for x in factors[a] for y in factors[b]}
    missing = {pair for pair in missing if not (isinstance(pair[3], tuple) and _left_out((pair[2], 0, 0, pair[3])))}
    cells = []
    while missing:
        tried = [tuple(f[generator.integers(len(f))] for f in factors) for _ in range(300)]
        tried = [cell for cell in tried if not _left_out(cell)]
        held = [{(a, b, cell[a], cell[b]) for a, b in places} & missing for cell in tried]
        best = max(range(len(tried)), key=lambda i: len(held[i]))
        cells.append(tried[best])
        missing -= held[best]
    return cells


def _left_out(cell: Sequence[Any]) -> bool:
    """Whether a cell would take too long, or is of the second design but has too few episodes."""
    second = isinstance(cell[3], tuple)
    N, n = cell[3] if second else cell[3:]
    few = second and cell[0].startswith("covariance") and N < 20
    return few or (cell[0] in SLOW and N * n > MOST)


def design(generator: np.random.Generator) -> list[Cell]:
    """The cells of both designs."""
    first = pairwise((SIMILARITIES, SKILLS, NOISE, EPISODES, NUMBERS), generator)
    second = pairwise((SIMILARITIES, SKILLS, NOISE, ENOUGH), generator)
    cells: list[Cell] = [(*cell[:3], cell[3:]) for cell in first]  # type: ignore[misc]
    return list(dict.fromkeys([*cells, *second]))  # type: ignore[arg-type]


def held_out(generator: np.random.Generator, kinds: Sequence[str], count: int) -> list[Cell]:
    """Cells at random, of such noise."""
    cells: list[Cell] = []
    while len(cells) < count:
        factors = (NEW_SIMILARITIES, SKILLS, kinds, NEW_EPISODES, NEW_NUMBERS)
        similarity, skills, kind, N, n = (f[generator.integers(len(f))] for f in factors)
        slow = similarity.startswith(("wasserstein", "overlap")) and N * n > 80
        if N * n >= 40 and not slow and not (similarity.startswith("covariance") and N < 20):
            cells.append((similarity, skills, kind, (N, n)))
    return list(dict.fromkeys(cells))


def coverage(cell: Cell, draws: int, seed: int = 0) -> dict[str, Any]:
    """For both intervals: those that were given (None for one that was not), what was to be covered, and the reason
    that was given most often."""
    generator, begun = np.random.default_rng(seed), time.process_time()
    results: list[vr.Diversity] = []
    for i, x in enumerate(episodes(cell, draws, generator)):
        if i and (results[0].limit_note or "").startswith("it takes at least"):
            results.append(results[0])  # whether there are enough episodes does not depend on what they are
            continue
        # 19 shuffles are the fewest by which 5 % can be tested, and the test is exact with any number
        results.append(vr.evaluate(x, cell[0], shuffles=19, measures=False, orders=(1.0,), seed=i)[0])
    report: dict[str, Any] = {"cell": [*cell[:3], list(cell[3])], "draws": draws}
    for which in ("repetition", "limit"):
        given = [getattr(r, which) for r in results]
        notes = Counter(note for r in results if (note := getattr(r, f"{which}_note")) is not None)
        report[which] = {"given": given, "note": notes.most_common(1)[0][0] if notes else ""}
        if sum(interval is not None for interval in given) >= draws / 10:
            true = repeated(cell, 5 * draws, generator) if which == "repetition" else in_the_limit(cell, generator)
            report[which]["true"] = true
    return report | {"seconds": time.process_time() - begun}


def shown(found: dict[str, Any]) -> tuple[str, str, bool]:
    """How an interval did, how often it was given, and whether that is as it should be."""
    share = f"{sum(interval is not None for interval in found['given']) / len(found['given']):.0%}"
    if "true" not in found:
        return "refused", share, True
    covered = _covered(found)
    holds = HOLDS[0] <= covered <= HOLDS[1]
    return f"{covered:.1%}" + ("" if holds else " (!)"), share, holds


def _covered(found: dict[str, Any]) -> float:
    """How many of the intervals that were given hold the truth."""
    close, given = 1e-9 * abs(found["true"]), [interval for interval in found["given"] if interval is not None]
    return float(np.mean([low - close <= found["true"] <= high + close for low, high in given]))


def measured(cells: Sequence[Cell], draws: int, jobs: int, keep: Path | None) -> Iterator[dict[str, Any]]:
    """The coverage of all cells, those in the file first; those that are measured, by so many processes, are added to
    it."""
    done = [json.loads(line) for line in keep.read_text().splitlines()] if keep and keep.exists() else []
    names = [[*cell[:3], list(cell[3])] for cell in cells]
    done = [report for report in done if report["cell"] in names and report["draws"] == draws]
    yield from done
    known = [report["cell"] for report in done]
    left = [(cell, draws) for cell, name in zip(cells, names, strict=True) if name not in known]
    if not jobs:
        return
    left.sort(key=lambda task: (task[0][0] in SLOW, task[0][3][0] * task[0][3][1] ** 2))  # the fastest first
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for report in pool.imap_unordered(_coverage, left):
            if keep:
                with keep.open("a") as file:
                    file.write(json.dumps(report) + "\n")
            yield report


def _coverage(task: tuple[Cell, int]) -> dict[str, Any]:
    return coverage(*task)


def open_still(report: dict[str, Any]) -> bool:
    """Whether more draws might tell another story: what covers is near a bound, from whichever side."""
    covered = [_covered(report[which]) for which in ("repetition", "limit") if "true" in report[which]]
    return any(not SETTLED[0] <= one <= SETTLED[1] for one in covered)


def table_of(title: str, cells: Sequence[Cell], draws: int, jobs: int, keep: Path | None) -> str:
    """Coverage cell by cell, in the order of the cells, and printed as it is found."""
    rows: dict[Cell, list[str]] = {}
    doubtful: list[Cell] = []
    for count, some in ((draws, cells), (AGAIN * draws, doubtful)):
        for report in measured(some, count, jobs, keep):
            similarity, skills, kind, (N, n) = report["cell"]
            cell: Cell = (similarity, skills, kind, (N, n))
            one, two = shown(report["repetition"]), shown(report["limit"])
            rows[cell] = [f"`{similarity}`", skills, kind, f"{N}", f"{n}", *one[:2], *two[:2], f"{count:,}"]
            if count == draws and open_still(report):
                doubtful.append(cell)
            notes = [report[which]["note"][:70] for which in ("repetition", "limit")]
            print(*rows[cell], f"{report['seconds']:.1f}", *notes, sep="\t", flush=True)
    columns = ["similarity", "skills", "noise", "N", "n", "repetition", "given", "limit", "given", "draws"]
    coverages = [row[i] for row in rows.values() for i in (5, 7) if row[i] != "refused"]
    title = (
        f"{title}, {len(rows)} of {len(cells)}: coverage of nominal 95 %; of {len(coverages)} that were given "
        f"{sum('(!)' in one for one in coverages)} outside 90 % to 99 %"
    )
    return table(title, columns, [rows[cell] for cell in sorted(rows, key=lambda cell: (*cell[:2], cell[3], cell[2]))])


def false_positives(draws: int, episodes_each: int, n: int = 8) -> float:
    """How often identical skills are said to be more diverse than chance."""
    x = np.random.default_rng(episodes_each).normal(size=(draws, n, episodes_each, 2, 2))
    asked = {"resamples": 0, "measures": False, "orders": (1.0,)}
    found = (vr.evaluate(each, "mmd", seed=i, **asked)[0] for i, each in enumerate(x))
    return sum(r.p_value <= 0.05 for r in found) / draws


def run(quick: bool = False, jobs: int = 1, keep: Path | None = None) -> str:
    draws, some = (40, 3) if quick else (200, 1)
    text = table_of("Designed cells", design(np.random.default_rng(0))[::some], draws, jobs, keep)
    text += "\n" + table_of("Once held-out cells", OTHERS[::some], draws, jobs, keep)
    once = held_out(np.random.default_rng(1), OTHER_NOISE, 20)
    text += "\n" + table_of("More once held-out cells", once[::some], draws, jobs, keep)
    new = held_out(np.random.default_rng(2), NEW_NOISE, 40)
    text += "\n" + table_of("Held-out cells", new[::some], draws, jobs, keep)
    if not jobs:
        return text
    chance = [
        [f"{N}", f"{false_positives(200 if quick else 1000, N):.1%}"] for N in ((2, 20) if quick else (2, 3, 5, 10, 20))
    ]
    title = "Eight identical skills said to be more diverse than chance, mmd"
    return text + "\n" + table(title, ["N", "how often (5 % is right)"], chance)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the draws, and every third cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--keep", type=Path, help="a file of cells that are done, which are not measured again")
    parser.add_argument("--kept", action="store_true", help="print what is in the file, and measure nothing")
    options = parser.parse_args()
    print(run(options.quick, 0 if options.kept else options.jobs, options.keep))
