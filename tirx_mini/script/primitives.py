"""Tile primitives as functions of the language, one per entry of the table of tile operations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.ir import SCOPE_KINDS, Buffer, Expr, ExprLike, Region, binary
from tirx_mini.ir import cast as convert
from tirx_mini.tile import OPS, SPELLINGS, op_of

from .builder import current, innermost_scope
from .composites import COMPOSITES
from .diagnostics import did_you_mean, unknown
from .handles import ScopeKind, data_type
from .mathematics import MATH
from .pointers import BufferRegion, is_buffer_var

SCOPE_NAMES = {**{kind: kind for kind in SCOPE_KINDS}, "wg": "warpgroup"}
"""The names of scopes below `Tx`, and the kinds that they are."""


def primitive_of(name: str, scope: str | None) -> Any:
    """Return a tile primitive, bound to an execution scope if `scope` is given."""
    if name in COMPOSITES:
        return _composite(name, scope)
    op = op_of(name)
    if op is None:
        raise unknown("Tx" if scope is None else f"Tx.{scope}", name, did_you_mean(name, [*OPS, *SPELLINGS]))

    def primitive(*args: object, **kwargs: object) -> object:
        if name == "cast" and len(args) == 2 and not isinstance(args[1], (Buffer, Expr)):
            return convert(data_type(args[1]), args[0])  # T.cast(value, "float32") converts a value
        if name in MATH and scope is None and not kwargs and _is_function(name, args):
            return MATH[name](*args)
        builder = current(f"Tx.{name}")
        operands, options = op.positional(args)
        call = op.build(*operands, span=builder.span, scope=scope, **options, **kwargs)
        for operand in call.operands:  # plain Python code may pass views that are not declared yet
            if isinstance(operand, Region) and not builder.is_declared(operand.buffer):
                builder.declare(operand.buffer)
        builder.emit(call)
        return None

    primitive.__name__ = primitive.__qualname__ = name
    primitive.__doc__ = op.help
    primitive.__signature__ = op.signature
    return primitive


def _composite(name: str, scope: str | None) -> object:
    """Return a composite primitive, bound to an execution scope."""
    function = COMPOSITES[name]

    def composite(*args: object, **kwargs: object) -> None:
        function(lambda part: primitive_of(part, scope), *args, **kwargs)

    composite.__name__ = composite.__qualname__ = name
    composite.__doc__ = inspect.getdoc(function)
    own = inspect.signature(function)
    vars(composite)["__signature__"] = own.replace(parameters=list(own.parameters.values())[1:])
    return composite


VALUES = {"fma": 3}
"""How many values the functions with the names of tile primitives take, where it is not one."""


def _is_function(name: str, args: Sequence[object]) -> bool:
    """Return whether a call is a scalar function, ``Tx.exp2(x)``, rather than a tile primitive, ``Tx.exp2(dst, src)``.
    """
    if len(args) != VALUES.get(name, 1):
        return False
    return not any(isinstance(arg, Region) or (isinstance(arg, Buffer) and not arg.scalar) for arg in args)


def scope_of(name: str) -> ScopeKind:
    """Return the scope of a name in `SCOPE_NAMES`, such as ``Tx.cta``."""
    return ScopeKind(SCOPE_NAMES[name], primitive_of, innermost_scope)


_TILE_HELPERS: Mapping[str, Any] = {"BufferRegion": BufferRegion, "is_buffer_var": is_buffer_var}


class Tiles:
    """The namespace ``Tx.tile`` of tile primitives and the scopes to which they can be bound."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _TILE_HELPERS:
            return _TILE_HELPERS[name]
        if name not in SCOPE_NAMES and name not in COMPOSITES and op_of(name) is None:
            raise unknown("Tx.tile", name, did_you_mean(name, self.__dir__()))
        return scope_of(name) if name in SCOPE_NAMES else primitive_of(name, None)

    def __dir__(self) -> list[str]:
        return [*OPS, *SPELLINGS, *COMPOSITES, *SCOPE_NAMES]


def _extreme(op: str, values: Sequence[object], options: Mapping[str, object]) -> object:
    """Return the smallest or largest value, or for tiles emit the reduction ``Tx.max(dst, src)``."""
    if options or any(isinstance(value, (Buffer, Region)) for value in values):
        return primitive_of(f"reduce_{op}", None)(*values, **options)
    result = values[0]
    for value in values[1:]:
        result = binary(op, result, value)
    return result


def min(*values: ExprLike | Buffer, **options: object) -> Any:
    """Return the smallest value, or reduce a tile: ``min(dst, src, axes=-1, accum=False)``."""
    return _extreme("min", values, options)


def max(*values: ExprLike | Buffer, **options: object) -> Any:
    """Return the largest value, or reduce a tile: ``max(dst, src, axes=-1, accum=False)``."""
    return _extreme("max", values, options)
