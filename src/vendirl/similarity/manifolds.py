"""How much of each skill lies in the manifold of each other one: `overlap` at scale, exactly, on the host (Appendix A).

The manifold of a skill is the union of balls around its observations x, each reaching to that observation's k-th
nearest neighbour, r(x). An observation y lies in it if some power ‖y - x‖² - r(x)² is at most 0. Comparing all with
all is 4e13 operations for 64 skills of 20,000 observations of 27 features, so most of them must be avoided:

- The observations of a skill are sorted into blocks of neighbours, each with a centre c and a reach, the greatest
  ‖x - c‖ + r(x). An observation farther from c than the reach is in none of the block's balls.
- What is left is a matrix product: with y' = (y, ‖y‖², 1) and x' = (-2x, 1, ‖x‖² - r²) the power is y'·x'. It is
  computed in float32 where that suffices, and believed only beyond a bound on its rounding error.
- Where it is not believed, the squared distance is summed from differences in float64, as the radii are. So the answer
  is that of the definition, ties included.
- An observation once found inside is not looked at again.

Few observations are compared all with all, once, after which any grouping of them is cheap: see `Pool`.

The file is long because blocks, bounds and products only make sense together: each relies on what the others promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from threadpoolctl import threadpool_limits

from vendirl._checks import whole_number
from vendirl._host import cores
from vendirl.similarity.deals import Deal

Ratio = Literal["f1", "precision", "recall"]
Known = dict[bytes, Bool[np.ndarray, " P"]]
"""By the episodes of a skill: which of the observations of all episodes lie in its manifold."""

BLOCK = 128  # observations in a block: fewer make tighter blocks, more make faster matrix products
CHUNK = 1024  # observations in a matrix product, so that it stays in the cache
BATCH = 256  # blocks of observations tested together, which bounds the memory
FEW = 4000  # observations whose distances a `Pool` keeps
ONCE = 2**24  # comparisons of features up to which all with all is the faster way to a single matrix
THREADS = min(8, cores())  # each needs up to about 100 MB
PAIRS = 2**18  # pairs of possible neighbours kept before the bound on their distance is tightened
SLACK = 1 + 1e-9  # on bounds of distances, far above their rounding in float64
SLACK32 = 1 + 1e-6  # in float32


class Pool:
    """Episodes whose assignment to skills may change: the plain kernel, subsets of the episodes, shuffled labels.

    Up to 4,000 observations their distances are kept, 128 MB at most, and each grouping costs a few milliseconds;
    beyond, each grouping is computed anew.

    Args:
        episodes: (T_i, D) arrays, all of the same D.
        neighbours: k. A skill of k observations or fewer has balls that reach to its farthest one.

    Example:
        >>> import numpy as np
        >>> line = np.arange(4.0)[:, None]
        >>> pool = Pool([line, line + 3, line + 10], neighbours=1)
        >>> pool.precision([[0], [1]])  # of the observations 3, 4, 5, 6 the first two are within 1 of 0, 1, 2, 3
        array([[1. , 0.5],
               [0.5, 1. ]])
        >>> pool.precision([[0, 1], [2]])
        array([[1., 0.],
               [0., 1.]])
    """

    def __init__(self, episodes: Sequence[Real[np.ndarray, "_ D"] | Any], neighbours: int | Any = 3):
        whole_number(neighbours, "neighbours")
        self.neighbours = neighbours
        self.episodes = _checked(episodes, "episodes")
        self.lengths = np.array([len(x) for x in self.episodes])
        self._squares: Float[np.ndarray, "M M"] | None = None
        if self.lengths.sum() <= FEW:
            points = np.multiply(np.concatenate(self.episodes), _unit(self.episodes), dtype=np.float64)
            self._squares = squared_distances(points, points)

    def precision(self, groups: Deal, known: Known | None = None) -> Float[np.ndarray, "n n"]:
        """(n, n): the fraction of skill b's observations in the manifold of skill a, at [a, b].

        Args:
            groups: for each of n skills the indices of its episodes. An episode may be in several skills or in none.
            known: what earlier calls found of their skills, which are not looked at again, and this one adds to.
        """
        chosen = [np.asarray(group, int).reshape(-1) for group in groups]
        for i, group in enumerate(chosen):
            if not np.isin(group, np.arange(len(self.episodes))).all():
                raise ValueError(
                    f"groups[{i}] must be among the {len(self.episodes)} episodes, but is {group.tolist()}"
                )
            if not self.lengths[group].sum():
                raise ValueError(f"groups[{i}] has no observations: every skill needs at least one")
        if self._squares is None:
            skills = [np.concatenate([self.episodes[e] for e in group]) for group in chosen]
            return precision_matrix(skills, self.neighbours)
        starts = np.cumsum(self.lengths) - self.lengths
        members = [_ranges(starts[group], self.lengths[group]) for group in chosen]
        everyone = np.concatenate(members)
        first = np.cumsum([0] + [len(rows) for rows in members[:-1]])
        precision = np.empty((len(chosen), len(chosen)))
        known = {} if known is None else known
        for a, rows in enumerate(members):
            key = chosen[a].tobytes()
            if key not in known:
                squares = self._squares[rows]
                radii = _kth_smallest(squares[:, rows], self.neighbours)
                known[key] = (squares <= radii[:, None]).any(0)
            precision[a] = np.add.reduceat(known[key][everyone], first, dtype=int)
        return precision / [len(rows) for rows in members]


def precision_matrix(
    skills: Sequence[Real[np.ndarray, "_ D"] | Any], neighbours: int | Any = 3
) -> Float[np.ndarray, "n n"]:
    """(n, n): the fraction of skill b's observations in the manifold of skill a, at [a, b]. Recall is its transpose.

    Args:
        skills: the pooled observations of each skill, (M_i, D).
        neighbours: k. A skill of k observations or fewer has balls that reach to its farthest one.
    """
    whole_number(neighbours, "neighbours")
    arrays = _checked(skills, "skills")
    for i, x in enumerate(arrays):
        if not len(x):
            raise ValueError(f"skills[{i}] has no observations: every skill needs at least one")
    total = sum(map(len, arrays))
    if total <= FEW and total**2 * arrays[0].shape[1] <= ONCE:
        return Pool(arrays, neighbours).precision([[i] for i in range(len(arrays))])
    manifolds = _Manifolds(arrays)
    # Threads of ours, each with products of its own: the threads of BLAS would wait for each other at every small one.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda i: manifolds.fill(i, arrays[i], neighbours), range(len(arrays))))
        return np.array(list(threads.map(manifolds.precision, range(len(arrays)))))


def check_ratio(measure: Any, name: str) -> None:
    """Refuse what is not a `Ratio`."""
    if measure not in get_args(Ratio):
        raise ValueError(f"{name} must be 'f1', 'precision' or 'recall', but is {measure!r}")


def overlap_kernel(
    precision: Float[np.ndarray, "*deals n n"], measure: Ratio | Any = "f1", scale: float = 1.0
) -> Float[np.ndarray, "*deals n n"]:
    """The kernel matrix of `overlap` from the precision of each pair.

        F1 = 2 precision recall / (precision + recall),  0 if both are 0;      K = F1^scale, with ones on the diagonal

    Args:
        precision: (..., n, n), as from `precision_matrix`; recall is its transpose.
        measure: "f1", or "precision" or "recall" for (precision + recall) / 2.
        scale: exponent.

    Example:
        >>> overlap_kernel(np.array([[1.0, 0.5], [0.25, 1.0]])).round(3)
        array([[1.   , 0.333],
               [0.333, 1.   ]])
    """
    check_ratio(measure, "measure")
    recall = np.swapaxes(precision, -1, -2)
    total = precision + recall
    K = total / 2 if measure != "f1" else 2 * precision * recall / np.where(total > 0, total, 1)
    return np.where(np.eye(K.shape[-1], dtype=bool), 1, K**scale)


def _distances(x: Float[np.ndarray, "M D"], y: Float[np.ndarray, "L D"]) -> Float[np.ndarray, "M L"]:
    """(M, L) Euclidean distances."""
    from scipy.spatial.distance import cdist  # takes half a second to import, and only large sets need it

    return cdist(x, y)


# ---- all with all --------------------------------------------------------------------------------------------------


def squared_distances(x: Float[np.ndarray, "M D"], y: Float[np.ndarray, "L D"]) -> Float[np.ndarray, "M L"]:
    """(M, L): ‖x_i - y_j‖² of (M, D) and (L, D), each the same to the last bit however it is asked for."""
    squares = np.empty((len(x), len(y)))
    columns, rows = np.ascontiguousarray(y.T), max(1, 2**16 // len(y))  # a strip of rows stays in the cache
    for start in range(0, len(x), rows):
        strip, total = x[start : start + rows], squares[start : start + rows]
        difference = np.empty_like(total)
        total[:] = 0
        for d, column in enumerate(columns):
            np.subtract(strip[:, d, None], column, out=difference)
            np.multiply(difference, difference, out=difference)
            total += difference
    return squares


def _paired_squares(
    x: Float[np.ndarray, "M D"], i: Int[np.ndarray, " P"], y: Float[np.ndarray, "L D"], j: Int[np.ndarray, " P"]
) -> Float[np.ndarray, " P"]:
    """‖x_i - y_j‖² of each pair (i, j), rounded as `squared_distances` rounds: one feature after the other."""
    squares = np.empty(len(i))
    for some in _pieces(np.arange(len(i)), 2048):
        difference = x[i[some]] - y[j[some]]
        squares[some] = np.cumsum(difference * difference, axis=1)[:, -1]
    return squares


def _kth_smallest(squares: Float[np.ndarray, "M L"], k: int) -> Float[np.ndarray, " M"]:
    """r², (M,): the k-th smallest of each row but the observation itself, or the largest if there are fewer."""
    k = min(k, squares.shape[1] - 1)
    return np.partition(squares, k, axis=1)[:, k]  # one of the k + 1 smallest is 0, from the observation to itself


# ---- blocks --------------------------------------------------------------------------------------------------------


class _Manifolds:
    """The manifolds of n skills, in blocks that each belong to one skill.

    Attributes:
        points: (P, D), of all skills in turn, those of a skill sorted into blocks.
        square: (P,) r².
        centre, radius, reach: of each of m blocks, (m, D), (m,) and (m,): where it is, how far from there its
            observations are, and how far their balls reach.
        first, size: (m,) the first observation of each block and how many there are.
        skill_points, skill_blocks: (n + 1,) where the observations and the blocks of each skill begin.
    """

    def __init__(self, skills: Sequence[Real[np.ndarray, "_ D"]]):
        sizes = np.array([len(x) for x in skills])
        self.unit = _unit(skills)
        self.skill_points = np.append(0, np.cumsum(sizes))
        self.skill_blocks = np.append(0, np.cumsum(-(-sizes // BLOCK)))
        starts = [np.arange(*ends, BLOCK) for ends in zip(self.skill_points, self.skill_points[1:], strict=False)]
        self.first = np.concatenate(starts)
        self.size = np.diff(np.append(self.first, self.skill_points[-1]))
        P, m, D = sizes.sum(), len(self.first), skills[0].shape[1]
        self.points, self.square = np.empty((P, D)), np.empty(P)
        self.centre, self.radius, self.reach = np.empty((m, D)), np.empty(m), np.empty(m)

    def _of(self, skill: int) -> tuple[slice, slice]:
        """Where the observations and the blocks of a skill are."""
        return slice(*self.skill_points[skill : skill + 2]), slice(*self.skill_blocks[skill : skill + 2])

    def fill(self, skill: int, observations: Real[np.ndarray, "M D"], neighbours: int) -> None:
        """Sort the observations of a skill and find the radii of its balls."""
        own, blocks = self._of(skill)
        points = np.multiply(observations, self.unit, dtype=np.float64)
        points = points[_block_order(points)]
        size, first = self.size[blocks], np.arange(0, len(points), BLOCK)
        centre = np.add.reduceat(points, first) / size[:, None]
        away = np.sqrt(_paired_squares(points, np.arange(len(points)), centre, np.repeat(np.arange(len(centre)), size)))
        radius = np.maximum.reduceat(away, first) * SLACK
        square = _squared_radii(points, centre, radius, neighbours)
        self.points[own], self.square[own] = points, square
        self.centre[blocks], self.radius[blocks] = centre, radius
        self.reach[blocks] = np.maximum.reduceat(away + np.sqrt(square), first) * SLACK

    def precision(self, a: int) -> Float[np.ndarray, " n"]:
        """(n,): the fraction of each skill's observations that lie in the manifold of skill a."""
        own, blocks = self._of(a)
        inside = np.zeros(len(self.points), bool)
        inside[own] = True
        apart = _distances(self.centre[blocks], self.centre)
        near = np.asarray(apart <= (self.reach[blocks, None] + self.radius) * SLACK)
        near[:, blocks] = False
        reached = np.flatnonzero(near.any(0))
        for some in _pieces(reached, BATCH):
            rows = _ranges(self.first[some], self.size[some])
            inside[rows] = self._inside(a, np.any(near[:, some], axis=1), self.points[rows])
        return np.add.reduceat(inside, self.skill_points[:-1], dtype=int) / np.diff(self.skill_points)

    def _inside(self, a: int, near: Bool[np.ndarray, " m_a"], y: Float[np.ndarray, "L D"]) -> Bool[np.ndarray, " L"]:
        """(L,): which of the observations y, (L, D), lie in a ball of skill a, of its `near` blocks, (m_a,)."""
        own, blocks = self._of(a)
        x, square, reach = self.points[own], self.square[own], self.reach[blocks][near]
        origin = self.centre[blocks].mean(0)
        dtype, margin = _arithmetic(x - origin, y - origin, max(square.max(), reach.max() ** 2), np.median(square))
        queries, balls = _queries(y - origin, dtype), _balls(x - origin, square, dtype)

        def test(start: int | np.integer, rows: Int[np.ndarray, " P"]) -> None:
            """Set `inside` of those rows that are in a ball of the block that begins at `start`."""
            for some in _pieces(rows, CHUNK):
                power = balls[start : start + BLOCK] @ queries[some].T
                least = power.min(0)
                inside[some] = least < -margin
                doubtful = np.flatnonzero(np.abs(least) <= margin)
                if doubtful.size:
                    ball, row = _where(np.abs(power[:, doubtful]) <= margin)
                    ball, row = start + ball, some[doubtful[row]]
                    inside[row[_paired_squares(x, ball, y, row) <= square[ball]]] = True

        powers = queries @ _balls(self.centre[blocks][near] - origin, reach**2, dtype).T
        likely, close = powers.argmin(1), np.ascontiguousarray(margin >= powers.T)
        starts = np.flatnonzero(near) * BLOCK
        inside = np.zeros(len(y), bool)
        for j, start in enumerate(starts):  # first each in its most likely block, which settles most of those inside
            test(start, np.flatnonzero(close[j] & (likely == j)))
        for j, start in enumerate(starts):
            test(start, np.flatnonzero(close[j] & (likely != j) & ~inside))
        return inside


def _block_order(points: Float[np.ndarray, "M D"]) -> Int[np.ndarray, " M"]:
    """An order in which each next BLOCK observations are neighbours: halved along the longest axis, again and again."""
    order = np.arange(len(points))

    def split(part: Int[np.ndarray, " some"]) -> None:
        blocks = -(-len(part) // BLOCK)
        if blocks < 2:
            return
        x = points[part]
        few = x[:: -(-len(x) // 256)]
        few = few - few.mean(0)
        along = x @ np.linalg.eigh(few.T @ few)[1][:, -1]
        half = blocks // 2 * BLOCK
        part[:] = part[np.argpartition(along, half)]
        split(part[:half])
        split(part[half:])

    split(order)
    return order


def _squared_radii(
    points: Float[np.ndarray, "M D"],
    centre: Float[np.ndarray, "m D"],
    radius: Float[np.ndarray, " m"],
    neighbours: int,
) -> Float[np.ndarray, " M"]:
    """r², (M,): the squared distance of each observation to its k-th nearest neighbour, points being sorted in blocks.

    The k nearest in a few blocks give a bound, after which only pairs within the bound are looked at.
    """
    M, k, origin = len(points), min(neighbours, len(points) - 1), points.mean(0)
    x = points - origin
    queries, balls = _queries(x, np.float64), _balls(x, np.zeros(M), np.float64)
    bound = _bound_on_radii(points, centre, k, queries, balls)
    dtype, margin = _arithmetic(x, x, (radius.max() + np.sqrt(bound.max())) ** 2, np.median(bound))
    queries, balls = queries.astype(dtype), balls.astype(dtype)
    centres = _balls(centre - origin, np.zeros(len(centre)), dtype)
    best, pairs = np.full((M, k + 1), np.inf), np.empty((2, 0), int)
    different = np.flatnonzero(bound > 0)  # an observation made many times has many pairs, and its radius is known
    for rows in _pieces(different, BATCH * BLOCK):
        close = centres @ queries[rows].T <= (radius[:, None] + np.sqrt(bound[rows])) ** 2 + margin
        for j, close_to_j in enumerate(close):
            limit: np.ndarray = ((bound + margin) * SLACK32).astype(dtype)
            found = [pairs]
            for some in _pieces(rows[close_to_j], CHUNK):
                column, row = _where(balls[j * BLOCK : (j + 1) * BLOCK] @ queries[some].T <= limit[some])
                found.append(np.stack([some[row], j * BLOCK + column]))
            pairs = np.concatenate(found, axis=1)
            if pairs.shape[1] > PAIRS or j == len(close) - 1:
                best = _merged(best, pairs[0], _paired_squares(points, pairs[0], points, pairs[1]))
                bound, pairs = np.minimum(bound, best[:, k]), pairs[:, :0]
    return bound


def _bound_on_radii(
    points: Float[np.ndarray, "M D"],
    centre: Float[np.ndarray, "m D"],
    k: int,
    queries: Float[np.ndarray, "M D+2"],
    balls: Float[np.ndarray, "M D+2"],
) -> Float[np.ndarray, " M"]:
    """At least r², (M,): the squared distance to the k-th nearest neighbour in the blocks around."""
    M, bound = len(points), np.empty(len(points))
    around = np.argsort(_distances(centre, centre), axis=1)[:, : max(4, k // BLOCK + 2)]
    for j, blocks in enumerate(around):
        rows = np.arange(j * BLOCK, min((j + 1) * BLOCK, M))
        columns = _ranges(blocks * BLOCK, np.minimum(BLOCK, M - blocks * BLOCK))
        nearest = columns[np.argpartition(queries[rows] @ balls[columns].T, k, axis=1)[:, : k + 1]]
        squares = _paired_squares(points, np.repeat(rows, k + 1), points, nearest.ravel())
        bound[rows] = squares.reshape(nearest.shape).max(1)
    return bound


def _merged(
    best: Float[np.ndarray, "M some"], rows: Int[np.ndarray, " P"], squares: Float[np.ndarray, " P"]
) -> Float[np.ndarray, "M some"]:
    """The smallest squared distances of each observation, (M, k + 1) in order, after more of them, some to a row."""
    order = np.lexsort((squares, rows))
    rows, squares = rows[order], squares[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    few = rank < best.shape[1]
    new = np.full_like(best, np.inf)
    new[rows[few], rank[few]] = squares[few]
    return np.sort(np.concatenate([best, new], axis=1), axis=1)[:, : best.shape[1]]


# ---- powers by matrix products -------------------------------------------------------------------------------------


def _queries(y: Float[np.ndarray, "L D"], dtype: type[np.floating]) -> Float[np.ndarray, "L D+2"]:
    """(y, ‖y‖², 1), (L, D + 2)."""
    return np.column_stack([y, (y * y).sum(1), np.ones(len(y))]).astype(dtype)


def _balls(
    x: Float[np.ndarray, "M D"], square: Float[np.ndarray, " M"], dtype: type[np.floating]
) -> Float[np.ndarray, "M D+2"]:
    """(-2x, 1, ‖x‖² - r²), (M, D + 2), so that its product with a query is ‖y - x‖² - r²."""
    return np.column_stack([-2 * x, np.ones(len(x)), (x * x).sum(1) - square]).astype(dtype)


def _arithmetic(
    x: Float[np.ndarray, "M D"], y: Float[np.ndarray, "L D"], square: float, typical: float
) -> tuple[type[np.floating], float]:
    """The fastest type in which powers are good enough, and a bound on their error.

    A product of D + 2 terms, each rounded a few times, is off by at most (D + 16) ε Σ|terms|, and the terms sum to at
    most (‖x‖ + ‖y‖)² + r². Twice that covers also the rounding of the definition itself.
    """
    span = (np.sqrt((x * x).sum(1).max()) + np.sqrt((y * y).sum(1).max())) ** 2 + square
    for dtype in (np.float32, np.float64):
        numbers = np.finfo(dtype)
        margin = 2 * (x.shape[1] + 16) * float(numbers.eps) * span + float(numbers.tiny)
        if margin <= typical / 50:
            break
    return dtype, margin


# ---- small print ---------------------------------------------------------------------------------------------------


def _ranges(first: Int[np.ndarray, " m"], size: Int[np.ndarray, " m"]) -> Int[np.ndarray, " P"]:
    """first[0], first[0] + 1, ... (size[0] of them), first[1], ..."""
    return np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())


def _pieces(rows: Int[np.ndarray, " P"], size: int) -> Iterator[Int[np.ndarray, " _"]]:
    """The rows, some at a time."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _where(mask: Bool[np.ndarray, "M L"]) -> tuple[Int[np.ndarray, " P"], Int[np.ndarray, " P"]]:
    """`np.nonzero` of a matrix, faster where little of it is true."""
    return np.divmod(np.flatnonzero(mask), mask.shape[1])


def _unit(arrays: Sequence[Real[np.ndarray, "_ D"]]) -> float:
    """A power of two, by which the observations multiply exactly, that makes the largest about 1: nothing overflows."""
    exponent = np.frexp(max(float(np.abs(x).max(initial=0)) for x in arrays))[1]
    return float(np.ldexp(1.0, min(-exponent, 1000)))


def _checked(given: Sequence[Any], name: str) -> list[Real[np.ndarray, "_ D"]]:
    """The arrays, refused if they are not (M, D) with one D, or not finite."""
    arrays = [np.asarray(x) for x in given]
    if not arrays:
        raise ValueError(f"{name} is empty")
    for i, x in enumerate(arrays):
        if x.ndim != 2 or x.shape[1] != arrays[0].shape[-1]:
            raise ValueError(
                f"{name}[{i}] must have shape (observations, {arrays[0].shape[-1]}), but has shape {x.shape}"
            )
        if not np.isfinite(x).all():
            raise ValueError(f"{name}[{i}] must be finite, but has NaN or infinity (from a function given to .on()?)")
    return arrays
