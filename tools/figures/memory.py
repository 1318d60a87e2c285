"""Pictures and passages of docs/concepts/memory.md: the memories of an SM, who moves data, and the bytes of a tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirx_mini.hardware import B200, REGISTERS_PER_SM, TMEM_COLUMNS, TMEM_LANES
from tirx_mini.isa import TABLE, Completion, Instruction, Memory, Scope
from tools.figures._sheet import arrow, lines, sheet

KIB, MIB = 1 << 10, 1 << 20
ARCH = B200.architecture
TMEM_BYTES = TMEM_LANES * TMEM_COLUMNS * 4
REGISTER_BYTES = REGISTERS_PER_SM * 4


# -- who moves data ----------------------------------------------------------------------------------------------------

MOVES = (
    "cp.async", "cp.async.bulk.tensor.load", "cp.async.bulk.tensor.store", "tcgen05.mma", "tcgen05.ld", "tcgen05.st",
)  # fmt: skip
"""The instructions of the table that move data between memories."""
CALLED = {"cp.async.bulk.tensor.load": "TMA load", "cp.async.bulk.tensor.store": "TMA store"}
NAMES = {Memory.GLOBAL: "global", Memory.SHARED: "shared", Memory.TENSOR: "tensor memory"}
ISSUERS = {Scope.THREAD: "one thread", Scope.WARP: "a warp, all lanes"}
ENDS = {
    Completion.MBARRIER: "an mbarrier, which counts the bytes",
    Completion.COMMIT: "`tcgen05.commit`, which arrives at an mbarrier",
    Completion.CP_ASYNC_GROUP: "`cp.async.wait_group`, in the same thread",
    Completion.BULK_GROUP: "`cp.async.bulk.wait_group`, in the same thread",
}


@dataclass(frozen=True)
class Move:
    """An instruction that moves data. source, target: memories, in words."""

    name: str
    source: str
    target: str
    issuer: str
    end: str


def move_of(entry: Instruction) -> Move:
    """What the table of instructions says of one."""
    source, target = (
        " and ".join(NAMES[memory] for memory in NAMES if memory in memories) or "registers"
        for memories in (entry.reads, entry.writes)
    )
    issuer = "each thread" if entry.name == "cp.async" else ISSUERS[entry.issued_by]
    assert entry.completion is not None
    kind = "ld" if Memory.TENSOR in entry.reads else "st"
    end = ENDS.get(entry.completion, f"`tcgen05.wait::{kind}`, in the same warp")
    return Move(entry.name, source, target, issuer, end)


def moves() -> str:
    """The table of moves."""
    rows = ["| instruction | from → to | issued by | its end is observed by |", "| --- | --- | --- | --- |"]
    rows.append("| `ld`, `st` | global, shared ↔ registers | each thread | the thread itself, by using the value |")
    for name in MOVES:
        move = move_of(TABLE[name])
        called = (
            f"`{name.removesuffix('.load').removesuffix('.store')}`, {CALLED[name]}" if name in CALLED else f"`{name}`"
        )
        rows.append(f"| {called} | {move.source} → {move.target} | {move.issuer} | {move.end} |")
    return "\n".join(rows)


# -- how large and how fast --------------------------------------------------------------------------------------------


def spaces() -> str:
    """The table of memories."""
    share = B200.hbm_bytes_per_cycle / B200.sms
    pull = f"{B200.port_bytes_per_cycle:g}; {B200.l2_bytes_per_cycle:g} where all SMs load"
    columns = B200.tmem_columns_per_cycle * 32 * 4
    rows = (
        ("global memory (HBM)", "all SMs", "", f"{share:.0f} ({B200.hbm_tbps:g} TB/s in all)", B200.hbm_latency),
        ("L2 cache", "all SMs", f"{B200.l2_bytes // MIB} MiB in all", pull, B200.l2_latency),
        ("shared memory of another CTA", "a cluster", "", "", B200.remote_latency),
        (
            "shared memory",
            "a CTA",
            f"{ARCH.smem_per_sm // KIB} KiB",
            f"{B200.smem_bytes_per_cycle:g}",
            B200.smem_latency,
        ),
        (
            "tensor memory",
            "a CTA, which allocates it",
            f"{TMEM_BYTES // KIB} KiB",
            f"{columns:g} for each warp",
            B200.tmem_load_latency,
        ),
        ("registers", "a thread", f"{REGISTER_BYTES // KIB} KiB", "", None),
    )
    head = "| memory | shared by | size an SM | bytes a cycle, an SM | latency, cycles |\n| --- | --- |" + " ---: |" * 3
    body = [
        f"| {name} | {whose} | {size or '–'} | {rate or '–'} | {'–' if latency is None else format(latency, 'g')} |"
        for name, whose, size, rate, latency in rows
    ]
    return "\n".join([head, *body])


# -- the bytes of a tile -----------------------------------------------------------------------------------------------

BLK_M, BLK_N, BLK_K, FP16, FP32 = 128, 128, 64, 2, 4


def tile() -> str:
    """What a K tile of a 128 × 128 tile moves, and what the tile itself moves once."""
    operands = (BLK_M + BLK_N) * BLK_K * FP16
    result = BLK_M * BLK_N
    mma = 2 * BLK_M * BLK_N * BLK_K / B200.tensor_flops_per_cycle
    rows = (
        ("each K tile", "A and B, L2 → shared memory, by TMA", operands, B200.l2_bytes_per_cycle),
        ("each K tile", "A and B, shared memory → tensor core", operands, B200.smem_bytes_per_cycle),
        (
            "once a tile",
            "sums, tensor memory → registers, by `tcgen05.ld`",
            result * FP32,
            4 * 128 * B200.tmem_columns_per_cycle,
        ),
        ("once a tile", "D, registers → shared memory", result * FP16, B200.smem_bytes_per_cycle),
        ("once a tile", "D, shared memory → L2, by TMA", result * FP16, B200.tma_store_bytes_per_cycle),
    )
    table = [
        "| when | what moves | bytes | bytes a cycle | cycles |",
        "| --- | --- | ---: | ---: | ---: |",
        *(f"| {when} | {what} | {size:,} | {rate:g} | {size / rate:.0f} |" for when, what, size, rate in rows),
    ]
    return "\n".join(table) + (
        f"\n\nThe arithmetic of a K tile, 2 · {BLK_M} · {BLK_N} · {BLK_K} operations at "
        f"{B200.tensor_flops_per_cycle:,} a cycle, takes {mma:.0f} cycles."
    )


# -- the map -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrow:
    """An instruction on the map. line: from where to where. label: where its words begin, or end by `anchor`."""

    name: str
    line: tuple[float, float, float, float]
    label: tuple[float, float]
    anchor: str = "start"


ARROWS = (
    Arrow("cp.async.bulk.tensor.load", (299, 178, 299, 336), (306, 272)),
    Arrow("cp.async", (386, 178, 386, 336), (393, 272)),
    Arrow("cp.async.bulk.tensor.store", (480, 336, 480, 178), (487, 272)),
    Arrow("ld", (740, 178, 740, 336), (747, 272)),
    Arrow("st", (830, 336, 830, 178), (837, 272)),
    Arrow("ld", (520, 352, 700, 352), (610, 345), "middle"),
    Arrow("st", (700, 396, 520, 396), (610, 414), "middle"),
    Arrow("tcgen05.mma", (460, 410, 460, 522), (452, 460), "end"),
    Arrow("tcgen05.ld", (722, 522, 722, 410), (714, 460), "end"),
    Arrow("tcgen05.st", (780, 410, 780, 522), (788, 460)),
)


def map_picture() -> str:
    """The memories as boxes with their sizes, and the moves as arrows."""
    told = {name: move_of(TABLE[name]) for name in MOVES}
    says = ". ".join(f"{CALLED.get(name, name)}: {move.source} to {move.target}" for name, move in told.items())
    picture = sheet(632, "The memories of a B200, and the instructions that move data between them", f"{says}.")
    boxes = (
        (40, 52, 880, 48, "c7", "Global memory (HBM)", f"{B200.hbm_tbps:g} TB/s, {B200.hbm_latency:g} cycles"),
        (40, 130, 880, 48, "c6", "L2 cache", f"{B200.l2_bytes // MIB} MiB for all SMs, {B200.l2_latency:g} cycles"),
        (290, 336, 230, 74, "c0", "Shared memory",
         f"{ARCH.smem_per_sm // KIB} KiB, {ARCH.smem_per_cta // KIB} for a CTA; {B200.smem_latency:g} cycles"),
        (700, 336, 200, 74, "c1", "Registers", f"{REGISTER_BYTES // KIB} KiB: {REGISTERS_PER_SM:,} of 32 bits"),
        (420, 522, 400, 66, "c2", "Tensor memory",
         f"{TMEM_BYTES // KIB} KiB: {TMEM_LANES} lanes × {TMEM_COLUMNS} columns × 32 bits"),
        (30, 336, 176, 74, "c0", "Shared memory", "of the pair's other CTA"),
    )  # fmt: skip
    picture.rect(248, 226, 690, 390, "lane edge", rx=8)
    picture.text(926, 604, f"one of {B200.sms} SMs", "ink bold", text_anchor="end")
    picture.rect(18, 226, 200, 390, "lane edge", rx=8)
    picture.text(30, 604, "another SM", "ink bold")
    for x, y, wide, high, paint, name, size in boxes:
        picture.rect(x, y, wide, high, f"{paint} edge", rx=5)
        middle = y + high / 2
        words = size.split("; ")
        picture.text(x + wide / 2, middle + 4 - 8 * len(words), name, "on bold", text_anchor="middle")
        lines(picture, x + wide / 2, middle + 23 - 8 * len(words), words, "on small", text_anchor="middle")
    arrow(picture, 470, 100, 470, 130)
    arrow(picture, 490, 130, 490, 100)
    words = ("reached by", "remote mbarrier.arrive,", "TMA multicast,", "tcgen05.mma of a pair")
    lines(picture, 30, 436, words, "ink small")
    arrow(picture, 206, 362, 290, 362)
    arrow(picture, 290, 384, 206, 384)
    for item in ARROWS:
        arrow(picture, *item.line)
        lines(picture, *item.label, _words(item.name), "ink small", text_anchor=item.anchor)
    return str(picture)


def _words(name: str) -> tuple[str, ...]:
    """An instruction, and who issues it; of the ordinary ones, which each thread issues and waits for, the name."""
    entry = TABLE.get(name)
    if entry is None or entry.completion is None:
        return (name,)
    issuer = {"a warp, all lanes": "a warp"}.get(move_of(TABLE[name]).issuer, move_of(TABLE[name]).issuer)
    return CALLED.get(name, name), issuer


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/memory-map.svg", map_picture()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "memory-spaces", spaces()
    yield "memory-moves", moves()
    yield "memory-tile", tile()
