"""Instructions: calls of the semantics in the instruction table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tirx_mini.hardware import ISSUE_CYCLES
from tirx_mini.ir import Address, AddressOf, Call, Expr, TensorMap, TirxError, Var
from tirx_mini.isa import Instruction, instruction_of, instruction_on_pairs

from ..machine import ScatteredRegisters, meet
from .uniformity import call_varies
from .values import Value, ranged

if TYPE_CHECKING:
    from .expressions import Expressions
    from .writer import Writer

_SPENT = re.compile(r"w\.spend_read\(\d+\)")
"""The text of a read that only costs time (`Storage.spending`)."""


class Calls:
    """Translates the instructions of one function."""

    def __init__(self, writer: Writer, tensor_maps: Sequence[TensorMap]) -> None:
        self.out = writer
        self.tensor_maps = {tensor_map.var: tensor_map for tensor_map in tensor_maps}
        self.expressions: Expressions
        self.used: dict[str, Instruction] = {}
        """The instructions of the program, by the names of their functions."""

        self.arms = 0
        """The number of enclosing arms whose lanes execute independently."""

        self.times = ""
        """The list that receives the issue times of memoised instructions; only their operands are evaluated then."""

    def statement(self, call: Call) -> None:
        """Emit an instruction for its effect."""
        text, operands, _ = self._text(call)
        self.out.settle()
        if not self.times:
            self.out.line(text)
            return
        for code in operands:
            for read in [code] if "w.load(" in code else _SPENT.findall(code):
                self.out.line(read)
        self.out.line(f"{self.times}.append(w.time)")

    def value(self, call: Call) -> Value:
        """Return the value of an instruction with a result."""
        text, _, lanes = self._text(call)
        entry = instruction_of(call)
        if entry is not None and entry.reads_clock:
            self.out.settle()  # all that was executed before it has to be counted
        return ranged(f"({text})", call.dtype, lanes=call_varies(call, lanes))

    def elected(self, call: Call) -> str:
        """Return the mask of the lane that elect.sync chooses."""
        return f"w.elected({self._text(call)[0]})"

    def _text(self, call: Call) -> tuple[str, list[str], bool]:
        """Return the call, its operands, and whether any operand differs among lanes.

        A function is called directly if all lanes agree; otherwise `execute` applies the rule of the table.
        """
        entry = instruction_of(call)
        if entry is None:
            raise TirxError(f"{call.op} is not in the instruction table", call.span)
        operands = [self._group(given) for given in _groups(entry, call)]
        if entry.opaque:
            self._presume(call)
        lanes = any(varies for _, varies in operands)
        keywords = [f"{name}={self._attribute(value)}" for name, value in call.attrs]
        issues = 1 if instruction_on_pairs(call) is not None else call.dtype.lanes
        self.out.spend(int(ISSUE_CYCLES[entry.cost]) * issues, entry.cost)
        prefix = "I_" + call.op.replace(".", "_").replace(":", "_") + "_"
        function = self.out.object(prefix, entry.execute if lanes else entry.semantics, (call.op, lanes))
        self.used[function] = entry
        codes = [code for code, _ in operands]
        if self.arms and entry.meets_by_mask:
            varies = lanes or entry.shuffles
            return self._meeting(entry, codes, varies, keywords), codes, varies
        text = f"{function}({', '.join(['w.gpu', 'w', *codes, *keywords])})"
        return (f"yield from {text}" if entry.blocking else text), codes, lanes

    def _meeting(self, entry: Instruction, codes: Sequence[str], varies: bool, keywords: Sequence[str]) -> str:
        """Return the call of an instruction that lanes of several arms execute together."""
        execute = self.out.object("E", entry.execute, (entry.name, "meeting"))
        named = [code for operand, code in zip(entry.operands, codes, strict=True) if operand.name == "mask"]
        name = entry.name if entry.result is not None else entry.section
        given = f"({''.join(f'{code}, ' for code in codes)})"
        meeting = self.out.object("meet", meet, "meet")
        arguments = ["w", repr(name), execute, named[0] if named else "None", given, repr(varies), *keywords]
        return f"yield from {meeting}({', '.join(arguments)})"

    def _presume(self, call: Call) -> None:
        """Presume that an unmodelled instruction wrote the buffers of its operands."""
        for argument in call.args:
            if isinstance(argument, AddressOf) and argument.buffer.scope != "global":
                self.out.line(f"w.presume({self.expressions.storage.name(argument.buffer)})")

    def _operand(self, argument: Expr) -> tuple[str, bool]:
        if isinstance(argument, Var) and argument in self.tensor_maps:
            return self.out.object("M", self.tensor_maps[argument]), False
        if isinstance(argument, Address) and argument.dtype == "tensormap":  # in memory
            argument = argument.value
        value = self.expressions.value(argument)
        return value.code, value.lanes

    def _group(self, arguments: Sequence[Expr]) -> tuple[str, bool]:
        """Return an operand, and whether it differs among lanes; a list of registers is a single operand."""
        if len(arguments) == 1:
            return self._operand(arguments[0])
        scattered = self.out.object("Scattered", ScatteredRegisters)
        return f"{scattered}(({', '.join(self._operand(each)[0] for each in arguments)}))", False

    def _attribute(self, value: object) -> str:
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        return self.out.object("A", value)


def _groups(entry: Instruction, call: Call) -> list[tuple[Expr, ...]]:
    """Return the operands of a call as its semantics takes them; a list of registers is a single operand."""
    if not entry.scattered:
        return [(argument,) for argument in call.args]
    return [given for _, given in entry.matched(call.args, dict(call.attrs))]
