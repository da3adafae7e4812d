"""Payloads for the report page: fans of skills in the unit square, measured as a report would."""

import numpy as np

import vendirl as vr

ORDERS = (0.0, 0.5, 1.0, 2.0, np.inf)


def fan(n=8, episodes=3, steps=25, features=2, seed=0):
    """(n, episodes, steps, features) walks from the middle of the unit square, each skill in its own direction."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n) / n
    ahead = np.stack([np.cos(angle), np.sin(angle)], -1)[:, None, None] * 0.45 / steps
    path = 0.5 + (ahead + rng.normal(0, 0.12 / steps, (n, episodes, steps, 2))).cumsum(2)
    more = rng.normal(0, 0.1, (n, episodes, steps, features - 2)).cumsum(2)
    return np.concatenate([path, more], -1).clip(0, 1) if features == 2 else np.concatenate([path, more], -1)


def near(mean):
    """Similarity by the distance of mean observations (n, D); stands for mmd, without compiling anything."""
    return np.exp(-4 * ((mean[:, None] - mean[None]) ** 2).sum(-1) ** 0.5)


def aligned(mean):
    """The cosine of the means' angle, seen from the middle of the square."""
    unit = (mean - 0.5) / np.linalg.norm(mean - 0.5, axis=-1, keepdims=True)
    return (unit @ unit.T).clip(-1, 1)


KERNELS = {"mmd(scale=4)": near, "cosine(center=0.5)": aligned}


def result(trajectories, similarity):
    """What a report says about skills in one sense, with a made-up interval and null."""
    K = KERNELS[similarity](trajectories.mean((1, 2)))
    found, n = vr.vendi(K), len(K)
    score = float(found.score)
    others = K - 3 * np.eye(n)
    return {
        "similarity": similarity,
        "q": 1.0,
        "vendi_score": score,
        "interval": [score - 0.2, score + 0.02],
        "interval_note": None,
        "confidence": 0.95,
        "null": {"mean": 1.2, "interval": [1.1, 1.3]},
        "excess": score - 1.2,
        "ceiling": float(n if similarity.startswith("mmd") else min(n, trajectories.shape[-1])),
        "attainable": None,
        "negative_mass": float(found.negative_mass),
        "profile": {
            "q": ["inf" if q == np.inf else q for q in ORDERS],
            "score": np.asarray(vr.vendi_score(K, q=ORDERS)).tolist(),
        },
        "spectrum": found.spectrum.tolist(),
        "contributions": found.contributions.tolist(),
        "twins": [
            {"skill": i, "twin": int(others[i].argmax()), "similarity": float(others[i].max())} for i in range(n)
        ],
        "kernel": K.tolist(),
        "method": "exact",
    }


def skill_set(
    name="runs/mmd", similarities=("mmd(scale=4)",), labels=None, n=8, episodes=3, steps=25, features=2, seed=0
):
    """One set of the payload."""
    trajectories = fan(n, episodes, steps, features, seed)
    world = {"bounds": [0, 0, 1, 1], "walls": [[0.1, 0.75, 0.3, 0.75]], "start": [0.5, 0.5]}
    rng = np.random.default_rng(seed)
    blocks = np.arange(1, 11)
    scores = 7.7 - 5 * np.exp(-blocks / 3)[:, None] + rng.normal(0, 0.1, (10, 3))
    return {
        "name": name,
        "labels": list(labels or map(str, range(n))),
        "features": ["x", "y", "speed", "height"][:features],
        "episodes": [
            {"skill": k, "points": points.round(5).tolist()} for k, mine in enumerate(trajectories) for points in mine
        ],
        "thinned": None,
        "world": world if features == 2 else None,
        "results": [result(trajectories, similarity) for similarity in similarities],
        "measures": [
            {
                "name": "state coverage",
                "value": 120.0 + seed,
                "unit": "cells",
                "better": "higher",
                "settings": {"bin size": 0.1},
                "note": None,
            },
            {"name": "smoothness", "value": None, "unit": "", "better": None, "settings": {}, "note": "too few steps"},
        ],
        "curve": {"steps": (blocks * 10_000).tolist(), "scores": scores.tolist(), "ceiling": 7.773},
        "settings": {"skills": n, "similarity": similarities[0], "seed": seed, "ppo": {"epochs": 4, "clip": 0.2}},
        "videos": [],
    }


def report(*sets, **more):
    """A payload of these sets."""
    about = {"title": "Skills report", "versions": {"vendirl": "0.1.0", "python": "3.11"}, "command": "vendirl report"}
    return {**about, "sets": list(sets), "comparison": None, **more}
