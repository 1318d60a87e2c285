"""Kernels that do what a step teaches without a use for it: right kernels, each a reference of some step with edits."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.kernels_ref.edits import HOPPER_SOURCES, SOURCES
from tirx_mini.course import Shape, load_kernels
from tirx_mini.ir import PrimFunc


@dataclass(frozen=True)
class Insert:
    """Lines that go before a line, after it or in its place, and as far in, or so many levels deeper.

    line: its text, or a part of it that no other line has; of several lines with that text, the one of a number.
    """

    line: str
    text: str
    where: str = "before"
    number: int = 0
    deeper: int = 0

    def into(self, lines: list[str]) -> None:
        places = [n for n, line in enumerate(lines) if self.line in line]
        assert len(places) == 1 or self.number, f"{self.line!r} stands {len(places)} times"
        at = places[self.number - 1] if self.number else places[0]
        indent = " " * (len(lines[at]) - len(lines[at].lstrip()) + 4 * self.deeper)
        new = textwrap.indent(textwrap.dedent(self.text).strip("\n"), indent).splitlines()
        lines[at + (self.where == "after") : at + (self.where != "before")] = new


def within(head: str, text: str) -> str:
    """Lines in blocks that begin with these lines, one in the other."""
    heads = head.strip().splitlines()
    body = textwrap.indent(textwrap.dedent(text).strip("\n"), "    " * len(heads))
    return "\n".join([*(f"{'    ' * depth}{each.strip()}" for depth, each in enumerate(heads)), body])


def instead(line: str, text: str, number: int = 0) -> Insert:
    return Insert(line, text, "instead", number)


def after(line: str, text: str, number: int = 0, deeper: int = 0) -> Insert:
    return Insert(line, text, "after", number, deeper)


@dataclass(frozen=True)
class Decoy:
    """A kernel that pretends to be of `step`. base: the step whose reference it is, with `edits`.

    said: what is missing. sms: multiprocessors of the GPU. in_loop: the first of the lines that become the body of a
    loop over tiles, and the line after them.
    """

    step: int
    base: int
    shape: Shape
    said: str
    edits: tuple[Insert, ...]
    sms: int | None = None
    hopper: bool = False
    in_loop: tuple[str, str] | None = None

    @property
    def gpu(self) -> str:
        return "h100" if self.hopper else "b200"

    def source(self) -> str:
        lines = (HOPPER_SOURCES if self.hopper else SOURCES)[self.base].read_text(encoding="utf-8").splitlines()
        for edit in self.edits:
            edit.into(lines)
        if self.in_loop is not None:
            first, end = (next(n for n, line in enumerate(lines) if text in line) for text in self.in_loop)
            lines[first:end] = textwrap.indent("\n".join(lines[first:end]), "    ").splitlines()
            Insert(self.in_loop[1], "Tx.cuda.cta_sync()", deeper=1).into(lines)
            lines[first:first] = textwrap.indent(TILES.strip("\n"), " " * 12).splitlines()
        return "\n".join(lines) + "\n"

    def kernel(self, folder: Path) -> PrimFunc:
        path = folder / "decoy.py"
        path.write_text(self.source(), encoding="utf-8")
        return load_kernels(path, sms=self.sms)[self.base](*self.shape)


TILES = """
for t in range((1 - bc) * (M // BLK_M) * (N // BLK_N)):
    m_st = Tx.meta_var(t // (N // BLK_N) * BLK_M)
    n_st = Tx.meta_var(t % (N // BLK_N) * BLK_N)
"""
MEMORY = Insert("pool.commit()", """
    Adecoy = pool.alloc((STAGES, BLK_M, BLK_K), dtype, layout=tma_shared_layout(
        dtype, SwizzleMode.SWIZZLE_128B_ATOM, (STAGES, BLK_M, BLK_K)))
    Bdecoy = pool.alloc((STAGES, BLK_N, BLK_K), dtype, layout=tma_shared_layout(
        dtype, SwizzleMode.SWIZZLE_128B_ATOM, (STAGES, BLK_N, BLK_K)))
    decoy_bar = pool.alloc((STAGES,), "uint64")
""")  # fmt: skip
"""Stages and mbarriers that no MMA uses."""
INIT = """
    for i in Tx.unroll(STAGES):
        Tx.ptx.mbarrier.init(decoy_bar.ptr_to([i]), 1)
"""
LOADS = """
    for i in Tx.unroll(STAGES):
        Tx.copy_async(Adecoy[i, :, :], A[m_st : m_st + BLK_M, i * BLK_K : (i + 1) * BLK_K], dispatch="tma",
                      mbar=decoy_bar.ptr_to([i]))
        Tx.copy_async(Bdecoy[i, :, :], B[n_st : n_st + BLK_N, i * BLK_K : (i + 1) * BLK_K], dispatch="tma",
                      mbar=decoy_bar.ptr_to([i]))
        Tx.ptx.mbarrier.arrive.expect_tx(decoy_bar.ptr_to([i]), TMA_BYTES)
"""
WAITS = """
    for i in Tx.unroll(STAGES):
        Tx.ptx.mbarrier.try_wait(decoy_bar.ptr_to([i]), 0)
"""


def stages(count: int) -> Insert:
    return after("BLK_M, BLK_N, BLK_K = 128, 128, 64", f"STAGES = {count}")


SECOND_WARP = """
    elif warp_id == 1:
        if cbx == 0:
            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                while tile_scheduler.valid():
                    ld2mma.wait(free_phase.stage, free_phase.phase)
                    free_phase.move_to_next_stage()
                    for k in range(K_TILES):
                        tma2mma.wait(show_phase.stage, show_phase.phase)
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        Tx.gemm_async(
                            tmem[:, MMA_N : 2 * MMA_N], Asmem[show_phase.stage, :, :],
                            Bsmem[show_phase.stage, :, :], accum=(k != 0), dispatch="tcgen05", cta_group=2,
                        )
                        mma2tma.arrive(show_phase.stage, cta_group=2, cta_mask=3)
                        show_phase.move_to_next_stage()
                    mma2ld.arrive(0, cta_group=2, cta_mask=3)
                    tile_scheduler.next_tile()
"""
"""An MMA warp of step 9 that computes the same as the other one, beside it."""

DECOYS: Mapping[str, Decoy] = MappingProxyType({
    "a stage that nobody reads": Decoy(5, 4, (256, 256, 512), "one K tile is loaded at a time", (
        stages(1), MEMORY, after("mbarrier.init(mma_bar", INIT), Insert("for k in range(K_TILES)", LOADS),
        Insert("            write_back()", WAITS, number=1, deeper=2),
    )),
    "two more stages that nobody reads": Decoy(8, 7, (384, 384, 512), "2 K tiles are loaded ahead: step 8", (
        stages(2), MEMORY,
        after("mma2ld.init(1)", within("if wg_id == 1:\nif warp_id == 3:\nif lane_id == 0:", INIT)),
        Insert("while tile_scheduler.valid()", LOADS, number=1), Insert("# The last arrivals at mma2tma", WAITS),
    ), sms=4),
    "loads by a warp of its own that nobody reads": Decoy(7, 6, (384, 384, 512), "warp 0 issues TMA loads and MMAs", (
        stages(1), MEMORY, after("mbarrier.init(mma_bar", INIT),
        Insert("while tile_scheduler.valid()", within(
            'if warp_id == 3:\nwith Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:', LOADS + WAITS)),
    ), sms=4),
    "products of a second warp that are read and dropped": Decoy(
        10, 9, (512, 768, 512), "one warp of a CTA issues MMAs: step 10 has two", (
        instead("mma2tma.init(1)", "mma2tma.init(2)"), instead("mma2ld.init(1)", "mma2ld.init(2)"),
        after('wb_phase = PipelineState("wb", 1)', """
            show_phase = PipelineState("show", PIPE_DEPTH)
            free_phase = PipelineState("free", 1)
            show_phase.init(is_producer=False)
            free_phase.init(is_producer=True)
        """),
        Insert("Tx.copy(Dreg_wg[:, :], tmem[", """
            Tx.copy(Dreg_wg[:, :], tmem[:, MMA_N + i * TMEM_LD_N : MMA_N + (i + 1) * TMEM_LD_N])
        """),
        Insert("elif wg_id == 0:", SECOND_WARP, deeper=1),
    ), sms=4),
    "two stages at the beginning of a tile only": Decoy(5, 5, (256, 256, 1024), "one K tile is loaded at a time", (
        instead("if k + PIPE_DEPTH < K_TILES:", "if (k >= 1) & (k + 1 < K_TILES):"),
        instead("tma_load(stage, k + PIPE_DEPTH)", "tma_load((stage + 1) % PIPE_DEPTH, k + 1)"),
    )),
    "two stages of A and one of B": Decoy(5, 5, (256, 256, 1024), "one K tile is loaded at a time", (
        instead("mbarrier.init(tma_bar", "Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 2)"),
        instead("arrive.expect_tx(", "Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES // 2)"),
        instead("Tx.copy_async(Bsmem", ""),
        after("Tx.ptx.mbarrier.arrive.expect_tx(", """

            @Tx.inline
            def load_b(stage, k):
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([stage])})
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k * BLK_K : (k + 1) * BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES // 2)
        """, deeper=-1),
        Insert("for k in range(K_TILES):", "load_b(0, 0)"),
        Insert("if k + PIPE_DEPTH < K_TILES:", "if k + 1 < K_TILES:\n    load_b((stage + 1) % PIPE_DEPTH, k + 1)"),
    )),
    "what the data decide": Decoy(5, 5, (256, 256, 320), "depends on its data", (
        after("Tx.cast(Dreg_16b[:], Dreg[:])", """
            if Dreg[0] > 60000.0:
                Tx.ptx.fence.proxy_async("shared::cta")
        """),
    )),
    "one CTA computes all tiles": Decoy(3, 3, (256, 384, 128), "one of the CTAs computes all of D", (
        instead("bx, by = Tx.cta_id(", 'bc = Tx.cta_id([2], parent="kernel")'),
        instead("m_st = Tx.meta_var(bx", ""), instead("n_st = Tx.meta_var(by", ""),
    ), in_loop=("for k in range(K_TILES):", "# All warps must have read")),
    "threads multiply": Decoy(1, 1, (128, 128, 64), "D does not come from the tensor cores", (
        Insert("Tx.cast(Dreg_16b[:], Dreg[:])", """
            for n in range(4):
                Dreg[n] = 0.0
                for k in range(BLK_K):
                    Dreg[n] = Dreg[n] + Tx.cast(A[warp_id * 32 + lane_id, k], "float32") * Tx.cast(B[n, k], "float32")
        """),
    )),
    "a multicast that nobody reads": Decoy(9, 8, (512, 512, 512), "no load is multicast", (
        after("bx = Tx.cta_id(", 'cbx, cby = Tx.cta_id([2, 1], parent="cluster")'),
        Insert("pool.commit()", """
            Adecoy = pool.alloc((BLK_M, BLK_K), dtype, layout=tma_shared_layout(
                dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K)))
            decoy_bar = TMABar(pool, 1, "decoy")
        """),
        after("mma2tma.init(1)", "decoy_bar.init(1)"), instead("Tx.cuda.cta_sync()", "Tx.cuda.cluster_sync()"),
        Insert("while tile_scheduler.valid()", """
            decoy_bar.arrive(0, BLK_M * BLK_K * DTYPE_SIZE)
            if cbx == 0:
                Tx.copy_async(Adecoy[:, :], A[0:BLK_M, 0:BLK_K], dispatch="tma", mbar=decoy_bar.ptr_to([0]), cta_mask=3)
            decoy_bar.wait(0, 0)
        """, number=1),
        Insert("    return kernel", "Tx.cuda.cluster_sync()\n", deeper=2),
    ), sms=4, hopper=True),
})  # fmt: skip
