"""Dialect definitions: tables with one line per operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Any

from tirx_mini.records import dataclass

from .core import Codec, Field, Infer, Op, OpKind, Parser, Syntax, Type, Value, Verify


@dataclass(eq=False)
class Dialect:
    """A named set of operations, types and attributes.

    types: parsers of types, by their first word: ``{"tile": parse_tile}`` reads what follows "tile".
    attributes: the same for attributes: ``#name.word<…>``.
    """

    name: str
    ops: dict[str, OpKind] = field(default_factory=dict)
    types: dict[str, Callable[[Parser], Type]] = field(default_factory=dict)
    attributes: dict[str, Callable[[Parser], Any]] = field(default_factory=dict)

    def op(
        self,
        mnemonic: str,
        operands: str = "",
        results: str = "",
        format: str | Syntax = "",
        infer: Infer | str | None = None,
        verify: Verify | None = None,
        attrs: Mapping[str, Codec] | None = None,
        regions: str = "",
        pure: bool = False,
        terminator: bool = False,
        doc: str = "",
    ) -> OpKind:
        """Define an operation.

        operands, results: names, separated by spaces; "x?" is optional and "*xs" variadic.
        infer: a function, or the name of the operand whose type the results have.
        """
        rule = _same_as(infer) if isinstance(infer, str) else infer
        kind = OpKind(
            f"{self.name}.{mnemonic}", _fields(operands), _fields(results), dict(attrs or {}), tuple(regions.split()),
            format, rule, verify, pure, terminator, doc,
        )  # fmt: skip
        if mnemonic in self.ops:
            raise ValueError(f"{kind.name} is defined twice")
        self.ops[mnemonic] = kind
        return kind


@cache
def _fields(names: str) -> tuple[Field, ...]:
    return tuple(Field(n.strip("*?"), optional=n.endswith("?"), variadic=n.startswith("*")) for n in names.split())


def _same_as(operand: str) -> Infer:
    def infer(op: Op) -> Type:
        value = getattr(op, operand)
        assert isinstance(value, Value)
        return value.type

    return infer
