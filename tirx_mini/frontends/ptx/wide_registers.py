"""Registers of 128 bits become vectors of two of 64 bits, and their instructions those of the halves."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.records import replace

from .flat import Flat
from .syntax import Instruction, Label, Operand, Register, Vector

_MOVES = ("ld", "st", "ldu")


def in_halves(flat: Flat) -> Flat:
    """Split the registers of type .b128 of a body."""
    wide = {name for name, (kind, vector) in flat.registers.items() if (kind, vector) == ("b128", 1)}
    if not wide:
        return flat
    registers = {name: ("b64", 2) if name in wide else kind for name, kind in flat.registers.items()}
    code = tuple(new for each in flat.code for new in _split(each, wide))
    return replace(flat, code=code, registers=registers)


def _split(each: Instruction | Label, wide: set[str]) -> Iterator[Instruction | Label]:
    """Yield the instructions of the halves, or the instruction with its registers as vectors."""
    if not isinstance(each, Instruction) or "b128" not in each.opcode:
        yield each
        return
    operands = tuple(_halves(operand, wide) for operand in each.operands)
    if each.opcode[0] == "mov":
        result, source = operands
        if isinstance(result, Vector) and isinstance(source, Vector):
            for pair in zip(result.items, source.items, strict=True):
                yield replace(each, opcode=("mov", "b64"), operands=pair)
            return
    opcode = (*each.opcode[:-1], "v2", "b64") if each.opcode[0] in _MOVES else each.opcode
    yield replace(each, opcode=opcode, operands=operands)


def _halves(operand: Operand, wide: set[str]) -> Operand:
    if isinstance(operand, Register) and operand.name in wide:
        return Vector(tuple(Register(operand.name, component=axis) for axis in "xy"))

    return operand
