"""Alternative spellings of operators, dtypes and instruction parameters, and ids without extents."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, printed
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

SAME = {
    "phase = Tx.And(lane_id == 0, warp_id == 0, wg_id == 1)": "phase = lane_id == 0 and warp_id == 0 and wg_id == 1",
    "phase = Tx.Or(lane_id == 0, Tx.Not(warp_id == 0))": "phase = lane_id == 0 or not warp_id == 0",
    "phase = Tx.bitwise_xor(phase, Tx.shift_left(1, lane_id))": "phase = phase ^ (Tx.int32(1) << lane_id)",
    "phase = Tx.truncdiv(lane_id, 4) + Tx.floormod(lane_id, 4)": "phase = lane_id // 4 + lane_id % 4",
    "if lane_id in (0, 3):\n    phase = 1": "if lane_id == 0 or lane_id == 3:\n    phase = 1",
    "if lane_id not in [0, 3]:\n    phase = 1": "if not (lane_id == 0 or lane_id == 3):\n    phase = 1",
    "if lane_id in ():\n    phase = 1": "if Tx.bool(False):\n    phase = 1",
    "for i in Tx.serial(8, step=2):\n    reg[i] = 0": "for i in Tx.serial(0, 8, 2):\n    reg[i] = 0",
    "for i in Tx.unroll(2, 8, step=2):\n    reg[i] = 0": "for i in Tx.unroll(2, 8, 2):\n    reg[i] = 0",
    "x: Tx.boolean = True\ny: Tx.f32 = 0\nz: Tx.u8 = 0": "x: Tx.bool = True\ny: Tx.float32 = 0\nz: Tx.uint8 = 0",
    "x = Tx.local_scalar('int32')\nx = 1": "x: Tx.int32\nx = 1",
    "@Tx.macro\ndef f(x):\n    phase = x\nf(lane_id)": "@Tx.inline\ndef f(x):\n    phase = x\nf(lane_id)",
    "Tx.fill(Asmem[...], 0)": "Tx.fill(Asmem[:, :], 0)",
    "Tx.fill(Asmem[3, ...], 0)": "Tx.fill(Asmem[3, :], 0)",
    "Tx.fill(Asmem[..., 8:16], 0)": "Tx.fill(Asmem[:, 8:16], 0)",
    "phase = Tx.cuda.thread_rank()": "phase = Tx.threadIdx.x",
    "Tx.ptx.setmaxnreg(True, 232)\nTx.ptx.setmaxnreg(False, 40)": (
        "Tx.ptx.setmaxnreg.inc(232)\nTx.ptx.setmaxnreg.dec(40)"
    ),
    "Tx.ptx.mbarrier.init(ptr=bar.ptr_to([0]), count=1)": "Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)",
    "Tx.ptx.mbarrier.try_wait(ptr=bar.ptr_to([0]), phase=1)": "Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 1)",
    "Tx.ptx.mbarrier.arrive(bar.ptr_to([0]), remote=1, pred=True)": (
        "Tx.ptx.mbarrier.arrive(bar.ptr_to([0]), cta_id=1, pred=True)"
    ),
    "Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), byte_count=64)": (
        "Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), bytes=64)"
    ),
    "Tx.ptx.tcgen05.alloc(addr=Tx.address_of(tmem_addr), n_cols=64, cta_group=1)": (
        "Tx.ptx.tcgen05.alloc(tmem_addr.ptr_to([0]), 64, 1)"
    ),
    "Tx.ptx.tcgen05.commit(ptr=bar.ptr_to([0]), cta_group=2, cta_mask=3)": (
        "Tx.ptx.tcgen05.commit(bar.ptr_to([0]), 2, 3)"
    ),
}


@pytest.mark.parametrize("text", SAME)
def test_both_spellings_build_the_same_kernel(text: str) -> None:
    assert printed(text) == printed(SAME[text])


def test_wg_reg_tile_views_the_registers_of_each_thread() -> None:
    rows, view = printed("tile = Tx.wg_reg_tile(16)").splitlines()
    assert rows == 'tile = Tx.alloc_local((16,), "float32")'
    assert "(128, 16)" in view and "1@tid_in_wg" in view and "source=tile" in view


def test_ids_without_extents_take_them_from_other_declarations() -> None:
    @T.prim_func
    def number(out: T.Buffer((256, 4), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        wg = T.warpgroup_id([2])
        tid, warp, lane, within = T.thread_id(), T.warp_id(), T.lane_id(), T.warp_id_in_wg()
        out[tid, 0] = wg
        out[tid, 1] = warp
        out[tid, 2] = lane
        out[tid, 3] = within

    out = np.zeros((256, 4), np.int32)
    assert tirx_mini.simulate(number, out).verdict == "ok"
    threads = np.arange(256)
    np.testing.assert_array_equal(out, np.stack([threads // 128, threads // 32, threads % 32, threads // 32 % 4], 1))


def test_a_missing_number_of_ctas_is_reported() -> None:
    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        bx = T.cta_id()
        tx = T.thread_id([32])
        out[tx] = bx

    with pytest.raises(TirxError, match="the number of ctas in the kernel is not declared"):
        lower(kernel)


def test_the_error_for_a_wrong_parameter_lists_the_parameters() -> None:
    assert "its parameters are bar, count" in str(error_in("Tx.ptx.mbarrier.init(pointer=bar.ptr_to([0]), count=1)"))
