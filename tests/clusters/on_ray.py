"""What `test_executors` does on Ray, in a process whose network is loopback alone."""

import os
import sys
from pathlib import Path

from tests.clusters.stubs import SURROUNDINGS, appears, booby_trapped, carried_out_by_stub, task
from vendirl.clusters.places import opened


def main(folder):
    interfaces = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    assert interfaces == ["lo"], interfaces
    os.chdir(booby_trapped(folder / "trap"))
    with opened("ray(cores=1)", 1, 1, folder) as executor:
        tasks = [task(folder / "a", "done"), task(folder / "b", "die"), task(folder / "c", "wait")]
        futures = [executor.submit(carried_out_by_stub, asked, SURROUNDINGS) for asked in tasks[:2]]
        assert futures[0].result(300) == {"end": "done", "why": ""}
        assert futures[1].result(300)["end"] == "lost"
        executor.submit(carried_out_by_stub, tasks[2], SURROUNDINGS)
        appears(folder / "c" / "pid")
    assert (folder / "c" / "asked-to-end").exists()
    assert not (folder / "trap" / "sprung").exists()  # modules of the current folder are not looked for


main(Path(sys.argv[1]))
