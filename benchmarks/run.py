"""Every speed benchmark in one run, and their tables in the README."""

from __future__ import annotations

import os
import re
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # LAPACK on small matrices is faster so: the rivals at their best

import cost
import diayn
import memory
import relabel
import reward
import score
import startup
import throughput

README = Path(__file__).parent.parent / "README.md"


def write(section: str, text: str) -> None:
    """Put text between the README's marks of a section."""
    content = README.read_text()
    pattern = re.compile(rf"(<!-- {section}: [^\n]* -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    assert pattern.search(content), f"README.md has no section {section}"
    README.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", content))


PARTS = (reward, score, relabel, memory, throughput, diayn, cost, startup)

if __name__ == "__main__":
    write("speed", "\n".join(part.run() for part in PARTS))
