"""Alternative names of instructions, of their parameters and of their modifier values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from tirx_mini.records import dataclass

from .operands import OperandKind


@dataclass(frozen=True)
class Alias:
    """A name under which kernels call an instruction.

    path: below `Tx`, as in "ptx.mbarrier.init".
    preset: the parameter values that this name fixes.
    defaults: the default values that this name replaces.
    order: the parameters of a call by this name in their order, each with the parameter of the instruction that it is,
        as in {"trans": "transpose"}; empty if they are those of the instruction. A star before a name takes the
        arguments that are left. A parameter that the instruction does not have has the values that it may be given,
        with `...` for any.
    adapt: what makes the instruction's parameters of those of `order`, by name, where these are others.
    guard: a parameter of `order` that a thread's condition to execute the call may be given for; the value that it has
        there stands for no condition.
    parameters: other names of the instruction's parameters, as in {"thread_count": "count"}.
    values: other names of its modifiers' values, as in {"float16": "f16"}.
    """

    path: str
    preset: Mapping[str, Any] = field(default_factory=dict[str, Any])
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    order: Mapping[str, str | tuple[Any, ...]] = field(default_factory=dict[str, str | tuple[Any, ...]])
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    guard: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, str] = field(default_factory=dict[str, str])

    def parameter(self, name: str) -> str:
        """Return the instruction parameter that a parameter name denotes in a call by this name."""
        return self.parameters.get(name, name)

    def value(self, value: object) -> object:
        """Return the modifier value that a value denotes in a call by this name."""
        return self.values.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Spelling:
    """The additional names of an instruction in a language.

    instruction: its name in the table.
    names: further names of it.
    parameters, values: as those of `Alias`, for each of its names.
    """

    instruction: str
    names: tuple[str | Alias, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Spellings:
    """How a language spells the instructions of the table.

    instructions: the spellings of single instructions; one instruction may have several.
    operands: other names of the operands of a kind, for all instructions.
    """

    instructions: tuple[Spelling, ...]
    operands: Mapping[OperandKind, tuple[str, ...]] = field(default_factory=dict[OperandKind, tuple[str, ...]])

    @cached_property
    def _by_name(self) -> Mapping[str, list[Spelling]]:
        found: dict[str, list[Spelling]] = {}
        for each in self.instructions:
            found.setdefault(each.instruction, []).append(each)
        return found

    def of(self, instruction: str) -> Sequence[Spelling]:
        """Return the spellings of an instruction, given its name in the table."""
        return self._by_name.get(instruction, ())
