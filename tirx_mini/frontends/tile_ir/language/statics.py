"""``ct.static_eval`` and similar: Python code executed at compile time with the variables of tile code."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tirx_mini.ir import TirxError

from .dtypes import DType
from .errors import (
    StaticException,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileTypeError,
)
from .ops.arithmetic import binary
from .ops.unary import bitwise_not, negative
from .tracer import Tracer
from .values import ArrayValue, Formatted, Strict, TileValue, Undefined, describe

MAX_ITEMS = 1000
"""The longest loop that is unrolled."""


class Symbol:
    """A tile or array in a static expression, with known shape and dtype; arithmetic on it emits operations."""

    def __init__(self, tr: Tracer, value: object) -> None:
        self._tr, self.tile_value = tr, value

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "ndim"):
            return getattr(self.tile_value, name)
        if name in ("shape", "strides") and hasattr(self.tile_value, name):
            return tuple(to_python(self._tr, n) for n in getattr(self.tile_value, name))
        raise AttributeError(f"{describe(self.tile_value)} has no attribute `{name}` while the kernel is compiled")

    def __bool__(self) -> bool:
        raise ValueError(
            f"{describe(self.tile_value)} has no value while the kernel is compiled, so it is neither true nor false"
        )

    def __str__(self) -> str:
        return str(self.tile_value) if isinstance(self.tile_value, TileValue) else f"<{describe(self.tile_value)}>"

    __repr__ = __str__

    def __hash__(self) -> int:
        return id(self.tile_value)

    def _apply(self, name: str, other: object, swapped: bool = False) -> object:
        x, y = from_python(self), from_python(other)
        return to_python(self._tr, binary(self._tr, name, *((y, x) if swapped else (x, y))))

    def __neg__(self) -> Any:
        return to_python(self._tr, negative.implementation(self._tr, self.tile_value))

    def __invert__(self) -> Any:
        return to_python(self._tr, bitwise_not.implementation(self._tr, self.tile_value))

    def __eq__(self, other: object) -> Any:
        return self._apply("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._apply("not_equal", other)


_FORWARD = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod", "pow": "pow",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_lshift",
    "rshift": "bitwise_rshift",
}  # fmt: skip
_COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def _install() -> None:
    for python, ours in _FORWARD.items():
        setattr(Symbol, f"__{python}__", lambda self, other, ours=ours: self._apply(ours, other))
        setattr(Symbol, f"__r{python}__", lambda self, other, ours=ours: self._apply(ours, other, swapped=True))
    for python, ours in _COMPARED.items():
        setattr(Symbol, f"__{python}__", lambda self, other, ours=ours: self._apply(ours, other))


_install()


class TypedInt(int):
    """A strictly typed integer in a static expression, such as an array extent: an `int` with a dtype."""

    dtype: DType
    shape: tuple[int, ...] = ()
    ndim = 0


def to_python(tr: Tracer, value: object) -> Any:
    """Convert a tile-code value for a static expression."""
    if isinstance(value, tuple):
        return tuple(to_python(tr, v) for v in value)
    if isinstance(value, Strict):
        if not value.dtype.is_integer:
            return value.value
        number = TypedInt(value.value)
        number.dtype = value.dtype
        return number
    return Symbol(tr, value) if isinstance(value, (TileValue, ArrayValue)) else value


def from_python(value: object) -> Any:
    """Convert the value of a static expression to tile code."""
    if isinstance(value, (tuple, list)):
        return tuple(from_python(v) for v in value)
    if isinstance(value, TypedInt):
        return Strict(int(value), value.dtype)
    return value.tile_value if isinstance(value, Symbol) else value


class Statics(Tracer):
    """Evaluates static expressions by executing them as Python."""

    def static(self, name: str, node: ast.Call) -> Any:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise TileTypeError(f"ct.{name} takes its arguments by position")
        counts = {"static_assert": (1, 2)}.get(name, (1, 1))
        if not counts[0] <= len(node.args) <= counts[1]:
            raise TileTypeError(f"ct.{name} takes {counts[1]} argument{'s' if counts[1] > 1 else ''}")
        return getattr(self, f"_{name}")(node)

    def _executed(self, node: ast.expr, what: str) -> object:
        """Execute an expression as Python and return its value."""
        visible = self.frame.visible()
        names = {n: to_python(self, v) for n, v in visible.items() if not isinstance(v, (Undefined, Formatted))}
        code = compile(ast.fix_missing_locations(ast.Expression(node)), self.frame.source.file, "eval")
        try:
            return eval(code, names)
        except TirxError:
            raise
        except Exception as error:
            raise TileStaticEvalError(
                f"{what} raised {type(error).__name__}: {error}", self.frame.span(node)
            ) from error

    def _static_eval(self, node: ast.Call) -> object:
        return from_python(self._executed(node.args[0], "the expression of ct.static_eval"))

    def _static_assert(self, node: ast.Call) -> None:
        found = self._executed(node.args[0], "the condition of ct.static_assert")
        if isinstance(found, Symbol) or not isinstance(found, bool):
            raise TileStaticEvalError(
                f"the condition of ct.static_assert must be True or False when the kernel is compiled, not {found}"
            )
        if found:
            return
        message = self._executed(node.args[1], "the message of ct.static_assert") if len(node.args) > 1 else None
        raise TileStaticAssertionError(f"the static assertion does not hold{'' if message is None else f': {message}'}")

    def _static_iter(self, node: ast.Call) -> list[object]:
        found = self._executed(node.args[0], "the iterable of ct.static_iter")
        if not isinstance(found, Iterable):
            raise TileTypeError(f"ct.static_iter needs a Python iterable, not {describe(from_python(found))}")
        items: list[Any] = []
        for item in found:
            if len(items) == MAX_ITEMS:
                raise TileTypeError(f"ct.static_iter unrolls at most {MAX_ITEMS} iterations")
            items.append(from_python(item))
        return items

    def _static_exception(self, node: ast.Call) -> object:
        found = self._executed(node.args[0], "the expression of ct.static_exception")
        if not isinstance(found, BaseException):
            raise TileTypeError(f"ct.static_exception needs an exception, not {describe(from_python(found))}")
        raise StaticException(f"{type(found).__name__}: {found}") from found
