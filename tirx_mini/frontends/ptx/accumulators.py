"""The accumulators of wgmma, as ptxas places them: a wgmma in flight owns its registers.

Text with little optimisation moves them to other registers after each wgmma. ptxas gives two registers that a move
connects, and whose values are not needed at the same time, one place; a move that is left is an access. Text without
optimisation keeps them in local memory between two wgmmas, for which ptxas waits for each of them. A compiler also sets
an accumulator right before the inline assembly that takes it, wherever the source does so, since no statement of inline
assembly keeps a move of registers behind it: such a move is put before the fence that precedes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tirx_mini.records import dataclass, replace

from .blocks import Block, predecessors
from .flat import Flat, with_names
from .registers import name_of, registers_in, results, sources
from .syntax import Float, Immediate, Instruction, Label, Register

_WGMMA = ("wgmma", "mma_async")


def one_by_one(flat: Flat) -> Flat:
    """Put a fence before each wgmma, and a wait behind it."""
    return replace(flat, code=tuple(new for each in flat.code for new in _alone(each)))


def _alone(each: Instruction | Label) -> Iterator[Instruction | Label]:
    if not isinstance(each, Instruction) or each.opcode[:2] != _WGMMA:
        yield each
        return
    for words in ("fence", "", "commit_group", "wait_group"):
        operands = (Immediate(0),) if words == "wait_group" else ()
        yield replace(each, opcode=("wgmma", words, "sync", "aligned"), operands=operands) if words else each


def before_fences(found: Mapping[int, Block]) -> Mapping[int, Block]:
    """Put the moves to accumulators before the wgmma.fence that they follow."""
    accumulators = _accumulators(found)
    if not accumulators:
        return found
    return {number: _before_fence(block, accumulators) for number, block in found.items()}


def _before_fence(block: Block, accumulators: set[str]) -> Block:
    moved = accumulators | {
        each.operands[1].name
        for each in block.code if _sets(each, accumulators) and isinstance(each.operands[1], Register)
    }  # fmt: skip
    code: list[Instruction] = []
    fence = -1
    used: set[str] = set()
    for each in block.code:
        if fence >= 0 and _sets(each, moved) and not used.intersection(map(name_of, registers_in(each.operands))):
            code.insert(fence, each)
            fence += 1
            continue
        if each.opcode[:2] == ("wgmma", "fence"):
            fence, used = len(code), set()
        elif each.opcode[0] == "wgmma":
            fence = -1
        used.update(map(name_of, (*results(each), *sources(each))))
        code.append(each)
    return block if tuple(code) == block.code else replace(block, code=tuple(code))


def _sets(instruction: Instruction, targets: set[str]) -> bool:
    """Return whether an instruction moves a register or a number to one of `targets`."""
    if not _moves(instruction):
        return False
    target, source = instruction.operands
    return isinstance(target, Register) and target.name in targets and isinstance(source, (Register, Immediate, Float))


def in_place(found: Mapping[int, Block], kinds: Mapping[str, tuple[str, int]]) -> Mapping[int, Block]:
    """Give the accumulators of a kernel that moves connect one name where that is possible, and drop those moves.

    kinds: the type of each register.
    """
    moves = [move for block in found.values() for each in block.code if (move := _move(each, kinds)) is not None]
    numbers = {name: number for number, name in enumerate(_connected(moves, _accumulators(found)))}
    if not numbers:
        return found
    names = _Classes(_clashes(found, numbers)).merged(
        [(numbers[to], numbers[origin]) for to, origin in moves if to in numbers]
    )
    given = list(numbers)
    renamed = {name: given[names[number]] for name, number in numbers.items() if names[number] != number}
    return {number: replace(block, code=tuple(_without_moves(block.code, renamed))) for number, block in found.items()}


def _move(instruction: Instruction, kinds: Mapping[str, tuple[str, int]]) -> tuple[str, str] | None:
    """Return the target and the source of a move between two registers of one type."""
    if not _moves(instruction):
        return None
    to, origin = instruction.operands
    if not isinstance(to, Register) or not isinstance(origin, Register) or to.component or origin.component:
        return None
    same = kinds.get(to.name) == kinds.get(origin.name) and to.name in kinds
    return (to.name, origin.name) if same else None


def _moves(instruction: Instruction) -> bool:
    """Return whether an instruction moves one operand to another in all threads."""
    return instruction.opcode[0] == "mov" and instruction.guard is None and len(instruction.operands) == 2


def _accumulators(found: Mapping[int, Block]) -> set[str]:
    """Return the registers in which a wgmma accumulates."""
    return {
        name_of(register)
        for block in found.values() for each in block.code if each.opcode[:2] == _WGMMA
        for register in registers_in(each.operands[:1])
    }  # fmt: skip


def _connected(moves: Iterable[tuple[str, str]], roots: set[str]) -> list[str]:
    """Return the registers that moves connect with the given ones, if there are any moves between them."""
    beside: dict[str, set[str]] = {}
    for to, origin in moves:
        beside.setdefault(to, set()).add(origin)
        beside.setdefault(origin, set()).add(to)
    seen: dict[str, None] = {}
    waiting = sorted(root for root in roots if root in beside)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting.extend(sorted(beside[name]))
    return list(seen)


def _clashes(found: Mapping[int, Block], numbers: Mapping[str, int]) -> list[int]:
    """Return for each register the set of those that hold another value while it is in use, as a bit mask.

    A register that is set clashes with all that are live behind the instruction, besides the source of a move.
    """
    after = _live_after(found, numbers)
    clashes = [0] * len(numbers)
    for number, block in found.items():
        live = after[number]
        for each in reversed(block.code):
            sets, reads = _of(results(each), numbers), _of(sources(each), numbers)
            same = reads if each.opcode[0] == "mov" else 0
            for register in _bits(sets):
                clashes[register] |= (live | sets) & ~same & ~(1 << register)
            live = (live if each.guard is not None else live & ~sets) | reads
    for register, others in enumerate(list(clashes)):
        for other in _bits(others):
            clashes[other] |= 1 << register
    return clashes


def _live_after(found: Mapping[int, Block], numbers: Mapping[str, int]) -> dict[int, int]:
    """Return the registers whose values are needed behind each block, as bit masks."""
    reads: dict[int, int] = {}
    sets: dict[int, int] = {}
    for number, block in found.items():
        read = written = 0
        for each in block.code:
            read |= _of(sources(each), numbers) & ~written
            if each.guard is None:
                written |= _of(results(each), numbers)
        reads[number], sets[number] = read, written
    graph = {number: block.successors for number, block in found.items()}
    before, after = predecessors(graph), dict.fromkeys(found, 0)
    waiting = list(found)
    while waiting:
        number = waiting.pop()
        needed = reads[number] | (after[number] & ~sets[number])
        for each in before[number]:
            if needed & ~after[each]:
                after[each] |= needed
                waiting.append(each)
    return after


def _of(registers: Iterable[Register], numbers: Mapping[str, int]) -> int:
    found = 0
    for register in registers:
        number = numbers.get(name_of(register))
        if number is not None:
            found |= 1 << number
    return found


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of a mask."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass
class _Classes:
    """Registers that share a place. clashes: for the first of each class, the registers that none of it may join."""

    clashes: list[int]

    def merged(self, moves: Iterable[tuple[int, int]]) -> list[int]:
        """Join the two registers of each move unless they clash. Return the first register of each one's class."""
        first = list(range(len(self.clashes)))
        members = [1 << number for number in first]
        for a, b in moves:
            to, origin = sorted((first[a], first[b]))
            if to == origin or self.clashes[to] & members[origin] or self.clashes[origin] & members[to]:
                continue
            for each in _bits(members[origin]):
                first[each] = to
            members[to] |= members[origin]
            self.clashes[to] |= self.clashes[origin]
        return first


def _without_moves(code: Iterable[Instruction], names: Mapping[str, str]) -> Iterator[Instruction]:
    """Yield the instructions with the new names, without moves from a register to itself."""
    for each in code:
        used = chain(results(each), sources(each))
        new = with_names(each, names) if any(register.name in names for register in used) else each
        if new.opcode[0] != "mov" or new.operands[0] != new.operands[-1] or new.guard is not None:
            yield new
