"""Tokens, loads and stores through tiles of pointers, and atomics (Tile IR: Operations, Memory and Atomics)."""

from __future__ import annotations

from collections.abc import Iterator

from ...ssa import BOOL, INT, Codec, Op, Type
from ..attributes import ATOMIC_MODE, ATOMIC_ORDER, HINTS, LOAD_ORDER, OPTIONAL_SCOPE, SCOPE, STORE_ORDER
from ..dialect import CUDA_TILE, conditions, pointers, rules, same_shape, same_type, token
from ..types import TOKEN, Ptr, Scalar


def _pointed(pointers_: str, value: str):
    """Verify that the elements of `value` have the pointee type of the pointers."""

    def verify(op: Op) -> Iterator[str]:
        to, of = getattr(op, pointers_).type.element, getattr(op, value).type.element
        if isinstance(to, Ptr) and to.pointee != of:
            yield f"pointers to {to.pointee} do not load or store {of}"

    return verify


def _loaded(op: Op) -> tuple[Type, ...]:
    return op.source.type.of(op.source.type.element.pointee), TOKEN


ATOMIC_ELEMENTS = {
    "addf": ("f16", "bf16", "f32", "f64"), "xchg": ("i32", "i64", "f32", "f64"),
    **dict.fromkeys(("and", "or", "xor", "add", "max", "min", "umax", "umin"), ("i32", "i64")),
}  # fmt: skip
"""The element types of each atomic operation (Tile IR: atomic_rmw_tko)."""


def _mode(op: Op) -> Iterator[str]:
    element = op.arg.type.element
    if not isinstance(element, Scalar) or element.name not in ATOMIC_ELEMENTS[op.mode]:
        yield f"atomic {op.mode} is for {', '.join(ATOMIC_ELEMENTS[op.mode])}, not {element}"


_TOKEN = "[[token = $token]]"
_ORDER = "$memory_ordering_semantics [[$memory_scope]]"
_HINTS = "[[optimization_hints = $optimization_hints]]"
_LOADED: dict[str, Codec] = {
    "memory_ordering_semantics": LOAD_ORDER("weak"),
    "memory_scope": OPTIONAL_SCOPE,
    "optimization_hints": HINTS,
}
_STORED = _LOADED | {"memory_ordering_semantics": STORE_ORDER("weak")}
_ATOMIC: dict[str, Codec] = {"memory_ordering_semantics": ATOMIC_ORDER("relaxed"), "memory_scope": SCOPE("device")}

make_token = CUDA_TILE.op("make_token", "", "result", ": type($result)", infer=token, pure=True)
join_tokens = CUDA_TILE.op("join_tokens", "*tokens", "result", "$tokens : type($result)", infer=token, pure=True)
memory_fence_alias_tko = CUDA_TILE.op(
    "memory_fence_alias_tko", "token", "result_token", "token = $token -> type($result_token)", infer=token
)
gdc_wait_tko = CUDA_TILE.op("gdc_wait_tko", "token?", "result_token", f"{_TOKEN} -> type($result_token)", infer=token)
gdc_launch_dependents_tko = CUDA_TILE.op(
    "gdc_launch_dependents_tko", "token?", "result_token", f"{_TOKEN} -> type($result_token)", infer=token
)
load_ptr_tko = CUDA_TILE.op(
    "load_ptr_tko", "source mask? paddingValue? token?", "tile result_token",
    f"{_ORDER} $source [[, $mask]] [[, $paddingValue]] {_TOKEN} {_HINTS} : type($source) [[, type($mask)]] "
    "[[, type($paddingValue)]] -> type($tile), type($result_token)",
    infer=_loaded, attrs=_LOADED,
    verify=rules(
        pointers("source"), conditions("mask"), same_shape("source mask tile"),
        same_type("tile paddingValue"), _pointed("source", "tile"),
    ),
)  # fmt: skip
store_ptr_tko = CUDA_TILE.op(
    "store_ptr_tko", "destination value mask? token?", "result_token",
    f"{_ORDER} $destination, $value [[, $mask]] {_TOKEN} {_HINTS} : type($destination), type($value) [[, type($mask)]] "
    "-> type($result_token)",
    infer=token, attrs=_STORED,
    verify=rules(
        pointers("destination"), conditions("mask"), same_shape("destination value mask"),
        _pointed("destination", "value"),
    ),
)  # fmt: skip
atomic_rmw_tko = CUDA_TILE.op(
    "atomic_rmw_tko", "pointers arg mask? token?", "old result_token",
    "$memory_ordering_semantics $memory_scope $pointers, $mode, $arg [[, $mask]] [[token = $token]] "
    ": type($pointers), type($arg) [[, type($mask)]] -> type($old), type($result_token)",
    infer=lambda op: (op.arg.type, TOKEN), attrs=_ATOMIC | {"mode": ATOMIC_MODE},
    verify=rules(
        pointers("pointers"), conditions("mask"), same_shape("pointers arg mask"), _pointed("pointers", "arg"), _mode
    ),
)  # fmt: skip
atomic_cas_tko = CUDA_TILE.op(
    "atomic_cas_tko", "pointers cmp val mask? token?", "old result_token",
    "$memory_ordering_semantics $memory_scope $pointers, $cmp, $val [[, $mask]] [[token = $token]] "
    ": type($pointers), type($val) [[, type($mask)]] -> type($old), type($result_token)",
    infer=lambda op: (op.val.type, TOKEN), attrs=_ATOMIC,
    verify=rules(
        pointers("pointers"), conditions("mask"), same_type("cmp val old"), same_shape("pointers val mask"),
        _pointed("pointers", "val"),
    ),
)  # fmt: skip
alloca = CUDA_TILE.op(
    "alloca", "", "result", "attr-dict : type($result)", verify=pointers("result"),
    attrs={"num_elem": INT, "alignment": INT, "global": BOOL(False)},
)  # fmt: skip
