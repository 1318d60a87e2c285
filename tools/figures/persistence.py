"""Waves of tiles on SMs, and the order of a tile scheduler with the bytes from HBM that it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

from tirx_mini import simulate
from tirx_mini.course import load_kernel
from tirx_mini.diagnose import Interval, Timeline
from tirx_mini.hardware import B200
from tirx_mini.report import Picture
from tools.figures._references import patched
from tools.figures._runs import extents, traced
from tools.figures._sheet import MARGIN, legend, lines, rule, sheet

QUARTER = replace(B200, sms=36, l2_bytes=B200.l2_bytes // 4, hbm_tbps=B200.hbm_tbps / 4)
"""A quarter of a B200, where a small product has the waves and the working sets of a large one."""
STEP, TILE, EDGE = 9, 256, 4096
GROUPS = (1, 8)
MIB = 1 << 20

TAIL = (1664, 1664, 1024)
EVEN = (1536, 1536, 1024)


@dataclass(frozen=True)
class Order:
    """The tiles of a persistent kernel with one `l2_group_size`, and what a run with it moves.

    tiles: (row, column) in the order of the scheduler. first: those that the first wave computes. hbm, l2: bytes.
    """

    group: int
    tiles: tuple[tuple[int, int], ...]
    first: int
    hbm: float
    l2: float
    time_us: float

    @property
    def needs(self) -> tuple[int, int]:
        """Rows of tiles (panels of A) and columns (panels of B) that the first wave reads."""
        wave = self.tiles[: self.first]
        return len({row for row, _ in wave}), len({column for _, column in wave})


@cache
def order_with(group: int) -> Order:
    """The order and the traffic of step 9 at 4096 with this `l2_group_size`, on a quarter of a B200."""
    with TemporaryDirectory() as folder:
        ref = patched(STEP, {"l2_group_size=8": f"l2_group_size={group}"}, Path(folder))
        kernel = load_kernel(ref, shape=(EDGE, EDGE, EDGE), sms=QUARTER.sms)
        short = load_kernel(ref, shape=(EDGE, EDGE, 64), sms=QUARTER.sms)
    report = simulate(kernel, gpu=QUARTER, data=False)
    timeline = simulate(short, gpu=QUARTER, data=False, trace=True).trace
    assert timeline is not None and report.time_us is not None
    clusters = QUARTER.sms // 2
    return Order(
        group, _in_order(timeline, clusters), clusters, report.stats["hbm_bytes"], report.stats["l2_bytes"],
        report.time_us,
    )  # fmt: skip


def _in_order(timeline: Timeline, clusters: int) -> tuple[tuple[int, int], ...]:
    """(row, column) of the pair's tiles, by the turn in which their cluster computes them, then by cluster: read off
    the boxes that the first CTA of each cluster loads, one of A and one of B for each tile."""
    found: dict[int, tuple[int, int]] = {}
    for leader in (item for item in timeline.ctas if item.rank == 0):
        own = sorted((i for i in timeline.intervals if i.track.cta == leader.cta), key=lambda item: item.start)
        rows, columns = ([_first_row(i) // TILE for i in own if i.name == name] for name in ("load A", "load B"))
        for turn, place in enumerate(zip(rows, columns, strict=True)):
            found[turn * clusters + leader.cluster] = place
    return tuple(found[number] for number in sorted(found))


def _first_row(load: Interval) -> int:
    """128 of a load of "A[128:256, 0:64]"."""
    box = next(value for key, value in load.operands if key == "box")
    return int(box.partition("[")[2].partition(":")[0])


# -- the order of tiles ------------------------------------------------------------------------------------------------


def order_picture() -> str:
    orders = [order_with(group) for group in GROUPS]
    described = " ".join(
        f"l2_group_size={order.group}: the first wave reads {order.needs[0]} panels of A and {order.needs[1]} of B; "
        f"{order.hbm / MIB:.0f} MiB come from HBM."
        for order in orders
    )
    picture = sheet(600, "The order of tiles decides what comes from HBM", described)
    edge = EDGE // TILE
    words = f"Step 9 at {EDGE}: {edge} × {edge} tiles, {orders[0].first} at a time, on a quarter of a B200"
    picture.text(MARGIN, 48, f"{words} ({QUARTER.sms} SMs, a quarter of the L2 and of the HBM).", "soft")
    for order, left in zip(orders, (44, 524), strict=True):
        _grid(picture, order, left, 112)
    _traffic(picture, orders)
    return str(picture)


def _grid(picture: Picture, order: Order, left: float, top: float) -> None:
    cells, cell = EDGE // TILE, 20.0
    picture.text(left, top - 36, f"l2_group_size={order.group}", "ink bold")
    rows, columns = order.needs
    wave = order.tiles[: order.first]
    for number in range(cells):
        used_a = any(row == number for row, _ in wave)
        used_b = any(column == number for _, column in wave)
        picture.rect(left - 20, top + number * cell, 14, cell - 2, "c1 edge" if used_a else "gap")
        picture.rect(left + number * cell, top - 20, cell - 2, 14, "c1 edge" if used_b else "gap")
    picture.text(left - 13, top - 8, "A", "soft small", text_anchor="middle")
    picture.text(left + cells * cell + 4, top - 8, "B", "soft small")
    for turn, (row, column) in enumerate(order.tiles):
        number = turn // order.first
        fill = "c1" if number == 0 else "c0" if number == 1 else "mute" if number % 2 == 0 else "gap"
        style = f"{fill} edge" if number < 2 else fill
        x, y = left + column * cell, top + row * cell
        picture.rect(x, y, cell - 2, cell - 2, style, f"tile {turn}, wave {number}")
        if number < 2:
            label = str(turn)
            picture.text(x + cell / 2 - 1, y + 13.5, label, "on tiny", text_anchor="middle")
    path = [(left + c * cell + 9, top + r * cell + 9) for r, c in order.tiles[2 * order.first :]]
    picture.add("polyline", points=" ".join(f"{x:g},{y:g}" for x, y in path), class_="edge", fill="none")
    lines(
        picture, left, top + cells * cell + 22,
        [
            f"The first wave reads {rows} panel{'s' * (rows > 1)} of A and {columns} of B: {rows + columns} in all.",
        ],
        "ink",
    )  # fmt: skip


def _traffic(picture: Picture, orders: list[Order]) -> None:
    top, left = 492.0, 250.0
    least = 3 * EDGE * EDGE * 2
    scale = 560 / max(order.hbm for order in orders)
    picture.text(MARGIN, top - 6, "Bytes from and to HBM, as simulated", "ink bold")
    for number, order in enumerate(orders):
        y = top + 6 + number * 30
        picture.text(left - 10, y + 16, f"l2_group_size={order.group}", "ink", text_anchor="end")
        picture.rect(left, y, order.hbm * scale, 22, "c2 edge")
        picture.text(left + order.hbm * scale + 8, y + 16, f"{order.hbm / MIB:.0f} MiB", "ink bold")
    x = left + least * scale
    rule(picture, x, top - 2, x, top + 66, "arrow dash")
    picture.text(x + 6, top + 82, f"{least / MIB:.0f} MiB: A, B and D once", "soft small")
    y = picture.height - 14
    colours = (("c1", "wave 1"), ("c0", "wave 2"), ("mute", "later waves, in the order of the line"))
    legend(picture, 525, y, colours)


# -- waves -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wave:
    """A run as rows of SMs: what it is in words, and its blocks: (SM, start, end, turn on that SM), in cycles."""

    words: str
    tiles: int
    blocks: tuple[tuple[int, float, float, int], ...]
    cycles: float
    tflops: float
    clock_ghz: float

    @property
    def tail(self) -> tuple[float, int]:
        """When the second wave begins, and how many SMs have no tile then."""
        later = [block for block in self.blocks if block[3] > 0]
        start = min((block[1] for block in later), default=self.cycles)
        return start, B200.sms - len(later)


def wave_of(words: str, step: int, shape: tuple[int, int, int]) -> Wave:
    run = traced(step, shape)
    sm_of = {item.cta: item.sm for item in run.timeline.ctas}
    turns: dict[int, int] = {}
    blocks = []
    for tile in sorted(run.timeline.tiles, key=lambda item: (item.start, item.cta)):
        sm = sm_of[tile.cta]
        blocks.append((sm, tile.start, tile.end, turns.get(sm, 0)))
        turns[sm] = turns.get(sm, 0) + 1
    tflops = run.report.tflops
    assert tflops is not None
    return Wave(words, len(blocks), tuple(blocks), run.timeline.cycles, tflops, run.clock_ghz)


def wave_picture() -> str:
    waves = [
        wave_of("Step 5, a CTA for each tile", 5, TAIL),
        wave_of("Step 8, persistent, with roles", 8, TAIL),
        wave_of("Step 8, a smaller product", 8, EVEN),
    ]
    described = " ".join(
        f"{wave.words}: {wave.tiles} tiles on {B200.sms} SMs, {wave.tail[1]} of them idle from cycle "
        f"{wave.tail[0]:.0f} of {wave.cycles:.0f}."
        for wave in waves
    )
    picture = sheet(616, f"{waves[0].tiles} tiles on {B200.sms} SMs: one wave, and a tail", described)
    picture.text(MARGIN, 46, "Each row is an SM. Times are those of the tiles; TFLOPS count the launch, too.", "soft")
    most = max(wave.cycles for wave in waves)
    for number, (wave, shape) in enumerate(zip(waves, (TAIL, TAIL, EVEN), strict=True)):
        _wave(picture, wave, shape, 66 + 176 * number, 660 / most)
    legend(picture, 190, 600, (("c0", "first tile of an SM"), ("c1", "second tile"), ("gap", "no tile")))
    return str(picture)


def _wave(picture: Picture, wave: Wave, shape: tuple[int, int, int], top: float, scale: float) -> None:
    left, height = 190.0, 148.0
    each = height / B200.sms
    picture.rect(left, top, wave.cycles * scale, height, "gap")
    for number, fill in enumerate(("c0", "c1")):
        for sm, start, end in _merged([block for block in wave.blocks if block[3] == number]):
            picture.rect(left + start * scale, top + sm[0] * each, (end - start) * scale, (sm[1] - sm[0]) * each, fill)
    picture.add(
        "rect", x=left, y=top, width=wave.cycles * scale, height=height, class_="arrow", fill_opacity=0
    )  # fmt: skip
    words = [*wave.words.split(", ", 1), extents(shape), f"{wave.tiles} tiles"]
    lines(picture, MARGIN, top + 20, words[:1], "ink bold")
    lines(picture, MARGIN, top + 38, words[1:], "ink")
    picture.text(left + wave.cycles * scale + 8, top + 60, f"{wave.cycles / wave.clock_ghz / 1e3:.1f} µs", "ink bold")
    picture.text(left + wave.cycles * scale + 8, top + 78, f"{wave.tflops:.0f} TFLOPS", "ink")
    picture.text(left - 6, top + 12, "SM 0", "soft small", text_anchor="end")
    picture.text(left - 6, top + height, f"SM {B200.sms - 1}", "soft small", text_anchor="end")
    start, idle = wave.tail
    if start < wave.cycles:
        middle = left + (start + wave.cycles) / 2 * scale
        picture.text(middle, top + height * 0.6, f"{idle} SMs idle", "ink bold", text_anchor="middle")


def _merged(blocks: list[tuple[int, float, float, int]]) -> list[tuple[tuple[int, int], float, float]]:
    """((first SM, SM after the last), start, end): neighbours whose times agree to 40 cycles are one block."""
    out: list[tuple[tuple[int, int], float, float]] = []
    for sm, start, end, _ in sorted(blocks):
        if out and out[-1][0][1] == sm and abs(out[-1][1] - start) < 40 and abs(out[-1][2] - end) < 40:
            out[-1] = ((out[-1][0][0], sm + 1), out[-1][1], out[-1][2])
        else:
            out.append(((sm, sm + 1), start, end))
    return out


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/tile-order.svg", order_picture()
    yield "figures/waves.svg", wave_picture()


def waves_text() -> str:
    """What the code of the page prints."""

    def used(size: int, tile_m: int, tile_n: int, ctas: int) -> float:
        tiles, places = ceil(size / tile_m) * ceil(size / tile_n), B200.sms // ctas
        return tiles / (ceil(tiles / places) * places)

    sizes = (1536, 1664, 2048, 4096, 8192)
    out = [f"{size} {used(size, 128, 128, 1):.0%} {used(size, 512, 256, 2):.0%}" for size in sizes]
    return "\n".join(["```text", *out, "```"])


def order_table() -> str:
    rows = [
        "| `l2_group_size` | panels of the first wave | MiB from and to HBM | MiB through the L2 | µs |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for order in map(order_with, GROUPS):
        moved = f"{order.hbm / MIB:.0f} | {order.l2 / MIB:,.0f} | {order.time_us:.0f}"
        rows.append(f"| {order.group} | {order.needs[0]} + {order.needs[1]} | {moved} |")
    return "\n".join(rows)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "persistence-waves", waves_text()
    yield "persistence-order", order_table()
