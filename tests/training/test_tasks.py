"""What suits a task holds where the environment's own reward is all that is asked for."""

import pytest

from vendirl.algorithms import SAC
from vendirl.methods import parse_method
from vendirl.training.recipes import recommended, said_of_defaults
from vendirl.training.settings import Settings
from vendirl.training.tasks import TASKS, suits

PENDULUM = "gymnasium:Pendulum-v1"


def of(env, **given):
    return Settings.named(recommended(given["method"], {"env": env, **given}))


@pytest.mark.parametrize("learner", TASKS)
def test_a_task_is_learned_as_tasks_are(learner):
    settings = of(PENDULUM, method="environment", learner=learner)
    settings.check()
    assert (settings.skills, settings.time, settings.episode_length) == (1, False, None)
    assert getattr(settings, learner) == TASKS[learner][learner] == settings.algorithm
    assert "suit the task" in said_of_defaults(parse_method("environment"), settings, settings.algorithm)
    ours = of("gymnasium:HalfCheetah-v5", method="environment", learner=learner)
    assert (ours.episode_length, ours.separate, ours.similarity) == (None, False, Settings().similarity)


def test_what_is_asked_for_wins_and_skills_are_learned_as_before():
    settings = of(PENDULUM, method="environment", learner="sac(ratio=0.5)", scenes=4, sac={"batch": 32})
    assert (settings.scenes, settings.algorithm.ratio, settings.algorithm.batch) == (4, 0.5, 32)
    assert of(PENDULUM, method="vendirl + 0.1*environment", learner="sac").sac == SAC()
    assert suits("point", "sac") == suits("point(noise=0.1)", "sac") == suits(PENDULUM, "mine") == {}
    assert suits(object(), "ppo")["skills"] == 1
    assert of("point", method="environment") == Settings(method="environment")
