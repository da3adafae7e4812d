"""Benchmarks, and their tables in the documents.

python benchmarks/run.py            the speed tables of the README
python benchmarks/run.py scale      the tables of docs/scale.md
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

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

ROOT = Path(__file__).parent.parent
SECTIONS = {
    "speed": (ROOT / "README.md", (reward, score, relabel, memory, throughput, diayn, cost, startup)),
    "scale": (ROOT / "docs" / "scale.md", (large, overlap)),
}


def write(path: Path, section: str, text: str) -> None:
    """Put text between a document's marks of a section."""
    content = path.read_text()
    pattern = re.compile(rf"(<!-- {section}: [^\n]* -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    assert pattern.search(content), f"{path.name} has no section {section}"
    path.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", content))


if __name__ == "__main__":
    for section in sys.argv[1:] or ["speed"]:
        path, parts = SECTIONS[section]
        # each in a process of its own: what one leaves behind, such as JAX already in use, is no concern of the next
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
            tables = [processes.submit(part.run).result() for part in parts]
        write(path, section, "\n".join(tables))
