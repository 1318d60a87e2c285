"""Tensor memory, its allocation, loads, stores and MMAs: kernels that differ from a right one in one detail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.adversarial import FREE, READ, TENSOR, Case, cases, disagreement, indented, program

ELECT = '    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:\n'
OF_WARP_1 = 'if wg_id == 1 and warp_id == 1:\n' + ELECT

LOOP = TENSOR + f"""
if wg_id == 1 and warp_id == 3:
{ELECT}        for k in range(4):
            s = Tx.meta_var(k % 2)
            free.wait(s, (k // 2 % 2) ^ 1)
            Tx.copy_async(
                As[s, :, :], A[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s])
            )
            Tx.copy_async(
                Bs[s, :, :], B[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s])
            )
            full.arrive(s, BYTES)
if wg_id == 1 and warp_id == 0:
{ELECT}        for k in range(4):
            s = Tx.meta_var(k % 2)
            full.wait(s, k // 2 % 2)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            Tx.gemm_async(
                tmem[:, 0:64], As[s, :, :], Bs[s, 0:64, :], accum=(k != 0), dispatch="tcgen05"
            )
            free.arrive(s)
        done.arrive(0)
if wg_id == 0:
    done.wait(0, 0)
{indented(READ, 4)}
{FREE}"""

FILLED = TENSOR + f"""
if wg_id == 1 and warp_id == 3:
{ELECT}        for s in range(2):
            Tx.copy_async(
                As[s, :, :], A[0:128, s * 64 : s * 64 + 64], dispatch="tma", mbar=full.ptr_to([s])
            )
            Tx.copy_async(
                Bs[s, :, :], B[0:128, s * 64 : s * 64 + 64], dispatch="tma", mbar=full.ptr_to([s])
            )
            full.arrive(s, BYTES)
full.wait(0, 0)
full.wait(1, 0)
Tx.ptx.tcgen05.fence.after_thread_sync()
"""

CHAIN = FILLED + f"""
if wg_id == 1 and warp_id == 0:
{ELECT}        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        Tx.gemm_async(
            tmem[:, 0:64], As[1, :, :], Bs[1, 0:64, :], accum=True, dispatch="tcgen05"
        )
        done.arrive(0)
if wg_id == 0:
    done.wait(0, 0)
{indented(READ, 4)}
{FREE}"""

TWO = FILLED + f"""
if wg_id == 1 and warp_id == 0:
{ELECT}        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        pass  # between
        Tx.gemm_async(
            tmem[:, 64:128], As[1, :, :], Bs[1, 0:64, :], accum=False, dispatch="tcgen05"
        )
        done.arrive(0)
if wg_id == 0:
    done.wait(0, 0)
    pass  # waited
{indented(READ, 4)}
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 64:128])
    with Tx.thread():
        Tx.copy(D[row, 64:128], reg[:])
{FREE}"""

HANDED = FILLED + f"""
if wg_id == 1 and warp_id == 0:
{ELECT}        Tx.gemm_async(tmem[:, 0:64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05")
        Tx.ptx.tcgen05.fence.before_thread_sync()
        Tx.ptx.mbarrier.arrive(given.ptr_to([0]))
if wg_id == 1 and warp_id == 1:
{ELECT}        given.wait(0, 0)
        Tx.ptx.tcgen05.fence.after_thread_sync()
        Tx.gemm_async(
            tmem[:, 0:64], As[1, :, :], Bs[1, 0:64, :], accum=True, dispatch="tcgen05"
        )
        done.arrive(0)
if wg_id == 0:
    done.wait(0, 0)
{indented(READ, 4)}
{FREE}"""
TILES = FILLED + f"""
if wg_id == 1 and warp_id == 0:
{ELECT}        for t in range(4):
            given.wait(t % 2, (t // 2 % 2) ^ 1)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            a = Tx.meta_var(t % 2 * 64)
            Tx.gemm_async(
                tmem[:, a : a + 64], As[0, :, :], Bs[0, 0:64, :], accum=False, dispatch="tcgen05"
            )
            done.arrive(t % 2)
if wg_id == 0:
    for t in range(4):
        done.wait(t % 2, t // 2 % 2)
        Tx.ptx.tcgen05.fence.after_thread_sync()
        with Tx.warpgroup():
            a = Tx.meta_var(t % 2 * 64)
            Tx.copy_async(reg_wg[:, :], tmem[:, a : a + 64])
        Tx.ptx.tcgen05.wait.ld()
        Tx.ptx.tcgen05.fence.before_thread_sync()
        given.arrive(t % 2)
        with Tx.thread():
            Tx.copy(D[row, 0:64], reg[:])
{FREE}"""

STORED = TENSOR + """
if wg_id == 0:
    with Tx.thread():
        for i in Tx.unroll(64):
            reg[i] = 1.0
    Tx.ptx.tcgen05.st(slot[0] + (warp_id * 32 << 16), reg.ptr_to([0]), shape="32x32b", num=64)
    Tx.ptx.tcgen05.wait.st()
    Tx.ptx.tcgen05.fence.before_thread_sync()
Tx.cuda.cta_sync()
if wg_id == 1:
    Tx.ptx.tcgen05.fence.after_thread_sync()
    Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + (warp_id * 32 << 16), shape="32x32b", num=64)
    Tx.ptx.tcgen05.wait.ld()
    with Tx.thread():
        Tx.copy(D[row, 0:64], reg[:])
""" + FREE

ALLOCATED = """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(slot.ptr_to([0]), n_cols=256, cta_group=1)
    Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=128, cta_group=1)
    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
Tx.cuda.cta_sync()
with Tx.thread():
    D[row, 0] = Tx.float32(slot[0])
Tx.cuda.cta_sync()
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.dealloc(slot[1], n_cols=128, cta_group=1)
    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
"""

PROGRAMS = {
    "loop": program(LOOP), "chain": program(CHAIN), "two": program(TWO), "tiles": program(TILES),
    "handed": program(HANDED).replace("given.init(128)", "given.init(1)"), "stored": program(STORED),
    "allocated": program(ALLOCATED.replace("with Tx.thread():\n    D", "if wg_id == 0:\n    D")),
}  # fmt: skip

CASES = cases("""
# a ring of two stages, whose last round nobody waits for
loop | ok | TX209 | tcgen05.commit | result 4
# stages loaded without a wait
loop | fault | TX201 | tcgen05.commit
-free.wait(s, (k // 2 % 2) ^ 1)
+pass
# the producer's first wait blocks
loop | deadlock | TX108 | mbarrier.try_wait | at free.wait
-free.wait(s, (k // 2 % 2) ^ 1)
+free.wait(s, k // 2 % 2)
# the consumer's phase never flips
loop | hazard | TX126 TX109 TX201 | mbarrier.try_wait | at full.wait
-full.wait(s, k // 2 % 2)
+full.wait(s, 0)
# half of the bytes expected
loop | deadlock hazard | TX106 | mbarrier, tx-count | at full.arrive
-full.arrive(s, BYTES)
+full.arrive(s, HALF)
# every other load announced
loop | deadlock | TX106 | mbarrier, tx-count | at full.wait
-full.arrive(s, BYTES)
+if k % 2 == 0:
+    full.arrive(s, BYTES)
# the stage freed is the other one
loop | deadlock hazard | TX120 TX201 | mbarrier
-free.arrive(s)
+free.arrive(1 - s)
# one warp of four waits for the result
loop | hazard | TX201 TX207 | tcgen05.commit
-done.wait(0, 0)
+if warp_id == 0:
+    done.wait(0, 0)
# a stage freed twice in a round
loop | deadlock hazard | TX120 TX123 | mbarrier, phases
 free.arrive(s)
+free.arrive(s)
# never freed
loop | fault | TX310 | tcgen05.dealloc | at tcgen05.alloc
-Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
# the first MMA accumulates
loop | hazard | TX207 | tcgen05.mma | at gemm_async
-tmem[:, 0:64], As[s, :, :], Bs[s, 0:64, :], accum=(k != 0), dispatch="tcgen05"
+tmem[:, 0:64], As[s, :, :], Bs[s, 0:64, :], accum=True, dispatch="tcgen05"
# every MMA overwrites
loop | hazard | TX210 | tcgen05.mma
-tmem[:, 0:64], As[s, :, :], Bs[s, 0:64, :], accum=(k != 0), dispatch="tcgen05"
+tmem[:, 0:64], As[s, :, :], Bs[s, 0:64, :], accum=False, dispatch="tcgen05"
# no fence before the MMA
loop | ok | TX203 | tcgen05.fence | result 4
 full.wait(s, k // 2 % 2)
-Tx.ptx.tcgen05.fence.after_thread_sync()
# no wait for the result
loop | hazard | TX201 TX207 | tcgen05.commit
-done.wait(0, 0)
# the commit in another warp
loop | hazard | TX216 TX207 | tcgen05.commit
             free.arrive(s)
+if wg_id == 1 and warp_id == 1:
+    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
# dealloc with no synchronisation after the loads
loop | hazard | TX201 | tcgen05.dealloc
     Tx.ptx.tcgen05.fence.before_thread_sync()
-Tx.cuda.cta_sync()
# columns outside the allocation
loop | fault | TX309 | tcgen05.alloc
-Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=256, cta_group=1)
+Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=32, cta_group=1)
@
-Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
+Tx.ptx.tcgen05.dealloc(slot[0], n_cols=32, cta_group=1)
# the address is read without a synchronisation
loop | hazard fault | TX201 TX207 TX121 TX205 | memory consistency model
     Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=256, cta_group=1)
-Tx.cuda.cta_sync()
# two MMAs on one accumulator
chain | ok | - | tcgen05, pipelined instructions | result 2
# the second MMA has another shape
chain | hazard | TX201 TX207 | tcgen05, pipelined instructions
-tmem[:, 0:64], As[1, :, :], Bs[1, 0:64, :], accum=True, dispatch="tcgen05"
+tmem[:, 0:128], As[1, :, :], Bs[1, 0:128, :], accum=True, dispatch="tcgen05"
# two commits, at two barriers, of which one is waited for
chain | ok | TX209 | tcgen05, pipelined instructions | result 2
+done.arrive(1)
 Tx.gemm_async(
     tmem[:, 0:64], As[1, :, :], Bs[1, 0:64, :], accum=True, dispatch="tcgen05"
# an operand is overwritten before the commit's barrier
chain | hazard | TX201 | tcgen05.commit | at A[0:128, 0:64]
 done.arrive(0)
+Tx.copy_async(As[1, :, :], A[0:128, 0:64], dispatch="tma", mbar=free.ptr_to([1]))
+Tx.ptx.mbarrier.arrive.expect_tx(free.ptr_to([1]), HALF)
+free.wait(1, 0)
# an operand is overwritten after it
chain | ok | - | tcgen05.commit | result 2
 done.arrive(0)
+done.wait(0, 0)
+Tx.copy_async(As[1, :, :], A[0:128, 0:64], dispatch="tma", mbar=free.ptr_to([1]))
+Tx.ptx.mbarrier.arrive.expect_tx(free.ptr_to([1]), HALF)
+free.wait(1, 0)
# two accumulators, one commit
two | ok | - | tcgen05.commit | result 1
# the commit before the second MMA
two | hazard | TX201 TX207 | tcgen05.commit
-pass  # between
+done.arrive(1)
@
-done.wait(0, 0)
+done.wait(1, 0)
# accumulators that overlap
two | hazard | TX201 | tcgen05, pipelined instructions
-tmem[:, 64:128], As[1, :, :], Bs[1, 0:64, :], accum=False, dispatch="tcgen05"
+tmem[:, 32:96], As[1, :, :], Bs[1, 0:64, :], accum=False, dispatch="tcgen05"
# two commits in one phase's count of one
two | hazard deadlock | TX201 TX112 TX119 TX110 TX207 | mbarrier, phases
-pass  # between
+done.arrive(0)
# two commits, a count of two
two | ok | - | mbarrier.init | result 1
-done.init(1)
+done.init(2)
@
-pass  # between
+done.arrive(0)
# an accumulator handed to another thread
handed | ok | - | tcgen05, pipelined instructions | result 2
# handed without a synchronisation
handed | hazard | TX201 TX207 | tcgen05, pipelined instructions
-given.wait(0, 0)
+pass
# handed without the fences
handed | ok | TX203 | tcgen05, pipelined instructions | result 2
-Tx.ptx.tcgen05.fence.before_thread_sync()
 Tx.ptx.mbarrier.arrive(given.ptr_to([0]))
# handed to another shape
handed | hazard | TX201 TX207 | tcgen05, pipelined instructions
-tmem[:, 0:64], As[1, :, :], Bs[1, 0:64, :], accum=True, dispatch="tcgen05"
+tmem[:, 0:128], As[1, :, :], Bs[1, 0:128, :], accum=True, dispatch="tcgen05"
# two accumulators in turn
tiles | ok | - | tcgen05.fence | result 1
# the tensor core does not wait for the readers
tiles | hazard | TX201 | tcgen05.fence | at gemm_async
-given.wait(t % 2, (t // 2 % 2) ^ 1)
+pass
# told free before wait::ld
tiles | hazard | TX204 | tcgen05.wait
-Tx.ptx.tcgen05.wait.ld()
# the same columns each time
tiles | hazard | TX201 TX210 TX207 | tcgen05.mma
 Tx.ptx.tcgen05.fence.after_thread_sync()
-a = Tx.meta_var(t % 2 * 64)
+a = Tx.meta_var(0)
# stored, loaded by another warpgroup
stored | ok | - | tcgen05.wait
# no wait::st
stored | hazard | TX204 | tcgen05.wait
-Tx.ptx.tcgen05.wait.st()
# no barrier between store and load
stored | hazard | TX201 TX207 | tcgen05.fence
     Tx.ptx.tcgen05.fence.before_thread_sync()
-Tx.cuda.cta_sync()
# no fences around the barrier
stored | ok | TX203 | tcgen05.fence
-Tx.ptx.tcgen05.fence.before_thread_sync()
@
-Tx.ptx.tcgen05.fence.after_thread_sync()
# a warp reads another's lanes
stored | fault | TX309 | tensor memory, access restrictions | at tcgen05.ld
-Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + (warp_id * 32 << 16), shape="32x32b", num=64)
+Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + ((warp_id ^ 1) * 32 << 16), shape="32x32b", num=64)
# columns that nobody stored
stored | hazard | TX207 | tcgen05.ld | at tcgen05.ld
-Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + (warp_id * 32 << 16), shape="32x32b", num=64)
+Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + 32 + (warp_id * 32 << 16), shape="32x32b", num=64)
# a register overwritten before wait::ld
stored | hazard | TX204 | register dependencies
 Tx.ptx.tcgen05.ld(reg.ptr_to([0]), slot[0] + (warp_id * 32 << 16), shape="32x32b", num=64)
+reg[3] = 0.0
# two allocations
allocated | ok | - | tcgen05.alloc
# 48 columns
allocated | fault | TX308 | tcgen05.alloc | at n_cols=48
-Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=128, cta_group=1)
+Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=48, cta_group=1)
# more columns than there are
allocated | fault | TX308 | tcgen05.alloc | at n_cols=512
-Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=128, cta_group=1)
+Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=512, cta_group=1)
# alloc after relinquish
allocated | fault | TX308 | tcgen05.relinquish_alloc_permit | at ptr_to([1])
+Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
 Tx.ptx.tcgen05.alloc(slot.ptr_to([1]), n_cols=128, cta_group=1)
-Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
# one of two is not freed
allocated | fault | TX310 | tcgen05.alloc | at ptr_to([1])
-Tx.ptx.tcgen05.dealloc(slot[1], n_cols=128, cta_group=1)
-Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
+        Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
# freed with half of its columns
allocated | hazard fault | TX308 TX310 | tcgen05.dealloc
-Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
+Tx.ptx.tcgen05.dealloc(slot[0], n_cols=128, cta_group=1)
# freed twice by one warp
allocated | hazard fault | TX314 TX308 TX310 | tcgen05.dealloc
-Tx.ptx.tcgen05.dealloc(slot[1], n_cols=128, cta_group=1)
+Tx.ptx.tcgen05.dealloc(slot[0], n_cols=256, cta_group=1)
# freed by one lane
allocated | fault | TX306 | tcgen05.dealloc | at dealloc
 Tx.cuda.cta_sync()
-if wg_id == 0 and warp_id == 0:
+if wg_id == 0 and warp_id == 0 and lane_id == 0:
# allocated by one warp, freed by another
allocated | ok | - | tcgen05.dealloc
 Tx.cuda.cta_sync()
-if wg_id == 0 and warp_id == 0:
+if wg_id == 0 and warp_id == 2:
""")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_verdict_is_that_of_the_isa(case: Case, tmp_path: Path) -> None:
    assert not (text := disagreement(case, PROGRAMS, tmp_path)), text
