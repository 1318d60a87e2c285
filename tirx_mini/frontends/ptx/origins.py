"""Origin analysis: the arguments, variables and parameters that an address register may point into.

An address is made of pointers by moves, sums and choices; products and loads are numbers. A pointer that is loaded
from memory may point anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .arguments import bits_of
from .registers import name_of, registers_in, results
from .syntax import Address, Instruction, Operand, Symbol, Vector

ANYWHERE = "anywhere"
"""The origin of pointers that are loaded from memory."""
_CARRY = frozenset((
    "mov", "cvta", "add", "sub", "addc", "subc", "and", "or", "xor", "cvt", "min", "max", "selp", "slct", "shfl",
    "mapa", "prmt", "bfi", "lop3", "mad", "fma", "not", "madc", "redux",
))  # fmt: skip
"""Instructions whose result may be an address where an operand is."""
Origins = Mapping[str, frozenset[str]]


def origins_of(flat: Sequence[Instruction], parameters: Mapping[str, Sequence[tuple[int, int, str]]]) -> Origins:
    """Return the names of the arrays and variables that each register may point into.

    parameters: for each parameter, its pointers: (first byte, end, the name of the array).
    """
    flows: list[tuple[list[str], list[str]]] = []
    found: dict[str, set[str]] = {}
    for instruction in flat:
        targets = [name_of(register) for register in results(instruction)]
        if not targets:
            continue
        own = set(_own(instruction, parameters))
        for target in targets:
            found.setdefault(target, set()).update(own)
        carried = [name_of(register) for register in registers_in(tuple(_carried(instruction)))]
        if carried:
            flows.append((targets, carried))
    changed = True
    while changed:
        changed = False
        for targets, carried in flows:
            given = set[str]().union(*(found.get(name, ()) for name in carried))
            if given - {ANYWHERE}:
                given.discard(ANYWHERE)
            for target in targets:
                if not given <= found[target]:
                    found[target] |= given
                    changed = True
    return {name: frozenset(origins) for name, origins in found.items() if origins}


def _own(instruction: Instruction, parameters: Mapping[str, Sequence[tuple[int, int, str]]]) -> Iterator[str]:
    """Return the origins that an instruction introduces for its result."""
    words = instruction.opcode
    if words[0] in ("ld", "ldu", "atom"):
        address = next((each for each in instruction.operands if isinstance(each, Address)), None)
        if "param" in words and address is not None and isinstance(address.base, Symbol):
            first = address.offset + address.base.offset
            pointers = parameters.get(address.base.name, ())
            yield from (name for start, end, name in pointers if start < first + _bytes(words) and first < end)
        elif words[-1].endswith("64"):
            yield ANYWHERE
        return
    for operand in _carried(instruction):
        for item in operand.items if isinstance(operand, Vector) else (operand,):
            if isinstance(item, Symbol):
                yield item.name


def _bytes(words: Sequence[str]) -> int:
    count = next((int(word[1:]) for word in words if word in ("v2", "v4")), 1)
    return count * bits_of(words[-1]) // 8


def _carried(instruction: Instruction) -> Iterator[Operand]:
    """Yield the operands whose address may flow into the result of an instruction."""
    words, operands = instruction.opcode, instruction.operands
    if words[0] not in _CARRY:
        return
    if words[0] in ("mad", "fma", "madc"):
        yield from operands[3:4]
    else:
        yield from operands[1:]
