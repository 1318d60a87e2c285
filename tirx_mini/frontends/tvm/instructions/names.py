"""TVM 0.26 names of instructions and parameters whose parameter order matches the instruction."""

from __future__ import annotations

from tirx_mini.isa import Alias, Spelling

_STORED = {"ptx_type": "type", "l1_evict": "evict"}
_LOADED = {**_STORED, "return_type": "returned", "prefetch_size": "prefetch"}
_ATOMIC = {"ptx_type": "type", "return_type": "returned"}
_COPIED = {"dst_ptr": "dst", "src_ptr": "src", "cp_size": "bytes"}
_BULK = {"dst_ptr": "dst", "src_ptr": "src", "num_bytes": "bytes"}
_GATHER = {"tile_gather4": "tile::gather4"}
_NAMED_BARRIER = {"name_bar_id": "barrier_id", "thread_count": "threads"}
_LOADS = (
    Alias("ptx.ld_acquire", {"sem": "acquire"}, {"scope": "gpu"}),
    Alias("ptx.ld_relaxed", {"sem": "relaxed"}, {"scope": "gpu"}),
    Alias("ptx.ld_volatile", {"sem": "volatile"}),
    Alias("ptx.ld_global_nc", {"nc": True, "space": "global"}),
)
_STORES = (
    Alias("ptx.st_release", {"sem": "release"}, {"scope": "gpu", "space": "global"}),
    Alias("ptx.st_relaxed", {"sem": "relaxed"}, {"scope": "gpu", "space": "global"}),
    Alias("ptx.st_volatile", {"sem": "volatile"}, {"space": "global"}),
)

NAMES = (
    Spelling("ld", _LOADS, {**_LOADED, "dtype": "returned"}),
    Spelling("ld.registers", _LOADS, _LOADED),
    Spelling("st", _STORES, _STORED),
    Spelling("st.registers", _STORES, _STORED),
    Spelling("st.async", parameters={"ptx_type": "type"}),
    Spelling("atom", ("ptx.atom_scalar",), {**_ATOMIC, "res_addr": "address"}),
    Spelling("atom.cas", (), {**_ATOMIC, "old_val": "compare", "new_val": "value"}),
    Spelling("red", ("ptx.red_scalar",), {"ptx_type": "type"}),
    Spelling("ld.mmio", parameters=_ATOMIC),
    Spelling("st.mmio", parameters={"ptx_type": "type"}),
    Spelling("fence", tuple(
        Alias(f"ptx.fence.{sem}", {"sem": sem}) for sem in ("acq_rel", "sc", "acquire", "release")
    )),
    Spelling("mbarrier.init", parameters={"thread_count": "count"}),
    Spelling("mbarrier.arrive.expect_tx", parameters={"byte_count": "bytes", "tx_count": "bytes"}),
    Spelling("mbarrier.arrive.remote", parameters={"remote": "cta_id"}),
    Spelling("mbarrier.try_wait", ("ptx.mbarrier.wait",)),
    Spelling("mbarrier.try_wait.once", ("ptx.mbarrier.try_wait_once",)),
    Spelling("bar.sync", parameters=_NAMED_BARRIER),
    Spelling("bar.arrive", parameters=_NAMED_BARRIER),
    Spelling("barrier.sync", parameters=_NAMED_BARRIER),
    Spelling("barrier.arrive", parameters=_NAMED_BARRIER),
    Spelling("bar.warp.sync", ("ptx.bar.warp_sync",)),
    Spelling("bar.warp.sync.mask", ("ptx.bar.warp_sync",)),
    Spelling("vote.any", ("ptx.any_sync",)),
    Spelling("rcp.approx", ("ptx.rcp",)),
    Spelling("div.approx", (Alias("cuda.fdividef", order={"x": "a", "y": "b"}),)),
    Spelling("fns.b32", ("ptx.fns_b32",)),
    Spelling("add.f32x2", (Alias("cuda.fadd2_rn", {"rounding": "rn", "ftz": False}),)),
    Spelling("mul.f32x2", (Alias("cuda.fmul2_rn", {"rounding": "rn", "ftz": False}),)),
    Spelling("max.f32", ("ptx.max_f32",)),
    Spelling("min.f32", ("ptx.min_f32",)),
    Spelling("max3.f32", ("ptx.reduce3_max_f32",)),
    Spelling("min3.f32", ("ptx.reduce3_min_f32",)),
    Spelling("max.bf16x2", ("cuda.hmax2",)),
    Spelling("min.bf16x2", ("cuda.hmin2",)),
    Spelling("cp.async", parameters=_COPIED),
    Spelling("cp.async.zfill", parameters=_COPIED),
    Spelling("cp.async.bulk.tensor.load", values=_GATHER),
    Spelling("cp.async.bulk.tensor.load.multicast", values=_GATHER),
    Spelling("cp.async.bulk.tensor.store", values={"tile_scatter4": "tile::scatter4"}),
    Spelling("cp.reduce.async.bulk.tensor", ("ptx.cp_reduce_async.bulk.tensor",)),
    Spelling("cp.async.bulk.prefetch.tensor", values=_GATHER),
    Spelling("cp.async.bulk.load", (
        Alias("ptx.cp_async_bulk_g2s_cluster", {"dst_space": "shared::cluster"}),
        Alias("ptx.cp_async_bulk_g2s_cta", {"dst_space": "shared::cta"}),
    ), {**_BULK, "mbarrier_ptr": "bar"}),
    Spelling(
        "cp.async.bulk.copy", ("ptx.cp_async_bulk_s2s_cluster", "ptx.cp_async.bulk.s2c"),
        {**_BULK, "size": "bytes", "mbarrier": "bar"},
    ),
    Spelling("cp.async.bulk.store", ("ptx.cp_async_bulk_s2g",), _BULK),
    Spelling("cp.reduce.async.bulk", ("ptx.cp_reduce_async.bulk",), {**_BULK, "ptx_type": "type"}),
    Spelling("tcgen05.alloc", parameters={"dst_ptr": "dst"}),
    Spelling("tcgen05.dealloc", parameters={"taddr": "addr"}),
    Spelling("clusterlaunchcontrol.try_cancel", parameters={"addr": "handle"}),
    Spelling("trap.unless", (Alias("cuda.trap_when_assert_failed", order={"cond": "condition"}),)),
)  # fmt: skip
"""The names, in the order of the table."""
