"""Tables in documents, between marks that say which command made them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def write(path: Path, section: str, text: str) -> None:
    """Put text between a document's marks of a section."""
    content = path.read_text()
    pattern = re.compile(rf"(<!-- {section}: [^\n]* -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    assert pattern.search(content), f"{path.name} has no section {section}"
    path.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", content))
