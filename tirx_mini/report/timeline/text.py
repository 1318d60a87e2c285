"""A timeline as eighty columns of text for a terminal: roles and engines as rows, time as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from tirx_mini.diagnose import Activity, Timeline, base_name

from .against import cause
from .marks import Heading, duration, tick
from .rows import Row, rows_of, window_of

WIDTH, NAME, COLUMNS = 80, 19, 60
"""The numbers of characters of a line, of a row's name, and of the time axis."""
WAITS, RUNS, LITTLE = ".", "#", " "
LEGEND = f"0 to 9: works on that stage   {RUNS}: works on no stage   {WAITS}: waits   blank: idle"
MOST = 6
"""The maximum number of waits listed, the longest first."""
LEAST = 0.02
"""The minimum share of the time for a wait to be listed."""


def timeline_text(
    timeline: Timeline, heading: Heading, ctas: Sequence[int], start: float | None = None, end: float | None = None
) -> str:
    """Return the whole lifetime of the CTAs, then an excerpt, and the longest waits in words.

    start, end: the bounds of the excerpt, in cycles; by default a few pipeline steps. Raises `ValueError` for an empty
    excerpt, or one outside the run.
    """
    lives = [cta for cta in timeline.ctas if cta.cta in ctas]
    first, last = min(cta.start for cta in lives), max(cta.end for cta in lives)
    left, right = window_of(timeline, ctas[0])
    left, right = left if start is None else start, right if end is None else end
    if not 0 <= left < right or left >= timeline.cycles:
        raise ValueError(f"cycles {left:,.0f} to {right:,.0f} are not in the run, which has {timeline.cycles:,.0f}")
    rows = [row for row in rows_of(timeline, ctas) if row.name != "other"]
    lines = [*wrap(heading.title, WIDTH), *wrap(heading.note, WIDTH)]
    lines += ["", LEGEND, ""]
    names = " and ".join(f"{cta.name} on SM {cta.sm}" for cta in lives)
    lines += [f"{names}: {duration(last - first, heading.clock_ghz)}", *_picture(rows, first, last, len(ctas) > 1), ""]
    if (left, right) != (first, last):
        part = duration(right - left, heading.clock_ghz)
        lines += [f"cycles {left:,.0f} to {right:,.0f}: {part}", *_picture(rows, left, right, len(ctas) > 1), ""]
    lines += _waits(timeline, rows, first, last)
    if timeline.stuck is not None:
        lines += ["", f"nothing can advance after cycle {timeline.stuck:,.0f}; what waits then waits for ever"]
    return "\n".join(lines).rstrip() + "\n"


def _picture(rows: Sequence[Row], start: float, end: float, several: bool) -> Iterator[str]:
    """Yield a line for each row, and the cycle axis below."""
    before = rows[0].cta if rows else None
    for row in rows:
        if several and row.cta != before:
            yield ""
        before = row.cta
        name = _name(row)
        if len(name) > NAME:
            name = name.replace("write-back", "write")
        yield f"{name[:NAME]:<{NAME}} {_cells(row, start, end)}".rstrip()
    step = tick(end - start)
    marks = [" "] * (COLUMNS + 20)
    time = step * -(-start // step)
    while time <= end:
        place = int((time - start) * COLUMNS / (end - start))
        text = f"|{time:,.0f}"
        if place + len(text) <= COLUMNS:
            marks[place : place + len(text)] = text
        time += step
    yield " " * (NAME + 1) + "".join(marks).rstrip()


def _name(row: Row) -> str:
    """Return the name of an engine, or of a role with its warps: "write-back (w0-3)"."""
    numbers = [track.warp for track in row.tracks if track.warp is not None]
    if not numbers:
        return row.name
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{row.name} (w{numbers[0]}-{numbers[-1]})"
    return f"{row.name} (w{','.join(map(str, numbers))})"


def _cells(row: Row, start: float, end: float) -> str:
    """Return one character per column for the row's main activity."""
    width = (end - start) / COLUMNS
    seen: list[dict[str, float]] = [{} for _ in range(COLUMNS)]
    for interval in row.intervals:
        if interval.end <= start or interval.start >= end:
            continue
        mark = _mark(interval.activity, interval.stage)
        column = max(0, int((interval.start - start) / width))
        while column < COLUMNS and start + column * width < interval.end:
            low, high = start + column * width, start + (column + 1) * width
            part = min(high, interval.end) - max(low, interval.start)
            seen[column][mark] = seen[column].get(mark, 0.0) + part
            column += 1
    return "".join(_most(parts, width) for parts in seen)


def _mark(activity: Activity, stage: int | None) -> str:
    if activity is Activity.WAIT:
        return WAITS
    return RUNS if stage is None or stage > 9 else str(stage)


def _most(parts: dict[str, float], width: float) -> str:
    """Return the mark of the activity that takes at least half of a column; blank without one."""
    if not parts or sum(parts.values()) < width / 2:
        return LITTLE
    works = {mark: time for mark, time in parts.items() if mark != WAITS}
    if sum(works.values()) >= parts.get(WAITS, 0.0):
        return max(works, key=lambda mark: works[mark])
    return WAITS


def _waits(timeline: Timeline, rows: Sequence[Row], start: float, end: float) -> Iterator[str]:
    """Yield one line for each of the longest waits of the rows. Rows with equal names, in the two CTAs of a pair, are
    averaged."""
    totals: dict[tuple[str, str, str], float] = {}
    several = Counter(map(_name, rows))
    for row in rows:
        who = _name(row)
        for interval in row.intervals:
            if interval.activity is Activity.WAIT:
                key = who, base_name(interval.name), cause(timeline, interval) if interval.barrier is not None else ""
                totals[key] = totals.get(key, 0.0) + interval.cycles / several[who] / (end - start)
    longest = sorted(totals.items(), key=lambda item: -item[1])[:MOST]
    named = [(key, part) for key, part in longest if part >= LEAST]
    if named:
        yield "The longest waits, as parts of the whole time:"
    for (who, what, by), part in named:
        yield f"  {part:4.0%}  {who} for {what}{f', which {by} complete' if by else ''}"
