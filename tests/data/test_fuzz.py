"""Random, truncated and corrupted files and arguments: a result or a clear error. `benchmarks/fuzz.py` has 10,000."""

from functools import partial

import numpy as np
import pytest

from tests import fuzz_data, fuzz_npz
from vendirl.data import Trajectories, read

FILES, ARGUMENTS = 250, 150


def test_files(tmp_path):
    tally = {}
    for number in range(FILES):
        kind, path = fuzz_data.file(tmp_path, number)
        features = fuzz_data.chosen_features(number)
        found, said = fuzz_data.outcome(partial(read, path, features), (path, repr(path), "features"))
        assert found != "FAILED", f"input {number} ({kind}): {said}"
        assert found == "result" or kind not in fuzz_data.RIGHT or features is not None, f"input {number}: {said}"
        tally.setdefault(kind, []).append(found)
        fuzz_data.remove(tmp_path, number)
    assert not (tmp_path / "trap").exists(), "a pickle was unpickled"
    assert len(tally) >= len(fuzz_data.KINDS) - 1
    assert set(tally["truncated"]) == {"refused"}


def test_arguments():
    found = []
    for number in range(ARGUMENTS):
        given = fuzz_data.arguments(number)
        outcome, said = fuzz_data.outcome(partial(Trajectories.of, **given), fuzz_data.ARGUMENTS)
        assert outcome != "FAILED", f"input {number}: {said}"
        found.append(outcome)
    assert {"result", "refused"} == set(found)


@pytest.mark.parametrize("number", range(4))
def test_little_that_inflates_to_much_takes_no_memory(tmp_path, number):
    """Up to 9 GiB from a few megabytes, under a limit of 3 GiB: a few that the other tests might not draw."""
    path = tmp_path / "bomb.npz"
    path.write_bytes(fuzz_npz.bomb(np.random.default_rng(number), tmp_path))
    found, said = fuzz_data.outcome(partial(read, path), (str(path),))
    assert found == "refused", said
    assert "are compressed to" in said, "it was refused for another reason, and is no bomb"


def test_the_judge_sees_what_is_wrong():
    def hang():
        while True:
            pass

    def nameless():
        raise ValueError("no")

    def wrong():
        raise KeyError("observations")

    def greedy():
        return bytearray(2 * fuzz_data.MEMORY)

    for call in (hang, nameless, wrong, greedy):
        assert fuzz_data.outcome(call, ("observations",), seconds=0.1)[0] == "FAILED"
    assert fuzz_data.outcome(nameless, ("no",))[0] == "refused"
