"""Pictures and passages of docs/concepts/tensor-memory.md: accumulators, reads, and what an allocation costs others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tirx_mini import simulate
from tirx_mini.course import default_kernels, load_kernels, load_module
from tirx_mini.hardware import BLACKWELL, THREADS_OF, TMEM_COLUMNS, TMEM_LANES
from tirx_mini.isa import TABLE, InstructionDescriptor
from tirx_mini.layout import S, TCol, TileLayout, TLane, m, tid_in_wg
from tirx_mini.passes import lower
from tirx_mini.report import Picture
from tools.figures._lowered import executed
from tools.figures._sheet import MARGIN, arrow, lines, rule, sheet

WARP = THREADS_OF["warp"]


@dataclass(frozen=True)
class Accumulator:
    """Columns of tensor memory that MMAs write. warp: which issues them. pair: whether for two CTAs at once.

    readers: the warpgroup that loads them; chunk: columns of one tcgen05.ld.
    """

    warp: int
    pair: bool
    column: int
    columns: int
    readers: int
    chunk: int


def accumulators(step: int) -> list[Accumulator]:
    """The accumulators in the tensor memory of a CTA of a reference kernel."""
    kernel = lower(load_kernels(default_kernels())[step](1024, 1024, 1024))
    loads: dict[int, tuple[int, int]] = {}
    found: dict[int, Accumulator] = {}
    for item in executed(kernel):
        attrs = dict(item.call.attrs)
        if item.entry.name == "tcgen05.ld":
            address = item.operands["addr"]
            assert isinstance(address, int)
            assert address >> 16 == WARP * (item.warp % 4)
            loads[address & 0xFFFF] = item.warp // 4, attrs["num"]
        elif item.entry.name == "tcgen05.mma":
            column, word = item.operands["d"], item.operands["idesc"]
            assert isinstance(column, int)
            assert isinstance(word, int)
            shape = InstructionDescriptor.decode(word, attrs["kind"], attrs["cta_group"])
            pair = attrs["cta_group"] == 2
            assert shape.m == TMEM_LANES * attrs["cta_group"]
            found[column] = Accumulator(item.warp, pair, column, shape.n, 0, 0)
    return [Accumulator(a.warp, a.pair, a.column, a.columns, *loads[a.column]) for _, a in sorted(found.items())]


# -- where the accumulators lie ----------------------------------------------------------------------------------------

STEPS = {
    7: "Step 7: one accumulator",
    9: "Step 9: a pair of CTAs, one accumulator in each",
    10: "Step 10: a pair of CTAs, two accumulators in each",
}


def accumulators_picture() -> str:
    """The tensor memory of one CTA in three steps, with the columns that are written and who reads them."""
    tables = {step: accumulators(step) for step in STEPS}
    says = ". ".join(
        f"{STEPS[step]}: "
        + ", ".join(f"columns {a.column} to {a.column + a.columns - 1} from warp {a.warp}" for a in table)
        for step, table in tables.items()
    )
    left, wide, high, top = 168.0, 752.0, 112.0, 122.0
    picture = sheet(
        top + 3 * (high + 66) - 8, "Tensor memory of one CTA: who writes which columns, and who reads", f"{says}."
    )
    words = (
        f"{TMEM_LANES} lanes × {TMEM_COLUMNS} columns of 32 bits, read off the instructions of the lowered kernels.",
        "Left: the lanes, and the only warp of a warpgroup that can load them. Below: the columns.",
    )
    lines(picture, MARGIN, 52, words, "soft")
    for index, (step, table) in enumerate(tables.items()):
        y = top + index * (high + 66)
        picture.text(MARGIN, y - 14, STEPS[step], "ink bold")
        _memory(picture, left, y, wide, high)
        for number, item in enumerate(table):
            _accumulator(picture, item, number, left, y, wide / TMEM_COLUMNS, high)
        used = sum(item.columns for item in table)
        if used < TMEM_COLUMNS:
            middle = left + wide * (used + TMEM_COLUMNS) / 2 / TMEM_COLUMNS
            picture.text(middle, y + high / 2 + 5, "allocated, not used", "soft", text_anchor="middle")
    return str(picture)


def _memory(picture: Picture, left: float, y: float, wide: float, high: float) -> None:
    """An empty tensor memory: bands of 32 lanes, and a scale of columns."""
    picture.rect(left, y, wide, high, "lane edge")
    band = high / (TMEM_LANES // WARP)
    for warp in range(TMEM_LANES // WARP):
        words = f"lanes {WARP * warp}–{WARP * warp + WARP - 1}: warp {warp}"
        picture.text(left - 8, y + band * (warp + 0.5) + 5, words, "ink small", text_anchor="end")
        if warp:
            rule(picture, left, y + band * warp, left + wide, y + band * warp, "grid")
    for column in range(0, TMEM_COLUMNS + 1, 64):
        x = left + wide * column / TMEM_COLUMNS
        picture.text(x, y + high + 17, str(column), "soft small", text_anchor="middle")


def _accumulator(
    picture: Picture, item: Accumulator, number: int, left: float, y: float, unit: float, high: float
) -> None:
    x, width = left + item.column * unit, item.columns * unit
    picture.rect(x, y, width, high, f"c{number} edge")
    for column in range(item.chunk, item.columns, item.chunk):
        at = x + column * unit
        for begin in (y, y + high - 9):
            rule(picture, at, begin, at, begin + 9, "edge")
    rows = "128 of the pair's 256 rows" if item.pair else "128 rows"
    words = (
        f"{rows} × {item.columns} float32",
        f"MMA: warpgroup {item.warp // 4}, warp {item.warp % 4}",
        f"read: warpgroup {item.readers},",
        f"{item.chunk} columns at a time",
    )
    for line, text in enumerate(words):
        picture.text(x + width / 2, y + 27 + 22 * line, text, "on small", text_anchor="middle")


# -- one read ----------------------------------------------------------------------------------------------------------

TMEM = TileLayout(S[(TMEM_LANES, TMEM_COLUMNS) : (1 @ TLane, 1 @ TCol)])
VIEW = TileLayout(S[(TMEM_LANES, 64) : (1 @ tid_in_wg, 1)])
ELEMENT = (37, 5)


def read_picture() -> str:
    """One element on its way from tensor memory to a register, by the two layouts."""
    row, column = ELEMENT
    place, register = TMEM.apply(row, column), VIEW.apply(row, column)
    lane, at, thread, number = (int(v) for v in (place[TLane], place[TCol], register[tid_in_wg], register[m]))
    address = lane << 16 | at
    told = f"Element {ELEMENT}: lane {lane}, column {at}, {address:#010x}; thread {thread}, register {number}."
    picture = sheet(478, "A warpgroup reads 64 columns: tcgen05.ld.32x32b.x64, executed by its four warps", told)
    picture.text(
        MARGIN, 54, "Row r of the tile is in lane r, and ends in thread r: each warp reads its own 32 lanes.", "soft"
    )
    top, band, unit = 112.0, 70.0, 4.0
    lines(picture, 150, 84, ["tensor memory", "columns 0 … 63"], "ink small")
    lines(picture, 640, 84, ["registers of each thread", "0 … 63"], "ink small")
    for warp in range(4):
        y = top + band * warp
        first = WARP * warp
        lines(picture, 92, y + 26, ["lanes", f"{first}–{first + WARP - 1}"], "ink small")
        for x in (150.0, 640.0):
            picture.rect(x, y, 64 * unit, band - 6, f"c{warp} edge")
        arrow(picture, 420, y + 32, 632, y + 32)
        picture.text(526, y + 24, f"warp {warp}", "ink bold", text_anchor="middle")
        picture.text(526, y + 50, f"lane field {first} << 16", "soft small", text_anchor="middle")
        lines(picture, 904, y + 26, ["threads", f"{first}–{first + WARP - 1}"], "ink small")
    y = top + band * (lane // WARP) + (band - 6) * (lane % WARP) / WARP
    for x in (150.0, 640.0):
        picture.rect(x, y, 64 * unit, 4, "page", opacity=0.55)
        picture.rect(x + at * unit - 2, y - 3, unit + 4, 10, "arrow thick")
    y = top + 4 * band + 24
    picture.text(MARGIN, y, f"Element ({row}, {column}) of the tile:", "ink bold")
    told = (
        f"in tensor memory  lane {lane}, column {at}; address {lane} << 16 | {at} = {address:#010x}",
        f"in registers      thread {thread} = lane {thread % WARP} of warp {thread // WARP}; register {number}",
    )
    for index, text in enumerate(told):
        picture.text(MARGIN, y + 26 + 22 * index, text, "ink code", xml_space="preserve", style="white-space:pre")
    return str(picture)


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/tensor-memory-accumulators.svg", accumulators_picture()
    yield "figures/tensor-memory-read.svg", read_picture()


def loads() -> str:
    """The table of the loads of tensor memory in the steps."""
    used: dict[str, list[int]] = {}
    entry = TABLE["tcgen05.ld"]
    for step, factory in load_kernels(default_kernels()).items():
        shape = {1: (128, 128, 64), 2: (128, 128, 128)}.get(step, (1024, 1024, 1024))
        kinds = dict.fromkeys(item.call.attrs for item in executed(lower(factory(*shape))) if item.entry is entry)
        for attrs in kinds:
            form = f"| `.{dict(attrs)['shape']}.x{dict(attrs)['num']}` | 32 × {dict(attrs)['num']} | "
            used.setdefault(f"{form}{sum(entry.register_counts(dict(attrs)).values())} |", []).append(step)
    rows = ["| shape | lanes × columns, a warp | registers, a thread | steps |", "| --- | --- | ---: | --- |"]
    return "\n".join([*rows, *(f"{row} {', '.join(map(str, steps))} |" for row, steps in used.items())])


SHARED_SHAPE = (2048, 2048, 512)


def shares() -> str:
    """Step 3 with fewer columns for each CTA: so many CTAs fit on an SM, and this is its time."""
    path = default_kernels() / BLACKWELL.kernels / "step03_tiling.py"
    source = path.read_text(encoding="utf-8")
    rows = ["| columns of a CTA | CTAs that find room on an SM | predicted µs |", "| ---: | ---: | ---: |"]
    with TemporaryDirectory() as folder:
        for columns in (TMEM_COLUMNS, TMEM_COLUMNS // 2):
            edited = Path(folder) / f"step03_{columns}.py"
            text = source.replace("n_cols=512", f"n_cols={columns}").replace("(128, 512)", f"(128, {columns})")
            edited.write_text(text, encoding="utf-8")
            report = simulate(load_module(edited).hgemm_v3(*SHARED_SHAPE), data=False)
            assert not report.findings
            rows.append(f"| {columns} | {TMEM_COLUMNS // columns} | {report.time_us:.1f} |")
    return "\n".join(rows)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "tensor-memory-loads", loads()
    yield "tensor-memory-shares", shares()
