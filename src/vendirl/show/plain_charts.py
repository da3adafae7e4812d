"""Charts as SVG, drawn without a library: they follow the page's colours, and say what a mark is when someone points
at."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Sequence

Point = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Mark:
    """A line through points, or a dot if there is one.

    Attributes:
        points: where it is.
        said: when it is pointed at.
        kind: "best", "usual" or "faint", which the style sheet knows.
    """

    points: Sequence[Point]
    said: str = ""
    kind: str = "usual"


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis: what it shows, and from where to where.

    Attributes:
        title: what is measured.
        low, high: the ends.
        log: whether it is logarithmic.
        names: of places 0, 1, ..., in place of numbers.
    """

    title: str
    low: float
    high: float
    log: bool = False
    names: Sequence[str] = ()

    @classmethod
    def around(cls, title: str, values: Sequence[float], log: bool = False) -> Axis:
        """An axis that holds all values, with some room to spare."""
        low, high = min(values), max(values)
        if log:
            return cls(title, low / 1.15, high * 1.15, True)
        room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        return cls(title, low - room, high + room)

    @classmethod
    def of_names(cls, title: str, names: Sequence[str]) -> Axis:
        """An axis with a place for each name."""
        return cls(title, -0.5, len(names) - 0.5, names=names)

    def share(self, value: float) -> float:
        """How far along the axis a value is."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Some values that are round, and how they are written."""
        if self.names:
            return list(enumerate(map(str, self.names)))
        if self.log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            each = [(10.0**power, f"{10.0**power:g}") for power in powers]
            return each if len(each) > 1 else [(value, f"{value:.2g}") for value in (self.low * 1.15, self.high / 1.15)]
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 2))
        step *= next(times for times in (1, 2, 5, 10) if (self.high - self.low) / (step * times) <= 6)
        first = math.ceil(self.low / step)
        return [(i * step, f"{i * step:,.10g}") for i in range(first, math.floor(self.high / step) + 1)]


def chart(x: Axis, y: Axis, marks: Sequence[Mark], width: int = 520, height: int = 300) -> str:
    """Lines and dots over two axes; what comes later is on top."""
    left, right, top, bottom = 62, 36, 12, 48

    def at(point: Point) -> str:
        across = left + x.share(point[0]) * (width - left - right)
        return f"{across:.1f},{height - bottom - y.share(point[1]) * (height - top - bottom):.1f}"

    parts = []
    for value, words in y.ticks():
        _, up = at((x.low, value)).split(",")
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{up}" y2="{up}"/>')
        parts.append(f'<text x="{left - 8}" y="{up}" dy="4" text-anchor="end">{_escaped(words)}</text>')
    for value, words in x.ticks():
        across, _ = at((value, y.low)).split(",")
        under = height - bottom + 16
        parts.append(f'<text x="{across}" y="{under}" text-anchor="middle">{_escaped(_short(words))}</text>')
    middle = (left + width - right) / 2
    parts.append(f'<text class="title" x="{middle}" y="{height - 8}" text-anchor="middle">{_escaped(x.title)}</text>')
    side = (top + height - bottom) / 2
    turned = f'transform="translate(13 {side}) rotate(-90)"'
    parts.append(f'<text class="title" {turned} text-anchor="middle">{_escaped(y.title)}</text>')
    for mark in marks:
        said = f"<title>{_escaped(mark.said)}</title>" if mark.said else ""
        if len(mark.points) == 1:
            across, up = at(mark.points[0]).split(",")
            parts.append(f'<circle class="{mark.kind}" cx="{across}" cy="{up}" r="4.5">{said}</circle>')
        else:
            points = " ".join(map(at, mark.points))
            parts.append(f'<polyline class="{mark.kind}" points="{points}">{said}</polyline>')
    return _svg(width, height, f"{y.title} by {x.title}", parts)


def bars(rows: Sequence[tuple[str, float, str]], width: int = 520) -> str:
    """A bar for each row: its name, a share from 0 to 1, and what is said beside it."""
    height, left, room = 34 * len(rows) + 8, 190, 150
    parts = []
    for i, (name, share, said) in enumerate(rows):
        up, long = 34 * i + 8, max(2.0, share * (width - left - room))
        parts.append(f'<text x="{left - 10}" y="{up + 15}" text-anchor="end">{_escaped(_short(name, 28))}</text>')
        parts.append(f'<rect class="under" x="{left}" y="{up}" width="{width - left - room}" height="22" rx="4"/>')
        parts.append(f'<rect class="bar" x="{left}" y="{up}" width="{long:.1f}" height="22" rx="4"/>')
        parts.append(f'<text x="{width - room + 10}" y="{up + 15}">{_escaped(said)}</text>')
    return _svg(width, height, "importance of settings", parts)


def _svg(width: int, height: int, what: str, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{_escaped(what)}">{inside}</svg>'


def _short(text: str, most: int = 14) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _escaped(text: str) -> str:
    return html.escape(text)
