"""The workspace of a cooperative launch, whose address %envreg1 and %envreg2 hold: that of `cg::this_grid().sync()`.

The driver allocates it, and clears the barrier's counter before a launch.
"""

from __future__ import annotations

from tirx_mini.records import replace

from .flat import Flat, Fresh
from .syntax import Declaration, Immediate, Instruction, Label, Register, Special, Symbol

_BARRIER = 4
"""Where the counter of the barrier lies, behind the size of the workspace, which nothing reads."""
_PARTS = {"envreg1": 32, "envreg2": 0}


def with_grid_workspace(flat: Flat) -> tuple[Flat, tuple[Declaration, ...]]:
    """Return a body that takes the workspace's address from a variable, and this variable if the body needs one."""
    if not any(isinstance(each, Instruction) and _part(each) is not None for each in flat.code):
        return flat, ()
    name, address = map(Fresh(flat.names).name, ("grid_workspace", "%grid_workspace"))
    code: list[Instruction | Label] = []
    for each in flat.code:
        shift = _part(each) if isinstance(each, Instruction) else None
        if shift is None or not isinstance(each, Instruction):
            code.append(each)
            continue
        whole, low = Register(address), each.operands[0]
        code.append(replace(each, opcode=("mov", "u64"), operands=(whole, Symbol(name, -_BARRIER))))
        if shift:
            code.append(replace(each, opcode=("shr", "u64"), operands=(whole, whole, Immediate(shift))))
        code.append(replace(each, opcode=("cvt", "u32", "u64"), operands=(low, whole)))
    registers = {**flat.registers, address: ("b64", 1)}
    counter = Declaration("global", "u32", name, initial=Immediate(0))
    return replace(flat, code=tuple(code), registers=registers), (counter,)


def _part(instruction: Instruction) -> int | None:
    """Return which bits of the address an instruction reads, by the number of the lowest; None for any other one."""
    source = instruction.operands[1] if len(instruction.operands) == 2 else None
    return _PARTS.get(source.name) if isinstance(source, Special) and instruction.opcode[0] == "mov" else None
