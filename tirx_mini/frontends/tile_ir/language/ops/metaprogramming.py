"""Compile-time values. The `static_` functions are handled by the tracing of calls (`statics.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import TileStaticAssertionError, TileSyntaxError
from ..surface import operation
from ..values import ArrayValue, TileValue, describe

if TYPE_CHECKING:
    from ..tracer import Tracer


@operation("ensure_constant")
def ensure_constant(tr: Tracer, value: object, /) -> object:
    """Return the argument, which must be known at compile time."""
    if isinstance(value, (TileValue, ArrayValue)):
        raise TileStaticAssertionError(f"the argument of ct.ensure_constant is {describe(value)}, not a constant")
    return value


def _misplaced(name: str, hint: str) -> TileSyntaxError:
    return TileSyntaxError(f"ct.{name} cannot stand here", hint=hint)


@operation("static_assert")
def static_assert(tr: Tracer, condition: object, message: object = None, /) -> object:
    """Assert a condition at compile time."""
    raise _misplaced("static_assert", "call it by its own name")


@operation("static_eval")
def static_eval(tr: Tracer, expr: object, /) -> object:
    """Return the value of a Python expression, evaluated at compile time."""
    raise _misplaced("static_eval", "call it by its own name")


@operation("static_iter")
def static_iter(tr: Tracer, iterable: object) -> object:
    """Unroll a `for` loop over a Python iterable."""
    raise _misplaced("static_iter", "write `for x in ct.static_iter(…):`")


@operation("static_exception")
def static_exception(tr: Tracer, exc: object, /) -> object:
    """Create an exception to be raised at compile time."""
    raise _misplaced("static_exception", "write `raise ct.static_exception(…)`")
