"""Tracing of calls: operations, inlined program functions and a few Python builtins."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from enum import EnumMeta
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from tirx_mini.ir import Span
from tirx_mini.script import FunctionSource, check_function, source_of

from .dtypes import DType, from_numpy
from .errors import TileError, TileRecursionError, TileTypeError, TileUnsupportedFeatureError
from .frames import Frame
from .liveness import assigned, liveness
from .loop_forms import with_plain_loops
from .objects import constructed, is_kind, is_object, member, replaced
from .ops.unary import dtype_call
from .surface import OPERATIONS, Operation, Slice, TileFunction, TileKernel
from .tracer import How, Tracer
from .unrolled import is_context_manager
from .values import (
    BoundFunction,
    BoundMethod,
    ChoiceValue,
    Closure,
    Formatted,
    RangeValue,
    SliceValue,
    TileValue,
    describe,
    is_record,
    plain,
)

_OPERATORS: Mapping[Any, str] = MappingProxyType({
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow", operator.matmul: "matmul",
    operator.and_: "bitwise_and", operator.or_: "bitwise_or", operator.xor: "bitwise_xor",
    operator.lshift: "bitwise_lshift", operator.rshift: "bitwise_rshift", operator.eq: "equal",
    operator.ne: "not_equal", operator.lt: "less", operator.le: "less_equal", operator.gt: "greater",
    operator.ge: "greater_equal",
})  # fmt: skip
_AS_OPERATION: Mapping[Any, str] = MappingProxyType({
    builtins.print: "print", builtins.abs: "abs", builtins.divmod: "divmod", builtins.pow: "pow",
    operator.neg: "negative", operator.invert: "bitwise_not", operator.abs: "abs",
})  # fmt: skip
"""Python's functions that are operations of tile code."""
_CONSTANT_ONLY = (int, float, complex, len, round, sum, any, all, sorted, hash, repr, ord, chr, min, max)


_MOST_RECURSION = 32
"""Calls of a function inside itself."""


class Calls(Tracer):
    """Traces calls. Operations emit code; program functions are traced inline in their own frame."""

    def call(self, function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        if isinstance(function, Operation):
            return self._operation(function, args, kwargs)
        if function is dataclasses.replace and args and is_record(args[0]):
            return replaced(args[0], kwargs)
        if isinstance(function, BoundMethod):
            return self._operation(function.operation, (function.owner, *args), kwargs)
        if isinstance(function, type) and issubclass(function, np.generic):
            function = from_numpy(function) or function
        if isinstance(function, DType):
            if len(args) > 1 or kwargs:
                raise TileTypeError(f"ct.{function} takes one value")
            return dtype_call(self, function, tuple(args))
        if isinstance(function, Closure):
            return self._inline_closure(function, args, kwargs)
        if isinstance(function, BoundFunction):
            return self._inline(function.function, (function.owner, *args), kwargs)
        if isinstance(function, TileFunction):
            return self._inline(function.function, args, kwargs)
        if isinstance(function, FunctionType):
            return self._inline(function, args, kwargs)
        if isinstance(function, functools.partial):
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, TileKernel):
            raise TileTypeError(
                f"the kernel `{function.__name__}` cannot be called from tile code",
                hint="move what both need to a function without `@ct.kernel`",
            )
        return self._python(function, args, kwargs)

    def _operation(self, function: Operation, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        choice = next((a for a in (*args, *kwargs.values()) if isinstance(a, ChoiceValue)), None)
        if choice is not None:
            return self.chosen(choice, function, args, kwargs)  # type: ignore[attr-defined]
        bound = function.bind(args, kwargs)
        return function.implementation(self, *bound.args, **bound.kwargs)

    # -- Python's own functions ----------------------------------------------------------------------------------------

    def _python(self, function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if function in _handled:
            return _handled[function](self, *args, **kwargs)
        if isinstance(function, (BuiltinFunctionType, type)) and function in _AS_OPERATION:
            return self._operation(OPERATIONS[_AS_OPERATION[function]], args, kwargs)
        if isinstance(function, BuiltinFunctionType) and function in _OPERATORS and len(args) == 2:
            return self.operator(_OPERATORS[function], *args)  # type: ignore[attr-defined]
        if function is Slice:
            bound = inspect.signature(lambda start, length, /: None).bind(*args, **kwargs)
            return SliceValue(*bound.args)
        if is_kind(function):
            return constructed(function, args, kwargs)
        if is_object(function) and isinstance(member(function, "__call__"), BoundFunction):
            return self.call(member(function, "__call__"), args, kwargs)
        if isinstance(function, EnumMeta) or _computes_constants(function):
            return self._compile_time(function, args, kwargs)
        name = getattr(function, "__name__", describe(function))
        if not callable(function):
            raise TileTypeError(f"{describe(function)} cannot be called")
        instead = "compute it outside of the kernel, or in `ct.static_eval(…)` from what is known then"
        if name in OPERATIONS:
            instead = f"`ct.{name}` computes with tiles"
        raise TileUnsupportedFeatureError(f"`{name}` cannot be called in tile code", hint=instead)

    def _compile_time(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        """Evaluate a Python function on constants."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, (TileValue, Formatted)):
                name = getattr(function, "__name__", str(function))
                near = f"ct.{name}" if name in OPERATIONS else None
                cast = f"`x.astype(ct.{'int32' if name == 'int' else 'float32'})`" if name in ("int", "float") else None
                instead = near or cast
                raise TileTypeError(
                    f"`{name}` takes constants in tile code, not {describe(value)}",
                    hint=f"use {instead}" if instead else None,
                )
        try:
            return function(*(plain(a) for a in args), **{k: plain(v) for k, v in kwargs.items()})
        except TileError:
            raise
        except Exception as error:  # what a function of Python raises is the program's mistake
            raise TileTypeError(
                f"`{getattr(function, '__name__', function)}` raised {type(error).__name__}: {error}"
            ) from None

    # -- Functions of the program --------------------------------------------------------------------------------------

    def _inline(self, function: FunctionType, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Trace a Python function inline at its call site, and return its value."""
        if is_context_manager(function):
            raise TileTypeError(
                f"`{function.__name__}` is a context manager", hint=f"write `with {function.__name__}(…) as x:`"
            )
        source, names = self.bound(function, args, kwargs)
        return self.enter(source, source.node, function, names, None, self.emit.span)

    def bound(
        self, function: FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[FunctionSource, dict[str, Any]]:
        """Return the source of a Python function and its variables at the start of a call.

        One that wraps another, as decorators make them, is read itself.
        """
        check_function(function, "tile code", wraps=True)
        source = source_of(function)
        try:
            bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
        except TypeError as error:
            raise TileTypeError(f"{function.__name__}(): {error}") from None
        bound.apply_defaults()
        return source, {name: tuple(v) if isinstance(v, list) else v for name, v in bound.arguments.items()}

    def _inline_closure(self, closure: Closure, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        outer: Frame = closure.frame
        name = closure.node.name if isinstance(closure.node, ast.FunctionDef) else "<lambda>"
        names = self._bind(name, closure.node.args, outer, args, kwargs)
        return self.enter(outer.source, closure.node, outer.function, names, outer, self.emit.span)

    def _bind(
        self, name: str, params: ast.arguments, outer: Frame, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> dict[str, object]:
        """Bind the arguments of a function defined in tile code to its parameters."""
        kinds = inspect.Parameter
        defaults = [None] * (len(params.posonlyargs) + len(params.args) - len(params.defaults)) + list(params.defaults)
        listed = [
            *((a, kinds.POSITIONAL_ONLY, d) for a, d in zip(params.posonlyargs, defaults, strict=False)),
            *(
                (a, kinds.POSITIONAL_OR_KEYWORD, d)
                for a, d in zip(params.args, defaults[len(params.posonlyargs) :], strict=True)
            ),
            *([(params.vararg, kinds.VAR_POSITIONAL, None)] if params.vararg else []),
            *((a, kinds.KEYWORD_ONLY, d) for a, d in zip(params.kwonlyargs, params.kw_defaults, strict=True)),
            *([(params.kwarg, kinds.VAR_KEYWORD, None)] if params.kwarg else []),
        ]
        signature = inspect.Signature(
            [kinds(a.arg, kind, default=kinds.empty if d is None else d) for a, kind, d in listed]
        )
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TileTypeError(f"{name}(): {error}") from None
        given = dict(bound.arguments)
        bound.apply_defaults()
        self.frames.append(outer)
        try:
            return {
                key: value if key in given or not isinstance(value, ast.expr) else self.evaluate(value)
                for key, value in bound.arguments.items()
            }
        finally:
            self.frames.pop()

    def enter(
        self, source: FunctionSource, node: ast.FunctionDef | ast.Lambda, function: FunctionType, names: dict[str, Any],
        outer: Frame | None, inlined_at: Span | None,
    ) -> Any:  # fmt: skip
        """Trace a function with its parameters in `names`, and return its result."""
        body = with_plain_loops(node) if isinstance(node, ast.FunctionDef) else node
        self.frames.append(self.frame_of(source, node, body, function, names, outer, inlined_at))
        try:
            if isinstance(body, ast.Lambda):
                return self.evaluate(body.body)
            end = self.block(body.body)
            return end.value if end.how is How.RETURN else None
        finally:
            self.frames.pop()

    def frame_of(
        self, source: FunctionSource, node: ast.FunctionDef | ast.Lambda, body: ast.FunctionDef | ast.Lambda,
        function: FunctionType, names: dict[str, Any], outer: Frame | None, inlined_at: Span | None,
    ) -> Frame:  # fmt: skip
        """Create the frame of a call. body: `node`, or its normalised form that is traced."""
        if sum(frame.node is node for frame in self.frames) >= _MOST_RECURSION:
            name = node.name if isinstance(node, ast.FunctionDef) else "the lambda"
            raise TileRecursionError(
                f"`{name}` calls itself more than {_MOST_RECURSION} times: calls are inlined, so what ends them must "
                "be known when the kernel is compiled",
                hint="write a loop instead",
            )
        local = frozenset({*names, *(assigned(body.body) if isinstance(body, ast.FunctionDef) else ())})
        return Frame(source, node, function, liveness(body), names, outer, inlined_at, local=local)


# -- Builtins ----------------------------------------------------------------------------------------------------------


def _range(tr: Tracer, *args: object) -> RangeValue:
    if not 1 <= len(args) <= 3:
        raise TileTypeError(f"range takes 1 to 3 numbers, not {len(args)}")
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    return RangeValue(start, stop, step)


def _extreme(tr: Tracer, name: str, args: Sequence[object]) -> object:
    items = args[0] if len(args) == 1 and isinstance(args[0], tuple) else tuple(args)
    if not items:
        raise TileTypeError(f"{name} needs at least one value")
    found = items[0]
    for item in items[1:]:
        found = tr.call(OPERATIONS["maximum" if name == "max" else "minimum"], (found, item), {})
    return found


def _isinstance(tr: Tracer, value: Any, kind: Any) -> bool:
    return isinstance(plain(value), kind)


def _tuple(tr: Tracer, items: Any = ()) -> tuple[object, ...]:
    if isinstance(items, RangeValue):
        return tuple(range(*(plain(v) for v in (items.start, items.stop, items.step))))
    return tuple(items)


def _bool(tr: Tracer, value: object = False) -> object:
    return tr.condition(value, "the argument of bool")


def _len(tr: Tracer, value: Any) -> int:
    if isinstance(value, TileValue):
        raise TileTypeError(f"`len` of {describe(value)}: use `.shape[0]`")
    return len(value)


def _str(tr: Tracer, value: object = "") -> object:
    return Formatted(((value, ""),)) if isinstance(value, (TileValue, Formatted)) else str(plain(value))


def _getattr(tr: Tracer, owner: object, name: object, *default: object) -> object:
    try:
        return tr.attribute(owner, plain(name))  # type: ignore[attr-defined]
    except TileTypeError:
        if default:
            return default[0]
        raise


def _hasattr(tr: Tracer, owner: object, name: object) -> bool:
    try:
        tr.attribute(owner, plain(name))  # type: ignore[attr-defined]
    except TileTypeError:
        return False
    return True


def _type(tr: Tracer, value: object) -> object:
    if isinstance(value, TileValue):
        raise TileTypeError(f"`type` of {describe(value)}: use `.dtype`")
    return type(plain(value))


_handled: Mapping[Any, Callable[..., Any]] = MappingProxyType({
    range: _range, min: lambda tr, *args: _extreme(tr, "min", args), max: lambda tr, *args: _extreme(tr, "max", args),
    isinstance: _isinstance, tuple: _tuple, bool: _bool, len: _len, str: _str, getattr: _getattr, hasattr: _hasattr,
    type: _type,
})  # fmt: skip


def _computes_constants(function: object) -> bool:
    """Return whether a Python function accepts constants: numeric builtins, `math` and string methods."""
    if function in _CONSTANT_ONLY:
        return True
    owner = getattr(function, "__self__", None)
    if isinstance(function, BuiltinFunctionType) and (owner is math or isinstance(owner, (str, bytes))):
        return True
    return isinstance(function, MethodType) and isinstance(owner, EnumMeta)
