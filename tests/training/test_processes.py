"""One run over several processes: the numbers of one, whoever is lost, and refusals of what was said wrongly."""

import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

import vendirl as vr
from vendirl.training import processes
from vendirl.training.processes import COORDINATOR, COUNT, INDEX, told

RUN = ["--env", "point", "--similarity", "mmd(scale=4)", "--skills", "3", "--scenes", "8", "--hidden", "8"]
RUN += ["--steps", "24000", "--devices", "2", "--refill", "shared", "--ppo.minibatches", "1"]
SETTINGS = {
    "skills": 3,
    "scenes": 8,
    "hidden": (8,),
    "steps": 24000,
    "devices": 2,
    "refill": "shared",
    "ppo": {"minibatches": 1},
}

# The second process ends itself when the others meet it for the third time, as if its host had failed.
DIES = """
import os, signal, sys
from vendirl import cli
from vendirl.training import processes

meet, met = processes.meet, []


def meet_twice(*arguments):
    met.append(arguments)
    if os.environ["VENDIRL_PROCESS"] == "1" and len(met) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return meet(*arguments)


processes.meet = meet_twice
sys.exit(cli.main(sys.argv[1:]))
"""


def weights(policy):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(policy) if hasattr(leaf, "dtype")]


def started(out, *arguments):
    """Two processes of one run, each with one device, which find each other on the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    told = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", COORDINATOR: where, COUNT: "2"}
    command = [sys.executable, "-c", DIES, "train", *arguments, "--out"]
    return [
        # only the first has the folder: no disk needs to be shared
        subprocess.Popen(
            [*command, str(out if index == 0 else out.parent / "nowhere")],
            env={**told, INDEX: str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for index in (0, 1)
    ]


def test_a_run_over_two_processes_is_that_of_one_and_outlives_a_lost_one(tmp_path):
    """The run of two processes, of which one is killed, goes on in one process with two devices, and ends bit for bit
    like a run that was never anything else."""
    first, second = started(tmp_path / "run", *RUN)
    said, _ = first.communicate(timeout=300)
    others, _ = second.communicate(timeout=60)
    assert second.returncode == -9, others
    assert first.returncode == 2, said
    assert "another process of the run has ended" in said
    assert "saved at epoch 20. Go on with: vendirl train --resume" in said
    assert "Traceback" not in said
    assert not (tmp_path / "nowhere").exists()
    whole = vr.train("point", "mmd(scale=4)", progress=False, **SETTINGS)
    rest = vr.train(out=tmp_path / "run", resume=True, progress=False)
    assert rest.saved_epoch == rest.done == whole.done > 20
    for a, b in zip(weights(rest.training.policy), weights(whole.training.policy), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [row["vendi_score"] for row in rest.history] == [row["vendi_score"] for row in whole.history]


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({COORDINATOR: "127.0.0.1:1234"}, "VENDIRL_PROCESSES and VENDIRL_PROCESS is not"),
        ({COORDINATOR: "127.0.0.1:1234", COUNT: "two", INDEX: "0"}, "must be a number of processes"),
        ({COORDINATOR: "127.0.0.1:1234", COUNT: "2", INDEX: "2"}, "from 0 to 1, but is '2'"),
        ({COORDINATOR: "127.0.0.1:1234", COUNT: "2", INDEX: "-1"}, "from 0 to 1, but is '-1'"),
        ({COORDINATOR: "127.0.0.1", COUNT: "2", INDEX: "0"}, "must be host:port"),
        ({COORDINATOR: "127.0.0.1:99999", COUNT: "2", INDEX: "0"}, "must be host:port"),
    ],
)
def test_what_the_environment_says_wrongly_is_refused(said, refusal):
    with pytest.raises(ValueError, match=refusal):
        told(said)


def test_what_the_environment_says_of_the_processes():
    assert told({}) is None
    assert told({COUNT: "1"}) is None
    assert told({"SLURM_STEP_NUM_TASKS": "1"}) is None
    assert told({"SLURM_STEP_NUM_TASKS": "4"}) == {}  # JAX asks Slurm for the rest
    assert told({"SLURM_STEP_NUM_TASKS": "4", COUNT: "1"}) is None
    where = told({COORDINATOR: "[::1]:1234", COUNT: "3", INDEX: "2"})
    assert where["coordinator_address"] == where["coordinator_bind_address"] == "[::1]:1234"
    assert (where["num_processes"], where["process_id"]) == (3, 2)


def test_nobody_trains_alone_what_several_should_train_together(monkeypatch):
    for name, value in ((COORDINATOR, "127.0.0.1:1234"), (COUNT, "2"), (INDEX, "0")):
        monkeypatch.setenv(name, value)
    with pytest.raises(RuntimeError, match=r"join_processes\(\), use `vendirl train`, or set VENDIRL_PROCESSES=1"):
        vr.train("point", skills=2, scenes=8, steps=400, progress=False)


def test_alone_there_is_nothing_to_agree_on():
    assert processes.count() == 1
    assert processes.first()
    assert processes.as_first_says({"a": [1]}) == {"a": [1]}
    assert processes.meet(15, {}) == 15
    with pytest.raises(KeyError), processes.refused_together():
        raise KeyError
