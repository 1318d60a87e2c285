"""Coalescing of the copies of wgmma accumulators, and their first values before wgmma.fence.

A compiler passes an operand "+f" of inline assembly on in a copy, ``mov.f32 %f9, %f1``, also where a wgmma is still
accumulating in %f1: between two products, before a wait, at the end of a loop. ptxas gives both the same register, so
no instruction touches it. Here they get the same name, unless both are needed at once.

It also sets an accumulator right before the inline assembly that takes it, wherever the source does so: no statement
of inline assembly keeps a move of registers behind it. Such a move is put before the fence that precedes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirx_mini.records import replace

from .blocks import Block, Branch, Table
from .flat import renamed
from .registers import name_of, registers_in, results, sources
from .syntax import Float, Immediate, Instruction, Register


def coalesced(blocks: Mapping[int, Block], types: Mapping[str, tuple[str, int]]) -> Mapping[int, Block]:
    """Return the blocks with one name for an accumulator and its copies. types: the declared types of registers."""
    carried = _carried(blocks)
    if not carried:
        return blocks
    blocks = {number: _first_values(block, carried) for number, block in blocks.items()}
    copies = [copy for copy in _copies(blocks) if carried.issuperset(copy) and types[copy[0]] == types[copy[1]]]
    if not copies:
        return blocks
    conflicts = _conflicts(blocks, frozenset(name for copy in copies for name in copy))
    name = {each: each for each in conflicts}
    for copy in copies:
        kept, dropped = (name[each] for each in copy)
        if kept != dropped and dropped not in conflicts[kept]:
            name.update({each: kept for each, its in name.items() if its == dropped})
            for other in conflicts.pop(dropped):
                conflicts[other].discard(dropped)
                conflicts[other].add(kept)
                conflicts[kept].add(other)
    names = {old: new for old, new in name.items() if old != new}
    return {number: _with_names(block, names) for number, block in blocks.items()} if names else blocks


def _first_values(block: Block, accumulators: set[str]) -> Block:
    """Return a block with the moves to accumulators before the wgmma.fence that they follow."""
    moved = accumulators | {of for of, to in _copies({0: block}) if to in accumulators}
    code: list[Instruction] = []
    fence = -1
    used: set[str] = set()
    for each in block.code:
        if fence >= 0 and _moves(each, moved) and not used.intersection(map(name_of, registers_in(each.operands))):
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


def _moves(instruction: Instruction, targets: set[str]) -> bool:
    """Return whether an instruction moves a register or a constant to one of `targets`."""
    if instruction.opcode[0] != "mov" or instruction.guard is not None or len(instruction.operands) != 2:
        return False
    target, source = instruction.operands
    return isinstance(target, Register) and target.name in targets and isinstance(source, (Register, Immediate, Float))


def _carried(blocks: Mapping[int, Block]) -> set[str]:
    """Return the accumulators of wgmma, and the registers that a chain of copies takes from one."""
    found: set[str] = set()
    for block in blocks.values():
        for each in block.code:
            if each.opcode[:2] == ("wgmma", "mma_async"):
                found.update(map(name_of, registers_in(each.operands[:1])))
    copies = set(_copies(blocks))
    while more := {to for of, to in copies if of in found} - found:
        found |= more
    return found


def _copies(blocks: Mapping[int, Block]) -> Iterator[tuple[str, str]]:
    """Yield the registers of the instructions that only copy one, as (source, target)."""
    for block in blocks.values():
        for each in block.code:
            if (copy := _copy(each)) is not None:
                yield copy


def _copy(instruction: Instruction) -> tuple[str, str] | None:
    if instruction.opcode[0] != "mov" or instruction.guard is not None or len(instruction.operands) != 2:
        return None
    target, source = instruction.operands
    if not isinstance(target, Register) or not isinstance(source, Register) or source.negated:
        return None
    return None if target.component or source.component else (source.name, target.name)


def _conflicts(blocks: Mapping[int, Block], names: frozenset[str]) -> dict[str, set[str]]:
    """Return the registers whose values are needed at the same time as that of each of `names`, among these."""
    found: dict[str, set[str]] = {name: set() for name in names}
    before = _needed(blocks, names)
    for block in blocks.values():
        live = _after(block, before)
        for each in reversed(block.code):
            copy = _copy(each)
            made = {name_of(register) for register in results(each)} & names
            for name in made:
                others = (live | made) - {name, copy[0] if copy else name}
                found[name] |= others
                for other in others:
                    found[other].add(name)
            live = _before(each, live, names)
    return found


def _needed(blocks: Mapping[int, Block], names: frozenset[str]) -> dict[int, set[str]]:
    """Return the registers among `names` whose values are needed at the start of each block."""
    before: dict[int, set[str]] = {number: set() for number in blocks}
    changed = True
    while changed:
        changed = False
        for number in reversed(list(blocks)):
            live = _after(blocks[number], before)
            for each in reversed(blocks[number].code):
                live = _before(each, live, names)
            changed |= live != before[number]
            before[number] = live
    return before


def _after(block: Block, before: Mapping[int, set[str]]) -> set[str]:
    return set().union(*(before[each] for each in block.successors))


def _before(instruction: Instruction, live: set[str], names: frozenset[str]) -> set[str]:
    """Return the registers that are needed before an instruction."""
    kept = live if instruction.guard is not None else live - {name_of(each) for each in results(instruction)}
    return kept | ({name_of(each) for each in sources(instruction)} & names)


def _with_names(block: Block, name: Mapping[str, str]) -> Block:
    code: list[Instruction] = []
    for each in block.code:
        operands = tuple(renamed(operand, name) for operand in each.operands)
        same = _copy(each) is not None and operands[0] == operands[1]
        if not same:
            code.append(replace(each, operands=operands) if operands != each.operands else each)
    end = block.end
    if isinstance(end, Branch):
        end = replace(end, test=replace(end.test, name=name.get(end.test.name, end.test.name)))
    elif isinstance(end, Table):
        end = replace(end, index=renamed(end.index, name))
    return Block(tuple(code), end)

