"""Lowering of register instructions: moves, conversions, comparisons and multi-result instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirx_mini.ir import (
    HANDLE,
    Buffer,
    BufferStore,
    DataType,
    Expr,
    TirxError,
    binary,
    cast,
    const,
    reinterpret,
    scalar,
    select,
)
from tirx_mini.ir import Address as Pointer
from tirx_mini.isa import GENERIC_BITS, GENERIC_LOCAL, GENERIC_SHARED, value_of

from .arithmetic import comparison, conversion, joined, operation
from .context import ADDRESS, Context, as_type, refused
from .entries import call_entry
from .fields import permuted
from .opcodes import TYPES, Operation, halves
from .syntax import Float, Immediate, Instruction, Operand, Pair, Register, Sink, Special, Symbol, Vector

_U32, _U64 = DataType("uint32"), DataType("uint64")


def compute(context: Context, instruction: Instruction) -> bool:
    """Lower a per-thread instruction without memory accesses. Return whether it is one."""
    handler = _HANDLERS.get(instruction.opcode[0])
    if handler is not None:
        handler(context, instruction)
        return True
    found = operation(instruction.opcode)
    if found is None:
        return False
    apply(context, instruction, found)
    return True


def apply(context: Context, instruction: Instruction, found: Operation) -> None:
    """Apply an operation to the operands of an instruction and write its result."""
    result, *operands = instruction.operands
    if instruction.opcode[0] in ("min", "max") and len(operands) == len(found.operands) + 1:
        pair = found.compute
        types = (*found.operands, found.operands[0])
        found = Operation(types, found.result, lambda a, b, c: pair(pair(a, b), c))
    if len(operands) != len(found.operands):
        raise TirxError(f"`{instruction.text}` has {len(operands)} operands, not {len(found.operands)}", context.span)
    args = [context.read(operand, dtype) for operand, dtype in zip(operands, found.operands, strict=True)]
    value = found.compute(*args)
    if instruction.opcode[0] == "shr":
        value = context.of_warps(value)
    context.write(result, value if value.dtype == found.result else as_type(found.result, value))


# -- moves ----------------------------------------------------------------------------------------------------------


def _mov(context: Context, instruction: Instruction) -> None:
    result, source = instruction.operands
    dtype = TYPES.get(instruction.opcode[-1])
    if isinstance(result, Vector):
        _unpack(context, result.items, source, dtype)
    elif isinstance(source, Vector):
        context.write(result, _packed(context, source.items, dtype or _U32))
    elif isinstance(source, Register):
        context.write(result, context.raw(source))
    elif isinstance(source, Symbol):
        context.write(result, cast(ADDRESS if dtype is None or dtype.bits == 64 else _U32, context.symbol(source)))
    elif isinstance(source, Float):
        context.write(result, context.read(source, dtype if dtype is not None and dtype.is_float else None))
    elif isinstance(source, Special):
        context.write(result, as_type(dtype or _U32, context.read(source)))
    else:
        context.write(result, context.read(source, dtype))


def _unpack(context: Context, items: tuple[Operand, ...], source: Operand, dtype: DataType | None) -> None:
    """Unpack a register into its parts, lowest bits first."""
    bits = (dtype or _U64).bits
    whole, width = DataType(f"uint{bits}"), bits // len(items)
    value = context.kept(as_type(whole, context.read(source)))
    for place, item in enumerate(items):
        if not isinstance(item, Sink):
            moved = binary(">>", value, const(place * width, whole))
            context.write(item, cast(f"uint{width}", moved))


def _packed(context: Context, items: tuple[Operand, ...], dtype: DataType) -> Expr:
    """Pack items into one register, lowest bits first."""
    whole, width = DataType(f"uint{dtype.bits}"), dtype.bits // len(items)
    total: Expr | None = None
    for place, item in enumerate(items):
        part = cast(whole, context.read(item, DataType(f"uint{width}")))
        moved = binary("<<", part, const(place * width, whole))
        total = moved if total is None else binary("|", total, moved)
    assert total is not None
    return total


def _cvta(context: Context, instruction: Instruction) -> None:
    """Lower cvta, which converts between generic and state-space addresses by the window bases of `isa`."""
    result, source = instruction.operands
    words = instruction.opcode
    value = cast(ADDRESS, context.read(source))
    space = next((word.split("::")[0] for word in words if word.split("::")[0] in _WINDOWS), "global")
    distance = const(_WINDOWS[space], ADDRESS)
    value = binary("-" if "to" in words else "+", value, distance)
    context.write(result, cast(_U32, value) if words[-1] == "u32" else value)


_WINDOWS = {"shared": GENERIC_SHARED, "local": GENERIC_LOCAL, "global": 0, "const": 0, "param": 0}


def _isspacep(context: Context, instruction: Instruction) -> None:
    result, source = instruction.operands
    space = instruction.opcode[1].split("::")[0]
    if space == "const":
        context.write(result, _in_constants(context, cast(ADDRESS, context.read(source))))
        return
    window = binary(">>", cast(ADDRESS, context.read(source)), const(GENERIC_BITS, ADDRESS))
    number = {"shared": 1, "local": 2, "param": 3}.get(space, 0)
    context.write(result, binary("==", window, const(number, ADDRESS)))


def _in_constants(context: Context, address: Expr) -> Expr:
    """Return whether an address lies in a constant variable."""
    found: Expr = const(False)
    address = context.kept(address)
    for name in (each.name for each in context.kernel.variables if each.space == "const"):
        buffer = context.variables.arrays[name][0]
        offset = binary("-", address, context.variables.address(name, context.span))
        inside = binary("<", cast(_U64, offset), const(buffer.nbytes, _U64))
        found = binary("or", found, inside)
    return found


def _cvt(context: Context, instruction: Instruction) -> None:
    words = instruction.opcode
    if words[1] == "pack":
        _cvt_pack(context, instruction)
        return
    found = conversion(words)
    if found is not None:
        apply(context, instruction, found)
        return
    if not call_entry(context, instruction):
        raise refused(instruction)


def _cvt_pack(context: Context, instruction: Instruction) -> None:
    """Lower cvt.pack.sat: saturate two integers and pack them below the upper part of the third operand."""
    result, a, b, *more = instruction.operands
    kind = instruction.opcode[3]
    bits, signed = int(kind[1:]), kind[0] == "s"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    parts: list[Expr] = []
    for operand in (a, b):
        value = cast("int64", context.read(operand, DataType("int32")))
        near = binary("min", binary("max", value, const(low, "int64")), const(high, "int64"))
        parts.append(binary("&", cast(_U32, near), const((1 << bits) - 1, _U32)))
    total = binary("|", binary("<<", parts[0], const(bits, _U32)), parts[1])
    if more:
        total = binary("|", total, binary("<<", context.read(more[0], _U32), const(2 * bits, _U32)))
    context.write(result, total)


# -- comparisons ----------------------------------------------------------------------------------------------------


def _setp(context: Context, instruction: Instruction) -> None:
    result, a, b, *more = instruction.operands
    *words, kind = instruction.opcode[1:]
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, Sink())
    other = context.read(more[0], DataType("bool")) if more else None
    if kind in ("f16x2", "bf16x2"):
        half = comparison(words, kind[:-2])
        for place, each in enumerate((first, second)):
            parts = [_half(context.read(operand, _U32), place, kind) for operand in (a, b)]
            context.write(each, joined(words, half(*parts), other))
        return
    dtype = TYPES[kind]
    left, right = context.read(a, dtype), context.read(b, dtype)
    holds = comparison(words, kind)(left, right)
    if not isinstance(second, Sink):
        holds = context.kept(holds, "holds")
        context.write(second, joined(words, binary("==", holds, const(False)), other))
    context.write(first, joined(words, holds, other))


def _half(word: Expr, place: int, kind: str) -> Expr:
    return reinterpret(TYPES[kind[:-2]], cast("uint16", binary(">>", word, const(16 * place, _U32))))


def _set(context: Context, instruction: Instruction) -> None:
    result, a, b, *more = instruction.operands
    *words, to, kind = instruction.opcode[1:]
    other = context.read(more[0], DataType("bool")) if more else None
    target = TYPES[to]
    if kind in ("f16x2", "bf16x2"):
        compare, pair = comparison(words, kind[:-2]), to in ("f16x2", "bf16x2")
        flag = _flag(TYPES[kind[:-2]] if pair else DataType("uint16"))
        inner = halves(lambda x, y: flag(joined(words, compare(x, y), other)), kind[:-2])
        context.write(result, inner(context.read(a, _U32), context.read(b, _U32)))
        return
    holds = comparison(words, kind)(context.read(a, TYPES[kind]), context.read(b, TYPES[kind]))
    context.write(result, _flag(target)(joined(words, holds, other)))


def _flag(dtype: DataType) -> Callable[[Expr], Expr]:
    """Return a function that maps a condition to all ones, or to 1.0 for floats, and otherwise 0."""
    yes = const(1.0, dtype) if dtype.is_float else const((1 << dtype.bits) - 1, dtype)
    return lambda holds: select(holds, yes, const(0, dtype))


def _selp(context: Context, instruction: Instruction) -> None:
    """Lower selp; operands of equal type need no conversion."""
    result, a, b, condition = instruction.operands
    dtype = TYPES[instruction.opcode[-1]]
    left, right = (context.read(each, None if isinstance(each, Register) else dtype) for each in (a, b))
    if left.dtype != right.dtype:
        left, right = as_type(dtype, left), as_type(dtype, right)
    context.write(result, select(context.read(condition, DataType("bool")), left, right))


# -- sums with a carry ------------------------------------------------------------------------------------------------


def _carried(context: Context, instruction: Instruction) -> None:
    """Lower add, sub and mad with .cc, and addc, subc and madc, using a per-thread carry flag."""
    name, *words = instruction.opcode
    dtype = DataType(f"uint{TYPES[words[-1]].bits}")
    result, *operands = instruction.operands
    args = [context.read(operand, dtype) for operand in operands]
    if name in ("mad", "madc"):
        found = operation(("mul", words[0], f"u{dtype.bits}" if words[-1][0] == "u" else words[-1]))
        assert found is not None
        product = found.compute(*(as_type(each, arg) for each, arg in zip(found.operands, args[:2], strict=True)))
        args = [as_type(dtype, product), args[2]]
    takes = name in ("addc", "subc", "madc")
    a, b = context.kept(args[0]), context.kept(args[1])
    flag = _carry(context)
    old: Expr = cast(dtype, flag[0]) if takes else const(0, dtype)
    old = context.kept(old, "carry")
    op = "-" if name in ("sub", "subc") else "+"
    first = context.kept(binary(op, a, b), "sum")
    second = context.kept(binary(op, first, old), "sum")
    if "cc" in words:
        over = binary("<", a, b) if op == "-" else binary("<", first, a)
        again = binary("<", first, old) if op == "-" else binary("<", second, first)
        value = cast(_U32, binary("or", over, again))
        context.emit(BufferStore(flag, (const(0),), value, span=context.span))
    context.write(result, second)


def _carry(context: Context) -> Buffer:
    """Return the thread's carry flag, allocating it on first use."""
    if "carry" not in context.scalars:
        context.scalars["carry"] = scalar("carry", "uint32")
        context.allocated.append(context.scalars["carry"])
    return context.scalars["carry"]


def _sum(context: Context, instruction: Instruction) -> None:
    """Lower add, sub and mad, with or without a carry."""
    if "cc" in instruction.opcode or instruction.opcode[0] in ("addc", "subc", "madc"):
        _carried(context, instruction)
        return
    found = operation(instruction.opcode)
    if found is None:
        raise refused(instruction)
    apply(context, instruction, found)


# -- tables and permutations ------------------------------------------------------------------------------------------


def _lop3(context: Context, instruction: Instruction) -> None:
    result, a, b, c, table, *more = instruction.operands
    if not isinstance(table, Immediate):
        raise refused(instruction, "its table is not a constant")
    args = [context.read(each, _U32) for each in (a, b, c)]
    value = value_of("lop3.b32", _U32, *args, lut=table.value & 0xFF)
    if not isinstance(result, Pair):
        context.write(result, value)
        return
    value = context.kept(value)
    holds = binary("!=", value, const(0, _U32))
    context.write(result.second, joined(instruction.opcode, holds, context.read(more[0], DataType("bool"))))
    if not isinstance(result.first, Sink):
        context.write(result.first, value)


def _prmt(context: Context, instruction: Instruction) -> None:
    result, *operands = instruction.operands
    mode = instruction.opcode[2] if len(instruction.opcode) > 2 else ""
    context.write(result, permuted(mode, *(context.read(each, _U32) for each in operands)))


def _mapa(context: Context, instruction: Instruction) -> None:
    """Lower mapa, which maps a shared address to another CTA of the cluster."""
    result, source, rank = instruction.operands
    value = context.read(source)
    if instruction.is_generic:
        value = binary("-", cast(ADDRESS, value), const(GENERIC_SHARED, ADDRESS))
    pointer = Pointer(HANDLE, value, context.targets(source), span=context.span)
    mapped: Expr = value_of("mapa", _U32, pointer, context.read(rank, _U32))
    if instruction.is_generic or instruction.opcode[-1] == "u64":
        mapped = cast(ADDRESS, mapped)
    context.write(result, binary("+", mapped, const(GENERIC_SHARED, ADDRESS)) if instruction.is_generic else mapped)


def _getctarank(context: Context, instruction: Instruction) -> None:
    result, source = instruction.operands
    value = cast(ADDRESS, context.read(source))
    if instruction.is_generic:
        value = binary("-", value, const(GENERIC_SHARED, ADDRESS))
    context.write(result, cast(_U32, binary(">>", value, const(24, ADDRESS))))


_HANDLERS: Mapping[str, Callable[[Context, Instruction], None]] = {
    "mov": _mov, "cvta": _cvta, "isspacep": _isspacep, "cvt": _cvt, "setp": _setp, "set": _set, "selp": _selp,
    "add": _sum, "sub": _sum, "mad": _sum, "addc": _sum, "subc": _sum, "madc": _sum, "lop3": _lop3, "prmt": _prmt,
    "mapa": _mapa, "getctarank": _getctarank,
}  # fmt: skip
