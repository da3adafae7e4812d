"""`vendirl list`: what there is to choose from."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclasses.dataclass
class List:
    """List similarities, environments and methods, with one line each."""

    def run(self) -> None:
        """Print them."""
        from vendirl import environments, methods
        from vendirl.similarity import known

        console = Console()
        for title, rows in (
            ("Similarities", [(name, _first_line(factory)) for name, factory in known().items()]),
            ("Environments", [(name, environments.describe(name)) for name in environments.names()]),
            ("Methods", [(name, _first_line(factory)) for name, factory in methods.known().items()]),
        ):
            table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
            for name, line in rows:
                table.add_row(f"[bold]{name}[/]", line)
            console.print(table)


def _first_line(factory: Any) -> str:
    return (inspect.getdoc(factory) or "").split("\n")[0]
