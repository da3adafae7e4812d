"""What a stranger's folder says is read in little time and memory, whatever it says."""

import json
import tracemalloc

import jax
import pytest

from tests.fuzz_judging import in_time
from vendirl.cli import main
from vendirl.training import reading
from vendirl.training.folder import fingerprints
from vendirl.training.settings import Settings


def test_a_name_twice_among_very_many_is_found_in_little_time():
    names = [f'"{i:x}":0' for i in range(200_000)]
    content = ("{" + ",".join([*names, names[-1]]) + "}").encode()
    assert len(content) < reading.MOST_OF_A_TABLE
    with in_time(5.0), pytest.raises(ValueError, match="'30d3f' is in one table twice"):
        reading.parse_table(content)


def test_very_many_values_are_refused_before_they_take_memory():
    """They took twenty times the size of the file: 1.6 GB for a board of 64 MB."""
    content = b'{"entries": [' + b"{}," * reading.MOST_VALUES + b"{}]}"
    tracemalloc.start()
    with in_time(1.0), pytest.raises(ValueError, match="more than 4,194,304 values"):
        reading.parse_table(content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1e6


@pytest.mark.parametrize("depth", [reading.MOST_NESTED + 1, 900, 10**5])
def test_what_is_nested_too_deeply_to_be_written_again_is_not_read(depth):
    assert reading.parse_table(b'{"x": ' + b"[" * (reading.MOST_NESTED - 1) + b"]" * (reading.MOST_NESTED - 1) + b"}")
    with pytest.raises(ValueError, match="nested too deeply"):
        reading.parse_table(b'{"x": ' + b"[" * depth + b"]" * depth + b"}")


def test_what_a_run_is_said_to_have_been_is_left_out_where_it_cannot_be_understood(tmp_path):
    earlier = [{"fingerprints": [[]]}, {"fingerprints": [{}]}, {"fingerprints": 3}, [], {"fingerprints": ["a"]}]
    (tmp_path / "settings.json").write_text(json.dumps({"settings": Settings().to_json(), "earlier": earlier}))
    found = fingerprints(tmp_path, Settings())
    assert "a" in found
    assert all(isinstance(name, str) for name in found)


def test_a_run_that_memory_does_not_hold_is_refused_in_a_line(tmp_path, monkeypatch, capsys):
    def exhausted(key):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8000068000040 bytes.")

    monkeypatch.setattr("vendirl.training.beginning.Program", lambda start: exhausted)
    settings = Settings(hidden=(10**6, 10**6), steps=4e5)
    (tmp_path / "settings.json").write_text(json.dumps({"settings": settings.to_json()}))
    assert main(["policy", str(tmp_path)]) == 2
    assert "not enough memory to begin a run of skills=8, hidden=[1000000, 1000000]" in capsys.readouterr().err


def test_very_many_lines_of_metrics_take_little_memory(tmp_path):
    """They took as much as the largest file that is read, and eight times their own size to be split."""
    row = b'{"epoch": 1, "env_steps": 1, "wall_seconds": 1, "vendi_score": 1}'
    (tmp_path / "metrics.jsonl").write_bytes(b"\n" * 2_000_000 + b"x\n\ny\n" + row + b"\n" + row[:-9])
    tracemalloc.start()
    with pytest.warns(UserWarning, match=r"line 2000001 and 1 more cannot be read"):
        rows = reading.read_history(tmp_path, 10)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row["epoch"] for row in rows] == [1]
    assert most < 8e6
