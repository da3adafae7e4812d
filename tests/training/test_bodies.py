"""What suits a body holds where nothing else was asked for, is kept as text, and leaves the plane as it was."""

import dataclasses
import re

from vendirl.algorithms import PPO
from vendirl.cli.compare import Compare
from vendirl.cli.train import Train, asked, settings_of, with_said
from vendirl.clusters.comparing import contestants
from vendirl.methods import parse_method
from vendirl.similarity import parse
from vendirl.training.bodies import BODIES, body_of, same_world, world_of
from vendirl.training.going_on import as_asked
from vendirl.training.problem import build
from vendirl.training.recipes import recommended, said_of_defaults
from vendirl.training.settings import Settings

RUNNER, CRAWLER = "gymnasium:HalfCheetah-v5", "gymnasium:Ant-v5"


def of(env, **given):
    return Settings.named(recommended(given.get("method", "vendirl"), {"env": env, **given}))


def test_rows_hold_settings_that_there_are_and_similarities_that_parse():
    for body in BODIES:
        assert {*body.task} == {"similarity", "episode_length", "steps"}
        assert {*body.learning} <= {field.name for field in dataclasses.fields(Settings)}
        assert "_" in str(parse(body.task["similarity"]))  # velocities, by name
        Settings(**body.task, **body.learning).check()
    for suite in ("envpool", "gymnasium"):
        for name in ("Ant", "HalfCheetah", "Walker2d", "Hopper", "Humanoid", "Swimmer"):
            assert body_of(f"{suite}:{name}-v5") is not None
    names = "brax:ant brax:hopper playground:CheetahRun playground:WalkerWalk envpool:QuadrupedWalk-v1"
    assert all(body_of(name) for name in names.split())
    assert body_of("point") is body_of("envpool:Pendulum-v1") is body_of("a:brax:ant") is None


def test_a_body_s_name_alone_says_how_its_skills_are_learned_and_the_settings_keep_it():
    settings = of(RUNNER)
    assert (settings.similarity, settings.episode_length, settings.scenes) == ("mmd(scale=1).on(x_velocity)", 100, 64)
    assert (settings.separate, settings.log_std, settings.ppo.discount) == (True, -1.0, 0.99)
    assert Settings.from_json(settings.to_json()) == settings
    decided, loop = build(settings)
    assert loop.problem.environment.episode_length == 100
    said = said_of_defaults(loop.method, decided, loop.algorithm)
    for part in ("a body that runs", "episode_length=100", "scenes=64", "ppo.discount=0.99"):
        assert part in said
    assert "seed" not in said
    assert of("point") == Settings() == as_asked({}, None)[0]
    assert said_of_defaults(parse_method("vendirl"), Settings(), Settings().algorithm) is None


def test_what_is_asked_for_wins():
    settings = of(f"{RUNNER}(episode_length=30)", scenes=16, separate=False, ppo={"discount": 0.5})
    assert (settings.episode_length, settings.scenes, settings.separate) == (None, 16, False)
    assert settings.ppo == PPO(learning_rate=2e-3, discount=0.5, gae_lambda=0.95)
    assert "discount" not in said_of_defaults(parse_method("vendirl"), settings, settings.algorithm)
    assert of(RUNNER, ppo=PPO()).ppo == PPO()
    words = ("train", "--env", RUNNER, "--scenes", "256", "--ppo.discount=1", "--similarity", "mmd(scale=4)")
    command = Train(env=RUNNER, arguments=words)
    settings = settings_of(command)  # though all of these are what is usual
    assert (settings.scenes, settings.ppo.discount, settings.similarity) == (256, 1.0, "mmd(scale=4)")
    assert (settings.ppo.gae_lambda, settings.episode_length) == (0.95, 100)


def test_a_release_says_how_its_method_learns_and_vectors_have_no_network_each():
    settings = of(RUNNER, method="metra-published")
    assert (settings.scenes, settings.separate, settings.log_std, settings.learner) == (8, False, -0.5, "sac")
    assert (settings.episode_length, settings.ppo) == (100, Settings().ppo)
    settings = of(RUNNER, method="metra")
    assert (settings.scenes, settings.separate) == (64, False)
    assert of(RUNNER, method="metra(discrete=True)").separate


def test_settings_of_the_world_itself_are_added_where_its_text_does_not_have_them():
    world = of(CRAWLER).env
    assert world == f"{CRAWLER}(terminate_when_unhealthy=False, include_cfrc_ext_in_observation=False)"
    assert world_of(world) == world
    said = "(terminate_when_unhealthy=True, healthy_z_range=(0.3, 1.0),)"
    assert world_of(CRAWLER + said) == (
        f"{CRAWLER}(terminate_when_unhealthy=True, healthy_z_range=(0.3, 1.0), include_cfrc_ext_in_observation=False)"
    )
    assert world_of(f"{CRAWLER}()") == world
    assert world_of("no (environment") == "no (environment"
    assert f"env={world}" in said_of_defaults(parse_method("vendirl"), of(CRAWLER), PPO())


def test_a_run_that_is_there_is_gone_on_with_by_the_name_that_it_was_begun_with(tmp_path):
    theirs = of(CRAWLER)
    words = ("train", "--env", CRAWLER, "--resume")
    assert with_said(theirs, Train(env=CRAWLER, resume=True, arguments=words)) == theirs
    assert same_world(CRAWLER, CRAWLER) == CRAWLER  # of a run that is older than the table
    other = with_said(theirs, Train(env="point", arguments=("--env", "point")))
    assert other.env == "point"


def test_methods_side_by_side_have_what_suits_the_body(tmp_path):
    words = ("compare", "--out", "x", "--env", RUNNER, "--seeds", "1")
    command = Compare(out=tmp_path, env=RUNNER, seeds=1, arguments=words)
    settings, given = Settings(**asked(command)), {*command.given, "steps"}
    entrants = contestants(["diayn", "metra", "vendirl"], ["mmd(scale=2).on(x_velocity)"], settings, given)
    assert [entrant.settings.separate for entrant in entrants] == [True, False, True]
    assert {entrant.settings.episode_length for entrant in entrants} == {100}
    assert {entrant.settings.steps for entrant in entrants} == {1e6}
    assert {re.sub("scale=1", "", entrant.settings.similarity) for entrant in entrants} == {
        "mmd(scale=2).on(x_velocity)"
    }
