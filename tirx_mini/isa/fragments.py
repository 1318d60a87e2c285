"""Separately named registers of an operand, as in TVM's dialect: a list with a pointer to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import HANDLE, AddressOf, BufferLoad, Expr, TirxError, as_expr, binary, const, int_value, simplify
from tirx_mini.narrowing import is_listed
from tirx_mini.records import replace

from .operands import BadCombination, Operand


def with_registers(
    operands: Sequence[Operand],
    given: Mapping[str, object],
    counts: Mapping[str, int],
    instruction: str,
    scattered: bool,
) -> list[Expr]:
    """Return the operands of a call, where each operand in `counts` has that many 32-bit registers.

    scattered: whether registers may be noncontiguous; if some are, every register of all operands has a pointer.
    """
    groups: list[tuple[Expr, ...]] = []
    for operand in operands:
        value = given[operand.name]
        if operand.name in counts and (scattered or is_listed(value)):
            groups.append(register_pointers(operand, value, counts[operand.name], instruction))
        else:
            groups.append((operand.convert(value, instruction),))
    several = [operand for operand, group in zip(operands, groups, strict=True) if len(group) > 1]
    if several and not scattered:
        count, name = counts[several[0].name], several[0].name
        raise BadCombination(f"the {count} registers of {name!r} of {instruction} must be side by side in a buffer")
    for place, operand in enumerate(operands if several else ()):
        pointer = groups[place][0]
        if len(groups[place]) == 1 and operand.name in counts and isinstance(pointer, AddressOf):
            groups[place] = each_register(pointer, counts[operand.name])
    return [pointer for group in groups for pointer in group]


def register_pointers(operand: Operand, value: object, count: int, instruction: str) -> tuple[AddressOf, ...]:
    """Return the pointers of an operand of `count` 32-bit registers: one if they are contiguous, else one for each.

    value: a pointer to the first, or a list with a pointer to each, or with each as an element of a buffer. Raises
        `TirxError`, which names `instruction`.
    """
    given = list(value) if is_listed(value) else [value]
    if len(given) not in (1, count):
        raise TirxError(
            f"{operand.name!r} of {instruction} is {count} registers, but {len(given)} pointers are given",
            hint="give a pointer to each of them, or one to the first",
        )
    pointers = tuple(_pointer(operand, each, instruction) for each in given)
    return pointers[:1] if _side_by_side(pointers) else pointers


def each_register(pointer: AddressOf, count: int) -> tuple[AddressOf, ...]:
    """Return pointers to `count` contiguous 32-bit registers, starting at `pointer`."""
    *outer, last = pointer.indices
    step = _elements(pointer)
    ends = (simplify(binary("+", last, const(i * step))) for i in range(count))
    return tuple(replace(pointer, indices=(*outer, end)) for end in ends)


def _pointer(operand: Operand, value: object, instruction: str) -> AddressOf:
    if isinstance(value, BufferLoad) and value.buffer.scope == "local" and not value.buffer.scalar:
        value = AddressOf(HANDLE, value.buffer, value.indices, span=value.span)
    pointer = operand.convert(value, instruction)
    assert isinstance(pointer, AddressOf)
    name, bits = pointer.buffer.name, pointer.buffer.dtype.bits
    if bits > 32:
        needed = f"{operand.name!r} of {instruction} is registers of 32 bits"
        raise TirxError(f"{needed}, but {name} has elements of {bits}", pointer.span)
    return pointer


def _elements(pointer: AddressOf) -> int:
    """Return the number of buffer elements in a register."""
    return 32 // pointer.buffer.dtype.bits


def _side_by_side(pointers: Sequence[AddressOf]) -> bool:
    first = pointers[0]
    if first.buffer.layout is not None or any(pointer.buffer is not first.buffer for pointer in pointers):
        return len(pointers) == 1
    step, start = _elements(first), _position(first)
    return all(_distance(_position(pointer), start) == i * step for i, pointer in enumerate(pointers))


def _position(pointer: AddressOf) -> Expr:
    """Return the row-major index of the element."""
    position: Expr = const(0)
    for index, extent in zip(pointer.indices, pointer.buffer.shape, strict=False):
        position = binary("+", binary("*", position, const(extent)), as_expr(index))
    return position


def _distance(end: Expr, start: Expr) -> int | None:
    return int_value(simplify(binary("-", end, start)))
