"""The live view on a terminal: curses draws what changed and nothing else."""

from __future__ import annotations

import curses
import locale
import os
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.printable import printable
from quota_advisor.records import NamedTuple
from quota_advisor.watch.detail import Threads, about
from quota_advisor.watch.groups import Watched, Watcher
from quota_advisor.watch.look import Look
from quota_advisor.watch.rows import (
    SPANS_SEC,
    Order,
    above_text,
    amount_text,
    chosen,
    limit_cores,
    limit_text,
    percent,
    ratio_text,
    sparkline,
)

MARKS, PLAIN_MARKS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
MIN_NAME, MIN_TREND = 12, 8
WIDE = 110
"""Columns from which the limits above a group are shown too."""

KEYS = "q quit  ↑↓ choose  ⏎ open  s sort  r reverse  / filter  a all  p pause  w save"
DETAIL_KEYS = "q or Esc back  ↑↓ scroll  p pause  w save"
_BACKSPACE = (curses.KEY_BACKSPACE, 8, 127)
_ENTER = (curses.KEY_ENTER, 10, 13)
_ESCAPE = 27
_BAD_RATIO, _SOME_RATIO = 0.25, 0.05


class Column(NamedTuple):
    """A column of numbers: heading, room, and how to fill it."""

    heading: str
    room: int
    cell: Callable[[Watched], str]


def _throttled_over(span_sec: int) -> Callable[[Watched], str]:
    return lambda group: ratio_text(group.history.throttled_ratio(span_sec))


COLUMNS = (
    Column("LIMIT", 6, limit_text),
    Column("NOW", 6, lambda g: percent(g.history.now_cores)),
    Column("PEAK", 6, lambda g: percent(g.history.peak_cores)),
    *(Column(f"{span}s", 4, _throttled_over(span)) for span in SPANS_SEC),
    Column("HELD", 5, lambda g: amount_text(g.history.held_msec_per_sec(1))),
    Column("STALL", 5, lambda g: amount_text(g.history.stalled_msec_per_sec(1))),
)


class Screen:
    """The view and what its user chose.

    Args:
        watcher: What is watched.
        root: The host.
        interval_sec: Time between two looks.
        directory: Where snapshots go.
    """

    def __init__(self, watcher: Watcher, root: Path, interval_sec: float, directory: Path) -> None:
        self._watcher = watcher
        self._root = HostRoot(root)
        self._interval = interval_sec
        self._directory = directory
        self._look = Look(root)
        self._order = Order.THROTTLED
        self._backwards = False
        self._paused = False
        self._filter = ""
        self._typing = False
        self._chosen: str | None = None
        self._top = 0
        self._open: str | None = None
        self._threads: Threads | None = None
        self._thread_lines: list[str] = []
        self._scroll = 0
        self._shown: list[Watched] = []
        utf8 = "utf" in locale.nl_langinfo(locale.CODESET).lower()
        self._marks = MARKS if utf8 else PLAIN_MARKS

    def run(self) -> None:
        """Show the view until its user leaves it.

        Raises:
            KeyboardInterrupt: Passed on; the terminal is as it was before.
        """
        os.environ.setdefault("ESCDELAY", "25")
        # Where these are exported, curses would never hear of another size.
        for name in ("LINES", "COLUMNS"):
            os.environ.pop(name, None)
        curses.wrapper(self._main)

    def _main(self, window: curses.window) -> None:
        self._prepare(window)
        due = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= due:
                if not self._paused:
                    self._tick()
                # A machine that is too busy skips looks; it does not catch up.
                due = max(due + self._interval, now + self._interval / 2)
            self._draw(window)
            window.timeout(max(1, int((due - time.monotonic()) * 1000)))
            key = window.getch()
            if key != -1 and not self._typed(key) and not self._pressed(key):
                return

    def _prepare(self, window: curses.window) -> None:
        curses.curs_set(0)
        window.keypad(True)
        if curses.has_colors() and "NO_COLOR" not in os.environ:
            curses.use_default_colors()
            for number, colour in enumerate((curses.COLOR_RED, curses.COLOR_YELLOW), start=1):
                curses.init_pair(number, colour, -1)

    def _tick(self) -> None:
        self._watcher.tick()
        if self._threads is not None:
            self._thread_lines = list(self._threads.lines(time.monotonic()))

    # Keys

    def _typed(self, key: int) -> bool:
        """Take a key as part of the filter; say whether it was one."""
        if not self._typing:
            return False
        if key in _ENTER or key == _ESCAPE:
            self._typing = False
            self._filter = "" if key == _ESCAPE else self._filter
        elif key in _BACKSPACE:
            self._filter = self._filter[:-1]
        elif 32 <= key < 127:  # noqa: PLR2004 - what can be printed
            self._filter += chr(key)
        return True

    def _pressed(self, key: int) -> bool:
        """Do what a key says; say whether the view goes on."""
        letter = chr(key) if 0 <= key < 128 else ""  # noqa: PLR2004 - ASCII
        if not self._look.is_running:
            self._look.said = ""
        if letter in ("p", " "):
            self._paused = not self._paused
        elif letter == "w":
            self._save()
        elif self._open is not None:
            self._pressed_in_detail(key, letter)
        elif letter == "q":
            return False
        else:
            self._pressed_in_list(key, letter)
        return True

    def _pressed_in_detail(self, key: int, letter: str) -> None:
        if letter == "q" or key in (_ESCAPE, curses.KEY_LEFT, *_BACKSPACE):
            self._open, self._threads = None, None
        step = {curses.KEY_DOWN: 1, curses.KEY_UP: -1, curses.KEY_NPAGE: 10, curses.KEY_PPAGE: -10}
        self._scroll = max(0, self._scroll + step.get(key, 0))

    def _pressed_in_list(self, key: int, letter: str) -> None:
        if letter == "s":
            self._order = self._order.next
        elif letter == "r":
            self._backwards = not self._backwards
        elif letter == "/":
            self._typing, self._filter = True, ""
        elif letter == "a":
            self._watcher.everything = not self._watcher.everything
            self._watcher.rescan()
        elif key in _ENTER and self._shown:
            self._enter(self._chosen or self._shown[0].path)
        elif key == _ESCAPE:
            self._filter, self._chosen = "", None
        else:
            self._move(key)

    def _move(self, key: int) -> None:
        page = 10
        last = len(self._shown) - 1
        steps = {curses.KEY_DOWN: 1, curses.KEY_UP: -1, curses.KEY_NPAGE: page}
        steps |= {curses.KEY_PPAGE: -page, curses.KEY_HOME: -last, curses.KEY_END: last}
        if key not in steps or last < 0:
            return
        paths = [group.path for group in self._shown]
        at = paths.index(self._chosen) + steps[key] if self._chosen in paths else 0
        self._chosen = paths[min(max(at, 0), last)]

    def _enter(self, path: str) -> None:
        self._open, self._scroll, self._thread_lines = path, 0, []
        self._threads = Threads(self._root, self._watcher.hierarchy, path)
        self._look.start((path,))

    def _save(self) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self._look.save(self._directory / f"quota-advisor-{stamp}.json")

    # Drawing

    def _draw(self, window: curses.window) -> None:
        height, width = window.getmaxyx()
        window.erase()
        group = None if self._open is None else self._watcher.groups.get(self._open)
        if self._open is not None and group is None:
            lines: list[tuple[str, int]] = [(f"{printable(self._open)} is gone", curses.A_BOLD)]
        elif group is not None:
            lines = list(self._detail(group, width))
            self._scroll = min(self._scroll, max(0, len(lines) - (height - 1)))
            lines = lines[self._scroll :]
        else:
            lines = list(self._list(height, width))
        for row, (text, style) in enumerate(lines[: max(height - 1, 0)]):
            _put(window, row, fit(text, width), style)
        _put(window, height - 1, fit(self._footer(), width), curses.A_DIM)
        window.refresh()

    def _footer(self) -> str:
        if self._typing:
            return f"/{self._filter}▏  Enter keeps it, Esc drops it"
        if self._look.said:
            return self._look.said
        return KEYS if self._open is None else DETAIL_KEYS

    def _list(self, height: int, width: int) -> Iterator[tuple[str, int]]:
        self._shown = chosen(
            self._watcher.groups.values(), self._order, self._filter, backwards=self._backwards
        )
        yield self._heading(), curses.A_BOLD
        above_room = min(40, width - 90) if width >= WIDE else 0
        room = sum(column.room + 1 for column in COLUMNS)
        trend = max(MIN_TREND, min(30, (width - room - above_room) // 3))
        names = max(MIN_NAME, width - room - above_room - trend - 2)
        yield _units(names), curses.A_DIM
        yield self._columns(names, trend, above_room), curses.A_REVERSE
        rows = max(height - 4, 1)
        self._keep_in_sight(rows)
        if not self._shown:
            yield self._nothing(), 0
        for group in self._shown[self._top : self._top + rows]:
            yield self._row(group, names, trend, above_room), self._style(group)

    def _heading(self) -> str:
        order = f"{self._order}{' reversed' if self._backwards else ''}"
        parts = [f"{len(self._shown)} of {len(self._watcher.groups)} groups, by {order}"]
        if self._filter:
            parts.append(f"filter {self._filter!r}")
        if self._watcher.unwatched:
            parts.append(f"{self._watcher.unwatched} left out: too many open files")
        if self._paused:
            parts.append("PAUSED")
        return f"quota-advisor  {'; '.join(parts)}"

    def _nothing(self) -> str:
        if self._filter:
            return "Nothing holds this text. Esc shows everything again."
        if self._watcher.wants_names:
            return "No unit, container or cgroup of this name is there now."
        return "Nothing here is under a CPU quota. a shows what is under none."

    def _columns(self, names: int, trend: int, above_room: int) -> str:
        cells = " ".join(f"{column.heading:>{column.room}}" for column in COLUMNS)
        above = f"{'ABOVE':<{above_room}}" if above_room else ""
        return f"{'WORKLOAD':<{names}} {cells} {'USE':>{trend}} {above}"

    def _row(self, group: Watched, names: int, trend: int, above_room: int) -> str:
        cells = " ".join(f"{column.cell(group):>{column.room}}" for column in COLUMNS)
        line = sparkline(group.history.uses, limit_cores(group) or 0.0, trend, self._marks)
        above = fit(above_text(group), above_room) if above_room else ""
        return f"{fit_name(printable(group.name), names)} {cells} {line} {above}"

    def _style(self, group: Watched) -> int:
        ratio = group.history.throttled_ratio(10)
        ratio = group.history.throttled_ratio(1) if ratio is None else ratio
        pair = 0 if ratio is None or ratio <= _SOME_RATIO else 1 if ratio > _BAD_RATIO else 2
        chosen_style = curses.A_STANDOUT if group.path == self._chosen else 0
        return chosen_style | (curses.color_pair(pair) if pair else 0)

    def _keep_in_sight(self, rows: int) -> None:
        paths = [group.path for group in self._shown]
        if self._chosen in paths:
            at = paths.index(self._chosen)
            self._top = min(max(self._top, at - rows + 1), at)
        self._top = max(0, min(self._top, len(self._shown) - rows))

    def _detail(self, group: Watched, width: int) -> Iterator[tuple[str, int]]:
        paused = "  PAUSED" if self._paused else ""
        yield f"{printable(group.name)}{paused}", curses.A_BOLD
        yield from ((line, 0) for line in about(group))
        room = max(MIN_TREND, min(60, width - 12))
        top = limit_cores(group) or 0.0
        yield f"{'':<12}{sparkline(group.history.uses, top, room, self._marks).lstrip()}", 0
        yield "", 0
        for line in self._look.findings(group.path):
            yield from ((part, 0) for part in _wrapped(printable(line), width))
        yield "", 0
        yield from ((line, 0) for line in self._thread_lines)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 40), subsequent_indent=" " * 14)


def _units(names: int) -> str:
    """Return the line above the headings: what several columns have in common."""
    before = sum(column.room + 1 for column in COLUMNS[:3]) + names
    spans = sum(column.room + 1 for column in COLUMNS[3 : 3 + len(SPANS_SEC)])
    return (
        f"{'':<{before}}{'throttled in':>{spans}}{'ms/s':>{sum(c.room + 1 for c in COLUMNS[-2:])}}"
    )


def fit(text: str, room: int) -> str:
    """Return a text cut or filled to a number of columns; wide characters take two."""
    used, kept = 0, []
    for character in text:
        width = columns_of(character)
        if used + width > room:
            break
        used += width
        kept.append(character)
    return "".join(kept) + " " * (room - used)


def fit_name(name: str, room: int) -> str:
    """Return a name, shortened in its middle: its end tells it from others."""
    if sum(map(columns_of, name)) <= room or room < MIN_NAME:
        return fit(name, room)
    tail = (room - 1) * 2 // 3
    return fit(f"{name[: room - 1 - tail]}…{name[-tail:]}", room)


def columns_of(character: str) -> int:
    """Return how many columns a character takes on a terminal."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _put(window: curses.window, row: int, text: str, style: int) -> None:
    try:
        window.addstr(row, 0, text.rstrip() if not style else text, style)
    except curses.error:
        # The last cell of a window cannot be written without an error; it is written.
        return
