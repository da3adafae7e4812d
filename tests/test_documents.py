"""What the documents show: every block of code runs, every command is one, and lines are not too long to read."""

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

import vendirl as vr
from vendirl import cli
from vendirl.show import films
from vendirl.training import problem
from vendirl.training.settings import Settings

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").glob("*.md"))
SCENES = 16
"""At most so many are trained on, where a document names more, or none."""
OURS = ("make ", "pip ", "python ", "sha256sum ")


@pytest.fixture
def briefly(monkeypatch, tmp_path, path):
    """In an empty folder, trainings of a single epoch of few scenes, whose ceiling is not sought for long, of which few
    episodes are kept, but for suites, which ask for so many of both, and whose films are small and short."""
    monkeypatch.chdir(tmp_path)
    if path.name != "benchmark.md":
        monkeypatch.setattr("vendirl.training.run.KEPT", 3)
        monkeypatch.setattr(Settings, "epochs", lambda self, steps_per_epoch: 1)
        within_budget = problem._within_budget

        def of_few_scenes(settings, steps, made):
            budget = min(settings.steps, SCENES * steps)  # of which the library makes fewer scenes, if need be
            scenes = within_budget(dataclasses.replace(settings, steps=budget), steps, made).scenes
            return dataclasses.replace(settings, scenes=scenes)

        monkeypatch.setattr(problem, "_within_budget", of_few_scenes)
    monkeypatch.setenv("MUJOCO_GL", "egl")  # bodies are drawn without a screen
    attainable = vr.attainable
    monkeypatch.setattr(
        "vendirl.training.ceilings.attainable", lambda *a, **k: attainable(*a, **k, restarts=2, iterations=20)
    )
    film = films.film
    monkeypatch.setattr(
        films, "film", lambda run, skills, seed, width, height, every: film(run, skills, seed, 64, 48, 50 * every)
    )


def blocks(path: Path) -> list[tuple[str, str]]:
    """(language, text) of the blocks of code in a document."""
    return re.findall(r"^```(\w*)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_of_code_runs(path, briefly, capsys):
    """In order, each in a namespace of its own; commands find the files that were made before. Of five seeds two are
    trained: others tell nothing new of a command."""
    for language, text in blocks(path):
        if language == "python":
            exec(compile(text, f"{path.name}", "exec"), {"__name__": "__main__"})
            continue
        assert language == "", f"a block of {language} is not known"
        for line in text.replace("\\\n", " ").splitlines():
            command = line.split("#")[0].strip()
            if command and not command.startswith(OURS):
                name, *arguments = shlex.split(command.replace("--seeds 5", "--seeds 2"))
                assert name == "vendirl", command
                assert cli.main(arguments) == 0, f"{command}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda path: path.name)
def test_lines_are_at_most_120_wide(path):
    long = [i for i, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 120 and "|" not in line]
    assert not long
    if path.name in ("README.md", "CONTRIBUTING.md"):
        assert all(len(line) <= 120 for line in path.read_text().splitlines())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_referred_to_is_there(path):
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
