"""Data that goes from one proxy, engine or role to another: kernels that differ from a right one in one detail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.adversarial import FREE, TENSOR, Case, cases, disagreement, program

THROUGH = """
Tx.cuda.cta_sync()
if wg_id == 0 and warp_id == 0:
    with Tx.thread(parent="warp")[lane_id == 0]:
        for t in range(3):
            Tx.copy_async(Ds[0, :, :], D[128:256, t * 32 : t * 32 + 32], dispatch="tma", mbar=full.ptr_to([0]))
            full.arrive(0, 128 * 32 * 4)
            full.wait(0, t % 2)
            Tx.copy_async(D[0:128, t * 32 : t * 32 + 32], Ds[0, :, :], dispatch="tma")
            Tx.ptx.cp_async.bulk.commit_group()
            Tx.ptx.cp_async.bulk.wait_group(0, read=True)
"""

ROUND = """
Tx.cuda.cta_sync()
if wg_id == 0:
    with Tx.thread():
        for i in Tx.unroll(32):
            D[row, i] = Tx.float32(row + i)
        Tx.ptx.fence.proxy_async("global")
    Tx.cuda.warpgroup_sync(1)
    if warp_id == 0:
        with Tx.thread(parent="warp")[lane_id == 0]:
            Tx.copy_async(Ds[0, :, :], D[0:128, 0:32], dispatch="tma", mbar=full.ptr_to([0]))
            full.arrive(0, 128 * 32 * 4)
    full.wait(0, 0)
    with Tx.thread():
        D[128 + row, 0] = Ds[0, row, 0]
"""

BACK = """
Tx.cuda.cta_sync()
if wg_id == 0:
    with Tx.thread():
        for i in Tx.unroll(32):
            Ds[0, row, i] = Tx.float32(row + i)
        Tx.ptx.fence.proxy_async("shared::cta")
    Tx.cuda.warpgroup_sync(1)
    if warp_id == 0:
        with Tx.thread(parent="warp")[lane_id == 0]:
            Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
            Tx.ptx.cp_async.bulk.commit_group()
            Tx.ptx.cp_async.bulk.wait_group(0)
            Tx.copy_async(Ds[1, :, :], D[0:128, 0:32], dispatch="tma", mbar=full.ptr_to([0]))
            full.arrive(0, 128 * 32 * 4)
    full.wait(0, 0)
    with Tx.thread():
        D[128 + row, 0] = Ds[1, row, 0]
"""

COPIED = TENSOR + """
if wg_id == 0:
    with Tx.warpgroup():
        Tx.copy(As[0, :, :], A[0:128, 0:64])
        Tx.copy(Bs[0, 0:64, :], B[0:64, 0:64])
    Tx.cuda.warpgroup_sync(1)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    if warp_id == 0:
        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
            Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
            done.arrive(0)
    done.wait(0, 0)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 0:64])
    with Tx.thread():
        Tx.copy(D[row, 0:64], reg[:])
""" + FREE

WARPS = TENSOR + """
if wg_id == 0:
    with Tx.warpgroup():
        Tx.copy(As[0, :, :], A[0:128, 0:64])
        Tx.copy(Bs[0, 0:64, :], B[0:64, 0:64])
Tx.cuda.cta_sync()
if wg_id == 1 and warp_id == 0:
    with Tx.thread(parent="warp")[lane_id == 0]:
        for t in range(3):
            given.wait(0, (t % 2) ^ 1)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
            done.arrive(0)
if wg_id == 0:
    for t in range(3):
        done.wait(0, t % 2)
        Tx.ptx.tcgen05.fence.after_thread_sync()
        with Tx.warpgroup():
            Tx.copy(reg_wg[:, :], tmem[:, 0:64])
        Tx.ptx.tcgen05.fence.before_thread_sync()
        Tx.cuda.warp_sync()
        with Tx.thread(parent="warp")[lane_id == 0]:
            given.arrive(0)
        with Tx.thread():
            Tx.copy(D[row, 0:64], reg[:])
""" + FREE

PROGRAMS = {
    "through": program(THROUGH), "round": program(ROUND), "back": program(BACK), "copied": program(COPIED),
    "warps": program(WARPS).replace("given.init(128)", "given.init(4)"),
}  # fmt: skip

CASES = cases("""
# a load, then a store of what it brought, without a proxy fence
through | ok | - | memory consistency model, proxies
# the store does not wait for the load
through | hazard | TX201 TX207 | mbarrier.try_wait
-full.wait(0, t % 2)
+pass
# the load does not wait for the store's reads
through | hazard | TX201 | cp.async.bulk.wait_group
-Tx.ptx.cp_async.bulk.wait_group(0, read=True)
+Tx.ptx.cp_async.bulk.wait_group(1, read=True)
# a load of what was stored by TMA
back | ok | - | cp.async.bulk.wait_group
# the store was only read
back | hazard | TX201 | cp.async.bulk.wait_group
-Tx.ptx.cp_async.bulk.wait_group(0)
+Tx.ptx.cp_async.bulk.wait_group(0, read=True)
# ordinary stores to global memory, then a load
round | ok | - | fence.proxy.async
# no fence
round | hazard | TX202 | fence.proxy.async
-Tx.ptx.fence.proxy_async("global")
# a fence of shared memory
round | hazard | TX202 | fence.proxy.async
-Tx.ptx.fence.proxy_async("global")
+Tx.ptx.fence.proxy_async("shared::cta")
# no synchronisation
round | hazard | TX201 | causality order
-Tx.cuda.warpgroup_sync(1)
# operands copied by all threads
copied | ok | - | fence.proxy.async | result 1
# operands copied, nobody synchronises
copied | hazard | TX201 TX207 | causality order
-Tx.cuda.warpgroup_sync(1)
# half of an operand is copied
copied | hazard | TX207 | tcgen05.mma | at gemm_async
-Tx.copy(Bs[0, 0:64, :], B[0:64, 0:64])
+Tx.copy(Bs[0, 0:32, :], B[0:32, 0:64])
# the commit before the MMA
copied | hazard | TX201 TX207 TX216 | tcgen05.commit
+done.arrive(0)
 Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
-done.arrive(0)
# elected twice
copied | ok | - | elect.sync | result 1
     Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
-    done.arrive(0)
+with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
+    done.arrive(0)
# one arrival for each warp that has read
warps | ok | - | bar.warp.sync | result 1
# the same, as tcgen05.wait::ld is aligned: no lane arrives before all have read
warps | ok | - | tcgen05.wait | result 1
-Tx.cuda.warp_sync()
# the first wait of the tensor core blocks
warps | deadlock | TX108 | mbarrier.try_wait | at given.wait
-given.wait(0, (t % 2) ^ 1)
+given.wait(0, t % 2)
# the readers do not wait
warps | hazard deadlock | TX201 TX207 | mbarrier.try_wait
-done.wait(0, t % 2)
# 128 arrivals, a count of 4
warps | fault | TX123 | mbarrier.arrive
-with Tx.thread(parent="warp")[lane_id == 0]:
+with Tx.thread(parent="warp")[lane_id < 32]:
     given.arrive(0)
""")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_verdict_is_that_of_the_isa(case: Case, tmp_path: Path) -> None:
    assert not (text := disagreement(case, PROGRAMS, tmp_path)), text
