"""Expressions: Python syntax, evaluated over Python values and IR values.

Operators on IR values build IR. This module handles the operators that Python cannot overload: ``and``, ``or``,
``not``, chained comparisons and the ternary. Every node gets the span of its syntax.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from tirx_mini.ir import Buffer, Const, DataType, Expr, Region, Span, Str, TirxError, as_bool, binary, select, unary
from tirx_mini.records import dataclass

from .builder import Builder, in_dialect_of_tvm, stamp
from .diagnostics import UnknownName, did_you_mean, foreign, placed
from .environment import Bound, Env
from .handles import DType, Flat, load
from .once import attributes, check_attributes, check_call, is_new
from .placement import check_view
from .runtime_builtins import runtime_builtin
from .source import FunctionSource
from .syntax import Handlers, describe, short
from .views import pool_of

_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_ORDER: Mapping[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_SYMBOL: Mapping[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


_NAMING = (
    ast.Call, ast.Subscript, ast.IfExp, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Tuple, ast.GeneratorExp,
)  # fmt: skip
"""Syntax whose value may create buffers, which are named after the variable it is assigned to."""


def is_runtime(value: Any) -> bool:
    """Whether a value is only known at run time."""
    return isinstance(value, Expr)


def is_number(value: Any) -> bool:
    """Whether a value is a single number that is only known at run time."""
    return isinstance(value, Expr) and not isinstance(value, (Region, Str))


@dataclass
class Evaluator:
    """Evaluates the expressions of one function body.

    inlined_at: the call that expands this body, or None for the kernel itself.
    """

    handlers: ClassVar[Handlers]
    source: FunctionSource
    builder: Builder
    env: Env
    inlined_at: Span | None = None
    _spans: dict[Any, Span] = field(default_factory=dict, init=False, repr=False)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.handlers = Handlers(cls)

    def span(self, node: Any) -> Span:
        span = self._spans.get(node)
        if span is None:
            span = self._spans[node] = self.source.span(node, self.inlined_at)
        return span

    def error(self, node: Any, message: str, hint: str | None = None) -> TirxError:
        return TirxError(message, self.span(node), hint)

    def eval(self, node: ast.expr, names: Sequence[str] = ()) -> Any:
        """The value of an expression.

        names: the variables that it is assigned to, which name the objects that a call creates.
        """
        handler = self.handlers[type(node)]
        if handler is None:
            raise self.error(node, f"{describe(node)} is not supported in a kernel")
        value = handler(self, node, names) if names and isinstance(node, _NAMING) else handler(self, node)
        if isinstance(value, Expr) and value.span is None:
            stamp(value, self.span(node))
        return value

    def guarded(self, node: Any, function: Callable[..., Any], *args: Any) -> Any:
        """``function(*args)``; an exception in it becomes an error at `node`."""
        try:
            return function(*args)
        except TirxError as error:
            raise placed(error, self.span(node)) from None
        except RecursionError:
            raise self.error(node, "infinite recursion: functions call each other without end") from None
        except Exception as error:
            raise foreign(error, None, self.span(node)) from None

    # -- names and places ---------------------------------------------------------------------------------------

    def value_of(self, stored: Any) -> Any:
        """The value of a name or attribute when it is read: mutable scalars are loaded."""
        if isinstance(stored, Bound):
            return stored.expr
        if isinstance(stored, Buffer) and stored.scalar:
            return load(stored, (Const(DataType("int32"), 0),))
        return stored

    def visit_Name(self, node: ast.Name) -> Any:
        try:
            return self.value_of(self.env.lookup(node.id))
        except TirxError as error:
            raise error.at(self.span(node)) from None

    def attribute(self, node: ast.Attribute) -> Any:
        """The object that an attribute holds, without loading a scalar."""
        owner = self.eval(node.value)
        if isinstance(owner, Buffer) and node.attr == "flat":
            return Flat(owner)
        if isinstance(owner, Buffer) and node.attr == "elem_offset" and owner.scope == "shared" and in_dialect_of_tvm():
            return pool_of(owner)[1]
        try:
            return getattr(owner, node.attr)
        except AttributeError as error:
            raise self._no_attribute(node, owner, error) from None
        except TirxError as error:
            raise error.at(self.span(node)) from None

    def _no_attribute(self, node: ast.Attribute, owner: Any, error: AttributeError) -> TirxError:
        shown = ast.unparse(node.value)
        hint = did_you_mean(node.attr, dir(owner))
        if isinstance(owner, Region) and hasattr(Buffer, node.attr):
            hint = f"`{shown}` is a slice; use `{owner.buffer.name}.{node.attr}`"
        if isinstance(error, UnknownName):
            hint = error.diagnostic.hint
            if error.kind != "unknown-name":  # it says why the language does not have the name
                return TirxError(error.diagnostic.message, self.span(node), hint, kind=error.kind)
        return TirxError(f"`{shown}` has no attribute `{node.attr}`", self.span(node), hint, kind="unknown-name")

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self.value_of(self.attribute(node))

    def visit_Subscript(self, node: ast.Subscript, names: Sequence[str] = ()) -> Any:
        owner = self.eval(node.value)
        key = self.eval(node.slice)
        value = self.item(node, owner, key)
        if isinstance(value, Buffer):  # a part of a buffer, as buf.sub[stage, :]
            self.builder.suggest_names(names)
            value = self._declared(self.span(node), value)
            self.builder.suggest_names(())
        return value

    def item(self, node: ast.Subscript, owner: Any, key: Any) -> Any:
        """``owner[key]``."""
        if isinstance(owner, Expr) and not isinstance(owner, Region):
            shown = ast.unparse(node.value)
            raise self.error(
                node, f"`{shown}` is a single value and cannot be indexed", f"write `{shown}` without the brackets"
            )
        if isinstance(owner, (list, tuple, str, range)) and is_runtime(key):
            raise self.error(
                node,
                f"`{ast.unparse(node.value)}` is a Python {type(owner).__name__}, "
                "which cannot be indexed by a value that is only known at run time",
            )
        value = self.guarded(node, operator.getitem, owner, key)
        if isinstance(value, Region):
            stamp(value, self.span(node))
            self._check_extents(node, value)
        return value

    def _check_extents(self, node: ast.Subscript, region: Region) -> None:
        """Check that the extents of a tile are constants; the error names the variable that is not constant."""
        for axis, part in enumerate(region.ranges):
            if isinstance(part.extent, Const) or self.builder.is_symbolic(part.extent):
                continue
            keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            place = keys[axis] if axis < len(keys) else node
            bad = next((n for n in ast.walk(place) if isinstance(n, ast.Name) and self._is_inner_constant(n.id)), None)
            if bad is not None:
                bound = self.env.lookup(bad.id)
                raise TirxError(
                    f"`{bad.id}` is assigned inside the kernel, so it is a run-time value "
                    f"and the extent of this slice of {region.buffer.name} is not a constant",
                    self.span(place),
                    f"define `{bad.id} = {bound.literal}` outside the kernel, next to its other constants, "
                    f"or write `{bad.id} = Tx.meta_var({bound.literal})`",
                    ((f"`{bad.id}` is assigned here", bound.span),),
                    kind="not-constant",
                )
            names = dict.fromkeys(n.id for n in ast.walk(place) if isinstance(n, ast.Name) and self._is_bound(n.id))
            fix = f", or bind {' and '.join(f'`{n}`' for n in names)} with `= Tx.meta_var(…)`" if names else ""
            raise TirxError(
                f"the extent of this slice of {region.buffer.name}, {part.extent!r}, is not a constant",
                self.span(place),
                f"write start : start + TILE, where TILE is a constant defined outside the kernel{fix}",
                kind="not-constant",
            )

    def _is_inner_constant(self, name: str) -> bool:
        return self._is_bound(name) and getattr(self.env.lookup(name), "literal", None) is not None

    def _is_bound(self, name: str) -> bool:
        """Whether `name` was bound to a run-time value by `=`."""
        found = self.env.find(name) or self.env.find_captured(name)
        value = None if found is None else found[1]
        if isinstance(value, Buffer):
            return value in self.builder.first_values
        return isinstance(value, Bound) and value.how == "value"

    def visit_Slice(self, node: ast.Slice) -> slice:
        lower, upper, step = (None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step))
        return slice(lower, upper, step)

    # -- operators ----------------------------------------------------------------------------------------------

    def binary(self, node: Any, op: ast.operator, left: Any, right: Any) -> Any:
        """``left op right``."""
        try:
            return _BINARY[type(op)](left, right)
        except TirxError as error:
            raise placed(error, self.span(node)) from None
        except TypeError as error:
            for side in (left, right):
                if isinstance(side, Buffer):
                    raise self.error(
                        node,
                        f"`{_SYMBOL[type(op)]}` needs values, but {side.name} is a whole buffer",
                        f"use an element, {side.name}[…], or a tile primitive such as Tx.copy",
                    ) from None
            raise foreign(error, None, self.span(node)) from None
        except Exception as error:
            raise foreign(error, None, self.span(node)) from None

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.eval(node.left), self.eval(node.right)
        if isinstance(left, str) and isinstance(node.op, ast.Mod):
            for value in right if isinstance(right, tuple) else (right,):
                self.check_text(node, value)
        return self.binary(node, node.op, left, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return self.guarded(node, unary, "not", value) if is_runtime(value) else not value
        if isinstance(node.op, ast.UAdd):
            return value
        return self.guarded(node, operator.neg if isinstance(node.op, ast.USub) else operator.invert, value)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Python values are evaluated at compile time, as Python does; IR values are combined into one condition."""
        stop_at = isinstance(node.op, ast.Or)
        combined: Expr | None = None
        value: Any = None
        for operand in node.values:
            value = self.eval(operand)
            if not is_runtime(value):
                if bool(value) is stop_at:
                    return value if combined is None else stamp(as_bool(stop_at), self.span(node))
                continue
            if combined is None:
                combined = value
            else:
                combined = self.guarded(node, binary, "or" if stop_at else "and", combined, value)
        return value if combined is None else combined

    def visit_Compare(self, node: ast.Compare) -> Any:
        combined: Expr | None = None
        value: Any = True
        left = self.eval(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator)
            symbol = _ORDER.get(type(op))
            if symbol is not None and (is_number(left) or is_number(right)):
                value = self.guarded(node, binary, symbol, left, right)
            elif isinstance(op, (ast.In, ast.NotIn)) and is_number(left):
                value = self._one_of(node, left, self.iterate(comparator, right))
                value = unary("not", value) if isinstance(op, ast.NotIn) else value
            else:
                value = self.guarded(node, _COMPARE[type(op)], left, right)
            left = right
            if is_runtime(value):
                combined = value if combined is None else binary("and", combined, value)
            elif len(node.ops) > 1 and not value:
                return value
        return value if combined is None else combined

    def _one_of(self, node: ast.expr, value: Expr, choices: Sequence[Any]) -> Expr:
        """``value in choices``."""
        same = [self.guarded(node, binary, "==", value, choice) for choice in choices]
        return functools.reduce(functools.partial(binary, "or"), same, as_bool(False))

    def visit_IfExp(self, node: ast.IfExp, names: Sequence[str] = ()) -> Any:
        test = self.eval(node.test)
        if not is_runtime(test):
            return self.eval(node.body if test else node.orelse, names)
        return self.guarded(node, select, test, self.eval(node.body), self.eval(node.orelse))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        raise self.error(node, "`:=` is not supported in a kernel", "assign the value in a separate statement")

    # -- calls --------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call, names: Sequence[str] = ()) -> Any:
        function = self.eval(node.func)
        args = self._items(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            added = {keyword.arg: value} if keyword.arg is not None else self._mapping(keyword, value)
            twice = next((name for name in added if name in kwargs), None)
            if twice is not None:
                raise self.error(node, f"the argument `{twice}` is given twice")
            kwargs |= added
        return self.call(node, function, args, kwargs, names)

    def call(
        self, node: ast.expr, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str] = ()
    ) -> Any:
        """``function(*args, **kwargs)``, called at `node`."""
        span = self.span(node)
        if not callable(function):
            shown = ast.unparse(node.func if isinstance(node, ast.Call) else node)
            raise TirxError(f"`{shown}` is {_describe_value(function)} and cannot be called", span)
        self._check_call(node, span, function, args, kwargs)
        function = runtime_builtin(function)
        builder = self.builder
        kept = attributes(builder, function)
        before, builder.span = builder.span, span
        builder.suggest_names(names, function)
        try:
            result = function(*args, **kwargs)
        except TirxError as error:
            raise error.at(span) from None
        except RecursionError:
            raise TirxError("infinite recursion: functions call each other without end", span) from None
        except Exception as error:
            raise foreign(error, function, span, (*args, *kwargs.values())) from None
        else:
            check_attributes(builder, function, kept, functools.partial(short, node), span)
            if isinstance(result, Buffer):
                return self._declared(span, result)
            return builder.made(result) if is_new(function) else result
        finally:
            builder.span = before
            builder.suggest_names(())

    def _check_call(
        self, node: ast.expr, span: Span, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Reject a call that Python would execute once, and one that makes text of a run-time value."""
        check_call(self.builder, function, tuple(args), functools.partial(short, node), span)
        formats = isinstance(getattr(function, "__self__", None), str) and function.__name__ == "format"
        if formats or function in (str, repr, format):
            for value in (*args, *kwargs.values()):
                self.check_text(node, value)

    def check_text(self, node: ast.expr, value: Any) -> None:
        """Reject text of a value that is only known at run time: it would show the expression, and not the value."""
        if is_runtime(value) and not isinstance(value, Str):
            raise self.error(
                node,
                f"`{short(node)}` makes text of a value that is only known when the kernel runs",
                'print it on the GPU with `Tx.cuda.printf("%d\\n", value)`, or make text of Python values only',
            )

    def _declared(self, span: Span, buffer: Buffer) -> Buffer:
        """A buffer that a call returned; a view is declared here."""
        if self.builder.is_declared(buffer):
            return buffer
        try:
            check_view(buffer)
        except TirxError as error:
            raise error.at(span) from None
        return self.builder.declare_view(buffer)

    def _items(self, nodes: Sequence[ast.expr], names: Sequence[str] = ()) -> list[Any]:
        """The values of a list of expressions, with starred ones unpacked."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.iterate(node, self.eval(node.value)))
            else:
                values.append(self.eval(node, element_names(names, len(values)) if names else ()))
        return values

    def _mapping(self, keyword: ast.keyword, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self.error(keyword.value, f"`**` expects a dict, found {_describe_value(value)}")
        return dict(value)

    # -- values that are needed at compile time -----------------------------------------------------------------

    def iterate(self, node: ast.expr, value: Any) -> list[Any]:
        """The elements of a Python iterable."""
        if is_runtime(value) or isinstance(value, Buffer):
            raise self.error(node, f"cannot iterate over {_describe_value(value)} at compile time")
        return self.guarded(node, list, value)

    def decide(self, node: ast.expr) -> bool:
        """The truth of a condition that must be known at compile time."""
        value = self.eval(node)
        if is_runtime(value):
            raise self.error(
                node, f"`{ast.unparse(node)}` is only known at run time, but is needed at compile time"
            )
        return bool(value)


def element_names(names: Sequence[str], key: Any) -> Sequence[str]:
    """The names for the element `key` of a list, tuple or dict that is assigned to one variable or to several."""
    if len(names) == 1:
        label = f"{names[0]}_{key}"
        return (label,) if label.isidentifier() else names
    return names[key : key + 1] if isinstance(key, int) else ()


def _describe_value(value: Any) -> str:
    if isinstance(value, Buffer):
        return f"the buffer {value.name}"
    if isinstance(value, Region):
        return f"a slice of {value.buffer.name}"
    if isinstance(value, Expr):
        return f"a value of dtype {value.dtype}"
    if isinstance(value, DType):
        return f"the dtype {value}"
    return f"a Python {type(value).__name__}" if value is not None else "None"
