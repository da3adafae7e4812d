"""`python -m vendirl.clusters.worker`: a process that carries out one task, and ends.

The task is the first line of its input. Its input then stays open for as long as whoever started it lives and wants it
to go on; when that ends, so does the process, after saving. What it prints is the outcome, and nothing else: what
libraries print goes to its standard error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import signal
import sys
import threading


def _end_with_whoever_asked() -> None:
    """Wait for the end of the input, and then ask this process to save and end."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    said = os.dup(1)
    os.dup2(2, 1)
    with open(os.dup(0), "rb", buffering=0) as asked:
        text = asked.readline().decode()
    threading.Thread(target=_end_with_whoever_asked, daemon=True).start()
    from vendirl.clusters.task import Outcome, Task, carried_out_here  # it imports JAX, which takes long

    found = json.loads(text)
    if found["imports"]:
        sys.path.insert(0, found["place"])
    try:
        for name in found["imports"]:
            importlib.import_module(name)
        outcome = carried_out_here(Task.from_text(text))
    except ImportError as error:
        outcome = Outcome("refused", f"imports: {error}")
    except (KeyboardInterrupt, SystemExit) as stop:
        outcome = Outcome("stopped", str(stop))
    with contextlib.suppress(BrokenPipeError):  # whoever asked may be gone
        os.write(said, json.dumps(dataclasses.asdict(outcome)).encode())
    sys.stderr.flush()
    os._exit(0)  # threads that hang in an environment would keep the process from ending


if __name__ == "__main__":
    main()
