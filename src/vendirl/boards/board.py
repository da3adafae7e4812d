"""A board: its entries, and the files that show them.

`board.json` holds the entries, from which everything else follows, and the rows, for readers; `board.csv` the rows; and
`index.html` the page. Reading a board is reading data: the suite is one that this program knows by its name, and rows
are computed anew.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

from vendirl._checks import shown
from vendirl._files import write_atomically
from vendirl.boards.entry import Entry
from vendirl.boards.page import page
from vendirl.boards.rows import Row, rows_of
from vendirl.boards.suite import Suite, suite_named
from vendirl.training.reading import read_table

FORMAT = 1
MOST_OF_A_BOARD = 2**26
"""Bytes of board.json."""
WRITTEN = ("board.json", "board.csv", "index.html")


@dataclasses.dataclass(frozen=True)
class Board:
    """How methods do in a suite.

    Attributes:
        suite: what was asked.
        entries: one for each method, world and seed.
    """

    suite: Suite
    entries: tuple[Entry, ...] = ()

    @property
    def rows(self) -> list[Row]:
        """Method x world x sense, over seeds; in each world the method with the highest mean first."""
        return rows_of(self.entries, self.suite)

    def entry_at(self, method: str, world: str, seed: int) -> Entry | None:
        """The entry of a method in a world with a seed, if there is one."""
        return next((entry for entry in self.entries if entry.place == (method, world, seed)), None)

    def replacing(self, entry: Entry) -> Board:
        """The board with an entry, in place of another of the same method, world and seed if there is one."""
        entry.check(self.suite)
        others = tuple(other for other in self.entries if other.place != entry.place)
        return dataclasses.replace(self, entries=(*others, entry))

    def adding(self, entry: Entry) -> Board:
        """The board with one more entry. An entry that would take the place or the name of another is refused."""
        entry.check(self.suite)
        for other in self.entries:
            if other.digest == entry.digest and other.place == entry.place:
                return self
            which = f"{other.method} in {other.world} with seed {other.seed}"
            if other.place == entry.place:
                raise ValueError(
                    f"there is {which} already, of other episodes; use another seed, or take that entry out of the file"
                )
            if other.digest == entry.digest:
                raise ValueError(f"these very episodes are there already, as {which}")
            if other.method == entry.method and other.outside != entry.outside:
                whose = "from outside" if other.outside else "trained here"
                raise ValueError(f"{entry.method} is the name of a method that was {whose}; choose another name")
        return dataclasses.replace(self, entries=(*self.entries, entry))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "suite": self.suite.name,
            "entries": [dataclasses.asdict(entry) for entry in self.entries],
            "rows": [row.to_json() for row in self.rows],
        }

    def to_csv(self) -> str:
        """The rows as comma-separated values."""
        text = io.StringIO()
        table = csv.DictWriter(text, [field.name for field in dataclasses.fields(Row)], lineterminator="\n")
        table.writeheader()
        for row in self.rows:
            table.writerow({name: "" if value is None else value for name, value in row.to_json().items()})
        return text.getvalue()


def read_board(folder: str | Path) -> Board:
    """The board in a folder, or in a file such as board.json; anything else is refused, with the reason."""
    path, within = Path(folder), None
    if path.is_dir():
        path, within = path / "board.json", path
    try:
        found = read_table(path, MOST_OF_A_BOARD, within)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not there, so there is no board") from None
    entries: Any = found.get("entries")
    try:
        if found.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT}, but is {shown(found.get('format'))}")
        board = Board(suite_named(found.get("suite")))
        if not isinstance(entries, list):
            raise ValueError(f"entries must be a list, but are {shown(entries)}")
        checked = [Entry.from_json(data, board.suite, f"entries[{i}]") for i, data in enumerate(entries)]
        if len({entry.place for entry in checked}) < len(checked):
            raise ValueError("two entries are of the same method, world and seed")
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a board: {error}") from None
    return dataclasses.replace(board, entries=tuple(checked))


def board_in(folder: Path, suite: Suite | None) -> Board:
    """The board in a folder, or an empty one of a suite if there is none yet; one of another suite is refused."""
    if not (folder / "board.json").exists():
        if suite is None:
            raise FileNotFoundError(f"{folder} holds no board yet; name a suite to begin one")
        return Board(suite)
    board = read_board(folder)
    if suite is not None and board.suite != suite:
        raise ValueError(f"{folder} holds a board of {board.suite.name}, not of {suite.name}; choose another --out")
    return board


def write_board(board: Board, folder: Path) -> list[Path]:
    """Write board.json, board.csv and index.html, each whole or not at all; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "board.json": json.dumps(board.to_json(), indent=1, allow_nan=False) + "\n",
        "board.csv": board.to_csv(),
        "index.html": page(board.suite, board.rows),
    }
    if len(texts["board.json"]) > MOST_OF_A_BOARD:
        raise ValueError(f"the board would be larger than {MOST_OF_A_BOARD:,} bytes; begin another one")
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts]
