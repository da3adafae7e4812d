"""The house: rooms that know only those below them, files of one idea, and a plan of it that is true."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vendirl"
FILES = sorted(SOURCE.rglob("*.py"))
OTHERS = sorted(path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))


def layers() -> list[str]:
    """The rooms, those that know most first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [name for layer in contracts[0]["layers"] for name in re.split(r"\s*[:|]\s*", layer)]


def test_rooms_know_only_those_below_them():
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_plan_of_the_house_in_contributing_is_true():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    shown = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    assert shown == [name for name in reversed(layers()) if not name.startswith("_")]
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(shown)


def test_the_version_is_that_of_the_package_wherever_it_stands():
    version = re.search(r'^__version__ = "(.+)"$', (SOURCE / "__init__.py").read_text(), re.MULTILINE)[1]
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version


def test_tests_lie_where_what_they_test_lies():
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    missing = [str(folder) for folder in folders if not (SOURCE / folder).is_dir()]
    assert not missing
    for folder in folders:
        assert (ROOT / "tests" / folder / "__init__.py").exists(), folder


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_one_idea_that_it_names(path):
    tree = ast.parse(path.read_text())
    if path.name not in ("__main__.py",):
        assert ast.get_docstring(tree), "the first line of a file says what it is for"
    check_reach_and_length(path)


def test_so_are_files_beside_the_source():
    for path in OTHERS:
        check_reach_and_length(path)


def check_reach_and_length(path):
    text = path.read_text()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            private = [name.name for name in node.names if re.match(r"_[^_]", name.name)]
            assert not private, f"{path}: {private[0]} is private to {node.module}"
    if len(text.splitlines()) > 400:
        assert "long because" in (ast.get_docstring(tree) or ""), f"{path}: above 400 lines, so its first lines say why"
