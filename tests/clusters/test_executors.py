"""Executors on this machine, with processes that train nothing: futures, kills, queuing again, and an end in time."""

import os
import signal
import subprocess
import sys
from concurrent.futures import wait
from pathlib import Path

import pytest

from tests.clusters.stubs import ROOT, SURROUNDINGS, appears, booby_trapped, carried_out_by_stub, task
from vendirl.clusters.on_slurm import private
from vendirl.clusters.places import Slurm, opened, parse_place


@pytest.fixture(autouse=True)
def found_by_others(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", SURROUNDINGS["PYTHONPATH"])


@pytest.mark.parametrize("place", ["local", "submitit-local"])
def test_each_task_has_a_future_and_one_that_is_killed_costs_no_other(place, tmp_path, monkeypatch):
    monkeypatch.chdir(booby_trapped(tmp_path / "trap"))
    with opened(place, 2, 1, tmp_path / "jobs") as executor:
        tasks = [task(tmp_path / "a", "done"), task(tmp_path / "b", "die"), task(tmp_path / "c", "wait")]
        futures = [executor.submit(carried_out_by_stub, asked, SURROUNDINGS) for asked in tasks]
        assert futures[0].result(120) == {"end": "done", "why": ""}
        assert futures[1].result(120)["why"] == "its process ended by SIGKILL: something is amiss"
        appears(tmp_path / "c" / "pid")
    wait(futures, 120)  # what was still running was asked to end
    assert (tmp_path / "c" / "asked-to-end").exists()
    assert not (tmp_path / "trap" / "sprung").exists()  # modules of the current folder are not looked for
    if place == "submitit-local":  # whose pickles lie in a folder of their own
        assert [path.stat().st_mode & 0o777 for path in (tmp_path / "jobs").iterdir()] == [0o700]


def test_a_job_that_is_preempted_saves_and_is_queued_again(tmp_path):
    with opened("submitit-local", 1, 1, tmp_path / "jobs") as executor:
        future = executor.submit(carried_out_by_stub, task(tmp_path / "a", "wait", "done"), SURROUNDINGS)
        appears(tmp_path / "a" / "pid")
        (job,) = executor.jobs.values()
        for child in Path(f"/proc/{job.job_id}/task/{job.job_id}/children").read_text().split():
            os.kill(int(child), signal.SIGUSR2)  # as Slurm tells a job that its time is over
        assert future.result(120) == {"end": "done", "why": ""}
    assert (tmp_path / "a" / "asked-to-end").exists()


def test_slurm_is_told_what_a_place_says(tmp_path, monkeypatch):
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/sh\ncp $1 {tmp_path}/submitted.sh\necho Submitted batch job 7\n")
    sbatch.chmod(0o755)
    (tmp_path / "bin" / "srun").symlink_to(sbatch)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    place = parse_place("slurm(partition='long', minutes=30, memory=4, setup='module load x')")
    assert isinstance(place, Slurm)
    executor = place.open(2, 2, tmp_path / "jobs")
    for name in "ab":
        executor.submit(carried_out_by_stub, task(tmp_path / name, "done"), SURROUNDINGS)
    script = appears(tmp_path / "submitted.sh")
    executor.shutdown(wait=False)
    for line in ("partition=long", "time=30", "mem=4GB", "cpus-per-task=2", "array=0-1%2", "signal=USR2@120"):
        assert f"#SBATCH --{line}\n" in script, script
    assert "\nmodule load x\n" in script
    assert f"{sys.executable} -P -u" in script


def test_a_path_that_slurm_would_read_as_something_else_is_refused(tmp_path):
    """Results were looked for where %j had become the number of the job, so that all runs were lost."""
    with pytest.raises(ValueError, match=r"has '%j' in its path.* choose another --out"):
        private(tmp_path / "50%job" / "jobs")
    assert private(tmp_path / "50% of it" / "jobs").exists()


def test_ray_in_a_network_of_its_own(tmp_path):
    """Ray listens on all addresses, so this has a network namespace with loopback alone."""
    command = [sys.executable, "-m", "tests.clusters.on_ray", str(tmp_path)]
    alone = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', *command]
    done = subprocess.run(alone, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pickles_lie_in_a_folder_of_their_own_that_nobody_else_can_write_in(tmp_path, monkeypatch):
    jobs = tmp_path / "jobs"
    jobs.mkdir(mode=0o777)
    jobs.chmod(0o777)
    (jobs / "7_result.pkl").write_bytes(b"somebody's")
    first, second = private(jobs), private(jobs)
    assert first != second
    assert first.parent == second.parent == jobs
    for folder in (jobs, first, second):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(first.iterdir())
    monkeypatch.setattr("os.geteuid", lambda: jobs.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        private(jobs)
    (tmp_path / "link").symlink_to(jobs)
    with pytest.raises(ValueError, match="is no folder"):
        private(tmp_path / "link")
