"""The wave view: SMs as rows and tiles as blocks, which shows tail effects and idle SMs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from tirx_mini.diagnose import Timeline, covered
from tirx_mini.records import dataclass

from ..svg import Paint, Picture
from .marks import LEFT, RULES, WIDTH, Heading, Scale, axis, duration, fitting, wrapped
from .palette import PAINTS, STAGES, stage_class

TALLEST, LOWEST = 16.0, 3.0
"""The maximum and minimum height of an SM's row, in user units."""
ROOM = 460.0
TOGETHER = 0.005
"""The fraction of the run within which two ends of SMs count as equal."""
SLACK = 0.02
"""The fraction of a tile by which it may overlap its predecessor, as the first loads of the next CTA do."""
TEXT_WIDTH, TEXT_NAME, TEXT_ROWS = 80, 12, 25
"""The size of the wave as text: columns, columns of a name, and the maximum number of rows."""
MOST = 500
"""The maximum number of blocks with tooltips; beyond it, blocks are merged into one path per colour."""
LINES = {f"line-s{stage}": Paint("stroke", colour, colour) for stage, colour in enumerate(STAGES)}


@dataclass(frozen=True)
class Block:
    """A tile on its SM, or a CTA of a run without tiles. turn: the tile's index on the SM, from 0. level: the stacking
    level where CTAs overlap."""

    sm: int
    start: float
    end: float
    name: str
    turn: int
    level: int


def blocks_of(timeline: Timeline) -> list[Block]:
    """Return the blocks of all SMs, by SM and start."""
    ctas = {item.cta: item for item in timeline.ctas}
    owned = [(ctas[tile.cta], tile) for tile in timeline.tiles if tile.cta in ctas]
    pieces = [(cta.sm, tile.start, tile.end, f"{cta.name}, {tile.name}") for cta, tile in owned]
    if not pieces:
        pieces = [(item.sm, item.start, item.end, item.name) for item in timeline.ctas]
    found: list[Block] = []
    free: dict[int, list[float]] = {}
    turns: Counter[int] = Counter()
    for sm, start, end, name in sorted(pieces):
        ends = free.setdefault(sm, [])
        slack = SLACK * (end - start)
        level = next((level for level, until in enumerate(ends) if until <= start + slack), len(ends))
        ends[level : level + 1] = [end]
        found.append(Block(sm, start, end, name, turns[sm], level))
        turns[sm] += 1
    return found


def wave_note(timeline: Timeline, sms: int, clock_ghz: float) -> str:
    """Return two sentences about the load balance. sms: of the GPU."""
    blocks = blocks_of(timeline)
    if not blocks:
        return "No CTA has run."
    kind = "tile" if timeline.tiles else "CTA"
    counts = Counter(Counter(block.sm for block in blocks).values())
    groups = [(count, number_of(tiles, kind)) for tiles, count in sorted(counts.items())]
    if idle := sms - sum(counts.values()):
        groups.append((idle, "none"))
    shares = ", ".join(f"{number_of(count, 'SM')} {'has' if count == 1 else 'have'} {tiles}" for count, tiles in groups)
    worked = sum(covered([(b.start, b.end) for b in blocks if b.sm == sm]) for sm in {b.sm for b in blocks})
    last = {block.sm: block.end for block in sorted(blocks, key=lambda block: block.end)}
    tail = min(last.values())
    left = timeline.cycles - tail
    end = (
        f"The first of them runs out of work {duration(left, clock_ghz)} before the end, after "
        f"{100 * tail / timeline.cycles:.0f} % of the time."
    )
    return (
        f"{number_of(len(blocks), kind)} on {number_of(sms, 'SM')}: {shares}. The SMs work "
        f"{100 * worked / (sms * timeline.cycles):.0f} % of the time. "
        + (end if left >= TOGETHER * timeline.cycles else "Those that have work end together.")
    )


def wave_text(timeline: Timeline, heading: Heading, sms: int) -> str:
    """Return the wave as text: rows of SMs, each represented by its first, with a digit per tile."""
    note = heading.note or wave_note(timeline, sms, heading.clock_ghz)
    lines = [*textwrap.wrap(heading.title, TEXT_WIDTH), *textwrap.wrap(note, TEXT_WIDTH), ""]
    blocks = blocks_of(timeline)
    together = -(-sms // TEXT_ROWS)
    columns = TEXT_WIDTH - TEXT_NAME
    cycles = max(timeline.cycles, 1.0) / columns
    for first in range(0, sms, together):
        last = min(first + together, sms) - 1
        name = f"SM {first}" if first == last else f"SM {first}–{last}"
        cells = [" "] * columns
        for block in (block for block in blocks if block.sm == first):
            for column in range(round(block.start / cycles), round(block.end / cycles)):
                if column < columns and cells[column] == " ":  # of CTAs that live at once, the first is shown
                    cells[column] = str((block.turn + 1) % 10)
        lines.append(f"{name:<{TEXT_NAME}}{''.join(cells)}".rstrip())
    kind = "tile" if timeline.tiles else "CTA"
    lines += ["", f"1, 2, …: the first {kind} of an SM, the second, …; {duration(cycles, heading.clock_ghz)} a column"]
    return "\n".join(lines) + "\n"


def wave_svg(timeline: Timeline, heading: Heading, sms: int) -> str:
    """Return a picture of all `sms` SMs of the GPU over the whole run."""
    notes = wrapped(heading.note or wave_note(timeline, sms, heading.clock_ghz), WIDTH - 32)
    blocks = blocks_of(timeline)
    scale = Scale(0.0, max(timeline.cycles, 1.0), right=WIDTH - 24)
    row = min(TALLEST, max(LOWEST, ROOM / sms))
    top = 78.0 + 16 * len(notes)
    bottom = top + row * sms
    picture = Picture(WIDTH, bottom + 40, heading.title, " ".join(notes), {**PAINTS, **LINES}, RULES)
    picture.rect(0, 0, WIDTH, bottom + 40, "page")
    picture.text(16, 24, heading.title, "ink head")
    for line, note in enumerate(notes):
        picture.text(16, 42 + 16 * line, note, "ink")
    _legend(picture, top - 22, 1 + max((block.turn for block in blocks), default=0), bool(timeline.tiles))
    axis(picture, scale, top - 4, bottom, heading.clock_ghz)
    every = max(1, round(14 / row))
    for sm in range(0, sms, every if every == 1 else -(-every // 5) * 5):
        picture.text(LEFT - 8, top + row * sm + row / 2 + 4, f"SM {sm}", "soft small", text_anchor="end")
    picture.rect(LEFT, top, scale.right - LEFT, bottom - top, "lane")
    _blocks(picture, blocks, scale, top, row)
    return str(picture)


def _blocks(picture: Picture, blocks: Sequence[Block], scale: Scale, top: float, row: float) -> None:
    depth = 1 + max((block.level for block in blocks), default=0)
    height = row / depth
    paths: dict[str, list[str]] = {}
    for block in blocks:
        left, right = scale.x(block.start), scale.x(block.end)
        y = top + row * block.sm + height * block.level
        kind = stage_class(block.turn)
        if len(blocks) > MOST:
            paths.setdefault(kind, []).append(f"M{left:.1f} {y + height / 2:.1f}h{max(right - left - 0.3, 0.2):.1f}")
            continue
        words = f"SM {block.sm}: {block.name}, cycles {block.start:,.0f} to {block.end:,.0f}"
        edged = f"{kind} edge" if height >= 2.5 else kind  # lines would hide lower blocks
        picture.rect(left, y + 0.15, max(right - left, 0.5), height - 0.3, edged, words)
        if height >= 11 and (label := fitting([block.name.split(", ", 1)[-1], str(block.turn + 1)], right - left)):
            picture.text((left + right) / 2, y + height / 2 + 3.5, label, "on small", text_anchor="middle")
    for kind, pieces in paths.items():
        picture.add("path", d="".join(pieces), class_=f"line-{kind}", stroke_width=height - 0.3)


def _legend(picture: Picture, y: float, turns: int, tiled: bool) -> None:
    kind = "tile" if tiled else "CTA"
    for turn in range(min(turns, len(STAGES))):
        x = LEFT + 84 * turn
        picture.rect(x, y - 10, 15, 12, f"{stage_class(turn)} edge")
        picture.text(x + 20, y, f"{ordinal(turn + 1)} {kind}", "soft")
    if turns > len(STAGES):
        picture.text(LEFT + 84 * len(STAGES), y, "and again", "soft")


def ordinal(number_: int) -> str:
    """Format an ordinal: "1st", "2nd", "11th"."""
    teen = number_ % 100 in (11, 12, 13)
    return f"{number_}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number_ % 10, 'th')}"


def number_of(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
