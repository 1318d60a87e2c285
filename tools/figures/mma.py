"""The page on the MMA: its descriptors bit by bit, its slices of K in shared memory, its time, and its throughput."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.diagnose import Activity, Timeline, TrackKind
from tirx_mini.hardware import B200
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, operand_chunks
from tirx_mini.passes import lower
from tirx_mini.report.svg import Picture
from tools.figures._page_code import code_of
from tools.figures._sheet import MARGIN, WIDTH, Lanes, lines, sheet

PAGE = "concepts/mma.md"
HUES = 4
"""So many colours tell neighbouring fields, or slices, apart."""
CHUNK, LINE, ITEM = 16, 128, 2
"""Bytes: of a chunk that the swizzle moves, of a row of the atom, of an element."""


@dataclass(frozen=True)
class Field:
    """Bits `low` to `high` of a word. meaning: what they say. used: whether it is named, and not a reserved part."""

    high: int
    low: int
    meaning: str
    used: bool = True

    def value(self, word: int) -> int:
        return word >> self.low & (1 << self.high - self.low + 1) - 1

    @property
    def bits(self) -> str:
        return f"bit {self.low}" if self.high == self.low else f"bits {self.low} to {self.high}"


@cache
def words() -> tuple[int, int]:
    """The descriptor of Asmem and the instruction descriptor of the first step's MMA, from its lowered kernel."""
    text = lower(load_kernels(default_kernels())[1](128, 128, 64)).script()
    offset = re.search(r"Asmem = .*byte_offset=(\d+)", text)
    rest = re.search(r"Asmem_desc = .* \| (\d+)", text)
    instruction = re.search(r"tcgen05\.mma\(.*Tx\.uint32\((\d+)\)", text)
    assert offset is not None and rest is not None and instruction is not None
    return int(offset[1]) >> 4 | int(rest[1]), int(instruction[1])


def operand_fields(word: int) -> Sequence[Field]:
    """The fields of a shared-memory descriptor (PTX ISA: tcgen05, shared memory descriptor)."""
    found = SmemDescriptor.decode(word)
    return (
        Field(63, 61, f"swizzle mode: {found.swizzle} bytes"),
        Field(60, 53, "0", used=False),
        Field(52, 52, "leading offset: 0 relative, 1 absolute"),
        Field(51, 49, f"base offset: {found.base_offset}, the atom is aligned"),
        Field(48, 46, "constant 0b001"),
        Field(45, 32, f"stride byte offset >> 4: {found.stride} bytes for 8 rows"),
        Field(31, 30, "0", used=False),
        Field(29, 16, "leading byte offset >> 4: unused with a swizzle along K"),
        Field(15, 14, "0", used=False),
        Field(13, 0, f"start address >> 4: byte {found.start} of shared memory"),
    )


def instruction_fields(word: int) -> Sequence[Field]:
    """The fields of an instruction descriptor of kind::f16 (PTX ISA: tcgen05, instruction descriptor)."""
    found = InstructionDescriptor.decode(word, "f16", 1)
    return (
        Field(31, 30, "0", used=False),
        Field(29, 29, "0", used=False),
        Field(28, 24, f"M >> 4: M = {found.m}"),
        Field(23, 23, "0", used=False),
        Field(22, 17, f"N >> 3: N = {found.n}"),
        Field(16, 16, "B contiguous along N: " + ("yes" if found.transpose_b else "no")),
        Field(15, 15, "A contiguous along M: " + ("yes" if found.transpose_a else "no")),
        Field(14, 13, "negate B, A: no"),
        Field(12, 10, f"type of B: {found.b.dtype}"),
        Field(9, 7, f"type of A: {found.a.dtype}"),
        Field(6, 6, "0", used=False),
        Field(5, 4, f"type of D: {found.d}"),
        Field(3, 0, "dense, not saturating"),
    )


def descriptors() -> str:
    """Both words with their bits, and what each field says."""
    operand, instruction = words()
    picture = sheet(
        588, "The two descriptors of the first step's MMA",
        f"The 64-bit descriptor of Asmem is {operand:#018x}: {SmemDescriptor.decode(operand)}. The 32-bit instruction "
        f"descriptor is {instruction:#010x}: {InstructionDescriptor.decode(instruction, 'f16', 1)}.",
        f"Shared-memory descriptor of Asmem: {operand:#018x}",
    )  # fmt: skip
    strip(picture, 60, operand, 64, operand_fields(operand))
    picture.text(MARGIN, 300, f"Instruction descriptor: {instruction:#010x}", "ink head")
    strip(picture, 334, instruction, 32, instruction_fields(instruction))
    return str(picture)


def strip(picture: Picture, top: float, word: int, width: int, fields: Sequence[Field]) -> None:
    """The bits of a word, the most significant one on the left, and a legend of its fields in two columns."""
    cell = (WIDTH - 2 * MARGIN) / width
    named = [field for field in fields if field.used]
    rows = -(-len(named) // 2)
    for field in fields:
        left = MARGIN + (width - 1 - field.high) * cell
        span = (field.high - field.low + 1) * cell
        at = named.index(field) if field.used else -1
        hue = f"c{at % HUES}" if field.used else "lane"
        picture.rect(left, top, span, 30, f"{hue} edge")
        for bit in range(field.high, field.low - 1, -1):
            x = MARGIN + (width - 0.5 - bit) * cell
            style = "on" if field.used else "soft"
            picture.text(x, top + 20, str(word >> bit & 1), style, text_anchor="middle")
        if span > 20:
            picture.text(left + 1, top - 5, str(field.high), "soft tiny")
        if field.used:
            picture.text(left + span / 2, top + 48, chr(ord("a") + at), "ink bold", text_anchor="middle")
    for at, field in enumerate(named):
        x = MARGIN + (0 if at < rows else WIDTH / 2)
        y = top + 86 + at % rows * 36
        picture.rect(x, y - 17, 24, 26, f"c{at % HUES} edge", rx=3)
        picture.text(x + 12, y + 1, chr(ord("a") + at), "on bold", text_anchor="middle")
        picture.text(x + 34, y - 4, f"{field.bits} = {field.value(word)}", "soft tiny")
        picture.text(x + 34, y + 10, field.meaning, "ink")


def slices() -> str:
    """Eight rows of an operand: the slices of K, and where the swizzle puts their chunks."""
    picture = sheet(
        464, "Four slices of K in one swizzle atom",
        "Left: eight rows of A with 64 values of K each, cut into four slices of 16. Right: the same 1024 bytes of "
        "shared memory. The descriptor of slice k starts 32 k bytes later; the two chunks of each row of a slice lie "
        "side by side, in another place from row to row.",
        "One atom: 8 rows × 128 bytes, read in four slices of K = 16",
    )  # fmt: skip
    cell, tall, top = 48.0, 36.0, 112.0
    left, right = 84.0, 540.0
    picture.text(left, 64, "the tile: 8 rows × 64 values of K", "ink bold")
    picture.text(right, 64, "where its chunks of 16 bytes lie in shared memory", "ink bold")
    for column in range(LINE // CHUNK):
        x = left + (column + 0.5) * cell
        picture.text(x, 98, f"{column * 8}–{column * 8 + 7}", "soft tiny", text_anchor="middle")
        picture.text(right + (column + 0.5) * cell, 98, str(column * CHUNK), "soft tiny", text_anchor="middle")
    picture.text(left - 10, 98, "K", "soft tiny", text_anchor="end")
    picture.text(right - 10, 98, "byte", "soft tiny", text_anchor="end")
    for k in range(4):
        layout = SmemDescriptor(k * 32, 0, 1024, 128)
        for row, line in enumerate(operand_chunks(layout, 8, 16, ITEM, mn_major=False)):
            for half, address in enumerate(line):
                hue = f"c{k} edge"
                y = top + row * tall
                picture.rect(left + (2 * k + half) * cell, y, cell, tall, hue)
                x = left + (2 * k + half + 0.5) * cell
                picture.text(x, y + 23, f"{k}{'ab'[half]}", "on", text_anchor="middle")
                x, y = right + int(address) % LINE // CHUNK * cell, top + int(address) // LINE * tall
                picture.rect(x, y, cell, tall, hue)
                picture.text(x + cell / 2, y + 23, f"{k}{'ab'[half]}", "on", text_anchor="middle")
    for row in range(8):
        picture.text(left - 10, top + row * tall + 23, f"row {row}", "soft tiny", text_anchor="end")
        picture.text(right - 10, top + row * tall + 23, str(row * LINE), "soft tiny", text_anchor="end")
    bottom = top + 8 * tall
    notes = (
        "The number is the slice, a and b are its chunks of 8 values. The descriptor of slice k starts at byte 32k;",
        "the tensor core adds row × 128 and then swaps chunks: bits 4 to 6 of the address are XORed with bits 7 to 9.",
    )
    lines(picture, MARGIN, bottom + 28, notes, "soft")
    return str(picture)


@cache
def traced() -> Timeline:
    """The run of the page's kernel with one tile."""
    page = code_of(PAGE, "multiply")
    trace = page.run(page.multiply(), trace=True).trace
    assert trace is not None
    return trace


def timeline() -> str:
    """From the issue of four MMAs to the threads that read their result."""
    run = traced()

    def of(warp: int, name: str, activity: Activity = Activity.RUN) -> tuple[float, float]:
        found = (i for i in run.intervals if i.track.warp == warp and i.name == name and i.activity is activity)
        item = next(found)
        return item.start, item.end

    issued, commit = of(0, "tcgen05.mma"), of(0, "tcgen05.commit")
    busy = next(item for item in run.intervals if item.track.kind is TrackKind.TENSOR)
    arrived = run.changes[0].time
    picture = sheet(
        322, "From the issue of an MMA to its result",
        f"One thread issues four MMAs and a commit until cycle {commit[1]:.0f}. The tensor core works until cycle "
        f"{busy.end:.0f}, the arrival at the mbarrier comes at cycle {arrived:.0f}, and then all warps read.",
        "One 128 × 128 × 64 tile: four MMAs, one commit, one arrival",
    )  # fmt: skip
    lanes = Lanes(picture, issued[0] - 20, of(1, "tcgen05.ld")[1] + 190, left=196)
    tops = [72 + 48.0 * index for index in range(4)]
    bottom = tops[-1] + lanes.tall + 10
    marks = ((commit[1], "commit returns", "end"), (busy.end, "last product", "start"), (arrived, "arrival", "middle"))
    for time, said, anchor in marks:
        lanes.mark(time, 62, bottom)
        picture.text(lanes.x(time), 54, said, "ink bold small", text_anchor=anchor)
    lanes.row(tops[0], "warp 0", "one thread issues")
    lanes.box(tops[0], *issued, "4 × tcgen05.mma", "c0")
    lanes.box(tops[0], *commit, "", "c1")
    lanes.wait(tops[0], *of(0, "done", Activity.WAIT), "waits for done")
    lanes.row(tops[1], "tensor core", "on its own")
    lanes.box(tops[1], busy.start, busy.end, "4 MMAs", "c0")
    lanes.box(tops[1], busy.end, arrived, "writes D, reports")
    lanes.row(tops[2], "mbarrier done", "init(1)")
    lanes.box(tops[2], lanes.start, arrived, "phase 0: 1 arrival pending")
    lanes.box(tops[2], arrived, lanes.end, "phase 1", "c2")
    lanes.row(tops[3], "warp 1", "as warps 2 and 3")
    lanes.wait(tops[3], *of(1, "done", Activity.WAIT), "waits for done")
    for top, warp in ((tops[0], 0), (tops[3], 1)):
        lanes.box(top, of(warp, "tcgen05.ld")[0], of(warp, "tcgen05.ld", Activity.WAIT)[1], "reads D", "c2")
    lanes.axis(bottom + 6, 100)
    legend = "Blue: MMAs. Amber: tcgen05.commit. Green: the result is complete. Modelled B200."
    picture.text(MARGIN, 306, legend, "soft")
    return str(picture)


def throughput() -> str:
    """Cycles of an MMA of each shape: its arithmetic, its operands, and what the simulator measures."""
    page = code_of(PAGE, "multiply")
    table = ["| M × N | CTAs | arithmetic | operand bytes | reading them | simulated |", "| --- |" + " ---: |" * 5]
    for m, n, group in ((128, 64, 1), (128, 128, 1), (128, 256, 1), (256, 256, 2)):
        rows = m // group
        arithmetic = 2 * rows * n * 16 / B200.tensor_flops_per_cycle
        nbytes = (rows + n) * 16 * ITEM
        measured = f"{page.cycles_of_one(n):.0f}" if group == 1 else "—"
        table.append(
            f"| {m} × {n} | {group} | {arithmetic:.0f} | {nbytes:,} | {nbytes / B200.smem_bytes_per_cycle:.0f} "
            f"| {measured} |"
        )
    return "\n".join(table)


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/mma-descriptors.svg", descriptors()
    yield "figures/mma-slices.svg", slices()
    yield "figures/mma-timeline.svg", timeline()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "mma-throughput", throughput()
