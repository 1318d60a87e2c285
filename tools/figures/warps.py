"""Pictures and passages of docs/concepts/warps.md: the roles of step 7's warps, and guards against lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from tirx_mini import Report, simulate
from tirx_mini.codegen import cuda_source
from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.hardware import BLACKWELL
from tirx_mini.ir import AddressOf, PrimFunc
from tirx_mini.isa import BarrierEffect
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.report import Picture
from tirx_mini.script import tirx as Tx
from tools.figures._lowered import Executed, executed
from tools.figures._page_code import code_of
from tools.figures._sheet import MARGIN, WIDTH, lines, rule, sheet

# -- the roles of step 7 -----------------------------------------------------------------------------------------------

COLUMNS = (
    ("mbarrier.init", "init of", "mbarriers"),
    ("tcgen05.alloc", "tcgen05", ".alloc"),
    ("cp.async.bulk.tensor.load", "TMA", "load"),
    ("tcgen05.mma", "tcgen05", ".mma"),
    ("tcgen05.commit", "tcgen05", ".commit"),
    ("tcgen05.ld", "tcgen05", ".ld"),
    ("cp.async.bulk.tensor.store", "TMA", "store"),
    ("tcgen05.dealloc", "tcgen05", ".dealloc"),
)
"""The instructions of the map, and their names in two lines."""
ROLES = (("tcgen05.mma", "MMA", "c1"), ("cp.async.bulk.tensor.load", "TMA", "c0"), ("tcgen05.ld", "write-back", "c2"))
"""The instruction that makes a warp's role, the name of the role and its colour."""


@dataclass(frozen=True)
class Role:
    """What one warp does. lanes: of each instruction that it executes. waits, signals: the mbarriers that it names."""

    warp: int
    name: str
    paint: str
    lanes: dict[str, int]
    waits: tuple[str, ...]
    signals: tuple[str, ...]


def role_of(warp: int, does: list[Executed]) -> Role:
    """The role of a warp, by the instructions that it executes."""
    lanes = {item.entry.name: item.lanes for item in does}
    name, paint = next(((name, paint) for entry, name, paint in ROLES if entry in lanes), ("idle", "plain"))
    waits = [_barrier(item) for item in does if item.entry.barrier is BarrierEffect.WAIT]
    signals = [_barrier(item) for item in does if item.entry.barrier is not None and item.entry.barrier.arrives]
    return Role(warp, name, paint, lanes, tuple(dict.fromkeys(waits)), tuple(dict.fromkeys(signals)))


def _barrier(item: Executed) -> str:
    """The name of the mbarrier that an instruction waits for or arrives at."""
    place = item.entry.argument(item.call, "bar")
    return place.buffer.name if isinstance(place, AddressOf) else ""


def roles(step: int) -> list[Role]:
    """The roles of the warps of a reference kernel's CTA."""
    kernel = lower(load_kernels(default_kernels())[step](1024, 1024, 1024))
    does = list(executed(kernel))
    return [role_of(warp, [item for item in does if item.warp == warp]) for warp in sorted({e.warp for e in does})]


def roles_picture() -> str:
    """Step 7: a row for each warp, a column for each instruction, and how many lanes execute it."""
    found = roles(7)
    top, row, left, cell = 116.0, 42.0, 204.0, 63.0
    says = ". ".join(
        f"Warp {r.warp % 4} of warpgroup {r.warp // 4}: {r.name}"
        + (f", waits for {' and '.join(r.waits)}" if r.waits else "")
        for r in found
    )
    picture = sheet(top + 8 * row + 62, "Step 7: which warp executes what, and with how many lanes", f"{says}.")
    picture.text(MARGIN, 54, "Read off the lowered code. 32: all lanes of the warp together. 1: one lane.", "soft")
    for index, (_, *words) in enumerate(COLUMNS):
        lines(picture, left + cell * (index + 0.5), 84, words, "ink small", text_anchor="middle")
    right = left + cell * len(COLUMNS) + 14
    picture.text(right, 101, "waits for", "ink small")
    picture.text(right + 104, 101, "signals", "ink small")
    for index, role in enumerate(found):
        _role(picture, role, top + row * index + (10 if index > 3 else 0), left, cell, right)
    for group in range(2):
        y = top + group * (4 * row + 10)
        rule(picture, MARGIN, y - 4, WIDTH - MARGIN, y - 4, "grid")
        lines(picture, MARGIN, y + 2 * row - 6, ("warpgroup", f"{group}"), "ink bold")
    note = "All eight warps also execute the barriers of the CTA: bar.sync after the set-up and before tcgen05.dealloc."
    picture.text(MARGIN, top + 8 * row + 44, note, "soft")
    return str(picture)


def _role(picture: Picture, role: Role, y: float, left: float, cell: float, right: float) -> None:
    picture.text(122, y + 17, f"warp {role.warp % 4}", "ink")
    picture.text(122, y + 33, role.name, "soft small")
    for index, (entry, *_) in enumerate(COLUMNS):
        x = left + cell * index
        lanes = role.lanes.get(entry)
        if lanes is None:
            picture.rect(x + 3, y + 3, cell - 6, 34, "gap", rx=3)
            continue
        width = cell - 6 if lanes == 32 else 24
        picture.rect(x + cell / 2 - width / 2, y + 3, width, 34, f"{role.paint} edge", rx=3)
        picture.text(x + cell / 2, y + 25, str(lanes), "on bold", text_anchor="middle")
    nothing = ("–",)
    for column, names in enumerate((role.waits or nothing, role.signals or nothing)):
        lines(picture, right + 104 * column, y + (25 if len(names) == 1 else 17), names, "ink code")


# -- guards and lanes --------------------------------------------------------------------------------------------------

GUARDS = ("no guard", "lane_id < 16", "lane_id == 0", "elect_sync()")
OPERATIONS = ("tcgen05.alloc", "tcgen05.mma", "mbarrier.arrive")
TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))
TMEM = TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)])


@Tx.inline
def under(kind, lane_id, body):
    """Execute `body` under a guard."""
    if kind == GUARDS[0]:
        body()
    elif kind == GUARDS[1]:
        if lane_id < 16:
            body()
    elif kind == GUARDS[2]:
        if lane_id == 0:
            body()
    else:
        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
            body()


def guarded(guard: str, operation: str) -> PrimFunc:
    """A warp that allocates tensor memory, multiplies two tiles and arrives at a barrier, correct but for one thing:
    `operation` is executed under `guard`. "": each operation under the guard that it needs. Lanes that pass the guard
    note so in `seen`."""
    kinds = {name: guard if name == operation else right for name, right in zip(OPERATIONS, _RIGHT, strict=True)}

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((128, 64), "float16"), seen: Tx.Buffer((32,), "int32")):
        with Tx.kernel():
            _bx = Tx.cta_id([1], parent="kernel")
            lane_id = Tx.thread_id([32], parent="cta")
            pool = Tx.PoolAllocator()
            addr = pool.alloc((1,), "uint32")
            done = pool.alloc((1,), "uint64")
            bar = pool.alloc((1,), "uint64")
            tile = pool.alloc((128, 64), "float16", layout=TILE)
            pool.commit()

            @Tx.inline
            def note():
                seen[lane_id] = 1

            @Tx.inline
            def alloc():
                Tx.ptx.tcgen05.alloc(Tx.address_of(addr), n_cols=128, cta_group=1)

            if lane_id == 0:
                Tx.ptx.mbarrier.init(done.ptr_to([0]), 1)
                Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            with Tx.thread():
                under(guard, lane_id, note)
            under(kinds["tcgen05.alloc"], lane_id, alloc)
            with Tx.cta():
                Tx.copy(tile[:, :], A[:, :])
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            tmem = Tx.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=addr[0], layout=TMEM)

            @Tx.inline
            def mma():
                Tx.gemm_async(tmem[:, :], tile[:, :], tile[:, :], accum=False, dispatch="tcgen05", cta_group=1)
                Tx.ptx.tcgen05.commit(done.ptr_to([0]), cta_group=1)

            @Tx.inline
            def arrive():
                Tx.ptx.mbarrier.arrive(bar.ptr_to([0]))

            with Tx.thread(parent="warp"):
                under(kinds["tcgen05.mma"], lane_id, mma)
            Tx.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
            with Tx.thread(parent="warp"):
                under(kinds["mbarrier.arrive"], lane_id, arrive)
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.dealloc(addr[0], n_cols=128, cta_group=1)

    return kernel


_RIGHT = (GUARDS[0], GUARDS[3], GUARDS[2])


def outcome(guard: str, operation: str) -> tuple[Report, np.ndarray]:
    """The report of a run of `guarded`, and which lanes passed the guard, int32[32]."""
    seen = np.zeros(32, np.int32)
    rng = np.random.default_rng(0)
    report = simulate(guarded(guard, operation), rng.standard_normal((128, 64)).astype(np.float16), seen)
    return report, seen


_NEEDS = ("needs all 32 lanes", "needs one thread", "barrier of init(1)")
_ELECTED = GUARDS.index("elect_sync()")


@cache
def outcomes() -> dict[tuple[str, str], tuple[str, int]]:
    """For each guard and operation: the code of the first finding, "" where there is none; and the lanes that pass."""
    table: dict[tuple[str, str], tuple[str, int]] = {}
    for guard in GUARDS:
        _, seen = outcome(guard, "")
        for operation in OPERATIONS:
            report, _ = outcome(guard, operation)
            table[guard, operation] = (report.findings[0].code if report.findings else "", int(seen.sum()))
    return table


def guards_picture() -> str:
    """A row for each guard: the lanes that pass it, and what comes of three instructions under it."""
    table = outcomes()
    says = [
        f"{guard}: {table[guard, OPERATIONS[0]][1]} lanes pass. "
        + ", ".join(f"{operation} {table[guard, operation][0] or 'is right'}" for operation in OPERATIONS)
        for guard in GUARDS
    ]
    top, row, left, lane = 128.0, 62.0, 144.0, 12.4
    picture = sheet(
        top + 4 * row + 14,
        "One warp: which lanes pass a guard, and which instructions may stand under it",
        ". ".join(says),
    )
    note = "Each row was run in the simulator, with one instruction under the guard and the rest correct."
    picture.text(MARGIN, 54, note, "soft")
    picture.text(left, 98, "lanes 0 to 31 of the warp", "ink small")
    right = left + 32 * lane + 20
    for index, (operation, needs) in enumerate(zip(OPERATIONS, _NEEDS, strict=True)):
        x = right + 130 * index + 60
        picture.text(x, 91, operation, "ink code", text_anchor="middle")
        picture.text(x, 109, needs, "soft small", text_anchor="middle")
    for index, guard in enumerate(GUARDS):
        y = top + row * index
        picture.text(MARGIN, y + 21, guard, "ink code")
        passing = table[guard, OPERATIONS[0]][1]
        for place in range(32):
            paint = "c0" if place < passing else "gap"
            picture.rect(left + lane * place, y, lane - 2, 32, f"{paint} edge", rx=2)
        for column, operation in enumerate(OPERATIONS):
            code, _ = table[guard, operation]
            x = right + 130 * column
            picture.rect(x, y, 120, 32, "lane edge" if code else "c2 edge", rx=4)
            words = f"✗ {code}" if code else "✓ right"
            picture.text(x + 60, y + 21, words, "alarm bold" if code else "on bold", text_anchor="middle")
    y = top + row * _ELECTED
    picture.rect(left - 4, y - 5, 32 * lane + 6, 42, "arrow thick dash", rx=5)
    note = "one lane, the same one each time: the ISA does not say which (here, and on today's chips, the lowest)"
    picture.text(left, y + 54, note, "soft small")
    picture.text(left, top + row * 2 + 48, "lane 0, and no other", "soft small")
    return str(picture)


# -- the same guards in CUDA -------------------------------------------------------------------------------------------


def elect_cuda() -> str:
    """The CUDA C++ of the kernel with which the page begins."""
    return cuda_source(lower(code_of("concepts/warps.md").two_guards), BLACKWELL.name).text


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/warps-roles.svg", roles_picture()
    yield "figures/warps-guards.svg", guards_picture()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "warps-elect-cuda", f"<!-- not run: made by the compiler -->\n```cuda\n{elect_cuda().strip()}\n```"
