"""The nv_tileas operations executed in program order: memory, shapes, dots and reductions.

They are those of nv_tileaa, on tensors with layouts, and `convert_layout`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..layouts import Move
from ..nv_tileaa import NV_TILEAA, Tensor
from ..nv_tileaa import ops as aa
from ..ssa import INT, Op, OpKind, one_of
from .dialect import NV_TILEAS

NONE, FMA, MMA_SYNC, WGMMA, TCGEN05 = "none", "fma", "mma_sync", "wgmma", "tcgen05"
"""What computes a dot: multiply-add of single threads, or one of the instructions of tensor cores; NONE before the
choice.
"""


def _mirrored(kind: OpKind) -> OpKind:
    """Define the nv_tileas operation that mirrors one of nv_tileaa."""
    copy = replace(kind, name=f"{NV_TILEAS.name}.{kind.mnemonic}")
    NV_TILEAS.ops[kind.mnemonic] = copy
    return copy


load, store = _mirrored(aa.load), _mirrored(aa.store)
tiled_load, tiled_store = _mirrored(aa.tiled_load), _mirrored(aa.tiled_store)
gather_load, scatter_store = _mirrored(aa.gather_load), _mirrored(aa.scatter_store)
tiled_atomic_rmw = _mirrored(aa.tiled_atomic_rmw)
view, expand_dims = _mirrored(aa.view), _mirrored(aa.expand_dims)
broadcast, permute = _mirrored(aa.broadcast), _mirrored(aa.permute)
extract_slice, insert_slice = _mirrored(aa.extract_slice), _mirrored(aa.insert_slice)
reduce = _mirrored(aa.reduce)
scan = _mirrored(aa.scan)
dot = _mirrored(
    replace(aa.dot, attrs={**aa.dot.attrs, "mma": one_of(NONE, FMA, MMA_SYNC, WGMMA, TCGEN05, default=NONE)})
)


def _scan_rules(op: Op) -> Iterable[str]:
    assert aa.scan.verify is not None
    return aa.scan.verify(replace(op, kind=aa.scan))


scan = NV_TILEAS.ops["scan"] = replace(scan, verify=_scan_rules)


def _same_tile(op: Op) -> Iterable[str]:
    source, result = op.source.type, op.result.type
    if not isinstance(source, Tensor) or not isinstance(result, Tensor):
        yield f"a layout is converted from a tensor to a tensor, not from {source} to {result}"
    elif source.with_layout(None) != result.with_layout(None):
        yield f"{source} and {result} differ in more than their layouts"


convert_layout = NV_TILEAS.op(
    "convert_layout", "source", "result", "$source attr-dict : type($source) -> type($result)", verify=_same_tile,
    attrs={"through": one_of("any", *(move.value for move in Move), default="any"), "bytes": INT(0)}, pure=True,
    doc="The same elements in other places. through: what moves them, with so many bytes of shared memory.",
)  # fmt: skip

MIRRORS = {
    NV_TILEAA.ops[kind.mnemonic]: kind
    for kind in (
        load, store, tiled_load, tiled_store, gather_load, scatter_store, tiled_atomic_rmw, view, expand_dims,
        broadcast, permute, extract_slice, insert_slice, reduce, scan, dot,
    )
}  # fmt: skip
"""The operation of nv_tileas for each of nv_tileaa that has one."""
