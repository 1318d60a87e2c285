"""Constants, shapes, pointers, symbols and diagnostics (Tile IR: Operations, Core and Miscellaneous)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ssa import BOOL, INT, INTS, STRING, SYMBOL, TYPE, Op, Verify
from ..attributes import ASSUMED, DENSE, Bounded, DivBy
from ..dialect import (
    CUDA_TILE,
    conditions,
    integers,
    pointers,
    rules,
    same_elements,
    same_shape,
    same_type,
    tiles,
    token,
)
from ..types import I32, Ptr, Tile


def _three_scalars(op: Op) -> tuple[Tile, ...]:
    return (Tile((), I32),) * 3


def _constant(op: Op) -> Iterator[str]:
    shape, given = op.result.type.shape, op.value.values.shape
    if op.value.element == "i4":
        yield "a constant cannot be a tile of i4: load the tile, or unpack it"
    if str(op.result.type.element) != op.value.element or given not in ((), shape):
        yield f"the numbers {op.value.element} of the shape {given} are not a {op.result.type}"


def _reshape(op: Op) -> Iterator[str]:
    if prod(op.source.type.shape) != prod(op.result.type.shape):
        yield f"{op.source.type} and {op.result.type} have different numbers of elements"


def _broadcast(op: Op) -> Iterator[str]:
    before, after = op.source.type.shape, op.result.type.shape
    if len(before) != len(after) or any(b not in (1, a) for b, a in zip(before, after, strict=False)):
        yield f"only extents of 1 are broadcast, at the same rank: {op.source.type} to {op.result.type}"


def _permute(op: Op) -> Iterator[str]:
    order, shape = op.permutation, op.source.type.shape
    if len(shape) < 2:
        yield f"it permutes at least two dimensions, not those of {op.source.type}"
    elif sorted(order) != list(range(len(shape))):
        yield f"{list(order)} is not a permutation of {len(shape)} dimensions"
    elif op.result.type.shape != tuple(shape[i] for i in order):
        yield f"{op.result.type} is not {op.source.type} permuted by {list(order)}"


def _cat(op: Op) -> Iterator[str]:
    lhs, rhs, dim = list(op.lhs.type.shape), list(op.rhs.type.shape), op.dim
    if not (0 <= dim < len(lhs) == len(rhs)) or lhs[:dim] + lhs[dim + 1 :] != rhs[:dim] + rhs[dim + 1 :]:
        yield "only the concatenated extents may differ"
    elif list(op.result.type.shape) != [*lhs[:dim], lhs[dim] + rhs[dim], *lhs[dim + 1 :]]:
        yield f"{op.result.type} is not the concatenation along dimension {dim}"


def _slices(whole: str, part: str) -> Verify:
    def verify(op: Op) -> Iterator[str]:
        large, small = getattr(op, whole).type, getattr(op, part).type
        if large.rank != small.rank or any(n % k for n, k in zip(large.shape, small.shape, strict=False)):
            yield f"{small} does not divide {large}"
        elif len(op.indices) != large.rank:
            yield f"it has {len(op.indices)} indices for {large.rank} dimensions"

    return verify


def _offset(op: Op) -> Iterator[str]:
    if op.ptr.type != op.result.type:
        yield "the result has the type of the pointers"


def _iota(op: Op) -> Iterator[str]:
    if op.result.type.rank != 1:
        yield f"it makes a tile of rank 1, not {op.result.type}"


def _assume(op: Op) -> Iterator[str]:
    predicate = op.predicate
    if isinstance(predicate, DivBy) and predicate.divisor & (predicate.divisor - 1):
        yield f"the divisor {predicate.divisor} is not a power of two"
    if (
        isinstance(predicate, Bounded)
        and predicate.lower is not None
        and predicate.upper is not None
        and predicate.lower > predicate.upper
    ):
        yield f"{predicate} has no numbers"


def _to_pointer(op: Op) -> Iterator[str]:
    if not isinstance(op.result.type.element, Ptr) or op.result.type.rank:
        yield f"its result is a scalar pointer, not {op.result.type}"


constant = CUDA_TILE.op(
    "constant", "", "result", "$value : type($result)", verify=_constant, pure=True, attrs={"value": DENSE}
)
iota = CUDA_TILE.op("iota", "", "result", ": type($result)", verify=rules(integers("result"), _iota), pure=True)
get_tile_block_id = CUDA_TILE.op("get_tile_block_id", "", "x y z", ": type($x)", infer=_three_scalars, pure=True)
get_num_tile_blocks = CUDA_TILE.op("get_num_tile_blocks", "", "x y z", ": type($x)", infer=_three_scalars, pure=True)
_SHAPED = "$source : type($source) -> type($result)"
reshape = CUDA_TILE.op(
    "reshape", "source", "result", _SHAPED, verify=rules(same_elements("source result"), _reshape), pure=True
)
broadcast = CUDA_TILE.op(
    "broadcast", "source", "result", _SHAPED, verify=rules(same_elements("source result"), _broadcast), pure=True
)
permute = CUDA_TILE.op(
    "permute", "source", "result", "$source $permutation : type($source) -> type($result)",
    infer=lambda op: op.source.type.shaped([op.source.type.shape[i] for i in op.permutation]),
    verify=rules(same_elements("source result"), _permute), pure=True, attrs={"permutation": INTS},
)  # fmt: skip
cat = CUDA_TILE.op(
    "cat", "lhs rhs", "result", "$lhs, $rhs dim = $dim : type($lhs), type($rhs) -> type($result)",
    verify=rules(same_elements("lhs rhs result"), _cat), pure=True, attrs={"dim": INT},
)  # fmt: skip
extract = CUDA_TILE.op(
    "extract", "source *indices", "result", "$source[$indices] : type($source) -> type($result)",
    verify=rules(same_elements("source result"), _slices("source", "result")), pure=True,
)  # fmt: skip
insert = CUDA_TILE.op(
    "insert", "source destination *indices", "result",
    "$source, $destination[$indices] : type($source), type($destination)",
    infer="destination", verify=rules(same_elements("source destination"), _slices("destination", "source")), pure=True,
)  # fmt: skip
pack = CUDA_TILE.op("pack", "source", "result", _SHAPED, verify=tiles("source result"), pure=True)
unpack = CUDA_TILE.op("unpack", "source", "result", _SHAPED, verify=tiles("source result"), pure=True)
select = CUDA_TILE.op(
    "select", "cond val_if_true val_if_false", "result",
    "$cond, $val_if_true, $val_if_false : type($cond), type($result)", infer="val_if_true",
    pure=True,
    verify=rules(conditions("cond"), same_type("val_if_true val_if_false result"), same_shape("cond result")),
)  # fmt: skip
offset = CUDA_TILE.op(
    "offset", "ptr offset", "result", "$ptr, $offset : type($ptr), type($offset) -> type($result)", infer="ptr",
    verify=rules(pointers("ptr"), integers("offset"), same_shape("ptr offset"), _offset), pure=True,
)  # fmt: skip
assume = CUDA_TILE.op(
    "assume", "value", "result", "$predicate, $value : type($value)", infer="value", verify=_assume, pure=True,
    attrs={"predicate": ASSUMED},
)  # fmt: skip
global_ = CUDA_TILE.op(
    "global", "", "", "$sym_name [[constant $constant]] [[alignment = $alignment]] $value : $type",
    attrs={"sym_name": SYMBOL, "constant": BOOL(False), "alignment": INT(0), "value": DENSE, "type": TYPE},
)  # fmt: skip
get_global = CUDA_TILE.op(
    "get_global", "", "result", "$symbol : type($result)", verify=_to_pointer, attrs={"symbol": SYMBOL}, pure=True
)
assert_ = CUDA_TILE.op(
    "assert",
    "condition",
    "",
    "$condition, $message : type($condition)",
    verify=conditions("condition"),
    attrs={"message": STRING},
)
print_tko = CUDA_TILE.op(
    "print_tko", "*values token?", "result_token",
    "$str [[, $values]] [[token = $token]] [[: type($values)]] -> type($result_token)",
    infer=token, verify=tiles("values"), attrs={"str": STRING},
)  # fmt: skip
