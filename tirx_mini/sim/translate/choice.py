"""Lazy choices, of which only one side is evaluated: ``a if c else b``, and ``and`` and ``or``, as in C.

If a side reads memory, executes an instruction or divides, each lane evaluates only the side that it chooses, so that
unchosen loads are not made. Other sides are cheaper to evaluate for all lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from tirx_mini.ir import Binary, Buffer, BufferLoad, Call, Const, Expr, Select, as_bool, walk

from ..machine import LANES, Mask
from .values import Value
from .writer import Writer

Checked = Callable[[Buffer], bool]
"""A predicate on buffers whose reads the machine checks: all except scalars in registers."""


class Expressions(Protocol):
    """The interface of the expression translator."""

    out: Writer

    def build(self, expr: Expr) -> Value: ...

    def value(self, expr: Expr) -> Value: ...

    def ready(self, value: Value) -> Value: ...

    def static_masks(self, value: Value) -> list[Mask]: ...


DIVISIONS = ("//", "%", "/")


def is_choice(node: object, checked: Checked) -> bool:
    """Return whether `node` has a side that only the choosing lanes may evaluate."""
    if isinstance(node, Select):
        return node.dtype.lanes == 1 and (_has_effects(node.a, checked) or _has_effects(node.b, checked))
    return isinstance(node, Binary) and as_choice(node, checked) is not None


def _has_effects(expr: Expr, checked: Checked) -> bool:
    """Return whether `expr` contains a read or a division that the machine checks."""
    for node in walk(expr):
        if isinstance(node, Call) or (isinstance(node, BufferLoad) and checked(node.buffer)):
            return True
        if isinstance(node, Binary) and node.op in DIVISIONS and node.dtype.is_integer and not _is_number(node.b):
            return True
    return False


def _is_number(divisor: Expr) -> bool:
    return isinstance(divisor, Const) and divisor.value != 0


def as_choice(expr: Binary, checked: Checked) -> Select | None:
    """Return ``a and b`` or ``a or b`` as a choice if only some lanes may evaluate `b`; otherwise None."""
    if expr.op not in ("and", "or") or any(isinstance(node, Call) for node in walk(expr.b)):
        return None  # an instruction such as elect.sync is for all lanes
    if not _has_effects(expr.b, checked):
        return None
    sides = (expr.b, as_bool(False)) if expr.op == "and" else (as_bool(True), expr.b)
    return Select(expr.dtype, expr.a, *sides, span=expr.span)


def choose(expressions: Expressions, expr: Select, zero: str) -> Value:
    """Return the value of a choice of which each lane evaluates one side.

    zero: the text of an arbitrary number of the choice's type.
    """
    out = expressions.out
    out.at(expr.span or expr.cond.span)
    cond = expressions.build(expr.cond)
    if not cond.lanes:
        return _one_side(expressions, expr, expressions.ready(cond))
    outer, first, second = out.fresh("outer"), out.fresh("first"), out.fresh("second")
    if cond.static:
        chosen = f"{outer}.both({out.per_warp('G', expressions.static_masks(cond), (cond.code, 0))})"
    else:
        chosen = f"{outer}.where({cond.code})"
    out.settle()
    out.line(f"{outer} = w.mask")
    out.line(f"{first} = {chosen}")
    out.line(f"{second} = {outer}.minus({first})")
    sides = [_masked(expressions, side, mask, zero) for side, mask in ((expr.a, first), (expr.b, second))]
    out.line(f"w.select({outer})")
    a, b = sides
    return _joined(f"where({first}.bits, {a.code}, {b.code})", expr, a, b, lanes=True)


def _one_side(expressions: Expressions, expr: Select, cond: Value) -> Value:
    """Translate a choice with a uniform condition."""
    out = expressions.out
    name = out.fresh("chosen")
    with out.block(f"if {cond.code}:"):
        a = expressions.value(expr.a)
        out.line(f"{name} = {a.code}")
    with out.block("else:"):
        b = expressions.value(expr.b)
        out.line(f"{name} = {b.code}")
    if a.lanes == b.lanes:
        return _joined(name, expr, a, b, lanes=a.lanes, view=a.view or b.view)
    spread = out.object("broadcast_to", np.broadcast_to)
    return _joined(f"{spread}({name}, {LANES})", expr, a, b, lanes=True, view=True)


def _masked(expressions: Expressions, side: Expr, mask: str, zero: str) -> Value:
    """Return the value of one side, evaluated by the lanes of `mask`."""
    out = expressions.out
    name = out.fresh("side")
    out.line(f"{name} = {zero}")
    with out.block(f"if {mask}:"):
        out.line(f"w.select({mask})")
        value = expressions.value(side)
        out.line(f"{name} = {value.code}")
    return replace(value, code=name, static=False)


def _joined(code: str, expr: Expr, a: Value, b: Value, *, lanes: bool, view: bool = False) -> Value:
    """Return a value that is one of two sides, with the text `code`."""
    return Value(code, expr.dtype, lanes, min(a.low, b.low), max(a.high, b.high), view=view)
