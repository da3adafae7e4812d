"""`vendirl list`: what there is to choose from."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclasses.dataclass
class List:
    """List similarities, environments and methods, with one line each; or the features of one environment."""

    env: str | None = None
    """An environment whose features and actions to print, such as envpool:Ant-v5; or a suite, such as envpool, to print
    what it has."""

    def run(self) -> None:
        """Print them."""
        from vendirl import environments, methods
        from vendirl.similarity import known

        console = Console()
        if self.env is not None:
            _list_environment(console, self.env)
            return
        for title, rows in (
            ("Similarities", [(name, _first_line(factory)) for name, factory in known().items()]),
            (
                "Environments",
                [
                    *((name, environments.describe(name)) for name in environments.names()),
                    *((f"{suite}:...", line) for suite, line in environments.suites().items()),
                ],
            ),
            ("Methods", [(name, _first_line(factory)) for name, factory in methods.known().items()]),
        ):
            table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
            for name, line in rows:
                table.add_row(f"[bold]{name}[/]", line)
            console.print(table)


def _list_environment(console: Console, name: str) -> None:
    from vendirl import environments

    if name in environments.suites():
        console.print(*environments.ids(name), highlight=False, soft_wrap=True)
        return
    world = environments.parse_environment(name)
    actions = world.actions
    what = f"one of {actions.n} actions" if isinstance(actions, environments.Discrete) else f"{actions.size} numbers"
    console.print(f"[bold]{name}[/]: episodes of {world.episode_length} steps; acts by {what}", highlight=False)
    names, visible = world.feature_names, world.visible
    for title, chosen in (("Observed", names[:visible]), ("Beside the observation, for similarities", names[visible:])):
        if chosen:
            console.print(f"[bold]{title}[/] ({len(chosen)}):", highlight=False)
            console.print("  " + ", ".join(chosen), highlight=False)
    moving = next((n for n in ("x_velocity", "velocity_0", *names) if n in names), names[0])
    console.print(f'Use them by name: --similarity "mmd(scale=1).on({moving})"', highlight=False)


def _first_line(factory: Any) -> str:
    return (inspect.getdoc(factory) or "").split("\n")[0]
