"""Register analysis: the definitions and uses of each register, and its storage in the lowered kernel.

A register that one instruction sets, before all that read it, is a value. Those that lie side by side in a vector of an
instruction that takes registers by their place share an array. All others are variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

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
    operands = instruction.operands
    if not operands or isinstance(operands[0], Address):
        return False
    has = _has_result(instruction.opcode)
    return isinstance(operands[0], Group) if has is None else has


@lru_cache(maxsize=4096)
def _has_result(opcode: tuple[str, ...]) -> bool | None:
    """Return whether an instruction of this opcode has a result; None if it has one where that is a `Group`."""
    first, *rest = opcode
    if first in ("bar", "barrier"):
        return "red" in rest
    if first in _WITHOUT_RESULT:
        return None if first == "call" else False
    return not any(part in rest for part in _RESULTLESS_PARTS.get(first, ()))


def results(instruction: Instruction) -> Sequence[Register]:
    """Return the registers that an instruction writes."""
    return registers_in(instruction.operands[:1]) if has_result(instruction) else ()


def sources(instruction: Instruction) -> Sequence[Register]:
    """Return the registers that an instruction reads, including its guard."""
    operands = instruction.operands
    if has_result(instruction) and instruction.opcode[0] != "wgmma":
        operands = operands[1:]
    found = registers_in(operands)
    return found if instruction.guard is None else [instruction.guard, *found]


def registers_in(operands: Sequence[Operand]) -> list[Register]:
    """Return the registers in a list of operands."""
    found: list[Register] = []
    for operand in operands:
        if isinstance(operand, Register):
            found.append(operand)
        elif isinstance(operand, (Vector, Group)):
            found += registers_in(operand.items)
        elif isinstance(operand, Address):
            found += registers_in((operand.base, *operand.more))
        elif isinstance(operand, Pair):
            found += registers_in((operand.first, operand.second))
    return found


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


def guarded_until(nodes: Sequence[Node], start: int) -> int:
    """Return the end of the run of instructions with the same guard, stopping after one that writes the guard."""
    first = nodes[start]
    assert isinstance(first, Instruction) and first.guard is not None
    end = start
    while end < len(nodes):
        node = nodes[end]
        if not isinstance(node, Instruction) or node.guard != first.guard:
            break
        end += 1
        if any(name_of(register) == name_of(first.guard) for register in results(node)):
            break
    return end


@dataclass
class Use:
    """The definitions and uses of a register, as instruction numbers in ascending order.

    end: of its first setting, the number behind the block that it is in. A run of instructions with one guard is a
        block.
    """

    sets: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    end: int = 0

    @property
    def is_value(self) -> bool:
        """Return whether a single definition precedes all uses, so that the register is an SSA value."""
        if len(self.sets) != 1:
            return False
        reads = self.reads
        return not reads or (self.sets[0] < reads[0] and reads[-1] < self.end)


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


def examine(kernel: Kernel, flat: Sequence[Instruction]) -> Registers:
    """Analyse the registers of a kernel. flat: its instructions."""
    uses: dict[str, Use] = {}
    _Uses(uses).block(kernel.body)
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
        inner: list[Use] = []
        run = 0
        for position, node in enumerate(body):
            self.number += 1
            if isinstance(node, Instruction):
                if node.guard is not None and position >= run:
                    run = guarded_until(body, position)
                self.read(sources(node))
                for register in results(node):
                    use = self.use(register)
                    use.sets.append(self.number)
                    (mine if node.guard is None else inner).append(use)
                if inner and position + 1 >= run:
                    self.ended(inner)
            elif isinstance(node, If):
                if isinstance(node.test, Register):
                    self.read((node.test,))
                self.block(node.then)
                self.block(node.orelse)
            elif isinstance(node, Loop):
                self.block(node.body)
            elif isinstance(node, Switch):
                self.read(registers_in((node.index,)))
                for case in node.cases:
                    self.block(case)
        self.ended(mine)

    def ended(self, uses: list[Use]) -> None:
        """Record the end of the block that sets these registers, and clear the list."""
        self.number += 1
        for use in uses:
            use.end = self.number
        uses.clear()

    def read(self, registers: Sequence[Register]) -> None:
        for register in registers:
            self.use(register).reads.append(self.number)

    def use(self, register: Register) -> Use:
        name = name_of(register)
        found = self.uses.get(name)
        if found is None:
            found = self.uses[name] = Use()
        return found


_DECLARED = {"pred": "bool", "f16x2": "uint32", **FLOATS}


def _dtypes(kernel: Kernel, flat: Sequence[Instruction], uses: Mapping[str, Use]) -> dict[str, DataType]:
    """Choose a storage type for each register; untyped ones take the type of most of their uses."""
    votes: dict[str, list[str]] = {}
    for instruction in flat:
        for operand, kind in _typed(instruction):
            for register in registers_in((operand,)):
                votes.setdefault(name_of(register), []).append(kind)
    found: dict[str, DataType] = {}
    for name, (kind, vector) in kernel.registers.items():
        names = [name] if vector == 1 else [f"{name}.{axis}" for axis in "xyzw"[:vector]]
        for each in names:
            if each in uses:
                found[each] = _kept(kind, tuple(votes.get(each, ())))
    return found


def _typed(instruction: Instruction) -> Iterator[tuple[Operand, str]]:
    """Yield the operands of an instruction whose type it implies, with that type."""
    words, operands = instruction.opcode, instruction.operands
    name, kind = words[0], words[-1]
    if name == "wgmma" and "aligned" in words[:-2]:
        yield from ((operand, words[words.index("aligned") + 2]) for operand in operands[:1])
    elif name == "mma":
        yield from zip(operands, words[-4:], strict=False)
    elif name == "slct" and len(words) > 2:
        yield from ((operand, words[-2]) for operand in operands[:3])
        yield from ((operand, kind) for operand in operands[3:])
    elif name in ("cvt", "set") and len(words) > 2:
        yield from ((operand, words[-2]) for operand in operands[:1])
        yield from ((operand, kind) for operand in operands[1:])
    else:
        for operand in operands[1:] if name == "setp" else operands:
            if isinstance(operand, (Register, Vector)):
                yield operand, kind


@lru_cache(maxsize=4096)
def _kept(declared: str, votes: tuple[str, ...]) -> DataType:
    if declared in _DECLARED:
        return DataType(_DECLARED[declared])
    bits = min(64, int(declared[1:].split("x")[0]))
    floats = [kind for kind in votes if kind in FLOATS and int(kind.lstrip("bf")) == bits]
    best = max(floats, key=floats.count, default="")
    if best and floats.count(best) >= sum(votes.count(f"{c}{bits}") for c in "us"):
        return DataType(FLOATS[best])
    signed = votes.count(f"s{bits}") >= votes.count(f"u{bits}")
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
    if _is_by_place(instruction.opcode):
        yield from (each for each in instruction.operands if isinstance(each, Vector) and len(each.items) > 0)


@lru_cache(maxsize=4096)
def _is_by_place(words: tuple[str, ...]) -> bool:
    """Return whether the vectors of an instruction of this opcode are registers side by side."""
    loads = words[0] == "ld" and "param" not in words and any(word in ("v2", "v4", "v8") for word in words)
    of_warps = words[:2] in _BY_PLACE or words[0] in ("ldmatrix", "stmatrix", "mma")
    return of_warps or (loads and words[-1][1:] == "32")
