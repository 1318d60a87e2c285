"""What is computed while a kernel is compiled. The `static_` functions are handled where calls are (`statics.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import TileStaticAssertionError, TileSyntaxError
from ..surface import operation
from ..values import ArrayValue, TileValue, describe

if TYPE_CHECKING:
    from ..tracer import Tracer


@operation("ensure_constant")
def ensure_constant(tr: Tracer, value: Any, /) -> Any:
    """The argument, which must be known when the kernel is compiled."""
    if isinstance(value, (TileValue, ArrayValue)):
        raise TileStaticAssertionError(f"the argument of ct.ensure_constant is {describe(value)}, not a constant")
    return value


def _misplaced(name: str, doc: str, hint: str) -> None:
    def implementation(tr: Tracer, *args: Any) -> Any:
        raise TileSyntaxError(f"ct.{name} cannot stand here", hint=hint)

    implementation.__doc__ = doc
    operation(name)(implementation)


_misplaced("static_assert", "Fail unless a condition holds while the kernel is compiled.", "call it by its own name")
_misplaced(
    "static_eval", "The value of a Python expression, computed while the kernel is compiled.", "call it by its own name"
)
_misplaced("static_iter", "Unroll a `for` loop over a Python iterable.", "write `for x in ct.static_iter(…):`")
_misplaced("static_exception", "An exception of the compilation.", "write `raise ct.static_exception(…)`")
