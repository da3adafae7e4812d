"""The attainable scores of the benchmark suites, which fractions on a board are of.

python benchmarks/attainable.py      some minutes; writes src/vendirl/boards/attainable.json, and keeps what is there
"""

from __future__ import annotations

import json
from pathlib import Path

import vendirl as vr
from vendirl._files import write_atomically
from vendirl.boards.suite import PLANS

PATH = Path(__file__).parent.parent / "src" / "vendirl" / "boards" / "attainable.json"


def run(path: Path = PATH) -> None:
    found = json.loads(path.read_text())
    for name, plan in PLANS.items():
        for world, env in plan.worlds.items():
            scores = found.setdefault(name, {}).setdefault(world, {})
            for sense, similarity in plan.senses.items():
                if sense not in scores:
                    scores[sense] = round(float(vr.attainable(env, similarity, plan.skills)), 4)
                    write_atomically(path, json.dumps(found, indent=1) + "\n")
                    print(name, world, sense, scores[sense], flush=True)


if __name__ == "__main__":
    run()
