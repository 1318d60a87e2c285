"""Lowering of accesses to local memory and to call parameters, both of which are per-thread variables."""

from __future__ import annotations

from tirx_mini.ir import Const, DataType, Expr, binary, cast, const
from tirx_mini.isa import GENERIC_LOCAL

from .arguments import bits_of
from .context import ADDRESS, Context, as_type, refused
from .local_memory import FRAME, Array
from .opcodes import TYPES
from .syntax import Address, Instruction, Sink, Symbol, Vector


def is_local(context: Context, instruction: Instruction, space: str) -> bool:
    """Return whether an access certainly refers to local memory."""
    address = next(each for each in instruction.operands if isinstance(each, Address))
    if isinstance(address.base, Symbol):
        return context.locals.array(address.base.name) is not None
    if space:
        return space == "local"
    names = context.names(address.base)
    return bool(names) and all(name in context.locals.offsets for name in names)


def access_local(context: Context, instruction: Instruction, kind: str, space: str) -> None:
    """Lower a load or store of local memory."""
    stores = instruction.opcode[0] == "st"
    address = instruction.operands[0 if stores else 1]
    value = instruction.operands[1 if stores else 0]
    assert isinstance(address, Address)
    array, name, offset = _place(context, instruction, address, space)
    width = bits_of(kind) // 8
    items = value.items if isinstance(value, Vector) else (value,)
    if not isinstance(offset, Const):
        offset = context.kept(offset, "offset")
    for place, item in enumerate(items):
        at = binary("+", offset, const(place * width, offset.dtype)) if place else offset
        if stores:
            word = as_type(DataType(f"uint{8 * width}"), context.read(item, TYPES[kind]))
            word = word if width == array.width else context.kept(word, "word")
            for stmt in context.locals.store(array, at, word):
                context.emit(stmt)
            if isinstance(at, Const):
                context.stored[name, int(at.value)] = item
        elif not isinstance(item, Sink):
            context.write(item, context.kept(as_type(TYPES[kind], context.locals.load(array, at, kind)), "loaded"))


def _place(
    context: Context, instruction: Instruction, address: Address, space: str
) -> tuple[Array, str, Expr]:
    """Return the array, the variable name and the byte offset of an access."""
    if isinstance(address.base, Symbol):
        name = address.base.name
        array = context.locals.arrays.get(name)
        first = address.base.offset + address.offset
        if array is not None:
            return array, name, const(first, ADDRESS)
    frame = context.locals.arrays.get(FRAME)
    if frame is None:
        raise refused(instruction, "it has no local memory")
    base = cast(ADDRESS, context.read(address.base))
    if not space:
        base = binary("-", base, const(GENERIC_LOCAL, ADDRESS))
    return frame, FRAME, binary("+", base, const(address.offset, ADDRESS))
