"""`evaluate`: scores with intervals, nulls and ceilings that can be trusted."""

import itertools
import json
import math

import numpy as np
import pytest

import vendirl as vr
from vendirl.evaluation.resampling import shuffled_deals, split_deals


def noisy(means, episodes, seed, noise=1.0, T=4):
    """(n, episodes, T, D): each episode lies around its skill's mean, off by a noise of its own."""
    generator = np.random.default_rng(seed)
    means = np.asarray(means, float)
    offsets = noise * generator.normal(size=(len(means), episodes, 1, means.shape[1]))
    return means[:, None, None] + offsets + 0.01 * generator.normal(size=(len(means), episodes, T, means.shape[1]))


MEANS = [[0, 0], [1.5, 0], [0, 1.5], [1.2, 1.2]]


@pytest.mark.parametrize(
    "similarity",
    [
        "mmd",
        "0.5*cosine(center=0.3) + 0.5*covariance(scale=2)",
        "mmd.on(0)*covariance",
        "overlap",
        "final_state",
        "wasserstein",
    ],
)
def test_kernel_matrices_of_deals_are_those_of_the_dealt_episodes(similarity):
    data = vr.Trajectories.of(noisy(MEANS, 6, 0, T=8))
    k = vr.similarity.parse(similarity).resolve(data.features, 2)
    generator = np.random.default_rng(1)
    deals = split_deals(data.of_skill, 3, generator) + shuffled_deals(data.of_skill, 3, generator)
    episodes = list(data)
    found = [k.regroup(episodes).matrices([deal])[0] for deal in deals]
    assert np.allclose(k.regroup(episodes).matrices(deals[:3]), found[:3], rtol=1e-12)
    for K, deal in zip(found, deals, strict=True):
        expected = vr.kernel_matrix(k, [[episodes[e] for e in chosen] for chosen in deal])
        np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-12)


def test_the_score_is_the_effective_number_and_all_parts_agree():
    x = noisy(MEANS, 5, 0)
    result = vr.evaluate(x, "mmd", measures=False)["mmd"]
    assert result.vendi_score == pytest.approx(vr.effective_number(x, vr.similarity.mmd()), rel=1e-9)
    assert result.profile[1.0] == pytest.approx(result.vendi_score)
    scores = list(result.profile.values())
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(scores))
    assert result.profile[math.inf] == pytest.approx(1 / result.spectrum[0])
    assert result.spectrum.sum() == pytest.approx(1)
    assert result.ceiling == 4
    K = result.kernel - 9 * np.eye(4)
    assert [j for j, _ in result.twins] == list(K.argmax(1))
    assert result.excess == pytest.approx(result.vendi_score - result.null)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    x = noisy(np.zeros((8, 2)), 8, 0)
    first, again, other = (vr.evaluate(x, "mmd", seed=seed, measures=False)[0].to_json() for seed in (0, 0, 1))
    assert first == again
    assert first["interval"] != other["interval"]
    assert first["vendi_score"] == other["vendi_score"]


def test_identical_skills_are_indistinguishable_from_the_null_and_different_ones_are_not():
    small = [vr.evaluate(noisy(np.zeros((8, 2)), 5, s), "mmd", measures=False)[0].p_value for s in range(40)]
    assert np.mean(np.array(small) < 0.05) < 0.15  # 5 % expected; 40 draws
    assert 0.3 < np.mean(small) < 0.7
    result = vr.evaluate(noisy(np.zeros((8, 2)), 5, 0, T=20), "overlap", measures=False)[0]
    assert result.p_value > 0.05
    apart = vr.evaluate(noisy(np.array(MEANS), 20, 0, noise=0.3), "mmd", measures=False)[0]
    assert apart.p_value < 0.02
    assert apart.excess > 1


def test_one_episode_per_skill_has_no_interval_and_a_null_that_is_its_score():
    result = vr.evaluate(noisy(MEANS, 1, 0), "mmd", measures=False)[0]
    assert result.repetition is None
    assert (
        "it takes at least 8 episodes of each skill and 40 in all, but skill 0 has 1; 10 of each"
        in result.interval_note
    )
    assert result.verdict == "whether it is more than chance cannot be decided with so few episodes"
    assert result.null == pytest.approx(result.vendi_score)
    assert result.p_value == 1


def test_uneven_episodes_and_ragged_lengths():
    generator = np.random.default_rng(0)
    skills = [[generator.normal(i, 1, size=(T, 2)) for T in lengths] for i, lengths in enumerate([(3, 9, 4), (5, 5)])]
    for similarity in ("mmd", "overlap"):
        result = vr.evaluate(skills, similarity, measures=False)[0]
        assert result.vendi_score == pytest.approx(vr.effective_number(skills, vr.similarity.parse(similarity)))
        assert result.repetition is None


def test_without_resamples_there_is_no_interval_and_all_else_is_the_same():
    few, none = (vr.evaluate(noisy(MEANS, 12, 0), "mmd", resamples=r, shuffles=20, measures=False)[0] for r in (20, 0))
    assert few.interval is not None or few.repetition_note
    assert none.repetition is none.limit is None
    assert none.repetition_note == "none was asked for (resamples=0)"
    assert (none.vendi_score, none.null, none.p_value) == (few.vendi_score, few.null, few.p_value)
    vr.evaluate(noisy(MEANS, 12, 0), "mmd", resamples=2, shuffles=2, measures=False)  # the fewest there can be


def test_many_observations_are_thinned_for_the_resamples_only(monkeypatch):
    import vendirl.evaluation.resampling as resampling

    x = np.random.default_rng(0).normal(size=(5, 8, 20, 2)).cumsum(2)
    whole = vr.evaluate(x, "overlap", measures=False)[0]
    monkeypatch.setattr(resampling, "FEW", 400)
    thin = vr.evaluate(x, "overlap", measures=False)[0]
    assert thin.vendi_score == whole.vendi_score
    assert "every 2th" in thin.interval_note
    assert "every 2th" in str(thin)
    assert whole.interval_note is None


def test_results_are_plain_json_and_found_by_similarity():
    evaluation = vr.evaluate(noisy(MEANS, 3, 0), ["mmd", vr.similarity.overlap()], shuffles=5, resamples=5)
    plain = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert set(plain["results"]) == {"mmd", "overlap"}
    assert plain["results"]["mmd"]["profile"]["inf"] == pytest.approx(evaluation["mmd"].profile[math.inf])
    assert evaluation[vr.similarity.overlap()].similarity == "overlap"
    assert "mmd: Vendi Score" in str(evaluation)
    assert {m.name for m in evaluation.measures} >= {"state coverage", "mutual information", "discriminability"}
    with pytest.raises(KeyError, match="was not evaluated"):
        evaluation["cosine"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"similarities": []}, "similarities is empty"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"resamples": 1}, "resamples must be at least 2, or 0 for no intervals"),
        ({"shuffles": 0}, "shuffles must be"),
        ({"seed": -1}, "seed must be"),
        ({"similarities": "mmd.on(7)"}, "7"),
        ({"similarities": "mdm"}, "did you mean 'mmd'"),
        ({"similarities": "overlap(neighbours=50)"}, "needs at least 51 observations"),
        ({"q": -1.0}, "q must be"),
    ],
)
def test_bad_arguments_are_refused_with_the_reason(changes, message):
    settings = {"similarities": "mmd", "measures": False, **changes}
    with pytest.raises(ValueError, match=message):
        vr.evaluate(noisy(MEANS, 3, 0), **settings)


def test_values_that_are_not_finite_are_refused_with_their_place():
    x = noisy(MEANS, 3, 0)
    x[2, 1, 3, 0] = np.nan
    with pytest.raises(ValueError, match="'feature 0' at step 3 of episode 7 is nan"):
        vr.evaluate(x, "mmd")
