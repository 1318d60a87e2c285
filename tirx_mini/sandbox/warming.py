"""A first kernel for a process: what it is built of is looked up, compiled and kept once for all later ones."""

from __future__ import annotations

from pathlib import Path

from .imports import forget_lines, remember_lines

FILE = "<a first kernel>.py"
TEXT = '''
from tirx_mini.lang import MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx

STAGES = 2

def make(M, N, K):
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (STAGES, 128, 64))

    @Tx.inline
    def wait(bar, stage, phase):
        bar.wait(stage, phase)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), "float16"), B: Tx.Buffer((N, K), "float16"), D: Tx.Buffer((M, N), "float16")):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // 128, N // 128], parent="kernel")
            wg_id = Tx.warpgroup_id([2], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            address = pool.alloc((1,), "uint32")
            loaded = TMABar(pool, STAGES, "loaded")
            done = TCGen05Bar(pool, STAGES, "done")
            read = MBarrier(pool, 1, "read")
            Asmem = pool.alloc((STAGES, 128, 64), "float16", layout=layout)
            Bsmem = pool.alloc((STAGES, 128, 64), "float16", layout=layout)
            pool.commit()
            loaded.init(1)
            done.init(1)
            read.init(128)
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(address), n_cols=512, cta_group=1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=address[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            m_st = Tx.meta_var(bx * 128)
            state = PipelineState("state", STAGES)
            state.init(is_producer=True)
            if wg_id == 1 and warp_id == 0:
                for k in range(K // 64):
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        wait(done, state.stage, state.phase)
                        Tx.copy_async(
                            Asmem[state.stage, :, :], A[m_st : m_st + 128, k * 64 : k * 64 + 64], dispatch="tma",
                            mbar=loaded.ptr_to([state.stage]), cta_group=1,
                        )
                        loaded.arrive(state.stage, 128 * 64 * 2)
                        Tx.gemm_async(
                            tmem[:, :128], Asmem[state.stage, :, :], Bsmem[state.stage, :, :], accum=k > 0,
                            dispatch="tcgen05", cta_group=1,
                        )
                        done.arrive(state.stage, cta_group=1)
                    state.move_to_next_stage()
            elif wg_id == 0:
                row: Tx.int32
                row = warp_id * 32 + lane_id
                values = Tx.alloc_local((128,), "float32")
                out = Tx.alloc_local((128,), "float16")
                with Tx.warpgroup():
                    Tx.copy(
                        values.view(128, 128, layout=TileLayout(S[(128, 128) : (1 @ tid_in_wg, 1)]))[:, :],
                        tmem[:, :128],
                    )
                with Tx.thread():
                    read.arrive(0)
                    Tx.cast(out[:], values[:])
                    Tx.copy(D[m_st + row, by * 128 : by * 128 + 128], out[:])
    return kernel
'''


def warm_up() -> None:
    """Build a kernel of what most kernels have, and write it as JSON."""
    from tirx_mini.course import KernelRef, load_kernel
    from tirx_mini.saved import save_json

    remember_lines(FILE, TEXT)
    save_json(load_kernel(KernelRef(Path(FILE), "make"), shape=(128, 128, 128), source=TEXT.encode()))
    forget_lines(FILE)
