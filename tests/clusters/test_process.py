"""A process for each task: what it says, how it ended if it says nothing, and that it ends with whoever asked."""

import os
import signal
import subprocess
import sys
import threading

from tests.clusters.stubs import ROOT, SURROUNDINGS, appears, gone, stubbed, task  # noqa: F401
from vendirl.clusters.process import carried_out, end_all


def test_what_a_process_says_is_the_outcome(tmp_path, stubbed):  # noqa: F811
    assert carried_out(task(tmp_path / "a", "done"), SURROUNDINGS) == {"end": "done", "why": ""}
    assert carried_out(task(tmp_path / "b", "refused"), SURROUNDINGS) == {"end": "refused", "why": "because"}


def test_one_that_was_killed_is_lost_with_the_reason(tmp_path, stubbed):  # noqa: F811
    found = carried_out(task(tmp_path / "a", "die"), SURROUNDINGS)
    assert found == {"end": "lost", "why": "its process ended by SIGKILL: something is amiss"}


def test_all_are_asked_to_end(tmp_path, stubbed):  # noqa: F811
    found = []
    asked = task(tmp_path / "a", "wait")
    thread = threading.Thread(target=lambda: found.append(carried_out(asked, SURROUNDINGS)))
    thread.start()
    appears(tmp_path / "a" / "pid")
    end_all()
    thread.join(60)
    assert found == [{"end": "stopped", "why": "it was asked to"}]


def test_a_process_ends_with_whoever_started_it_however_that_ends(tmp_path):
    program = (
        "import sys; from vendirl.clusters import process; process.WORKER = 'tests.clusters.stub'; "
        "process.carried_out(sys.argv[1], {})"
    )
    command = [sys.executable, "-c", program, task(tmp_path / "a", "wait")]
    parent = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **SURROUNDINGS})
    pid = int(appears(tmp_path / "a" / "pid"))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    gone(pid)
    assert (tmp_path / "a" / "asked-to-end").exists()
