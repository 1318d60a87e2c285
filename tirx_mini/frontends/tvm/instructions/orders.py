"""TVM 0.26 signatures with a different parameter order: memory, barriers, conversions and copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import as_bool, as_expr, select
from tirx_mini.isa import Alias, Spelling

Order = Mapping[str, str | tuple[Any, ...]]

_OWN: Order = {
    "sem": ("", "release"), "scope": ("", "cta"), "space": (None, "shared", "shared::cta"), "remote": (None,),
    "pred": (None,),
}  # fmt: skip
_REMOTE: Order = {
    "sem": ("", "release"), "scope": "scope", "space": (None, "shared::cluster"), "remote": "cta_id",
    "pred": "pred",
}  # fmt: skip
"""The last parameters of arrivals at the CTA's own barrier and at another one's."""


def _with_condition(given: dict[str, Any]) -> dict[str, object]:
    """Add the default predicate, under which each thread arrives."""
    return {**given, "pred": True} if given.get("pred") is None else given


def _arrival(path: str, more: Order) -> tuple[Alias, ...]:
    return (Alias(path, order={"bar": "bar", **more, **_OWN}),)


def _remote_arrival(path: str, more: Order) -> tuple[Alias, ...]:
    order = {"bar": "bar", **more, **_REMOTE}
    return (Alias(path, order=order, defaults={"pred": None}, adapt=_with_condition),)


def _copy_arrival(noinc: bool) -> tuple[Alias, ...]:
    order: Order = {"bar": "bar", "noinc": (noinc,), "space": ("shared", "shared::cta")}
    return (Alias("ptx.cp_async.mbarrier.arrive", order=order),)


_COPY: Order = {
    "dst_ptr": "dst", "src_ptr": "src", "cp_size": "bytes", "cache_hint": "cache_hint", "cache_policy": (None,),
    "prefetch_size": "prefetch",
}  # fmt: skip


def _size_of_condition(given: dict[str, Any]) -> dict[str, object]:
    """Convert the predicate to a size: all bytes if it holds, else none."""
    if "size" in given:
        given["size"] = select(as_bool(as_expr(given["size"])), given.get("bytes", 16), 0)
    return given


_CONVERSION: Order = {"dtype": "dtype", "*values": "values", "atype": "atype", "rounding": "rounding"}
_NEVER: Order = {"scaled": ("",), "rbits": (None,), "scale_factor": (None,)}
_B16 = (".b16", "b16")
_SHARED = ("shared", "shared::cta")

ORDERS = (
    Spelling("ld.mmio", (Alias("ptx.ld_mmio", order={
        "addr": "address", "return_type": "returned", "ptx_type": "type", "sem": ("relaxed",), "dst": (None,),
    }),)),
    Spelling("st.mmio", (Alias("ptx.st_mmio", order={
        "address": "address", "value": "value", "sem": ("relaxed",), "ptx_type": "type",
    }),)),
    Spelling("st.bulk", (Alias("ptx.st_bulk", order={
        "ptr": "address", "num_bytes": "bytes", "weak": "weak", "space": ("shared::cta", ""),
    }),)),
    Spelling("mbarrier.arrive", _arrival("ptx.mbarrier.arrive", {"count": (None, 1)})),
    Spelling("mbarrier.arrive.count", _arrival("ptx.mbarrier.arrive", {"count": "count"})),
    Spelling("mbarrier.arrive.remote", _remote_arrival("ptx.mbarrier.arrive", {"count": (None, 1)})),
    Spelling("mbarrier.arrive.no_complete", (Alias("ptx.mbarrier.arrive.no_complete", order={
        "bar": "bar", "count": "count", "space": _SHARED, "pred": (None,),
    }),)),
    Spelling("mbarrier.complete_tx", (Alias("ptx.mbarrier.complete_tx", order={
        "bar": "bar", "tx_count": "bytes", "sem": ("relaxed",), "scope": ("cluster", "cta"),
        "space": ("shared::cluster", "shared::cta", "shared"), "remote": (None,), "pred": (None,),
    }),)),
    Spelling("mbarrier.arrive.expect_tx", _arrival("ptx.mbarrier.arrive.expect_tx", {"byte_count": "bytes"})),
    Spelling(
        "mbarrier.arrive.expect_tx.remote",
        _remote_arrival("ptx.mbarrier.arrive.expect_tx", {"byte_count": "bytes"}),
    ),
    Spelling("mbarrier.test_wait", (Alias("ptx.mbarrier_test_wait_parity", order={
        "barrier": "bar", "phase": "phase", "sem": ("", "acquire"), "scope": ("", "cta"),
        "space": ("shared::cta", "shared"),
    }),)),
    Spelling("barrier.cluster.arrive", (Alias("ptx.barrier.cluster.arrive", order={
        "sem": ("", "release"), "aligned": "aligned",
    }),)),
    Spelling("barrier.cluster.arrive.relaxed", (Alias("ptx.barrier.cluster.arrive", order={
        "sem": ("relaxed",), "aligned": "aligned",
    }),)),
    Spelling("barrier.cluster.wait", (Alias("ptx.barrier.cluster.wait", order={
        "acquire": (False, True), "aligned": "aligned",
    }),)),
    Spelling("cvt", (Alias("ptx.cvt", order={
        **_CONVERSION, "ftz": "ftz", "sat": "sat", "relu": (False,), "satfinite": (False,), **_NEVER,
    }),)),
    Spelling("cvt.packed", (Alias("ptx.cvt", order={
        **_CONVERSION, "ftz": (False,), "sat": (False,), "relu": "relu", "satfinite": "satfinite", **_NEVER,
    }),)),
    Spelling("cp.async", (Alias(
        "ptx.cp_async", order={**_COPY, "predicate": (-1,), "fill_mode": ("",)}, guard="predicate",
    ),)),
    Spelling("cp.async.zfill", (Alias(
        "ptx.cp_async", order={**_COPY, "predicate": "size", "fill_mode": ("zero",)}, defaults={"size": -1},
        adapt=_size_of_condition,
    ),)),
    Spelling("cp.async.mbarrier.arrive", _copy_arrival(False)),
    Spelling("cp.async.mbarrier.arrive.noinc", _copy_arrival(True)),
    Spelling("ldmatrix", (Alias("ptx.ldmatrix", order={
        "trans": "transpose", "num": "num", "dtype": _B16, "smem_ptr": "addr", "*dst_handles": "dst",
    }),)),
    Spelling("stmatrix", (Alias("ptx.stmatrix", order={
        "trans": "transpose", "num": "num", "dtype": _B16, "smem_ptr": "addr", "*src_handles": "src",
        "shape": ("m8n8",), "space": _SHARED,
    }),)),
    Spelling("stmatrix.m16n8", (Alias("ptx.stmatrix", order={
        "trans": (True, 1), "num": "num", "dtype": (".b8", "b8"), "smem_ptr": "addr", "*src_handles": "src",
        "shape": ("m16n8",), "space": _SHARED,
    }),)),
)  # fmt: skip
"""The orders, in that of the table."""
