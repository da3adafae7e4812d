"""Boards: named suites of worlds and senses of diversity, and how methods do in them, those of others included."""

from vendirl.boards.adding import add_skills
from vendirl.boards.board import Board, read_board, write_board
from vendirl.boards.entry import Entry
from vendirl.boards.rows import Row
from vendirl.boards.running import benchmark
from vendirl.boards.suite import Suite, known_suites, register, suite_named

__all__ = [
    "Board",
    "Entry",
    "Row",
    "Suite",
    "add_skills",
    "benchmark",
    "known_suites",
    "read_board",
    "register",
    "suite_named",
    "write_board",
]
