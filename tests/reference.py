"""Everything in the core once more, in plain NumPy float64: obvious, slow, and the measure of every fast path.

A skill is a list of its (T_i, D) trajectories. A similarity is a function of two skills.
"""

import math

import numpy as np

# ---- Definition 1 --------------------------------------------------------------------------------------------------


def spectrum(K, weights=None, clip=True):
    """Ascending eigenvalues of K/n (or of sqrt(p_i p_j) K_ij), negatives clipped and the rest scaled to sum to one."""
    K = np.asarray(K, np.float64)
    n = K.shape[0]
    p = np.full(n, 1 / n) if weights is None else np.asarray(weights, np.float64) / np.sum(weights)
    lam = np.linalg.eigvalsh(K * np.sqrt(np.outer(p, p)))
    if clip:
        lam = np.maximum(lam, 0)
        lam = lam / lam.sum()
    return lam


def hill_number(lam, q, tolerance=0.0):
    """(Σ λ^q)^(1/(1-q)) and its limits; eigenvalues below tolerance times the largest count as zero for q < 1."""
    lam = lam[lam > (tolerance * lam.max() if q < 1 else 0)]
    if q == 0:
        return float(len(lam))
    if q == 1:
        return math.exp(-sum(x * math.log(x) for x in lam))
    if q == math.inf:
        return 1 / lam.max()
    logs = q * np.log(lam)
    return math.exp((logs.max() + math.log(np.exp(logs - logs.max()).sum())) / (1 - q))


def vendi_score(K, q=1.0, weights=None, tolerance=0.0):
    return hill_number(spectrum(K, weights), q, tolerance)


def contributions(K, q=1.0, weights=None):
    """VS - VS without item i; nothing is left of an only item."""
    n = len(K)
    p = np.full(n, 1 / n) if weights is None else np.asarray(weights, np.float64)
    found = []
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        left = rest and p[rest].sum() > 0
        without = vendi_score(np.asarray(K)[np.ix_(rest, rest)], q, p[rest]) if left else 0.0
        found.append(vendi_score(K, q, weights) - without)
    return np.array(found)


def gradient(K, q=1.0):
    """dVS/dK of a positive definite K: -(VS/n)(log(K/n) + I) for order 1; for the others λ is scaled to sum to one."""
    n = len(K)
    lam, U = np.linalg.eigh(np.asarray(K, np.float64) / n)
    if q == 1:
        slope = -hill_number(lam, 1) * (np.log(lam) + 1)
    else:
        power = lam ** (q - 1) / np.sum(lam**q)
        slope = hill_number(lam, q) * q / (1 - q) * (power - 1)
    return (U * slope) @ U.T / n


def nearest_correlation(K, iterations=20_000):
    """Higham's alternating projections, to convergence."""
    Y, correction = np.array(K, np.float64), 0.0
    for _ in range(iterations):
        R = Y - correction
        lam, U = np.linalg.eigh(R)
        X = (U * np.maximum(lam, 0)) @ U.T
        correction = X - R
        previous, Y = Y, X.copy()
        np.fill_diagonal(Y, 1)
        if np.abs(Y - previous).max() < 1e-15:
            break
    return Y


# ---- Appendices A and C: similarities of two skills ------------------------------------------------------------------


def pooled(skill):
    return np.concatenate([np.asarray(x, np.float64) for x in skill])


def mean(skill):
    return pooled(skill).mean(0)


def direction(skill, center):
    v = mean(skill) - (0 if center is None else np.asarray(center))
    length = math.sqrt(sum(x * x for x in v))
    return np.eye(len(v))[0] if length < 1e-12 else v / length


def cosine(a, b, scale=1.0, center=None, scaled=False):
    cos = direction(a, center) @ direction(b, center)
    return 1 - scale * (1 - cos) / (2 if scaled else 1)


def angle(a, b, scale=1.0, center=None):
    return math.exp(scale * (direction(a, center) @ direction(b, center) - 1))


def mmd(a, b, scale=1.0, kernel="linear", bandwidth=1.0):
    if kernel == "linear":
        return math.exp(-scale * math.sqrt(((mean(a) - mean(b)) ** 2).sum()))

    def expectation(x, y):
        return np.mean([[math.exp(-((u - v) ** 2).sum() / (2 * bandwidth**2)) for v in y] for u in x])

    x, y = pooled(a), pooled(b)
    if x.shape == y.shape and np.array_equal(x, y):
        return 1.0  # rounding aside
    return math.exp(-scale * math.sqrt(max(expectation(x, x) + expectation(y, y) - 2 * expectation(x, y), 0)))


def sample_covariance(x):
    m = x.mean(0)
    return sum(np.outer(v - m, v - m) for v in x) / max(len(x) - 1, 1)


def covariance(a, b, scale=1.0, log=False, floor=1e-6):
    values = []
    for skill in (a, b):
        S = sample_covariance(pooled(skill))
        if log:
            values.append(2 * np.log(np.diagonal(np.linalg.cholesky(S + floor * np.eye(len(S))))).sum())
        else:
            values.append(max(np.linalg.det(S), 0))
    return math.exp(-scale * abs(values[0] - values[1]))


def precision(x_a, x_b, neighbours=3):
    """The share of x_b that lies in the manifold of x_a, boundary included (Equations of Appendix A)."""

    def square(u, v):
        return ((u - v) ** 2).sum()

    radii = [sorted(square(u, v) for j, v in enumerate(x_a) if j != i)[neighbours - 1] for i, u in enumerate(x_a)]
    return np.mean([any(square(x, u) <= r for u, r in zip(x_a, radii, strict=True)) for x in x_b])


def overlap(a, b, neighbours=3, measure="f1", scale=1.0):
    pr = precision(pooled(a), pooled(b), neighbours)
    re = precision(pooled(b), pooled(a), neighbours)
    if measure != "f1":
        return ((pr + re) / 2) ** scale
    return (0.0 if pr + re == 0 else 2 * pr * re / (pr + re)) ** scale


def final_state(a, b, scale=1.0):
    return math.exp(-scale * np.linalg.norm(np.mean([x[-1] for x in a], 0) - np.mean([x[-1] for x in b], 0)))


def wasserstein(a, b, scale=1.0, directions=16, quantiles=32, seed=0):
    x, y = pooled(a), pooled(b)
    D = x.shape[1]
    if D == 1:
        units = [np.ones(1)]
    elif D == 2:
        units = [np.array([math.cos(t), math.sin(t)]) for t in np.pi * np.arange(directions) / directions]
    else:
        units = [u / np.linalg.norm(u) for u in np.random.default_rng(seed).normal(size=(directions, D))]
    levels = (np.arange(quantiles) + 0.5) / quantiles
    squares = []
    for u in units:
        for p in levels:
            squares.append((np.quantile(x @ u, p, method="hazen") - np.quantile(y @ u, p, method="hazen")) ** 2)
    return math.exp(-scale * math.sqrt(np.mean(squares)))


def log_alignment(x, y, bandwidth):
    """log of the sum over alignments, by the plain recursion M_ij = κ_ij (M_{i-1,j-1} + M_{i-1,j} + M_{i,j-1})."""
    M = np.full((len(x) + 1, len(y) + 1), -np.inf)
    M[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(y)):
            d = ((x[i] - y[j]) ** 2).sum() / (2 * bandwidth**2)
            before = np.logaddexp(np.logaddexp(M[i, j], M[i, j + 1]), M[i + 1, j])
            M[i + 1, j + 1] = -d - math.log(2 - math.exp(-d)) + before
    return M[-1, -1]


def alignment(a, b, scale=1.0, bandwidth=1.0):
    def L(s, t):
        logs = [log_alignment(np.asarray(x, np.float64), np.asarray(y, np.float64), bandwidth) for x in s for y in t]
        return max(logs) + math.log(np.mean(np.exp(np.array(logs) - max(logs))))

    return math.exp(scale * min(L(a, b) - (L(a, a) + L(b, b)) / 2, 0))


def kernel_matrix(similarity, skills):
    """K of a list of skills, of which similarity(a, b) compares two."""
    n = len(skills)
    K = np.ones((n, n))
    for i in range(n):
        for j in range(i):
            K[i, j] = K[j, i] = similarity(skills[i], skills[j])
    return K


def as_skills(trajectories):
    """(n, T, D) or (n, N, T, D), as a list of lists of trajectories."""
    x = np.asarray(trajectories, np.float64)
    return [[t] for t in x] if x.ndim == 3 else [list(skill) for skill in x]


# ---- Algorithm 1, Definition 3 and Appendix B ------------------------------------------------------------------------


def algorithm_1(similarity, memory, skill, observations, transform="raw", q=1.0, position=0):
    """The literal loop: store an observation, update K for the current skill, score, reward. Also the memory after it.

    memory: (n, N, T, D), a queue of N episodes for each skill; position: the slot that is next.
    """
    memory = np.array(memory, np.float64)
    n, N, T, D = memory.shape
    K = kernel_matrix(similarity, as_skills(memory))
    before = vendi_score(K, q)
    rewards = []
    for observation in np.asarray(observations, np.float64):
        memory[skill].reshape(N * T, D)[position] = observation
        position = (position + 1) % (N * T)
        skills = as_skills(memory)
        for j in range(n):
            if j != skill:
                K[skill, j] = K[j, skill] = similarity(skills[skill], skills[j])
        score = vendi_score(K, q)
        rewards.append(
            {"raw": score, "derivative": score - before, "penalty": score - n, "log": math.log(score / n)}[transform]
        )
        before = score
    return np.array(rewards), memory


def fading_moments(trajectories, observations):
    """Mean and sample covariance after each observation, which displaces the average one: S ← (1 - 1/M) S + x x'."""
    x = pooled(trajectories)
    M = len(x)
    total, second = x.sum(0), x.T @ x
    found = []
    for o in np.asarray(observations, np.float64):
        total, second = (1 - 1 / M) * total + o, (1 - 1 / M) * second + np.outer(o, o)
        m = total / M
        found.append((m, (second - M * np.outer(m, m)) / (M - 1)))
    return found
