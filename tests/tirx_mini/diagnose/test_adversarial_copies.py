"""TMA, mbarriers, memory and deadlocks: kernels that differ from a right one in one detail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.adversarial import Case, cases, disagreement, program

LOADED = """
Tx.cuda.cta_sync()
if wg_id == 1 and warp_id == 3:
    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
        pass  # before
        Tx.copy_async(
            As[0, :, :], A[0:128, 0:64], dispatch="tma", mbar=full.ptr_to([0])
        )
        Tx.copy_async(
            Bs[0, :, :], B[0:128, 0:64], dispatch="tma", mbar=full.ptr_to([0])
        )
        full.arrive(0, BYTES)
if wg_id == 0:
    full.wait(0, 0)
    pass  # waited
    with Tx.thread():
        for i in Tx.unroll(64):
            D[row, i] = Tx.float32(As[0, row, i]) + Tx.float32(Bs[0, row, i])
"""

STORED = """
Tx.cuda.cta_sync()
if wg_id == 0:
    for t in range(3):
        s = Tx.meta_var(t % 2)
        with Tx.thread():
            for i in Tx.unroll(32):
                Ds[s, row, i] = Tx.float32(row + i + t)
            Tx.ptx.fence.proxy_async("shared::cta")
        Tx.cuda.warpgroup_sync(1)
        if warp_id == 0:
            with Tx.thread(parent="warp")[lane_id == 0]:
                Tx.copy_async(D[0:128, t * 32 : t * 32 + 32], Ds[s, :, :], dispatch="tma")
                Tx.ptx.cp_async.bulk.commit_group()
                Tx.ptx.cp_async.bulk.wait_group(1, read=True)
        Tx.cuda.warpgroup_sync(1)
    if warp_id == 0:
        with Tx.thread(parent="warp")[lane_id == 0]:
            Tx.ptx.cp_async.bulk.wait_group(0)
"""

READ_BACK = STORED + """
    Tx.cuda.warpgroup_sync(1)
    with Tx.thread():
        D[128 + row, 0] = D[row, 0]
"""

RING = """
Tx.cuda.cta_sync()
if wg_id == 1:
    if warp_id == 3:
        with Tx.thread(parent="warp")[lane_id == 0]:
            for k in range(6):
                given.wait(k % 2, (k // 2 % 2) ^ 1)
                Tx.ptx.fence.proxy_async("shared::cta")
                Tx.copy_async(
                    As[k % 2, :, :], A[0:128, k % 4 * 64 : k % 4 * 64 + 64], dispatch="tma", mbar=full.ptr_to([k % 2])
                )
                full.arrive(k % 2, HALF)
if wg_id == 0:
    with Tx.thread():
        for k in range(6):
            full.wait(k % 2, k // 2 % 2)
            D[row, k] = Tx.float32(As[k % 2, row, 0])
            given.arrive(k % 2)
"""

WORDS = """
Tx.cuda.cta_sync()
with Tx.thread():
    words[wg_id * 128 + row] = 1.0
    if wg_id == 0:
        given.arrive(0)
    if wg_id == 1:
        given.wait(0, 0)
        D[row, 0] = words[row] + words[128 + row]
"""

TURNS = """
Tx.cuda.cta_sync()
if warp_id == 0:
    with Tx.thread(parent="warp")[lane_id == 0]:
        if wg_id == 0:
            words[0] = 1.0
            Tx.ptx.mbarrier.arrive(done.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(done.ptr_to([1]), 0)
            D[0, 0] = words[1]
        else:
            words[1] = 2.0
            Tx.ptx.mbarrier.arrive(done.ptr_to([1]))
            Tx.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
            D[0, 1] = words[0]
"""

EDGE = """
Tx.cuda.cta_sync()
if wg_id == 1 and warp_id == 3:
    with Tx.thread(parent="warp")[lane_id == 0]:
        Tx.copy_async(
            As[0, :, :], A[192 + bx : 320 + bx, 0:64], dispatch="tma", mbar=full.ptr_to([0])
        )
        full.arrive(0, HALF)
if wg_id == 0:
    full.wait(0, 0)
    with Tx.thread():
        D[row, 0] = Tx.float32(As[0, row, 0])
"""

SUMS = """
Tx.cuda.cta_sync()
if wg_id == 0:
    with Tx.thread():
        for i in Tx.unroll(32):
            Ds[0, row, i] = 1.0
        Tx.ptx.fence.proxy_async("shared::cta")
    Tx.cuda.warpgroup_sync(1)
    if warp_id == 0:
        with Tx.thread(parent="warp")[lane_id == 0]:
            Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
            Tx.ptx.cp_async.bulk.commit_group()
            Tx.ptx.cp_async.bulk.wait_group(0)
"""

STORE = 'Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")'
ADD = """Tx.ptx.cp_reduce_async.bulk.tensor(
                        Tx.tensor_map(D, (128, 256), (512,), (32, 128), 128), Ds.ptr_to([0, 0, 0]), 0, 0, dim=2)"""

PROGRAMS = {
    "loaded": program(LOADED), "stored": program(STORED), "read back": program(READ_BACK), "ring": program(RING),
    "words": program(WORDS), "turns": program(TURNS), "edge": program(EDGE), "sums": program(SUMS, grid=2),
}  # fmt: skip

CASES = cases("""
# two loads, one expectation
loaded | ok | - | mbarrier, tx-count
# the bytes expected before the loads
loaded | ok | - | mbarrier, tx-count
-pass  # before
+full.arrive(0, BYTES)
@
-full.arrive(0, BYTES)
# expect_tx and arrive apart
loaded | ok | - | mbarrier.expect_tx
-full.arrive(0, BYTES)
+Tx.ptx.mbarrier.expect_tx(full.ptr_to([0]), BYTES)
+Tx.ptx.mbarrier.arrive(full.ptr_to([0]))
# arrive before expect_tx
loaded | hazard deadlock | TX106 TX207 TX201 | mbarrier.expect_tx
-full.arrive(0, BYTES)
+Tx.ptx.mbarrier.arrive(full.ptr_to([0]))
+Tx.ptx.mbarrier.expect_tx(full.ptr_to([0]), BYTES)
# no expectation
loaded | hazard | TX106 | mbarrier, tx-count | at Tx.copy_async | happened
-full.arrive(0, BYTES)
+full.arrive(0)
# more bytes expected than come
loaded | deadlock | TX106 | mbarrier, tx-count | at full.wait
-full.arrive(0, BYTES)
+full.arrive(0, BYTES + HALF)
# fewer bytes expected than come
loaded | hazard deadlock | TX106 | mbarrier, tx-count | at full.arrive(0
-full.arrive(0, BYTES)
+full.arrive(0, HALF)
# the other parity
loaded | hazard | TX207 TX201 TX108 | mbarrier.try_wait
-full.wait(0, 0)
+full.wait(0, 1)
# the other stage
loaded | deadlock | TX103 | mbarrier.try_wait | at full.wait
-full.wait(0, 0)
+full.wait(1, 0)
# nobody waits
loaded | hazard | TX207 TX201 | mbarrier.try_wait
-full.wait(0, 0)
+pass
# one thread waits, and synchronises with the others
loaded | ok | - | causality order
-full.wait(0, 0)
+if warp_id == 0:
+    full.wait(0, 0)
+Tx.cuda.warpgroup_sync(1)
# one warp waits
loaded | hazard | TX207 TX201 | causality order
-full.wait(0, 0)
+if warp_id == 0:
+    full.wait(0, 0)
# a lane waits, and its warp's others read
loaded | hazard | TX201 TX214 TX207 | causality order
-full.wait(0, 0)
+with Tx.thread(parent="warp")[lane_id == 0]:
+    full.wait(0, 0)
# a lane waits, and its warp synchronises
loaded | ok | - | bar.warp.sync
-full.wait(0, 0)
+with Tx.thread(parent="warp")[lane_id == 0]:
+    full.wait(0, 0)
+Tx.cuda.warp_sync()
# ordinary stores before the load, no proxy fence
loaded | hazard | TX202 | memory consistency model, proxies
 Tx.ptx.fence.mbarrier_init()
+if wg_id == 0:
+    with Tx.thread():
+        As[0, row, 0] = Tx.float16(0)
# ordinary stores before the load, and the fence
loaded | ok | - | memory consistency model, proxies
 Tx.ptx.fence.mbarrier_init()
+if wg_id == 0:
+    with Tx.thread():
+        As[0, row, 0] = Tx.float16(0)
+        Tx.ptx.fence.proxy_async("shared::cta")
# a load in flight at the end
loaded | hazard | TX209 | cp.async.bulk.tensor
-pass  # before
+Tx.copy_async(
+    As[1, :, :], A[0:128, 0:64], dispatch="tma", mbar=full.ptr_to([1])
+)
+full.arrive(1, HALF)
# no fence after the initialisation
loaded | hazard | TX205 | fence.mbarrier_init
-Tx.ptx.fence.mbarrier_init()
# the fence before the initialisation
loaded | hazard | TX205 | fence.mbarrier_init
 reg_wg = reg.view(128, 64, layout=TileLayout(S[(128, 64) : (1 @ tid_in_wg, 1)]))
+Tx.ptx.fence.mbarrier_init()
@
-Tx.ptx.fence.mbarrier_init()
# no synchronisation after the initialisation
loaded | hazard fault deadlock | TX121 TX205 TX201 | mbarrier.init
-Tx.cuda.cta_sync()
# the barrier never initialised
loaded | hazard fault deadlock | TX101 TX121 | mbarrier.init
-full.init(1)
# initialised twice
loaded | hazard fault | TX122 | mbarrier.init
 full.init(1)
+full.init(1)
# a box read beyond what was loaded
loaded | hazard | TX207 | shared memory
-D[row, i] = Tx.float32(As[0, row, i]) + Tx.float32(Bs[0, row, i])
+D[row, i] = Tx.float32(As[1, row, i]) + Tx.float32(Bs[0, row, i])
# a box beyond the tensor is zero, and all its bytes count
edge | ok | - | cp.async.bulk.tensor, out of bounds
# only the bytes inside the tensor expected
edge | hazard deadlock | TX106 | out of bounds
-full.arrive(0, HALF)
+full.arrive(0, HALF // 2)
# a ring of three laps
ring | ok | - | mbarrier
# it does not wait for the readers
ring | hazard fault | TX201 | mbarrier
-given.wait(k % 2, (k // 2 % 2) ^ 1)
+pass
# the reader arrives before it reads
ring | hazard | TX201 | mbarrier.arrive
+                    given.arrive(k % 2)
                     D[row, k] = Tx.float32(As[k % 2, row, 0])
-                    given.arrive(k % 2)
# half of the readers arrive
ring | deadlock | TX107 | mbarrier.init
-given.arrive(k % 2)
+if warp_id < 2:
+    given.arrive(k % 2)
# one arrival is expected of 128
ring | hazard fault | TX116 TX123 | mbarrier.arrive
-given.init(128)
+given.init(1)
# the readers make one round more
ring | deadlock | TX110 | mbarrier.try_wait
 with Tx.thread():
-    for k in range(6):
+    for k in range(7):
# the stage of the producer's wait stands still
ring | hazard deadlock fault | TX126 | mbarrier
-given.wait(k % 2, (k // 2 % 2) ^ 1)
+given.wait(0, (k // 2 % 2) ^ 1)
# words handed over by an mbarrier
words | ok | - | mbarrier.arrive
# no wait
words | hazard | TX201 TX207 | causality order
-given.wait(0, 0)
-D[row, 0] = words[row] + words[128 + row]
+        D[row, 0] = words[row] + words[128 + row]
# arrives before it writes
words | hazard | TX201 TX207 | mbarrier.arrive
-words[wg_id * 128 + row] = 1.0
 if wg_id == 0:
     given.arrive(0)
+words[wg_id * 128 + row] = 1.0
# reads a word of the other lanes
words | hazard | TX201 TX207 | causality order
-D[row, 0] = words[row] + words[128 + row]
+D[row, 0] = words[row] + words[128 + (row ^ 32)]
# half of the threads arrive
words | deadlock | TX107 | mbarrier.init | at given.wait
-if wg_id == 0:
+if wg_id == 0 and warp_id < 2:
# two that signal, then wait
turns | ok | - | mbarrier
# each waits before it signals
turns | deadlock | TX108 | mbarrier
+Tx.ptx.mbarrier.try_wait(done.ptr_to([1]), 0)
 Tx.ptx.mbarrier.arrive(done.ptr_to([0]))
-Tx.ptx.mbarrier.try_wait(done.ptr_to([1]), 0)
@
+Tx.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
 Tx.ptx.mbarrier.arrive(done.ptr_to([1]))
-Tx.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
# one does not signal
turns | deadlock | TX103 | mbarrier | at try_wait(done.ptr_to([1])
-Tx.ptx.mbarrier.arrive(done.ptr_to([1]))
# a barrier for all in one role
turns | deadlock fault hazard | TX102 TX111 TX306 | bar.sync | at cta_sync
 D[0, 0] = words[1]
+Tx.cuda.cta_sync()
# a barrier of 256 that 128 call
words | deadlock | TX111 TX107 | bar.sync | at bar.sync
 given.wait(0, 0)
+Tx.ptx.bar.sync(1, 256)
# a barrier of 128
words | ok | - | bar.sync
 given.wait(0, 0)
+Tx.ptx.bar.sync(1, 128)
# two stages of stores
stored | ok | - | cp.async.bulk.wait_group
# no proxy fence
stored | hazard | TX202 | memory consistency model, proxies
-    Tx.ptx.fence.proxy_async("shared::cta")
-Tx.cuda.warpgroup_sync(1)
+        Tx.cuda.warpgroup_sync(1)
# a fence of another memory
stored | hazard | TX202 | fence.proxy.async
-Tx.ptx.fence.proxy_async("shared::cta")
+Tx.ptx.fence.proxy_async("global")
# a fence of all memory
stored | ok | - | fence.proxy.async
-Tx.ptx.fence.proxy_async("shared::cta")
+Tx.ptx.fence.proxy_async("")
# the fence before the stores
stored | hazard | TX202 | memory consistency model, proxies
 with Tx.thread():
+    Tx.ptx.fence.proxy_async("shared::cta")
@
-    Tx.ptx.fence.proxy_async("shared::cta")
-Tx.cuda.warpgroup_sync(1)
+        Tx.cuda.warpgroup_sync(1)
# no synchronisation before the store
stored | hazard | TX201 TX202 TX207 | causality order
     Tx.ptx.fence.proxy_async("shared::cta")
-Tx.cuda.warpgroup_sync(1)
# the source is reused without a wait
stored | hazard | TX201 | cp.async.bulk.wait_group | at Tx.copy_async | happened
-Tx.ptx.cp_async.bulk.wait_group(1, read=True)
# two groups may be in flight, and two stages
stored | hazard | TX201 | cp.async.bulk.wait_group | at Tx.copy_async | happened
-Tx.ptx.cp_async.bulk.wait_group(1, read=True)
+Tx.ptx.cp_async.bulk.wait_group(2, read=True)
# another thread waits
stored | hazard | TX201 | cp.async.bulk.wait_group | at Tx.copy_async | happened
     Tx.ptx.cp_async.bulk.commit_group()
+with Tx.thread(parent="warp")[lane_id == 1]:
# no commit of the groups
stored | hazard | TX201 TX209 | cp.async.bulk.commit_group
-Tx.ptx.cp_async.bulk.commit_group()
# no synchronisation after the wait
stored | hazard | TX201 | causality order
         Tx.ptx.cp_async.bulk.wait_group(1, read=True)
-Tx.cuda.warpgroup_sync(1)
# in flight at the end
stored | ok | TX209 | cp.async.bulk
-Tx.ptx.cp_async.bulk.wait_group(0)
+Tx.ptx.cp_async.bulk.wait_group(2)
# read, if not written, at the end
stored | ok | - | cp.async.bulk.wait_group
-Tx.ptx.cp_async.bulk.wait_group(0)
+Tx.ptx.cp_async.bulk.wait_group(0, read=True)
# what was stored is read back
read back | ok | - | cp.async.bulk.wait_group
# read back when the source was read
read back | hazard | TX201 | cp.async.bulk.wait_group
-Tx.ptx.cp_async.bulk.wait_group(0)
+Tx.ptx.cp_async.bulk.wait_group(0, read=True)
# 32 lanes issue one store
stored | fault | TX405 | cp.async.bulk.tensor
 if warp_id == 0:
-    with Tx.thread(parent="warp")[lane_id == 0]:
+    with Tx.thread(parent="warp")[lane_id < 32]:
         Tx.copy_async(D[0:128, t * 32 : t * 32 + 32], Ds[s, :, :], dispatch="tma")
# two CTAs store one box
sums | hazard | TX201 | data races
# two CTAs store different values
sums | hazard | TX201 | data races
-Ds[0, row, i] = 1.0
+Ds[0, row, i] = Tx.float32(bx)
# two CTAs add
sums | ok | - | cp.reduce.async.bulk.tensor
-Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
+Tx.ptx.cp_reduce_async.bulk.tensor(
+    Tx.tensor_map(D, (128, 256), (512,), (32, 128), 128), Ds.ptr_to([0, 0, 0]), 0, 0, dim=2)
# one adds, one stores
sums | hazard | TX201 | cp.reduce.async.bulk.tensor
-Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
+if bx == 0:
+    Tx.ptx.cp_reduce_async.bulk.tensor(
+                            Tx.tensor_map(D, (128, 256), (512,), (32, 128), 128), Ds.ptr_to([0, 0, 0]), 0, 0, dim=2)
+else:
+    Tx.copy_async(D[0:128, 0:32], Ds[0, :, :], dispatch="tma")
""")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_verdict_is_that_of_the_isa(case: Case, tmp_path: Path) -> None:
    assert not (text := disagreement(case, PROGRAMS, tmp_path)), text
