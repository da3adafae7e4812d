"""In place of `vendirl.clusters.worker`: a process that starts at once, and does what its task says, a word a try.

{"folder": ..., "tries": ["die", "wait", "done"]}
"""

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path


def end_with_whoever_asked(folder):
    while os.read(0, 4096):
        pass
    (folder / "asked-to-end").touch()
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps({"end": "stopped", "why": "it was asked to"}).encode())
    os._exit(0)


def main():
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(0, 1)
    task = json.loads(line)
    folder = Path(task["folder"])
    number = 0
    while True:
        try:
            (folder / f"try-{number}").touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
    (folder / "pid").write_text(str(os.getpid()))
    what = task["tries"][number]
    threading.Thread(target=end_with_whoever_asked, args=(folder,), daemon=True).start()
    if what == "die":
        print("something is amiss", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "wait":
        signal.pause()
    why = "" if what == "done" else "because"
    print(json.dumps({"end": what, "why": why, "told": os.environ.get("TOLD")}), flush=True)
    os._exit(0)


main()
