"""`vendirl list`: what there is to choose from."""

from __future__ import annotations

import dataclasses
import inspect

from rich.console import Console
from rich.table import Table

from vendirl._text import verbatim
from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class List(Command):
    """List similarities, environments, methods, learners, tasks, measures and benchmarks, with one line each; or the
    features of one environment.

    Attributes:
        env: An environment whose features and actions are to be printed, such as envpool:Ant-v5; or a suite, such
            as envpool, whose environments are.
    """

    env: str | None = None

    def run(self) -> None:
        from vendirl import algorithms, boards, environments, methods
        from vendirl.evaluation.measures import known as known_measures
        from vendirl.similarity import known
        from vendirl.transfer import known as known_tasks
        from vendirl.transfer import known_sets, known_ways

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
                    *((f"{suite}:...", line) for suite, line in environments.known_suites().items()),
                ],
            ),
            ("Methods", [(name, _first_line(factory)) for name, factory in methods.known().items()]),
            ("Learners", [(name, _first_line(factory)) for name, factory in algorithms.known().items()]),
            ("Tasks", [(name, _first_line(factory)) for name, factory in known_tasks().items()]),
            ("Task sets", [(name, tasks.description) for name, tasks in known_sets().items()]),
            ("Ways of using skills", [(name, _first_line(factory)) for name, factory in known_ways().items()]),
            ("Measures", [(", ".join(names), "") for names in known_measures()]),
            ("Benchmarks", [(name, str(suite)) for name, suite in boards.known_suites().items()]),
        ):
            table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
            for name, line in rows:
                table.add_row(verbatim(name, style="bold"), verbatim(line))
            console.print(table)


def _list_environment(console: Console, name: str) -> None:
    from vendirl import environments

    if name in environments.known_suites():
        console.print(verbatim(" ".join(environments.ids(name))), soft_wrap=True)
        return
    world = environments.parse_environment(name)
    actions = world.actions
    what = (
        f"one of {actions.n} choices"
        if isinstance(actions, environments.Discrete)
        else f"a vector of {actions.size} numbers"
    )
    line = f" has episodes of {world.episode_length} steps. An action is {what}."
    console.print(verbatim(name, style="bold") + verbatim(line))
    names, visible = world.feature_names, world.visible
    for title, chosen in (
        ("Features that a policy sees", names[:visible]),
        ("Features that only similarities and methods see", names[visible:]),
    ):
        if chosen:
            console.print(f"[bold]{title}[/] ({len(chosen)}):", highlight=False)
            console.print(verbatim("  " + ", ".join(chosen)))
    moving = next((n for n in ("x_velocity", "velocity_0", *names) if n in names), names[0])
    console.print(verbatim(f'Use them by name: --similarity "mmd(scale=1).on({moving})"'))


def _first_line(factory: object) -> str:
    return (inspect.getdoc(factory) or "").split("\n")[0]
