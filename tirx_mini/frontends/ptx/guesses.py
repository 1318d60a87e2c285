"""Loads whose value a compare-and-swap of the same place checks, as in ``old = *p; do { … old = atomicCAS(p, old, …)``.

The CUDA C++ Programming Guide writes atomic operations in this way. The load is weak, but a value that is out of date,
or that another thread is writing, only makes the swap fail: such a load is executed as a relaxed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tirx_mini.records import replace

from .flat import Flat
from .registers import has_result
from .syntax import Address, Instruction, Label, Operand, Register

_MOVES = ("mov", "cvta", "cvt")
_PLAIN = ("ld", "global", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b16", "u16")
_ORDERED = ("relaxed", "gpu")


def with_relaxed_guesses(flat: Flat) -> Flat:
    """Return a body whose plain loads of guesses are relaxed."""
    swaps = [each for each in flat.code if isinstance(each, Instruction) and _is_swap(each)]
    if not swaps:
        return flat
    moves = _Moves(flat)
    checked = {(root, register) for swap in swaps for root in _root(swap, moves) for register in _guess(swap, moves)}

    def relaxed(each: Instruction | Label) -> Instruction | Label:
        if isinstance(each, Label) or not _is_plain_load(each):
            return each
        result = each.operands[0]
        if isinstance(result, Register) and any((root, result.name) in checked for root in _root(each, moves)):
            return replace(each, opcode=("ld", *_ORDERED, *each.opcode[1:]))
        return each

    return replace(flat, code=tuple(map(relaxed, flat.code)))


class _Moves:
    """The registers that moves give to each register, and those that other instructions set."""

    def __init__(self, flat: Flat) -> None:
        given: dict[str, set[str]] = {}
        self.others: set[str] = set()
        for each in flat.code:
            if isinstance(each, Label) or not has_result(each) or not isinstance(each.operands[0], Register):
                continue
            target, source = each.operands[0].name, each.operands[1] if len(each.operands) == 2 else None
            if each.opcode[0] in _MOVES and isinstance(source, Register):
                given.setdefault(target, set()).add(source.name)
            else:
                self.others.add(target)
        self.given: Mapping[str, set[str]] = MappingProxyType(given)

    def back(self, operand: Operand) -> set[str]:
        """Return a register and those whose value it may have."""
        found: set[str] = set()
        waiting = [operand.name] if isinstance(operand, Register) else []
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.given.get(name, ())
        return found


def _is_swap(each: Instruction) -> bool:
    return each.opcode[0] == "atom" and "cas" in each.opcode and len(each.operands) == 4


def _is_plain_load(each: Instruction) -> bool:
    return each.opcode[0] == "ld" and all(word in _PLAIN for word in each.opcode)


def _guess(swap: Instruction, moves: _Moves) -> set[str]:
    return moves.back(swap.operands[2])


def _root(access: Instruction, moves: _Moves) -> Iterator[tuple[str, int]]:
    """Yield the registers that a computation sets and that hold the address of an access, with its offset."""
    address = access.operands[1]
    if isinstance(address, Address):
        for name in moves.back(address.base):
            if name in moves.others or name not in moves.given:
                yield name, address.offset
