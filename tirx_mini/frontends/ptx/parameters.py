"""Promotion of inlined call parameters to registers: matching `st.param` and `ld.param` become moves.

A parameter whose address is taken, or that is read in other pieces than it was written in, stays a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tirx_mini.records import dataclass, replace

from .arguments import bits_of
from .flat import Flat, Fresh
from .syntax import Address, Float, Group, Immediate, Instruction, Label, Operand, Register, Sink, Symbol, Vector

_WIDTH = re.compile(r"[busf](8|16|32|64)\Z")
Place = tuple[str, int]
"""A parameter and an offset in it."""


@dataclass(frozen=True)
class _Access:
    """One access to a parameter. offset: of its first value; bits: of each value; values: the operands moved."""

    offset: int
    bits: int
    values: tuple[Operand, ...]
    stores: bool
    signed: bool

    def parts(self) -> Iterator[tuple[int, Operand]]:
        return ((self.offset + i * self.bits // 8, value) for i, value in enumerate(self.values))


def in_registers(flat: Flat) -> Flat:
    """Promote the call parameters of a body to registers where possible."""
    candidates = {each.name for each in flat.variables if each.space == "param"}
    if not candidates:
        return flat
    widths = {name: bits_of(kind) for name, (kind, _) in flat.registers.items()}
    found: dict[Place, tuple[int, int]] = {}
    bad: set[str] = set()
    for each in flat.code:
        if not isinstance(each, Instruction):
            continue
        access = _access(each, candidates)
        if access is None:
            bad |= candidates & set(_named(each.operands))
            continue
        name = _parameter(each)
        for offset, value in access.parts():
            width = widths.get(value.name, 0) if isinstance(value, Register) else access.bits
            if found.setdefault((name, offset), (access.bits, width)) != (access.bits, width) or width < access.bits:
                bad.add(name)
    bad |= _overlapping(found)
    return _moved(flat, {place: size for place, size in found.items() if place[0] not in bad}, candidates - bad)


def _moved(flat: Flat, places: Mapping[Place, tuple[int, int]], promoted: set[str]) -> Flat:
    """Replace parameter accesses by moves through one register per location."""
    fresh = Fresh(flat.names)
    names = {place: fresh.name(f"{place[0]}_{place[1]}") for place in places}
    code: list[Instruction | Label] = []
    for each in flat.code:
        access = _access(each, promoted) if isinstance(each, Instruction) else None
        if access is None or not isinstance(each, Instruction):
            code.append(each)
            continue
        name = _parameter(each)
        for offset, value in access.parts():
            if not isinstance(value, Sink):
                width = places[name, offset][1]
                code.append(_move(each, access, width, Register(names[name, offset]), value))
    registers = {**flat.registers, **{names[place]: (f"b{width}", 1) for place, (_, width) in places.items()}}
    variables = tuple(each for each in flat.variables if each.name not in promoted)
    return replace(flat, code=tuple(code), registers=registers, variables=variables)


def _move(of: Instruction, access: _Access, width: int, register: Register, value: Operand) -> Instruction:
    """Return the instruction that moves one value to or from its parameter register."""
    target, source = (register, value) if access.stores else (value, register)
    if access.stores and access.bits < width:
        mask = Immediate((1 << access.bits) - 1)
        return replace(of, opcode=("and", f"b{width}"), operands=(target, source, mask))
    if not access.stores and access.signed and access.bits < width:
        return replace(of, opcode=("cvt", f"s{width}", f"s{access.bits}"), operands=(target, source))
    return replace(of, opcode=("mov", f"b{width}"), operands=(target, source))


def _access(each: Instruction, candidates: set[str]) -> _Access | None:
    """Return an instruction's access to a candidate parameter, or None if it uses the parameter otherwise."""
    if each.opcode[0] not in ("ld", "st") or "param" not in each.opcode or _parameter(each) not in candidates:
        return None
    stores = each.opcode[0] == "st"
    address, value = each.operands if stores else each.operands[::-1]
    match = _WIDTH.match(each.opcode[-1])
    if match is None or not isinstance(address, Address):
        return None
    values = value.items if isinstance(value, Vector) else (value,)
    if not all(isinstance(part, (Register, Immediate, Float, Sink)) for part in values):
        return None
    signed = each.opcode[-1].startswith("s")
    return _Access(address.offset, int(match[1]), values, stores, signed)


def _parameter(each: Instruction) -> str:
    """Return the name of the variable that a two-operand instruction accesses, or ""."""
    if len(each.operands) != 2:
        return ""
    address = each.operands[0 if each.opcode[0] == "st" else 1]
    base = address.base if isinstance(address, Address) else None
    return base.name if isinstance(base, Symbol) else ""


def _named(operands: tuple[Operand, ...]) -> Iterator[str]:
    """Yield the symbol names in operands."""
    for each in operands:
        if isinstance(each, Symbol):
            yield each.name
        elif isinstance(each, Address):
            yield from _named((each.base, *each.more))
        elif isinstance(each, (Vector, Group)):
            yield from _named(each.items)


def _overlapping(found: Mapping[Place, tuple[int, int]]) -> set[str]:
    """Return the parameters that have overlapping accesses."""
    bad: set[str] = set()
    before: tuple[str, int] = ("", 0)
    for (name, offset), (bits, _) in sorted(found.items()):
        if before[0] == name and offset < before[1]:
            bad.add(name)
        before = name, offset + bits // 8
    return bad
