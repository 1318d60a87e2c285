"""Clusters, pairs of CTAs, multicast and persistent loops: kernels that differ from a right one in one detail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tirx_mini.diagnose.adversarial import Case, cases, disagreement, program

SIGNALLED = """
Tx.cuda.cluster_sync()
if wg_id == 0:
    with Tx.thread():
        given.arrive(0, cta_id=1 - cbx, pred=True)
        given.wait(0, 0)
        D[row, cbx] = 1.0
Tx.cuda.cluster_sync()
"""

MULTICAST = """
Tx.cuda.cluster_sync()
if wg_id == 1 and warp_id == 3:
    with Tx.thread(parent="warp")[lane_id == 0]:
        for k in range(4):
            s = Tx.meta_var(k % 2)
            given.wait(s, (k // 2 % 2) ^ 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            full.arrive(s, BYTES)
            if cbx == 0:
                Tx.copy_async(
                    As[s, :, :], A[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s]), cta_mask=3
                )
            else:
                Tx.copy_async(
                    Bs[s, :, :], B[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s]), cta_mask=3
                )
if wg_id == 0:
    with Tx.thread():
        for k in range(4):
            s = Tx.meta_var(k % 2)
            full.wait(s, k // 2 % 2)
            D[cbx * 128 + row, k] = Tx.float32(As[s, row, 0]) + Tx.float32(Bs[s, row, 0])
            given.arrive(s, cta_id=0, pred=True)
            given.arrive(s, cta_id=1, pred=True)
Tx.cuda.cluster_sync()
"""

PAIR = """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=64, cta_group=2)
Tx.cuda.cluster_sync()
tmem = Tx.decl_buffer(
    (128, 64), "float32", scope="tmem", allocated_addr=slot[0], layout=TileLayout(S[(128, 64) : (1 @ TLane, 1 @ TCol)])
)
loaded = full.remote_view(0)
if wg_id == 1:
    if warp_id == 3:
        with Tx.thread(parent="warp")[lane_id == 0]:
            for k in range(4):
                s = Tx.meta_var(k % 2)
                free.wait(s, (k // 2 % 2) ^ 1)
                tma = Tx.meta_var({"dispatch": "tma", "cta_group": 2, "mbar": loaded.ptr_to([s])})
                Tx.copy_async(
                    As[s, :, :], A[cbx * 128 : cbx * 128 + 128, k * 64 : k * 64 + 64], **tma
                )
                Tx.copy_async(
                    Bs[s, 0:32, :], B[cbx * 32 : cbx * 32 + 32, k * 64 : k * 64 + 64], **tma
                )
                if cbx == 0:
                    loaded.arrive(s, 2 * (HALF + HALF // 4))
            for k in range(2):
                free.wait(k, 1)
    elif warp_id == 0:
        if cbx == 0:
            with Tx.thread(parent="warp")[lane_id == 0]:
                for k in range(4):
                    s = Tx.meta_var(k % 2)
                    full.wait(s, k // 2 % 2)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    Tx.gemm_async(
                        tmem[:, 0:64], As[s, :, :], Bs[s, 0:32, :], accum=(k != 0), dispatch="tcgen05", cta_group=2
                    )
                    free.arrive(s, cta_group=2, cta_mask=3)
                done.arrive(0, cta_group=2, cta_mask=3)
if wg_id == 0:
    done.wait(0, 0)
    Tx.ptx.tcgen05.fence.after_thread_sync()
    with Tx.warpgroup():
        Tx.copy(reg_wg[:, :], tmem[:, 0:64])
    with Tx.thread():
        Tx.copy(D[cbx * 128 + row, 0:64], reg[:])
    Tx.ptx.tcgen05.fence.before_thread_sync()
Tx.cuda.cluster_sync()
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=2)
    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=64, cta_group=2)
"""

PERSISTENT = """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=64, cta_group=1)
Tx.cuda.cta_sync()
tmem = Tx.decl_buffer(
    (128, 64), "float32", scope="tmem", allocated_addr=slot[0], layout=TileLayout(S[(128, 64) : (1 @ TLane, 1 @ TCol)])
)
ring = PipelineState("ring", 2)
used = PipelineState("used", 2)
ring.init(is_producer=True)
used.init(is_producer=False)
round_ = PipelineState("round", 1)
kept = PipelineState("kept", 1)
round_.init(is_producer=True)
kept.init(is_producer=False)
if wg_id == 1:
    if warp_id == 3:
        with Tx.thread(parent="warp")[lane_id == 0]:
            for tile in range(3):
                for k in range(3):
                    free.wait(ring.stage, ring.phase)
                    Tx.copy_async(
                        As[ring.stage, :, :], A[0:128, k * 64 : k * 64 + 64],
                        dispatch="tma", mbar=full.ptr_to([ring.stage]),
                    )
                    Tx.copy_async(
                        Bs[ring.stage, 0:64, :], B[0:64, k * 64 : k * 64 + 64],
                        dispatch="tma", mbar=full.ptr_to([ring.stage]),
                    )
                    full.arrive(ring.stage, HALF + HALF // 2)
                    ring.move_to_next_stage()
    elif warp_id == 0:
        with Tx.thread(parent="warp")[lane_id == 0]:
            for tile in range(3):
                given.wait(0, round_.phase)
                Tx.ptx.tcgen05.fence.after_thread_sync()
                round_.move_to_next_stage()
                for k in range(3):
                    full.wait(used.stage, used.phase)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    Tx.gemm_async(
                        tmem[:, 0:64], As[used.stage, :, :], Bs[used.stage, 0:64, :], accum=(k != 0), dispatch="tcgen05"
                    )
                    free.arrive(used.stage)
                    used.move_to_next_stage()
                done.arrive(0)
if wg_id == 0:
    for tile in range(3):
        done.wait(0, kept.phase)
        kept.move_to_next_stage()
        Tx.ptx.tcgen05.fence.after_thread_sync()
        with Tx.warpgroup():
            Tx.copy(reg_wg[:, :], tmem[:, 0:64])
        Tx.ptx.tcgen05.fence.before_thread_sync()
        given.arrive(0)
        with Tx.thread():
            Tx.copy(D[row, 0:64], reg[:])
Tx.cuda.cta_sync()
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=64, cta_group=1)
"""

QUEUED = """
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.alloc(Tx.address_of(slot), n_cols=512, cta_group=1)
    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
Tx.cuda.cta_sync()
with Tx.thread():
    if wg_id == 0:
        D[row, bx] = 1.0
Tx.cuda.cta_sync()
if wg_id == 0 and warp_id == 0:
    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=512, cta_group=1)
"""

PROGRAMS = {
    "signalled": program(SIGNALLED, grid=2, cluster=2),
    "multicast": program(MULTICAST, grid=2, cluster=2).replace("given.init(128)", "given.init(256)"),
    "pair": program(PAIR, grid=2, cluster=2),
    "persistent": program(PERSISTENT),
    "queued": program(QUEUED, grid=4),
}

CASES = cases("""
# each signals the other
signalled | ok | - | mapa; mbarrier.arrive
# arrive and wait apart
signalled | ok | - | barrier.cluster
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
+Tx.cuda.cluster_arrive()
+Tx.cuda.cluster_wait()
# no synchronisation of the cluster at the start
signalled | hazard fault | TX201 TX121 | barrier.cluster
 Tx.ptx.fence.mbarrier_init()
-Tx.cuda.cluster_sync()
+Tx.cuda.cta_sync()
# none at the end, where each has waited for the other
signalled | ok | - | cluster shared memory
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
# none at the end, where nobody waits
signalled | hazard fault | TX209 | cluster shared memory
-        given.wait(0, 0)
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
# a synchronisation of the CTA at the end, where nobody waits
signalled | hazard fault | TX209 | cluster shared memory
-        given.wait(0, 0)
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
+Tx.cuda.cta_sync()
# one CTA skips the last one: it waits for threads that have not exited
signalled | ok | - | barrier.cluster
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
+if cbx == 0:
+    Tx.cuda.cluster_sync()
# arrives at its own barrier
signalled | deadlock fault | TX107 TX112 TX123 TX105 TX116 TX103 | mapa
-given.arrive(0, cta_id=1 - cbx, pred=True)
+given.arrive(0, cta_id=0, pred=True)
# a rank that does not exist
signalled | fault | TX301 TX307 | mapa | at given.arrive
-given.arrive(0, cta_id=1 - cbx, pred=True)
+given.arrive(0, cta_id=2 - cbx, pred=True)
# arrivals of both, a count of one CTA
signalled | fault hazard deadlock | TX123 TX116 TX201 | mbarrier.init
 given.arrive(0, cta_id=1 - cbx, pred=True)
+given.arrive(0)
# arrivals of both, a count of two CTAs
signalled | ok | - | mbarrier.init
-given.init(128)
+given.init(256)
@
 given.arrive(0, cta_id=1 - cbx, pred=True)
+given.arrive(0)
# waits at the other CTA's barrier
signalled | fault hazard | TX124 | mbarrier.try_wait | at try_wait
-given.wait(0, 0)
+Tx.ptx.mbarrier.try_wait(Tx.ptx.map_shared_rank(given.ptr_to([0]), 1 - cbx), 0)
# arrives twice at the cluster's barrier
signalled | fault hazard deadlock | TX123 TX124 TX111 | barrier.cluster
         D[row, cbx] = 1.0
-Tx.cuda.cluster_sync()
+Tx.cuda.cluster_arrive()
+Tx.cuda.cluster_arrive()
+Tx.cuda.cluster_wait()
# no fence after the initialisation
signalled | ok | TX205 | fence.mbarrier_init
-Tx.ptx.fence.mbarrier_init()
# multicast loads
multicast | ok | - | cp.async.bulk.tensor, .multicast::cluster
# multicast, and the cluster does not synchronise at the start
multicast | hazard fault | TX201 TX121 | barrier.cluster
-Tx.cuda.cluster_sync()
+Tx.cuda.cta_sync()
 if wg_id == 1 and warp_id == 3:
# multicast, and the cluster does not synchronise at the end
multicast | hazard fault | TX209 | cluster shared memory
     given.arrive(s, cta_id=1, pred=True)
-Tx.cuda.cluster_sync()
# each expects its own half
multicast | hazard deadlock fault | TX106 TX201 TX123 TX207 | .multicast::cluster
-full.arrive(s, BYTES)
+full.arrive(s, HALF)
# only one CTA expects
multicast | deadlock | TX106 TX112 TX103 TX107 TX105 | .multicast::cluster
-full.arrive(s, BYTES)
+if cbx == 0:
+    full.arrive(s, BYTES)
# a mask of one CTA
multicast | deadlock | TX106 TX112 | .multicast::cluster
-Bs[s, :, :], B[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s]), cta_mask=3
+Bs[s, :, :], B[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s])
# waits for the readers of its own CTA only
multicast | hazard fault | TX201 TX123 | .multicast::cluster
-given.init(256)
+given.init(128)
@
-given.arrive(s, cta_id=0, pred=True)
-given.arrive(s, cta_id=1, pred=True)
+given.arrive(s)
# a mask with a CTA that does not exist
multicast | fault | TX307 | .multicast::cluster
-As[s, :, :], A[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s]), cta_mask=3
+As[s, :, :], A[0:128, k * 64 : k * 64 + 64], dispatch="tma", mbar=full.ptr_to([s]), cta_mask=5
# an MMA of a pair
pair | ok | - | tcgen05.mma, .cta_group::2 | result 4
# the commit without a mask
pair | deadlock | TX105 | tcgen05.commit | at done.wait
-done.arrive(0, cta_group=2, cta_mask=3)
+done.arrive(0, cta_group=2)
# the commit to the pair's other CTA only
pair | deadlock | TX105 | tcgen05.commit
-free.arrive(s, cta_group=2, cta_mask=3)
+free.arrive(s, cta_group=2, cta_mask=1)
# the bytes of one CTA
pair | hazard deadlock fault | TX106 | tx-count
-loaded.arrive(s, 2 * (HALF + HALF // 4))
+loaded.arrive(s, (HALF + HALF // 4))
# each signals its own CTA
pair | hazard deadlock | TX106 TX112 TX201 | cp.async.bulk.tensor, .cta_group::2
-loaded = full.remote_view(0)
+loaded = full
# one CTA allocates
pair | deadlock fault | TX113 TX112 TX111 TX308 | tcgen05.alloc, .cta_group::2
 Tx.ptx.fence.mbarrier_init()
-if wg_id == 0 and warp_id == 0:
+if wg_id == 0 and warp_id == 0 and cbx == 0:
# both CTAs issue
pair | fault hazard deadlock | TX307 TX105 | tcgen05.mma, .cta_group::2
 elif warp_id == 0:
-    if cbx == 0:
+    if cbx < 2:
# one CTA does not free
pair | fault deadlock | TX310 TX113 TX308 | tcgen05.dealloc
-Tx.ptx.tcgen05.dealloc(slot[0], n_cols=64, cta_group=2)
+if cbx == 0:
+    Tx.ptx.tcgen05.dealloc(slot[0], n_cols=64, cta_group=2)
# three tiles, a ring that does not divide them
persistent | ok | TX209 | mbarrier | result 3
# the ring begins again with each tile
persistent | hazard deadlock fault | TX201 TX109 TX126 TX119 TX110 TX123 TX112 | mbarrier
 for tile in range(3):
+    ring.init(is_producer=True)
     for k in range(3):
# the tensor core does not wait for the readers
persistent | hazard | TX201 | tcgen05 | at gemm_async
-given.wait(0, round_.phase)
+pass
# the readers' phase stands still
persistent | hazard deadlock | TX126 TX109 | mbarrier.try_wait | at done.wait
-kept.move_to_next_stage()
# the readers arrive before they read
persistent | hazard | TX201 | mbarrier.arrive
 kept.move_to_next_stage()
+given.arrive(0)
@
-given.arrive(0)
# the producer makes two tiles
persistent | deadlock | TX110 | mbarrier.try_wait | at full.wait
 with Tx.thread(parent="warp")[lane_id == 0]:
-    for tile in range(3):
+    for tile in range(2):
         for k in range(3):
# the tensor core commits once
persistent | deadlock | TX110 TX112 TX104 TX103 TX107 | tcgen05.commit | at done.wait
-done.arrive(0)
+if tile == 0:
+    done.arrive(0)
# four CTAs, one SM, 512 columns each
queued | ok | - | tcgen05.alloc | sms 1
# four CTAs, four SMs
queued | ok | - | tcgen05.alloc | sms 4
""")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_verdict_is_that_of_the_isa(case: Case, tmp_path: Path) -> None:
    assert not (text := disagreement(case, PROGRAMS, tmp_path)), text
