"""Python builtins applied to run-time values: counterparts, or errors with an alternative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirx_mini.ir import Expr, TirxError, binary


def runtime_builtin(function: object) -> Any:
    """Return the counterpart of `function` that accepts run-time values, or `function` itself."""
    known = isinstance(function, type) or type(function) is type(abs)
    return _COUNTERPARTS.get(function, function) if known else function


def _extreme(op: str, plain: Callable[..., object]) -> Callable[..., Any]:
    def pick(*args: Any, **options: object) -> object:
        values = list(args[0]) if len(args) == 1 else list(args)
        if options or not any(isinstance(v, Expr) for v in values):
            return plain(*args, **options)
        result = values[0]
        for value in values[1:]:
            result = binary(op, result, value)
        return result

    return pick


def _absolute(value: Any) -> object:
    return binary("max", value, -value) if isinstance(value, Expr) else abs(value)


def _convert(name: str, plain: Callable[..., object]) -> Callable[..., Any]:
    def conversion(*args: object) -> Any:
        if args and isinstance(args[0], Expr):
            raise TirxError(
                f"Python's {plain.__name__}() needs a value that is known at compile time",
                hint=f"use Tx.{name}(…) to convert a run-time value",
            )
        return plain(*args)

    return conversion


def _meta_range(*bounds: Any) -> range:
    if any(isinstance(bound, Expr) for bound in bounds):
        raise TirxError("a range with run-time bounds can only be used in a `for` statement")
    return range(*bounds)


_COUNTERPARTS: Mapping[Any, Callable[..., Any]] = {
    min: _extreme("min", min), max: _extreme("max", max), abs: _absolute, int: _convert("int32", int),
    float: _convert("float32", float), bool: _convert("bool", bool), range: _meta_range,
}  # fmt: skip
