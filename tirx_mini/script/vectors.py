"""Vector values: broadcasts, ramps and shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tirx_mini.ir import (
    INT32,
    Binary,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    ExprLike,
    Ramp,
    TirxError,
    as_expr,
    cast,
    const,
    int_value,
    lanes_of,
)  # fmt: skip
from tirx_mini.wording import described

from .builder import current
from .handles import data_type

if TYPE_CHECKING:
    from .annotations import DTypeLike


def stored(buffer: Buffer, indices: tuple[Expr, ...], value: Expr) -> BufferStore:
    """Store ``buffer[indices] = value``, broadcasting a scalar to all indexed elements."""
    count, given = lanes_of(indices[-1]) if indices else 1, lanes_of(value)
    if given not in (1, count):
        message = f"a vector of {given} values is stored to {count} element{'s' * (count > 1)}"
        raise TirxError(message, value.span, "name as many elements, as in A[i : i + 4], or store one lane")
    return BufferStore(buffer, indices, cast(buffer.dtype.with_lanes(count), value))


def broadcast(value: ExprLike, lanes: int) -> Expr:
    """Return a vector of `lanes` lanes, each equal to `value`."""
    one = as_expr(value)
    if one.dtype.lanes > 1:
        raise TirxError(f"T.Broadcast repeats one value, but {one!r} is a vector", one.span)
    return cast(one.dtype.with_lanes(_count(lanes)), one)


def ramp(base: ExprLike, lanes: object, tvm_lanes: int | None = None) -> Expr:
    """Return the index of a vector access: base, base + 1, …, base + lanes - 1.

    TVM writes ``ramp(base, stride, lanes)``: the numbers base, base + stride, …, which are an index if the stride is 1.
    """
    start, stride = as_expr(base), as_expr(1 if tvm_lanes is None else lanes)
    count = _count(lanes if tvm_lanes is None else tvm_lanes)
    if int_value(stride) == 1:
        return Ramp(start.dtype, start, count)
    kind = start.dtype.with_lanes(count)
    steps = cast(kind, Ramp(INT32, const(0), count))
    return Binary(kind, "+", cast(kind, start), Binary(kind, "*", cast(kind, cast(start.dtype, stride)), steps))


def Shuffle(vectors: Sequence[ExprLike], indices: Sequence[ExprLike]) -> Expr:
    """Return the selected lanes of concatenated vectors, as a scalar for a single index."""
    parts = [as_expr(vector) for vector in vectors]
    if not parts or len({part.dtype.scalar for part in parts}) > 1:
        raise TirxError("T.Shuffle takes vectors of one type")
    builder, kind = current("T.Shuffle"), parts[0].dtype.scalar
    values: list[Expr] = []
    for part in parts:
        lanes = part.dtype.lanes
        if lanes == 1:
            values.append(part)
            continue
        whole = builder.alloc(Buffer(builder.take_name("lanes"), (lanes,), kind, "local"))
        builder.emit(BufferStore(whole, (Ramp(INT32, const(0), lanes),), part))
        values += [whole[lane] for lane in range(lanes)]
    chosen = [values[_index(index, len(values))] for index in indices]
    if len(chosen) == 1:
        return chosen[0]
    result = builder.alloc(Buffer(builder.take_name("shuffled"), (len(chosen),), kind, "local"))
    for lane, value in enumerate(chosen):
        builder.emit(BufferStore(result, (const(lane),), value))
    return BufferLoad(kind.with_lanes(len(chosen)), result, (Ramp(INT32, const(0), len(chosen)),))


def vectorlow(dtype: DTypeLike, vec: ExprLike) -> Expr:
    """Return the lower half of a vector's lanes."""
    half = _half(dtype, vec)
    return Shuffle([vec], range(half))


def vectorhigh(dtype: DTypeLike, vec: ExprLike) -> Expr:
    """Return the upper half of a vector's lanes."""
    half = _half(dtype, vec)
    return Shuffle([vec], range(half, 2 * half))


def vectorcombine(dtype: DTypeLike, vec1: ExprLike, vec2: ExprLike) -> Expr:
    """Concatenate the lanes of two vectors."""
    return Shuffle([vec1, vec2], range(data_type(dtype).lanes))


def _half(dtype: DTypeLike, vec: ExprLike) -> int:
    lanes = as_expr(vec).dtype.lanes
    if lanes % 2 or data_type(dtype).lanes != lanes // 2:
        raise TirxError(f"half of a vector of {lanes} lanes is not one of {data_type(dtype)}")
    return lanes // 2


def _index(index: object, count: int) -> int:
    known = int_value(index)
    if known is None or not 0 <= known < count:
        raise TirxError(f"the indices of T.Shuffle are numbers from 0 to {count - 1}, not {described(index)}")
    return known


def _count(lanes: object) -> int:
    count = int_value(lanes)
    if count is None or count < 1:
        raise TirxError(f"the lanes of a vector are a number that is known at compile time, not {described(lanes)}")
    return count
