"""Register analysis: the definitions and uses of each register, and its storage in the lowered kernel.

A register that one instruction sets, before all that read it, is a value. Those that lie side by side in a vector of an
instruction that takes registers by their place share an array. All others are variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tirx_mini.ir import DataType
from tirx_mini.records import dataclass

from .opcodes import FLOATS
from .syntax import (
    Address,
    Group,
    If,
    Instruction,
    Kernel,
    Loop,
    Node,
    Operand,
    Pair,
    Register,
    Switch,
    Vector,
)

_WITHOUT_RESULT = frozenset((
    "st", "red", "membar", "fence", "nanosleep", "cp", "setmaxnreg", "griddepcontrol", "trap", "brkpt", "pmevent",
    "prefetch", "prefetchu", "discard", "applypriority", "exit", "ret", "stmatrix", "tensormap", "bar", "barrier",
    "call", "stackrestore",
))  # fmt: skip
"""Instructions without a result, by the first part of their opcodes."""
_RESULTLESS_PARTS = {
    "tcgen05": ("dealloc",), "wgmma": ("fence", "commit_group", "wait_group"), "multimem": ("st", "red"),
}  # fmt: skip
_BY_PLACE = (("wgmma", "mma_async"), ("tcgen05", "ld"), ("tcgen05", "st"))
"""Instructions whose vectors are registers side by side, besides those of single warps."""


def has_result(instruction: Instruction) -> bool:
    """Return whether the first operand of an instruction is its result."""
    first, *rest = instruction.opcode
    if not instruction.operands or isinstance(instruction.operands[0], Address):
        return False
    if first in ("bar", "barrier"):
        return "red" in rest
    if first in _WITHOUT_RESULT:
        return first == "call" and isinstance(instruction.operands[0], Group)
    return not any(part in rest for part in _RESULTLESS_PARTS.get(first, ()))


def results(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that an instruction writes."""
    if has_result(instruction):
        yield from registers_in(instruction.operands[:1])


def sources(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that an instruction reads, including its guard."""
    if instruction.guard is not None:
        yield instruction.guard
    start = 1 if has_result(instruction) else 0
    yield from registers_in(instruction.operands[start:])
    if start and instruction.opcode[0] == "wgmma":
        yield from registers_in(instruction.operands[:1])


def registers_in(operands: Sequence[Operand]) -> Iterator[Register]:
    """Yield the registers in a list of operands."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand
        elif isinstance(operand, (Vector, Group)):
            yield from registers_in(operand.items)
        elif isinstance(operand, Address):
            yield from registers_in((operand.base, *operand.more))
        elif isinstance(operand, Pair):
            yield from registers_in((operand.first, operand.second))


def name_of(register: Register) -> str:
    """Return the name of a register, or of the component it selects."""
    return f"{register.name}.{register.component}" if register.component else register.name


def instructions(body: Sequence[Node]) -> Iterator[Instruction]:
    """Yield the instructions of nested nodes in order."""
    for node in body:
        if isinstance(node, Instruction):
            yield node
        elif isinstance(node, If):
            yield from instructions(node.then)
            yield from instructions(node.orelse)
        elif isinstance(node, Loop):
            yield from instructions(node.body)
        elif isinstance(node, Switch):
            for case in node.cases:
                yield from instructions(case)


@dataclass
class Use:
    """The definitions and uses of a register, as instruction numbers.

    end: of its first setting, the number behind the block that it is in. guarded: whether a setting has a guard.
    """

    sets: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    end: int = 0
    guarded: bool = False

    @property
    def is_value(self) -> bool:
        """Return whether a single definition precedes all uses, so that the register is an SSA value."""
        if len(self.sets) != 1 or self.guarded:
            return False
        return all(self.sets[0] < read < self.end for read in self.reads)


@dataclass(frozen=True)
class Slot:
    """An element of a register array. array: the array's number."""

    array: int
    index: int


@dataclass(frozen=True)
class Registers:
    """The uses, types and array slots of a kernel's registers, by name.

    arrays: the type of each array and its length.
    """

    uses: Mapping[str, Use]
    dtypes: Mapping[str, DataType]
    slots: Mapping[str, Slot]
    arrays: Sequence[tuple[DataType, int]]


def examine(kernel: Kernel) -> Registers:
    """Analyse the registers of a kernel."""
    uses: dict[str, Use] = {}
    _Uses(uses).block(kernel.body)
    flat = tuple(instructions(kernel.body))
    dtypes = _dtypes(kernel, flat, uses)
    slots, lengths = _slots(flat)
    members: list[set[DataType]] = [set() for _ in lengths]
    for name, slot in slots.items():
        members[slot.array].add(dtypes[name])
    arrays = [
        (kinds.pop() if len(kinds) == 1 else DataType("uint32"), length)
        for kinds, length in zip(members, lengths, strict=True)
    ]
    return Registers(uses, dtypes, slots, arrays)


class _Uses:
    def __init__(self, uses: dict[str, Use]) -> None:
        self.uses = uses
        self.number = 0

    def block(self, body: Sequence[Node]) -> None:
        """Record the definitions and uses in a block, and the end of the block."""
        mine: list[Use] = []
        for node in body:
            self.number += 1
            if isinstance(node, Instruction):
                for register in sources(node):
                    self.read(register)
                for register in results(node):
                    use = self.uses.setdefault(name_of(register), Use())
                    use.sets.append(self.number)
                    use.guarded |= node.guard is not None
                    mine.append(use)
            elif isinstance(node, If):
                if isinstance(node.test, Register):
                    self.read(node.test)
                self.block(node.then)
                self.block(node.orelse)
            elif isinstance(node, Loop):
                self.block(node.body)
            elif isinstance(node, Switch):
                for register in registers_in((node.index,)):
                    self.read(register)
                for case in node.cases:
                    self.block(case)
        self.number += 1
        for use in mine:
            use.end = self.number

    def read(self, register: Register) -> None:
        self.uses.setdefault(name_of(register), Use()).reads.append(self.number)


_DECLARED = {"pred": "bool", "f16x2": "uint32", **FLOATS}


def _dtypes(kernel: Kernel, flat: Sequence[Instruction], uses: Mapping[str, Use]) -> dict[str, DataType]:
    """Choose a storage type for each register; untyped ones take the type of most of their uses."""
    votes: dict[str, dict[str, int]] = {}
    for instruction in flat:
        for register, kind in _typed(instruction):
            counts = votes.setdefault(name_of(register), {})
            counts[kind] = counts.get(kind, 0) + 1
    found: dict[str, DataType] = {}
    for name, (kind, vector) in kernel.registers.items():
        names = [name] if vector == 1 else [f"{name}.{axis}" for axis in "xyzw"[:vector]]
        for each in names:
            if each in uses:
                found[each] = _kept(kind, votes.get(each, {}))
    return found


def _typed(instruction: Instruction) -> Iterator[tuple[Register, str]]:
    """Yield the registers of an instruction with the types that it implies."""
    words = list(instruction.opcode)
    operands = instruction.operands
    if words[0] == "wgmma" and len(words) > 5:
        yield from ((register, words[5]) for register in registers_in(operands[:1]))
        return
    if words[0] == "mma":
        for operand, kind in zip(operands, words[-4:], strict=False):
            yield from ((register, kind) for register in registers_in((operand,)))
        return
    if words[0] in ("cvt", "set") and len(words) > 2:
        yield from ((register, words[-2]) for register in registers_in(operands[:1]))
        yield from ((register, words[-1]) for register in registers_in(operands[1:]))
        return
    if words[0] == "setp":
        operands = operands[1:]
    for operand in operands:
        for register in registers_in((operand,)) if isinstance(operand, (Register, Vector)) else ():
            yield register, words[-1]


def _kept(declared: str, votes: Mapping[str, int]) -> DataType:
    if declared in _DECLARED:
        return DataType(_DECLARED[declared])
    bits = min(64, int(declared[1:].split("x")[0]))
    floats = {kind: count for kind, count in votes.items() if kind in FLOATS and int(kind.lstrip("bf")) == bits}
    best = max(floats, key=lambda kind: floats[kind], default="")
    if best and floats[best] >= sum(votes.get(f"{c}{bits}", 0) for c in "us"):
        return DataType(FLOATS[best])
    signed = votes.get(f"s{bits}", 0) >= votes.get(f"u{bits}", 0)
    return DataType(f"{'int' if bits == 64 or (signed and votes) else 'uint'}{bits}")


def _slots(flat: Sequence[Instruction]) -> tuple[dict[str, Slot], list[int]]:
    """Assign array slots to the registers of positional vectors, and return the lengths of the arrays."""
    slots: dict[str, Slot] = {}
    lengths: list[int] = []
    for instruction in flat:
        for vector in _vectors(instruction):
            names = [name_of(item) for item in vector.items if isinstance(item, Register)]
            fresh = [name for name in dict.fromkeys(names) if name not in slots]
            if not fresh:
                continue
            number = len(lengths)
            for index, name in enumerate(fresh):
                slots[name] = Slot(number, index)
            lengths.append(len(fresh))
    return slots, lengths


def _vectors(instruction: Instruction) -> Iterator[Vector]:
    """Yield the operand vectors whose registers must be contiguous."""
    words = list(instruction.opcode)
    loads = words[0] == "ld" and "param" not in words and any(word in ("v2", "v4", "v8") for word in words)
    of_warps = tuple(words[:2]) in _BY_PLACE or words[0] in ("ldmatrix", "stmatrix", "mma")
    if of_warps or (loads and words[-1][1:] == "32"):
        yield from (each for each in instruction.operands if isinstance(each, Vector) and len(each.items) > 0)
