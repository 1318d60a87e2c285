"""Instructions as statements."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import INT32, Call, Evaluate, Expr, Span, as_expr


def issue(name: str, *args: Any, span: Span | None = None, **attrs: Any) -> Evaluate:
    """The instruction `name` of the table, executed for its effect; `attrs` are its static modifiers."""
    operands: tuple[Expr, ...] = tuple(as_expr(arg) for arg in args)
    return Evaluate(Call(INT32, name, operands, tuple(attrs.items()), span=span), span=span)
