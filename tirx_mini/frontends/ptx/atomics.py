"""Lowering of atomic operations whose operands stand in several registers: vectors, packed halves, and 128 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import Buffer, BufferLoad, BufferStore, DataType, Expr, binary, cast, const
from tirx_mini.isa import TABLE

from .context import Context, as_type
from .opcodes import TYPES
from .syntax import Operand, Sink, Vector

KINDS = (*TYPES, "b128")
"""The types of atomic operations, which stand before or behind the operation."""
WIDE = ("exch", "cas")
"""The operations on 128 bits."""
_U32, _U64 = DataType("uint32"), DataType("uint64")
Operands = tuple[Operand, Expr, Operand]
"""The destination of an atomic operation (a sink where it has none), its address, and its operand."""


def atomic_vector(context: Context, operands: Operands, kind: str, attrs: Mapping[str, object]) -> None:
    """Lower a packed or vector operation: each register holds an element or a pair."""
    result, pointer, value = operands
    words = [_word(context, item, kind) for item in _items(value)]
    source = _array(context, words)
    given = {**attrs, "type": kind}
    if isinstance(result, Sink):
        context.evaluate(context.execute(TABLE["red.registers"], (pointer, source.data), given))
        return
    old = context.temporary(_U32, len(words))
    context.evaluate(context.execute(TABLE["atom.registers"], (old.data, pointer, source.data), given))
    for place, target in enumerate(_items(result)):
        if not isinstance(target, Sink):
            word = _loaded(context, old, place)
            context.write(target, as_type(TYPES[kind], cast("uint16", word) if TYPES[kind].bits == 16 else word))


def atomic_wide(
    context: Context, operands: tuple[Operand, Expr, Sequence[Operand]], op: str, attrs: Mapping[str, object]
) -> None:
    """Lower atom.exch.b128 and atom.cas.b128, whose registers are vectors of 64 or 32 bits."""
    result, pointer, values = operands
    sources = [_array(context, _words_of(context, _items(value))) for value in values]
    old = context.temporary(_U32, 4)
    args = (old.data, pointer, *(each.data for each in sources))
    context.evaluate(context.execute(TABLE[f"atom.{op}.b128"], args, attrs))
    targets = _items(result)
    for place, target in enumerate(targets):
        if isinstance(target, Sink):
            continue
        if len(targets) == 4:
            context.write(target, _loaded(context, old, place))
            continue
        low, high = (cast(_U64, _loaded(context, old, 2 * place + side)) for side in (0, 1))
        context.write(target, binary("|", low, binary("<<", high, const(32, _U64))))


def _items(operand: Operand) -> Sequence[Operand]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _word(context: Context, item: Operand, kind: str) -> Expr:
    value = context.read(item, TYPES[kind])
    return cast(_U32, as_type(DataType("uint16"), value)) if value.dtype.bits == 16 else as_type(_U32, value)


def _words_of(context: Context, items: Sequence[Operand]) -> list[Expr]:
    if len(items) == 4:
        return [context.read(item, _U32) for item in items]
    return [part for item in items for part in _halves(context, item)]


def _halves(context: Context, item: Operand) -> tuple[Expr, Expr]:
    whole = context.kept(context.read(item, _U64))
    return cast(_U32, whole), cast(_U32, binary(">>", whole, const(32, _U64)))


def _array(context: Context, words: Sequence[Expr]) -> Buffer:
    """Return registers side by side that hold words."""
    found = context.temporary(_U32, len(words))
    for place, word in enumerate(words):
        context.emit(BufferStore(found, (const(place),), word, span=context.span))
    return found


def _loaded(context: Context, words: Buffer, place: int) -> Expr:
    return BufferLoad(words.dtype, words, (const(place),), span=context.span)
