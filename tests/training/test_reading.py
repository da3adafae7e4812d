"""What a stranger's folder says is read in little time and memory, whatever it says."""

import tracemalloc

import pytest

from tests.fuzz_judging import in_time
from vendirl.training import reading


def test_a_name_twice_among_very_many_is_found_in_little_time():
    names = [f'"{i:x}":0' for i in range(200_000)]
    content = ("{" + ",".join([*names, names[-1]]) + "}").encode()
    assert len(content) < reading.MOST_OF_A_TABLE
    with in_time(5.0), pytest.raises(ValueError, match="'30d3f' is in one table twice"):
        reading.parse_table(content)


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
