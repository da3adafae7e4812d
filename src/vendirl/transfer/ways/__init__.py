"""Ways of using skills in tasks, one file each."""

from vendirl.transfer.ways import control, finetune, infer, oracle, random, scratch, select  # noqa: F401  (they register)
from vendirl.transfer.ways.way import Asked, Used, Way, known_ways, parse_way, register

__all__ = ["Asked", "Used", "Way", "known_ways", "parse_way", "register"]
