"""What long campaigns have tried so far, in files, and by which code, so that they can be stopped and gone on with."""

from __future__ import annotations

import functools
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def code(*patterns: str) -> str:
    """A digest of the library, and of other files that say what is tried, by their patterns."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in ("src/**/*.py", *patterns) for path in ROOT.glob(pattern)}):
        found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def commit() -> str:
    """The commit that is tried, if there is one."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def read(path: Path | None, seed: int, digest: str) -> dict[str, Any]:
    """What was saved in a file, if it is of the same seed and code; what is of others is not added up."""
    if path is None or not path.exists():
        return {}
    saved: dict[str, Any] = json.loads(path.read_text())
    if (saved["seed"], saved["code"]) != (seed, digest):
        raise SystemExit(
            f"{path} is of seed {saved['seed']} and commit {saved['commit']}; with another seed or other code, give "
            "another --save"
        )
    return saved


def write(path: Path | None, seed: int, digest: str, content: dict[str, Any]) -> None:
    """Save what there is, so that the file is the old one or the new one, whole."""
    if path is None:
        return
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps({"seed": seed, "code": digest, "commit": commit(), **content}) + "\n")
    new.replace(path)
