"""Arguments that are refused before a command begins: in one line, as everything else that is refused."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def in_one_line() -> Iterator[None]:
    """Say in one line on standard error what tyro would say in a box before it exits."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    except SystemExit as stop:
        if stop.code and said.getvalue():
            print(f"vendirl: {one_line(said.getvalue())}", file=sys.stderr)
        raise


def one_line(box: str) -> str:
    """What a box of tyro's says: what is wrong, what was probably meant, and where help is."""
    sections: list[list[str]] = [[]]
    for line in (line.strip(" │|") for line in box.splitlines()):
        if line and (line[0] in "╭╰" or set(line) <= {"-", "─"}):
            sections.append([])
        elif line:
            sections[-1].append(line)
    first, *others = [lines for lines in sections[1:] if lines] or sections  # before it is the title, or nothing
    message = " ".join(first).replace("__tyro-dummy-inner__.", "--").rstrip(".")
    for lines in others:
        if lines[0].startswith("Perhaps you meant") and len(lines) > 1:
            message += f"; perhaps you meant {lines[1]}"
        elif lines[0].startswith(("For full helptext", "Available")):
            message += f"; {' '.join(lines)[0].lower()}{' '.join(lines)[1:]}"
    return message if len(message) <= 1000 else message[:997] + "..."
