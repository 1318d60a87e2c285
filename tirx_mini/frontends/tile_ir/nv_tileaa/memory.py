"""The nv_tileaa operations on memory: references, loads, stores, atomics, tokens and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator

from ..cuda_tile import Ptr, attributes
from ..ssa import (
    BOOL,
    INT,
    STRING,
    Codec,
    Op,
    Type,
    Verify,
    one_of,
    sequence,
)
from .dialect import CONVERTED, NV_TILEAA, pointers, token
from .memory_types import MEM_TOKEN, BlockTile, Memref, element_of, shape_of, shaped
from .standard import booleans, each, integers, same_shape, same_type


def _memref(op: Op) -> Iterator[str]:
    type_ = op.result.type
    if op.base.type != Ptr(type_.element):
        yield f"the base of {type_} is a {Ptr(type_.element)}, not {op.base.type}"
    if (len(op.shape), len(op.strides)) != (type_.shape.count(None), type_.strides.count(None)):
        yield f"{type_} needs {type_.shape.count(None)} extents and {type_.strides.count(None)} strides as operands"


def _block(op: Op) -> Iterator[str]:
    if not isinstance(op.source.type, Memref) or not isinstance(op.result.type, BlockTile):
        yield f"it cuts a memref into tiles, not {op.source.type} into {op.result.type}"
    elif op.result.type.memref != op.source.type:
        yield f"{op.result.type} is not of {op.source.type}"


def _indexed(tensor: str, gather: bool) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        type_ = op.view.type
        if not isinstance(type_, BlockTile) or (type_.gather is not None) is not gather:
            yield f"it accesses a btile {'with' if gather else 'without'} gather, not {type_}"
            return
        if len(op.index) != len(type_.tile):
            yield f"{type_} takes {len(type_.tile)} indices, not {len(op.index)}"
        value = getattr(op, tensor).type
        if shape_of(value) != type_.tile or element_of(value) != type_.memref.element:
            yield f"the tiles of {type_} are {type_.loaded}, not {value}"

    return verify


def _pointed(to: str, of: str) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        pointer, value = element_of(getattr(op, to).type), element_of(getattr(op, of).type)
        if isinstance(pointer, Ptr) and pointer.pointee != value:
            yield f"pointers to {pointer.pointee} do not load or store {value}"

    return verify


def _tile_of(op: Op) -> tuple[Type, ...]:
    return op.view.type.loaded, MEM_TOKEN


def _pointee(op: Op) -> tuple[Type, ...]:
    pointer = element_of(op.source.type)
    assert isinstance(pointer, Ptr)
    return shaped(shape_of(op.source.type), pointer.pointee), MEM_TOKEN


_SCOPED: dict[str, Codec] = {
    "order": one_of("weak", "relaxed", "acquire", "release", default="weak"),
    "scope": attributes.OPTIONAL_SCOPE,
}
_HINTED: dict[str, Codec] = _SCOPED | {"latency": INT(0), "allow_tma": BOOL(True)}
_TILED = _HINTED | {"in_bounds": sequence(BOOL)(())}
_ATOMIC: dict[str, Codec] = {
    "mode": attributes.ATOMIC_MODE,
    "order": attributes.ATOMIC_ORDER("relaxed"),
    "scope": attributes.SCOPE("device"),
}
_TOKEN = "[[token = $token]] attr-dict"

make_memref = NV_TILEAA.op(
    "make_memref", "base *shape *strides", "result",
    "$base [[, shape($shape : type($shape))]] [[, strides($strides : type($strides))]] : type($base) -> type($result)",
    verify=each(pointers("base"), _memref), pure=True, doc="shape, strides: those that the type does not know.",
)  # fmt: skip
block_tile = NV_TILEAA.op("block_tile", "source", "result", CONVERTED, verify=_block, pure=True)
create_mem_token = NV_TILEAA.op("create_mem_token", "", "result", ": type($result)", infer=token, pure=True)
join_mem_tokens = NV_TILEAA.op(
    "join_mem_tokens", "*tokens", "result", "$tokens : type($result)", infer=token, pure=True
)
mem_fence = NV_TILEAA.op(
    "mem_fence", "token?", "result_token", f"$what {_TOKEN} : type($result_token)", infer=token,
    attrs={"what": one_of("alias", "gdc_wait", "gdc_launch_dependents")},
    doc="Orders accesses through other pointers, or waits for and starts neighbouring grids (griddepcontrol).",
)  # fmt: skip
tiled_load = NV_TILEAA.op(
    "tiled_load", "view *index token?", "tensor result_token",
    f"$view[$index] {_TOKEN} : type($view), type($index) -> type($tensor), type($result_token)",
    infer=_tile_of, verify=_indexed("tensor", False), attrs=_TILED,
)  # fmt: skip
tiled_store = NV_TILEAA.op(
    "tiled_store", "value view *index token?", "result_token",
    f"$value, $view[$index] {_TOKEN} : type($value), type($view), type($index) -> type($result_token)",
    infer=token, verify=_indexed("value", False), attrs=_TILED,
)  # fmt: skip
tiled_atomic_rmw = NV_TILEAA.op(
    "tiled_atomic_rmw", "view *index value token?", "result_token",
    f"$view[$index], $value {_TOKEN} : type($view), type($index), type($value) -> type($result_token)",
    infer=token, verify=_indexed("value", False), attrs=_ATOMIC | {"in_bounds": sequence(BOOL)(())},
)  # fmt: skip
gather_load = NV_TILEAA.op(
    "gather_load", "view *index token?", "tensor result_token",
    f"$view[$index] {_TOKEN} : type($view), type($index) -> type($tensor), type($result_token)",
    infer=_tile_of, verify=_indexed("tensor", True), attrs=_TILED,
)  # fmt: skip
scatter_store = NV_TILEAA.op(
    "scatter_store", "value view *index token?", "result_token",
    f"$value, $view[$index] {_TOKEN} : type($value), type($view), type($index) -> type($result_token)",
    infer=token, verify=_indexed("value", True), attrs=_TILED,
)  # fmt: skip
addptr = NV_TILEAA.op(
    "addptr", "ptr offset", "result", "$ptr, $offset : type($ptr), type($offset)", infer="ptr", pure=True,
    verify=each(pointers("ptr"), integers("offset"), same_shape("ptr offset")), doc="Offsets count elements.",
)  # fmt: skip
int_to_ptr = NV_TILEAA.op(
    "int_to_ptr", "source", "result", CONVERTED, verify=each(integers("source"), pointers("result")), pure=True
)
ptr_to_int = NV_TILEAA.op(
    "ptr_to_int", "source", "result", CONVERTED, verify=each(pointers("source"), integers("result")), pure=True
)
ptr_to_ptr = NV_TILEAA.op("ptr_to_ptr", "source", "result", CONVERTED, verify=pointers("source result"), pure=True)
load = NV_TILEAA.op(
    "load",
    "source mask? other? token?",
    "tensor result_token",
    f"$source [[, $mask]] [[, $other]] {_TOKEN} : type($source) [[, type($mask)]] [[, type($other)]] "
    "-> type($tensor), type($result_token)",
    infer=_pointee,
    attrs=_HINTED,
    verify=each(
        pointers("source"),
        booleans("mask"),
        same_shape("source mask tensor"),
        same_type("tensor other"),
        _pointed("source", "tensor"),
    ),
)
store = NV_TILEAA.op(
    "store",
    "destination value mask? token?",
    "result_token",
    f"$destination, $value [[, $mask]] {_TOKEN} : type($destination), type($value) [[, type($mask)]] "
    "-> type($result_token)",
    infer=token,
    attrs=_HINTED,
    verify=each(
        pointers("destination"),
        booleans("mask"),
        same_shape("destination value mask"),
        _pointed("destination", "value"),
    ),
)
atomic_rmw = NV_TILEAA.op(
    "atomic_rmw",
    "pointers value mask? token?",
    "old result_token",
    f"$pointers, $value [[, $mask]] {_TOKEN} : type($pointers), type($value) [[, type($mask)]] "
    "-> type($old), type($result_token)",
    infer=lambda op: (op.value.type, MEM_TOKEN),
    attrs=_ATOMIC,
    verify=each(
        pointers("pointers"), booleans("mask"), same_shape("pointers value mask"), _pointed("pointers", "value")
    ),
)
atomic_cas = NV_TILEAA.op(
    "atomic_cas",
    "pointers compare value mask? token?",
    "old result_token",
    f"$pointers, $compare, $value [[, $mask]] {_TOKEN} : type($pointers), type($value) [[, type($mask)]] "
    "-> type($old), type($result_token)",
    infer=lambda op: (op.value.type, MEM_TOKEN),
    attrs={k: v for k, v in _ATOMIC.items() if k != "mode"},
    verify=each(
        pointers("pointers"), booleans("mask"), same_type("compare value old"), same_shape("pointers value mask")
    ),
)
print_ = NV_TILEAA.op(
    "print",
    "*values token?",
    "result_token",
    "$str [[, $values]] [[token = $token]] [[: type($values)]] -> type($result_token)",
    infer=token,
    attrs={"str": STRING},
)
assert_ = NV_TILEAA.op(
    "assert",
    "condition",
    "",
    "$condition, $message : type($condition)",
    verify=booleans("condition"),
    attrs={"message": STRING},
)
