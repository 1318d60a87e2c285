"""Calls of table instructions, as statements and as expressions."""

from __future__ import annotations

from tirx_mini.ir import HANDLE, Call, DataType, Evaluate, Expr, Span

from .table import TABLE


def issue(name: str, *args: object, span: Span | None = None, **modifiers: object) -> Evaluate:
    """Return a statement that executes the instruction `name` for its effect."""
    operands, attrs = TABLE[name].bind(args, modifiers)
    return Evaluate(Call(HANDLE, name, operands, attrs, span=span), span=span)


def value_of(name: str, dtype: DataType, *args: object, span: Span | None = None, **modifiers: object) -> Expr:
    """Return the result of the instruction `name` as an expression of type `dtype`."""
    operands, attrs = TABLE[name].bind(args, modifiers)
    return Call(dtype, name, operands, attrs, span=span)
