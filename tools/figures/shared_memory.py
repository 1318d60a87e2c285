"""Pictures and passages of docs/concepts/shared-memory.md: swizzles, slabs, and the pools of three steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.hardware import BLACKWELL
from tirx_mini.ir import Buffer, DeclBuffer, walk
from tirx_mini.layout import Layout, S, SwizzleMode, TileLayout, dtype_bits, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.report import Picture
from tools.figures._sheet import MARGIN, arrow, lines, rule, sheet

DTYPE = "float16"
BYTES = dtype_bits(DTYPE) // 8
CHUNK = 16 // BYTES
"""Elements of 16 bytes."""
BANKS, BANK_BYTES = 32, 4

ROW_MAJOR = TileLayout(S[(8, 64) : (64, 1)])
SWIZZLED = tma_shared_layout(DTYPE, SwizzleMode.SWIZZLE_128B_ATOM, (8, 64))
SHOWN = 2
"""The chunk of each row whose reads are counted."""


def chunk_addresses(layout: Layout, rows: Iterable[int], chunk: int) -> list[int]:
    """The byte addresses of 16-byte chunk `chunk` of these rows of a tile."""
    return [int(layout.apply_m(row, chunk * CHUNK)) * BYTES for row in rows]


def conflict_degree(addresses: Iterable[int], width: int = 16) -> int:
    """Cycles that the banks need for accesses of `width` bytes: the most words that one bank has to deliver."""
    words = {(address + offset) // BANK_BYTES for address in addresses for offset in range(0, width, BANK_BYTES)}
    in_bank = [0] * BANKS
    for word in words:
        in_bank[word % BANKS] += 1
    return max(in_bank)


# -- the atom, before and after ----------------------------------------------------------------------------------------


def swizzle_picture() -> str:
    """An atom of 8 rows × 128 bytes: where each chunk lies, row-major and swizzled, and what a column costs."""
    degrees = [conflict_degree(chunk_addresses(layout, range(8), SHOWN)) for layout in (ROW_MAJOR, SWIZZLED)]
    says = (
        f"Row-major: chunk {SHOWN} of all rows is in the same four banks; reading it takes {degrees[0]} cycles. "
        f"Swizzled: chunk c of row r is at place c XOR r; reading it takes {degrees[1]} cycle."
    )
    picture = sheet(522, "8 rows × 128 bytes of shared memory, and the banks that hold them", says)
    words = (
        f"A cell is a chunk of 16 bytes ({CHUNK} {DTYPE}) in four banks. Its number: its index in the tile's row.",
        f"Outlined: chunk {SHOWN} of the eight rows, which eight threads, or the tensor core, access together.",
    )
    lines(picture, MARGIN, 53, words, "soft")
    for left, layout, name in (
        (74.0, ROW_MAJOR, "Row-major"),
        (550.0, SWIZZLED, "128-byte swizzle: place = chunk XOR row"),
    ):
        _atom(picture, left, layout, name)
    return str(picture)


def _atom(picture: Picture, left: float, layout: Layout, name: str) -> None:
    cell, high, top = 47.0, 32.0, 132.0
    picture.text(left, top - 36, name, "ink bold")
    for place in range(8):
        x = left + cell * (place + 0.5)
        picture.text(x, top - 8, f"{4 * place}–{4 * place + 3}", "soft small", text_anchor="middle")
    picture.text(left - 8, top - 8, "banks", "soft small", text_anchor="end")
    for row in range(8):
        y = top + high * row
        picture.text(left - 8, y + 21, f"byte {128 * row}", "soft small", text_anchor="end")
        for chunk in range(8):
            (address,) = chunk_addresses(layout, (row,), chunk)
            x = left + cell * (address % 128 // 16)
            picture.rect(x, y, cell, high, f"c{chunk} edge", f"row {row}, chunk {chunk}: byte {address}")
            picture.text(x + cell / 2, y + 21, str(chunk), "on", text_anchor="middle")
    addresses = chunk_addresses(layout, range(8), SHOWN)
    for row, address in enumerate(addresses):
        picture.rect(left + cell * (address % 128 // 16) + 2, top + high * row + 2, cell - 4, high - 4, "arrow thick")
    y = top + 8 * high + 78
    rule(picture, left, y, left + 8 * cell, y, "edge")
    for place in range(8):
        hits = sum(address % 128 // 16 == place for address in addresses)
        tall = hits * 6.0
        picture.rect(left + cell * place + 8, y - tall, cell - 16, tall, f"c{SHOWN} edge")
        picture.text(left + cell * (place + 0.5), y + 16, str(hits), "ink small", text_anchor="middle")
    degree = conflict_degree(addresses)
    cycles = f"{degree} cycle{'s' * (degree != 1)}"
    picture.text(left, y + 38, f"Chunk {SHOWN} of the rows, in each group of banks: {cycles}", "ink")


# -- slabs -------------------------------------------------------------------------------------------------------------

WIDE = (64, 128)


def slabs_picture() -> str:
    """A tile wider than the span of its swizzle: where its atoms lie in memory."""
    layout = tma_shared_layout(DTYPE, SwizzleMode.SWIZZLE_128B_ATOM, WIDE)
    rows, columns = WIDE
    starts = {
        (band, slab): int(layout.apply_m(8 * band, 64 * slab)) * BYTES
        for slab in range(columns // 64)
        for band in range(rows // 8)
    }
    says = f"A tile of {rows} × {columns} float16: the second slab begins at byte {starts[0, 1]}."
    picture = sheet(402, f"A tile of {rows} × {columns} float16: two slabs of 128 bytes, one after the other", says)
    picture.text(
        MARGIN,
        53,
        "Each cell is an atom of 8 rows × 128 bytes = 1024 bytes; the number is the byte where it begins.",
        "soft",
    )
    top, high, wide, left = 116.0, 30.0, 150.0, 110.0
    picture.text(left, top - 26, "the tile", "ink bold")
    for slab in range(2):
        first = f"columns {64 * slab}–{64 * slab + 63}"
        picture.text(left + wide * (slab + 0.5), top - 8, first, "soft small", text_anchor="middle")
    for (band, slab), start in starts.items():
        x, y = left + wide * slab, top + high * band
        picture.rect(x, y, wide, high, f"c{slab} edge")
        picture.text(x + wide / 2, y + 20, f"{start:,}", "on", text_anchor="middle")
        if slab == 0:
            picture.text(left - 10, y + 20, f"rows {8 * band}–{8 * band + 7}", "soft small", text_anchor="end")
    arrow(picture, left + 2 * wide + 20, top + 4 * high, left + 2 * wide + 110, top + 4 * high)
    x, unit = left + 2 * wide + 130, high / 2
    picture.text(x, top - 26, "shared memory", "ink bold")
    picture.text(x, top - 8, "addresses grow downwards", "soft small")
    for (_, slab), start in sorted(starts.items(), key=lambda item: item[1]):
        picture.rect(x, top + unit * start / 1024, 160, unit, f"c{slab} edge")
    for slab in range(2):
        y = top + unit * starts[0, slab] / 1024
        words = (
            f"slab {slab}: columns {64 * slab}–{64 * slab + 63},",
            f"all {rows} rows, from byte {starts[0, slab]:,}",
        )
        lines(picture, x + 174, y + 56, words, "ink")
    lines(picture, MARGIN, 378, ["A TMA box is at most one slab wide, so this tile is two copies."], "soft")
    return str(picture)


# -- pools -------------------------------------------------------------------------------------------------------------

POOLS = (1, 5, 7, 8, 10)
PAINT = {"Asmem": "c0", "Bsmem": "c1", "Dsmem": "c2"}


def pool_of(step: int) -> tuple[list[Buffer], int]:
    """The buffers in the pool of a reference kernel, by offset, and the bytes that its launch asks for."""
    shape = (128, 128, 64) if step == 1 else (1024, 1024, 1024)
    kernel = lower(load_kernels(default_kernels())[step](*shape))
    assert kernel.launch is not None
    buffers = [
        node.buffer for node in walk(kernel.body) if isinstance(node, DeclBuffer) and node.buffer.scope == "shared"
    ]
    return sorted(buffers, key=lambda buffer: buffer.byte_offset), kernel.launch.smem_bytes


def pools_picture() -> str:
    """Shared memory of a CTA in some steps, to scale, and the limit."""
    pools = {step: pool_of(step) for step in POOLS}
    limit = BLACKWELL.smem_per_cta
    left, right, top, row = 92.0, 930.0, 104.0, 62.0
    unit = (right - left) / (232 * 1024)
    says = ". ".join(f"Step {step}: {size} bytes" for step, (_, size) in pools.items())
    picture = sheet(
        top + row * len(pools) + 32, "Shared memory of a CTA: the pools of five steps, to scale", f"{says}."
    )
    picture.text(
        MARGIN,
        54,
        "A1 is stage 1 of Asmem; in step 10 a stage has two blocks of A, and D1 belongs to consumer 1. Below: KiB.",
        "soft",
    )
    x = left + limit * unit
    bottom = top + row * len(pools) - 22
    rule(picture, x, top - 12, x, bottom, "arrow thick dash")
    picture.text(x + 4, top - 20, f"limit of a CTA: {limit // 1024} KiB", "ink bold", text_anchor="end")
    for index, (step, (buffers, size)) in enumerate(pools.items()):
        y = top + row * index
        picture.text(MARGIN, y + 24, f"step {step}", "ink bold")
        picture.rect(left, y, size * unit, 38, "lane edge")
        for buffer in buffers:
            if buffer.name in PAINT:
                _buffer(picture, buffer, left, y, unit)
        picture.text(max(left + size * unit + 8, 0), y + 24, f"{size:,} bytes" if size < 190_000 else "", "soft small")
        if size >= 190_000:
            picture.text(left + size * unit, y + 53, f"{size:,} bytes", "soft small", text_anchor="end")
    for kib in range(0, 225, 32):
        picture.text(left + kib * 1024 * unit, bottom + 30, str(kib), "soft small", text_anchor="middle")
    return str(picture)


def _buffer(picture: Picture, buffer: Buffer, left: float, y: float, unit: float) -> None:
    blocks = 1
    for extent in buffer.shape[:-2]:
        blocks *= extent
    x, wide = left + buffer.byte_offset * unit, buffer.nbytes * unit / blocks
    title = f"{buffer.name} {buffer.shape}: bytes {buffer.byte_offset} to {buffer.byte_offset + buffer.nbytes - 1}"
    for block in range(blocks):
        picture.rect(x + wide * block, y, wide, 38, f"{PAINT[buffer.name]} edge", title)
        stage = str(block * buffer.shape[0] // blocks) if blocks > 1 else ""
        picture.text(x + wide * (block + 0.5), y + 24, f"{buffer.name[0]}{stage}", "on bold", text_anchor="middle")


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/shared-memory-swizzle.svg", swizzle_picture()
    yield "figures/shared-memory-slabs.svg", slabs_picture()
    yield "figures/shared-memory-pools.svg", pools_picture()
