"""Origin analysis: the arguments, variables and parameters that an address register may point into.

An address is made of pointers by moves, sums and choices; products and loads are numbers. A pointer that is loaded
from memory may point anywhere; in a sum with another pointer, what is loaded is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
_LOADS = ("ld", "ldu", "atom")
"""Instructions whose result may be an address that memory holds."""
Origins = Mapping[str, frozenset[str]]


def origins_of(flat: Sequence[Instruction], parameters: Mapping[str, Sequence[tuple[int, int, str]]]) -> Origins:
    """Return the names of the arrays and variables that each register may point into.

    parameters: for each parameter, its pointers: (first byte, end, the name of the array).
    """
    flows = _Flows()
    found: dict[str, set[str]] = {}
    anywhere: dict[str, set[str]] = {}
    for instruction in flat:
        name = instruction.opcode[0]
        if name not in _CARRY and name not in _LOADS:
            continue
        targets = [name_of(register) for register in results(instruction)]
        own = set(_own(instruction, parameters))
        for target in targets if own else ():
            (anywhere if ANYWHERE in own else found).setdefault(target, set()).update(own)
        flows.add(targets, [name_of(register) for register in registers_in(_carried(instruction))])
    flows.spread(found, lambda carried: set[str]().union(*(found.get(name, ()) for name in carried)))

    def anywhere_in(carried: Sequence[str]) -> set[str]:
        pointers = [name for name in carried if name in found] or carried
        return {ANYWHERE} if any(name in anywhere for name in pointers) else set()

    flows.spread(anywhere, anywhere_in)
    names = {**anywhere, **found}
    return {name: frozenset(found.get(name, set()) | anywhere.get(name, set())) for name in names}


class _Flows:
    """Instructions whose result may be an address where an operand is: the names of their results and operands."""

    def __init__(self) -> None:
        self.flows: list[tuple[Sequence[str], Sequence[str]]] = []
        self.users: dict[str, list[int]] = {}

    def add(self, targets: Sequence[str], carried: Sequence[str]) -> None:
        for register in carried:
            self.users.setdefault(register, []).append(len(self.flows))
        self.flows.append((targets, carried))

    def spread(self, found: dict[str, set[str]], given: Callable[[Sequence[str]], set[str]]) -> None:
        """Spread what is found of registers to the results of the flows. given: what operands give a result."""
        waiting = list(found)
        while waiting:
            for number in self.users.get(waiting.pop(), ()):
                targets, carried = self.flows[number]
                more = given(carried)
                for target in targets:
                    known = found.setdefault(target, set()) if more else more
                    if not more <= known:
                        known |= more
                        waiting.append(target)


def _own(instruction: Instruction, parameters: Mapping[str, Sequence[tuple[int, int, str]]]) -> Iterator[str]:
    """Return the origins that an instruction introduces for its result."""
    words = instruction.opcode
    if words[0] in _LOADS:
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


def _carried(instruction: Instruction) -> Sequence[Operand]:
    """Return the operands whose address may flow into the result of an instruction."""
    name, operands = instruction.opcode[0], instruction.operands
    if name not in _CARRY:
        return ()
    return operands[3:4] if name in ("mad", "fma", "madc") else operands[1:]
