"""Losses and rewards of methods in plain NumPy and float64, written from the equations: for tests to compare with.

Each takes a `Case` and gives (loss, rewards). What is drawn at random (fresh z, chosen states) is drawn as the method
draws it, and then is data.
"""

import dataclasses
import math

import jax
import numpy as np


@dataclasses.dataclass
class Case:
    """A bound method, what it has learned, a batch as its model sees it, and the key of the loss."""

    method: object
    state: object
    rows: object
    key: object

    @property
    def s(self):
        return np.asarray(self.rows.observation, float)

    @property
    def after(self):
        return np.asarray(self.rows.next_observation, float)

    @property
    def skill(self):
        return np.asarray(self.rows.skill)

    @property
    def z(self):
        """(E, 1, d) of scenes."""
        return np.asarray(jax.vmap(self.method.problem.space.vector)(self.rows.skill), float)[:, None]


def net(network, x, divide=lambda W: 1.0):
    """A network, its weights divided by what a function says of them."""
    bend = {"tanh": np.tanh, "relu": lambda h: np.maximum(h, 0)}[network.activation]
    for i, layer in enumerate(network.layers):
        W = np.asarray(layer.weight, float)
        x = x @ (W / divide(W)).T + np.asarray(layer.bias, float)
        x = bend(x) if i + 1 < len(network.layers) else x
    return x


def largest(W):
    """The largest singular value."""
    return np.linalg.svd(W)[1][0]


def log_softmax(x):
    return x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)) - x.max(-1, keepdims=True)


def log_mean_exp(x, axis):
    top = x.max(axis, keepdims=True)
    return np.log(np.exp(x - top).mean(axis)) + np.squeeze(top, axis)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def own(values, skill):
    """(E, steps, n) -> (E, steps) of each scene's skill."""
    return np.stack([values[e, :, g] for e, g in enumerate(skill)])


def sorted_distances(x, others, k):
    flat = x.reshape(-1, 1, x.shape[-1])
    return np.sort(np.linalg.norm(flat - others[None], axis=-1), 1)[:, :k].reshape(*x.shape[:-1], k)


def diayn(c, sharpness=1.0):
    divide = largest if getattr(c.method, "always", False) else (lambda W: 1.0)
    logits = sharpness * net(c.state.model, c.s if c.method.current else c.after, divide)
    log_q = log_softmax(np.clip(logits, -c.method.clip, c.method.clip))
    mine = own(log_q, c.skill)
    return -mine.mean(), mine + (math.log(log_q.shape[-1]) if c.method.bonus is None else c.method.bonus)


def diayn_sn(c):
    return diayn(c, c.method.sharpness)


def _stretches(c):
    """What each episode began with, for each of its steps, and (E, T) which steps were the last of one, or of what the
    scene did."""
    ended = np.asarray(c.rows.terminated | c.rows.truncated)
    first, last = np.zeros_like(c.s), ended.copy()
    for e, t in np.ndindex(*ended.shape):
        first[e, t] = c.s[e, t] if t == 0 or ended[e, t - 1] else first[e, t - 1]
    last[:, -1] = True
    return first, last


def vic(c):
    first, last = _stretches(c)
    mine = own(log_softmax(net(c.state.model, np.concatenate([first, c.after], -1))), c.skill)
    return -mine[last].mean(), np.where(last, mine + math.log(c.method.problem.skills), 0)


def rvic(c):
    first, last = _stretches(c)
    relative = own(log_softmax(net(c.state.model[0], np.concatenate([first, c.after], -1))), c.skill)
    absolute = own(log_softmax(net(c.state.model[1], c.after)), c.skill)
    return -relative[last].mean() - absolute[last].mean(), np.where(last, relative - absolute, 0)


def wurl(rows, states, seen, directions):
    """Rewards alone: nothing is fitted. Sorting along a direction is the best assignment of one set to the other."""
    rewards = []
    for x, g in zip(np.asarray(rows.next_observation, float), np.asarray(rows.skill), strict=True):
        costs = {}
        for other in np.flatnonzero(seen):
            share = np.zeros(len(x))
            for u in directions:
                order = np.argsort(x @ u)
                share[order] += (np.sort(x @ u) - np.sort(states[other] @ u)) ** 2
            costs[other] = share / len(directions)
        costs.pop(g, None)
        rewards.append(min(costs.values(), key=np.sum))
    return np.array(rewards)


def _log_density(c, change, z):
    z = np.broadcast_to(z, (*c.s.shape[:2], z.shape[-1]))
    return -0.5 * ((change - net(c.state.model, np.concatenate([c.s, z], -1))) ** 2).sum(-1)


def dads(c):
    change = (c.after - c.s) / (c.after - c.s).std((0, 1))
    mine = _log_density(c, change, c.z)
    space = c.method.problem.space
    others = np.asarray(jax.vmap(space.vector)(space.fixed(space.size if space.discrete else c.method.samples)), float)
    marginal = log_mean_exp(np.stack([_log_density(c, change, z[None, None]) for z in others]), 0)
    return -mine.mean(), np.clip(mine - marginal, -c.method.clip, c.method.clip)


def dads_published(c):
    change = c.after - c.s
    batch = (change - change.mean((0, 1))) / np.sqrt(change.var((0, 1)) + 1e-5)
    statistics, key = c.state.beside
    kept = (change - np.asarray(statistics.mean, float)) / np.sqrt(np.asarray(statistics.variance, float) + 1e-5)
    mine, L, size = _log_density(c, kept, c.z), c.method.samples, c.s.shape[0] * c.s.shape[1]
    total = 1.0
    for k in jax.random.split(key, L):
        z = np.asarray(c.method.problem.space.sample(k, size), float).reshape(*c.s.shape[:2], -1)
        total = total + np.exp(np.clip(_log_density(c, kept, z) - mine, -50, 50))
    return -_log_density(c, batch, c.z).mean(), math.log(L + 1) - np.log(total)


def metra(c):
    step = net(c.state.model.φ, c.after) - net(c.state.model.φ, c.s)
    gain = (step * c.z).sum(-1)
    square = (step**2).mean(-1) if c.method.mean_norm else (step**2).sum(-1)
    held = np.minimum(c.method.slack, 1 - square)
    log_dual = float(c.state.model.log_dual)
    return log_dual * held.mean() - (gain + math.exp(log_dual) * held).mean(), gain


def lsd(c):
    divide = largest if c.method.always else (lambda W: 1.0)
    step = net(c.state.model, c.after, divide) - net(c.state.model, c.s, divide)
    gain = (step * c.z).sum(-1)
    return -gain.mean(), gain


def csf(c):
    step = net(c.state.model, c.after) - net(c.state.model, c.s)
    fresh = np.asarray(c.method.problem.space.sample(c.key, c.method.samples), float)
    gain = (step * c.z).sum(-1)
    return c.method.contrast * log_mean_exp(step @ fresh.T, -1).mean() - gain.mean(), gain


def _visr_features(c):
    return net(c.state.model, c.s if c.method.current else c.after)


def visr(c):
    agreement = (unit(_visr_features(c)) * c.z).sum(-1)
    return -agreement.mean(), agreement


def aps(c):
    loss, agreement = visr(c)
    x = unit(_visr_features(c))
    near = sorted_distances(x, x.reshape(-1, x.shape[-1]), c.method.neighbours)
    return loss, agreement + np.log(1 + near.mean(-1))


def aps_published(c):
    loss, agreement = visr(c)
    x = _visr_features(c)
    near = sorted_distances(x, x.reshape(-1, x.shape[-1]), c.method.neighbours)
    scaled = np.maximum(near / float(c.state.beside.mean[0]) - 1e-4, 0)
    return loss, agreement + np.log(1 + scaled.mean(-1))


def cic(c):
    x = net(c.state.model[0], np.concatenate([c.s, c.after], -1))
    logits = unit(x) @ unit(net(c.state.model[1], c.z[:, 0])).T / c.method.temperature
    share = np.stack([log_softmax(logits)[e, :, e] for e in range(len(logits))])
    near = sorted_distances(x, x.reshape(-1, x.shape[-1]), c.method.neighbours)
    return -share.mean(), np.log(1 + near.mean(-1)) + c.method.weight * share


def cic_published(c):
    g, p, h = c.state.model
    keys = unit(net(p, np.concatenate([net(g, c.s), net(g, c.after)], -1))).reshape(-1, c.method.embedding)
    queries = unit(net(h, np.repeat(c.z[:, 0], c.s.shape[1], 0)))
    sim = np.exp(queries @ keys.T / c.method.temperature)
    rest = np.maximum(sim.sum(-1) - math.e ** (1 / c.method.temperature), 1e-6)
    x = net(g, c.after)
    near = sorted_distances(x, x.reshape(-1, x.shape[-1]), c.method.neighbours)
    scaled = np.maximum(near / float(c.state.beside.variance[0]) - 5e-4, 0)
    return -np.log(np.diagonal(sim) / (rest + 1e-6)).mean(), np.log(1 + scaled.mean(-1))


def becl(c):
    def share(key):
        x, n, (E, T) = unit(net(c.state.model, c.after)), c.method.problem.skills, c.s.shape[:2]
        scene_key, step_key = jax.random.split(key)
        chance, t = np.asarray(jax.random.uniform(scene_key, (E,))), jax.random.randint(step_key, (n,), 0, T)
        there = [g for g in range(n) if (c.skill == g).any()]
        chosen = {g: x[max(np.flatnonzero(c.skill == g), key=lambda e: chance[e]), int(t[g])] for g in there}
        logits = np.stack([x @ chosen[g] for g in there], -1) / c.method.temperature
        return own(log_softmax(logits), [there.index(g) for g in c.skill])

    return -share(c.key).mean(), np.exp(share(jax.random.key(0)))


def becl_published(c):
    x = unit(net(c.state.model[1], net(c.state.model[0], c.after))).reshape(-1, c.method.dimension)
    skill, rewards = np.repeat(c.skill, c.s.shape[1]), []
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        sim = x[others] @ x[i] / c.method.temperature
        sim = np.exp(sim - sim.max())
        first = next((k for k, j in enumerate(others) if skill[j] == skill[i]), 0)
        rewards.append(sim[first] / (sim.sum() + 1e-6) + 1e-6)
    rewards = np.array(rewards)
    return -np.log(rewards).mean(), rewards.reshape(c.s.shape[:2])


def eigenoptions(c):
    x, y = net(c.state.model.φ, c.s), net(c.state.model.φ, c.after)
    flat, dual = x.reshape(-1, x.shape[-1]), np.asarray(c.state.model.dual, float)
    violation = np.tril(flat.T @ flat / len(flat) - np.eye(flat.shape[1]))
    smooth = ((x - y) ** 2).sum(-1).mean()
    # the dual variables rise where the loss falls with them
    loss = smooth + (dual * violation).sum() + c.method.barrier * (violation**2).sum()
    loss -= c.method.dual_rate * (dual * violation).sum()
    step = y - x
    rewards = np.stack([(1 - 2 * (g % 2)) * step[e, :, 1 + g // 2] for e, g in enumerate(c.skill)])
    return loss, rewards
