"""`vendirl policy`: one skill of a run as a file that acts without JAX."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import tyro
from rich.console import Console

from vendirl._text import verbatim
from vendirl.cli.command import Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy(Command):
    """Write one skill of a run as a small file, for vr.load_policy, which needs NumPy alone, or for ONNX runtimes.

    vendirl policy runs/cheetah --skill 3 --out skill.npz

    Attributes:
        folder: The folder of the run.
        skill: The number of the skill. Where skills are vectors it may be a vector such as 0.6,0.8, or a mixture such
            as 3:0.5,4:0.5.
        out: The file to write: name.npz, or name.onnx, which needs pip install 'vendirl[onnx]'.
        seed: Which seed, if the run has several. By default it is the best.
        trust: Make the environment that the run names even if that imports a module, which runs its code. Use it
            for your own runs, and for those of people you trust.
    """

    folder: tyro.conf.Positional[Path]
    skill: str = "0"
    out: Path = Path("skill.npz")
    seed: int | None = None
    trust: bool = False

    def run(self) -> None:
        from vendirl.training.beginning import load

        chosen = read_skill(self.skill)
        this = load(self.folder, trust=self.trust)
        first, seeds = this.settings.seed, this.settings.seeds
        if self.seed is not None and not first <= self.seed < first + seeds:
            raise ValueError(f"seed must be one of the run's, {first} to {first + seeds - 1}")
        policy = this.policy(chosen, None if self.seed is None else self.seed - first)
        path = policy.save(self.out)
        Console().print(verbatim(f"wrote {path} ({path.stat().st_size:,} bytes): {policy!r}"), soft_wrap=True)


def read_skill(text: str) -> int | list[float] | dict[int, float]:
    """A number, a vector such as 0.6,0.8, or a mixture such as 3:0.5,4:0.5."""
    try:
        parts = text.split(",")
        if ":" in text:
            pairs = [part.split(":") for part in parts]
            return {int(number): float(weight) for number, weight in pairs}
        return int(text) if len(parts) == 1 and text.strip().isdecimal() else [float(part) for part in parts]
    except ValueError:
        kinds = "a number, a vector such as 0.6,0.8, or a mixture such as 3:0.5,4:0.5"
        raise ValueError(f"--skill must be {kinds}, but is {text[:80]!r}") from None
