"""Name the mbarriers of a kernel, since PTX has only addresses and deadlock reports need names.

An address that an instruction takes for an mbarrier is a constant, or a constant and a multiple of a stage. Each such
constant begins an array of barriers, a view of the variable that it lies in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from tirx_mini.ir import (
    HANDLE,
    Address,
    AddressOf,
    Binary,
    Bind,
    Buffer,
    Call,
    Cast,
    Const,
    DataType,
    DeclBuffer,
    Expr,
    Mutator,
    PrimFunc,
    Seq,
    Var,
    binary,
    cast,
    const,
    seq,
)
from tirx_mini.isa import BarrierEffect, OperandKind, instruction_of
from tirx_mini.records import dataclass, replace

BARRIER_BYTES = 8
MOST_STAGES = 64
_NUMBER = DataType("int64")
_DEEPEST = 40


@dataclass(frozen=True)
class Place:
    """An address decomposed into a variable, a constant byte offset and a computed remainder.

    rest: None for a constant address. begins: whether an initialisation has this address.
    """

    buffer: Buffer
    offset: int
    rest: Expr | None
    begins: bool = False


def with_barriers(func: PrimFunc) -> PrimFunc:
    """Return the kernel with each mbarrier operand rewritten to point into a named barrier array."""
    bound = {bind.var: bind.value for bind in func.of(Bind)}
    places: dict[Address, Place] = {}
    for call in func.of(Call):
        for pointer in _barriers(call):
            place = _place(pointer.value, bound, 0)
            if place is not None:
                entry = instruction_of(call)
                places[pointer] = replace(place, begins=entry is not None and entry.barrier is BarrierEffect.INIT)
    if not places:
        return func
    views = _views(places.values())
    body = _Named(places, views).stmt(func.body)
    declared = [DeclBuffer(view) for of_buffer in views.values() for view in of_buffer.values() if view.source]
    stmts = list(body.stmts) if isinstance(body, Seq) else [body]
    return func.with_body(seq(stmts[0], *declared, *stmts[1:]))


def _barriers(call: Call) -> Iterator[Address]:
    """Yield the computed mbarrier addresses among the operands of a call."""
    entry = instruction_of(call)
    for operand, arguments in () if entry is None else entry.matched(call.args, dict(call.attrs)):
        if operand.type.kind is OperandKind.MBARRIER or (entry is not None and entry.peer(call) is not None):
            yield from (argument for argument in arguments if isinstance(argument, Address))


def _place(expr: Expr, bound: Mapping[Var, Expr], depth: int) -> Place | None:
    """Decompose an address into its parts, or return None if it is not a sum over one variable."""
    parts = _parts(expr, bound, depth)
    if parts is None or parts[0] is None:
        return None
    return Place(parts[0], parts[1], parts[2])


def _parts(expr: Expr, bound: Mapping[Var, Expr], depth: int) -> tuple[Buffer | None, int, Expr | None] | None:
    """Decompose an expression into (variable, constant, rest), or return None if it is not such a sum."""
    if depth > _DEEPEST:
        return None
    if isinstance(expr, Var) and expr in bound:
        found = _parts(bound[expr], bound, depth + 1)
        return found if found is not None and (found[0] is not None or found[2] is None) else (None, 0, expr)
    if isinstance(expr, Const) and expr.dtype.is_integer:
        return None, int(expr.value), None
    if isinstance(expr, AddressOf) and expr.buffer.scope == "shared" and isinstance(expr.indices[0], Const):
        return expr.buffer, int(expr.indices[0].value) * expr.buffer.dtype.itemsize, None
    if isinstance(expr, Cast) and expr.value.dtype != "bool" and not expr.value.dtype.is_float:
        found = _parts(expr.value, bound, depth + 1)
        return found if found is not None and found[0] is not None else (None, 0, expr)
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        left, right = _parts(expr.a, bound, depth + 1), _parts(expr.b, bound, depth + 1)
        if left is None or right is None or (left[0] is not None and right[0] is not None):
            return None
        if expr.op == "-":
            if right[0] is not None or right[2] is not None:
                return (None, 0, expr) if left[0] is None else None
            return left[0], left[1] - right[1], left[2]
        rests = [rest for rest in (left[2], right[2]) if rest is not None]
        total = rests[0] if rests else None
        if len(rests) == 2:
            total = binary("+", cast(_NUMBER, rests[0]), cast(_NUMBER, rests[1]))
        return left[0] or right[0], left[1] + right[1], total
    return None, 0, expr


def _views(places: Iterable[Place]) -> dict[Buffer, dict[int, Buffer]]:
    """Return the barrier arrays of each variable, keyed by their first byte."""
    known: dict[Buffer, list[Place]] = {}
    for place in places:
        known.setdefault(place.buffer, []).append(place)
    return {buffer: _arrays(buffer, found) for buffer, found in known.items()}


def _arrays(buffer: Buffer, places: list[Place]) -> dict[int, Buffer]:
    """Return the barrier arrays of one variable, both multi-stage arrays and single barriers."""
    offsets = {place.offset for place in places}
    staged = sorted({place.offset for place in places if place.rest is not None})
    named = {place.offset for place in places if not place.begins and place.rest is None}
    lengths: dict[int, int] = {}
    for first, after in itertools.pairwise(staged):
        lengths[first] = (after - first) // BARRIER_BYTES
    if staged:
        lengths[staged[-1]] = _stages(buffer, staged[-1], offsets, named, min(lengths.values(), default=MOST_STAGES))
    inside = {first + BARRIER_BYTES * stage for first, count in lengths.items() for stage in range(count)}
    lengths |= dict.fromkeys(offsets - inside, 1)
    return {first: _view(buffer, first, max(1, count)) for first, count in sorted(lengths.items())}


def _stages(buffer: Buffer, first: int, offsets: set[int], named: set[int], most: int) -> int:
    """Return the number of stages in the last barrier array of a variable."""
    count = 1
    while count < most and first + BARRIER_BYTES * count in offsets and (
        most < MOST_STAGES or first + BARRIER_BYTES * count not in named
    ):
        count += 1
    room = max(1, (buffer.nbytes - first) // BARRIER_BYTES)
    return count if first + BARRIER_BYTES in offsets else min(most, room)


def _view(buffer: Buffer, first: int, count: int) -> Buffer:
    """Return a view of a variable as an array of `count` barriers."""
    if buffer.dtype == "uint64" and first == 0 and buffer.size == count:
        return buffer
    name = f"{buffer.name}+{first}" if first else buffer.name
    offset = buffer.byte_offset + first
    return Buffer(
        name, (count,), DataType("uint64"), "shared", source=buffer.source, byte_offset=offset, span=buffer.span
    )  # fmt: skip


class _Named(Mutator):
    """Rewrites each mbarrier pointer to point into its named array."""

    def __init__(self, places: Mapping[Address, Place], views: Mapping[Buffer, Mapping[int, Buffer]]) -> None:
        self.places, self.views = places, views

    def visit_Address(self, node: Address) -> Expr:
        place = self.places.get(node)
        if place is None:
            return self.rebuild(node)
        views = self.views[place.buffer]
        first = max((begin for begin in views if begin <= place.offset), default=None)
        if first is None:
            return node
        view = views[first]
        number = (place.offset - first) // BARRIER_BYTES
        if number >= view.size:
            return replace(node, buffers=(view,))
        start = Cast(_NUMBER, AddressOf(HANDLE, view, (const(number),)))
        value = start if place.rest is None else binary("+", start, cast(_NUMBER, place.rest))
        return replace(node, value=value, buffers=(view,))
