"""Benchmarks, and their tables in the documents.

python benchmarks/run.py            the speed tables of the README
python benchmarks/run.py scale      the tables of docs/scale.md
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # LAPACK on small matrices is faster so: the rivals at their best

import cost
import diayn
import large
import memory
import overlap
import relabel
import reward
import score
import startup
import throughput
from marks import ROOT, write

SECTIONS = {
    "speed": (ROOT / "README.md", (reward, score, relabel, memory, throughput, diayn, startup)),
    "scale": (ROOT / "docs" / "scale.md", (cost, large, overlap)),
}


if __name__ == "__main__":
    for section in sys.argv[1:] or ["speed"]:
        path, parts = SECTIONS[section]
        # each in a process of its own: what one leaves behind, such as JAX already in use, is no concern of the next
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
            tables = [processes.submit(part.run).result() for part in parts]
        write(path, section, "\n".join(tables))
