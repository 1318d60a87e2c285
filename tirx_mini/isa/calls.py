"""Instructions of the table, as statements and values."""

from __future__ import annotations

from tirx_mini.ir import HANDLE, Call, DataType, Evaluate, Expr, Span

from .table import TABLE


def issue(name: str, *args: object, span: Span | None = None, **modifiers: object) -> Evaluate:
    """The instruction `name`, executed for its effect."""
    operands, attrs = TABLE[name].bind(args, modifiers)
    return Evaluate(Call(HANDLE, name, operands, attrs, span=span), span=span)


def value_of(name: str, dtype: DataType, *args: object, span: Span | None = None, **modifiers: object) -> Expr:
    """The result, of type `dtype`, of the instruction `name`."""
    operands, attrs = TABLE[name].bind(args, modifiers)
    return Call(dtype, name, operands, attrs, span=span)
