"""Recognition of spin loops that poll an mbarrier, which become a single blocking wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.ir import DataType, const
from tirx_mini.isa import TABLE
from tirx_mini.records import dataclass

from .context import Context
from .registers import name_of, results, sources
from .syntax import Address, Break, Continue, If, Immediate, Instruction, Loop, Node, Operand, Register

_ADDRESSING = ("mov", "cvt", "cvta", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "mapa")
_PURE = ("selp", "setp", "mov", "and", "or", "xor", "not", "cvt")
Known = Mapping[str, int]


@dataclass(frozen=True)
class Wait:
    """A wait for an mbarrier phase.

    first: what the loop computes before its test, alike in each iteration. instruction: the test. rest: the loop's
    instructions after the wait.
    """

    first: Sequence[Instruction]
    instruction: Instruction
    rest: Sequence[Instruction]

    def emit(self, context: Context) -> None:
        """Emit the blocking wait and set the test's result to true."""
        test = self.instruction
        address, phase = test.operands[1], test.operands[2]
        assert isinstance(address, Address)
        name = "mbarrier.try_wait.cluster" if "cluster" in test.opcode else "mbarrier.try_wait"
        pointer = context.address(address, generic=test.is_generic)
        call = context.execute(TABLE[name], (pointer, context.read(phase, DataType("uint32"))), {})
        context.evaluate(call)
        if context.is_read(test.operands[0]):
            context.write(test.operands[0], const(True))


def awaited(loop: Loop) -> Wait | None:
    """Return the wait that a spin loop implements, or None for any other loop."""
    found = _tested(loop)
    return found[0] if found is not None and _leaves(*found[1:]) else None


def begins_with_wait(loop: Loop) -> tuple[Wait, Sequence[Node]] | None:
    """Return the spin wait at the start of a loop body, with the statements that follow it."""
    found = _tested(loop)
    if found is None:
        return None
    wait, node, after, known = found
    sides = _sides(node, known)
    if sides is None or (sides[1] != (Continue(),) and (sides[1] or after)):
        return None
    return wait, (*sides[0], *after)


def _tested(loop: Loop) -> tuple[Wait, If, Sequence[Node], Known] | None:
    """Match the mbarrier test at the start of a loop: the test, its branch, the code after it and the known values."""
    body = list(loop.body)
    while body and isinstance(body[-1], Continue):
        body.pop()
    first: list[Instruction] = []
    for node in body:
        if not isinstance(node, Instruction) or node.opcode[0] not in _ADDRESSING or node.guard is not None:
            break
        first.append(node)
    del body[: len(first)]
    if not body or not isinstance(body[0], Instruction):
        return None
    test = body[0]
    if test.opcode[:2] != ("mbarrier", "try_wait") or test.guard is not None or len(test.operands) < 3:
        return None
    if "relaxed" in test.opcode:  # acquires nothing
        return None
    if not isinstance(test.operands[0], Register):
        return None
    known = {name_of(test.operands[0]): 1}
    rest: list[Instruction] = []
    for place, node in enumerate(body[1:], 1):
        if isinstance(node, Instruction):
            if node.opcode[0] not in _PURE or node.guard is not None or not _follow(node, known):
                return None
            rest.append(node)
        elif isinstance(node, If):
            return (Wait(first, test, rest), node, body[place + 1 :], known) if _alike(first, rest) else None
        else:
            return None
    return None


def _alike(first: Sequence[Instruction], rest: Sequence[Instruction]) -> bool:
    """Return whether an iteration computes `first` from values that it does not change."""
    changed = {name_of(register) for each in (*first, *rest) for register in results(each)}
    for each in first:
        if any(name_of(register) in changed for register in sources(each)):
            return False
        changed.difference_update(name_of(register) for register in results(each))
    return True


def _leaves(node: If, after: Sequence[Node], known: Known) -> bool:
    """Return whether a branch leaves the loop once the phase is complete, and otherwise repeats it."""
    sides = _sides(node, known)
    if sides is None:
        return False
    taken, other = sides
    if tuple(taken) == (Break(),):
        return not after and all(isinstance(each, Continue) for each in other)
    return not taken and tuple(after) == (Break(),) and tuple(other) == (Continue(),)


def _sides(node: If, known: Known) -> tuple[Sequence[Node], Sequence[Node]] | None:
    """Return the branch side taken when the phase is complete, and the other side."""
    if not isinstance(node.test, Register):
        return None
    value = known.get(name_of(node.test))
    if value is None:
        return None
    return (node.then, node.orelse) if bool(value) != node.test.negated else (node.orelse, node.then)


def _follow(node: Instruction, known: dict[str, int]) -> bool:
    """Record the result of an instruction with known operands. Return whether the result is known."""
    values = [_known(operand, known) for operand in node.operands[1:]]
    targets = [name_of(register) for register in results(node)]
    if len(targets) != 1 or None in values:
        return False
    numbers = [value for value in values if value is not None]
    name = node.opcode[0]
    if name == "selp":
        found = numbers[0] if numbers[2] else numbers[1]
    elif name == "setp":
        found = {"ne": numbers[0] != numbers[1], "eq": numbers[0] == numbers[1]}.get(node.opcode[1])
    elif name in ("and", "or", "xor"):
        found = {"and": numbers[0] & numbers[1], "or": numbers[0] | numbers[1], "xor": numbers[0] ^ numbers[1]}[name]
    else:
        found = int(not numbers[0]) if name == "not" else numbers[0]
    if found is None:
        return False
    known[targets[0]] = int(found)
    return True


def _known(operand: Operand, known: Known) -> int | None:
    if isinstance(operand, Immediate):
        return operand.value
    if isinstance(operand, Register) and name_of(operand) in known:
        value = known[name_of(operand)]
        return int(not value) if operand.negated else value
    return None
