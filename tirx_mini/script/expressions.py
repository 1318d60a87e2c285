"""Evaluation of Python expressions over Python values and IR values.

Operators on IR values build IR. This module handles the operators that Python cannot overload: ``and``, ``or``,
``not``, chained comparisons and the ternary. Every node gets the span of its syntax.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

from tirx_mini.ir import Buffer, Expr, Span, Str, TirxError, as_bool, binary, select, unary
from tirx_mini.records import replace
from tirx_mini.wording import described

from .access import Reader, is_number, is_runtime
from .builder import stamp
from .diagnostics import placed
from .misuse import argument_about, foreign, is_ours, not_callable, not_iterable, signature_hint, undefined
from .once import attributes, check_attributes, check_call, is_new
from .runtime_builtins import runtime_builtin
from .syntax import short

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
_COMPARISON: Mapping[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_SYMBOL: Mapping[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


_OF_NUMBERS = frozenset(("==", "!=", "<", "<=", ">", ">="))
MAX_UNROLL = 65536
"""Iterations that are expanded at most: of one loop with those around it."""
_MAX_BITS = 1 << 16
_CONSUMERS = frozenset((list, tuple, set, frozenset, dict, sorted, sum))
_ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


class Evaluator(Reader):
    """Evaluates the expressions of a function body."""

    # -- operators ----------------------------------------------------------------------------------------------

    def binary(self, node: Any, op: ast.operator, left: object, right: object) -> Any:
        """Evaluate ``left op right``."""
        if isinstance(op, (ast.Pow, ast.LShift)) and _is_huge(left, right):
            message = f"`{short(node)}` is a number of more than {_MAX_BITS:,} bits"
            raise self.error(node, message, "use numbers that fit in 64 bits")
        return self.operated(node, _SYMBOL[type(op)], _BINARY[type(op)], left, right)

    def operated(self, node: Any, symbol: str, function: Callable[..., object], *operands: object) -> Any:
        """Apply an operator to values."""
        try:
            return function(*operands)
        except TirxError as error:
            raise placed(error, self.span(node)) from None
        except (TypeError, AttributeError):
            raise undefined(symbol, operands, self.span(node)) from None
        except Exception as error:
            raise foreign(error, self.span(node), written=short(node)) from None

    def truth(self, node: ast.expr, value: object) -> bool:
        """Return the truth value of a Python value."""
        return self.operated(node, "bool", bool, value)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.eval(node.left), self.eval(node.right)
        if isinstance(left, str) and isinstance(node.op, ast.Mod):
            for value in right if isinstance(right, tuple) else (right,):
                self.check_text(node, value)
        return self.binary(node, node.op, left, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return self.guarded(node, unary, "not", value) if is_runtime(value) else not self.truth(node, value)
        if isinstance(node.op, ast.UAdd):
            return value if is_runtime(value) else self.operated(node, "+", operator.pos, value)
        symbol, function = ("-", operator.neg) if isinstance(node.op, ast.USub) else ("~", operator.invert)
        return self.operated(node, symbol, function, value)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Evaluate `and` or `or`: at compile time for Python values, as one combined condition for IR values."""
        stop_at = isinstance(node.op, ast.Or)
        combined: Expr | None = None
        value: Any = None
        for operand in node.values:
            value = self.eval(operand)
            if not is_runtime(value):
                if self.truth(operand, value) is stop_at:
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
            symbol = _COMPARISON[type(op)]
            if symbol in _OF_NUMBERS and (is_number(left) or is_number(right)):
                value = self.guarded(node, binary, symbol, left, right)
            elif isinstance(op, (ast.In, ast.NotIn)) and is_number(left):
                value = self._one_of(node, left, self.iterate(comparator, right))
                value = unary("not", value) if isinstance(op, ast.NotIn) else value
            else:
                value = self.operated(node, _COMPARISON[type(op)], _COMPARE[type(op)], left, right)
            left = right
            if is_runtime(value):
                combined = value if combined is None else binary("and", combined, value)
            elif len(node.ops) > 1 and not self.truth(node, value):
                return value
        return value if combined is None else combined

    def _one_of(self, node: ast.expr, value: Expr, choices: Sequence[object]) -> Expr:
        """Evaluate ``value in choices``."""
        same = [self.guarded(node, binary, "==", value, choice) for choice in choices]
        return functools.reduce(functools.partial(binary, "or"), same, as_bool(False))

    def visit_IfExp(self, node: ast.IfExp, names: Sequence[str] = ()) -> Any:
        test = self.eval(node.test)
        if not is_runtime(test):
            return self.eval(node.body if self.truth(node.test, test) else node.orelse, names)
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
            added = {keyword.arg: value} if keyword.arg is not None else self.mapping(keyword.value, value)
            twice = next((name for name in added if name in kwargs), None)
            if twice is not None:
                raise self.error(node, f"the argument `{twice}` is given twice")
            kwargs |= added
        return self.call(node, function, args, kwargs, names)

    def call(
        self, node: ast.expr, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
        names: Sequence[str] = ()
    ) -> Any:
        """Call ``function(*args, **kwargs)`` at `node`."""
        span = self.span(node)
        if not callable(function):
            raise not_callable(function, _callee(node), span)
        self._check_call(node, span, function, args, kwargs)
        called, function = function, runtime_builtin(function)
        builder = self.builder
        kept = attributes(builder, function)
        before, builder.span = builder.span, span
        builder.suggest_names(names, function)
        try:
            result = function(*args, **kwargs)
        except TirxError as error:
            raise self._located(error, node, function, args, kwargs) from None
        except RecursionError:
            raise self.endless(node) from None
        except Exception as error:
            raise foreign(error, span, called, _callee(node), args, kwargs) from None
        else:
            check_attributes(builder, function, kept, functools.partial(short, node), span)
            if isinstance(result, Buffer):
                return self.declared(span, result)
            return builder.made(result) if is_new(function) else result
        finally:
            builder.span = before
            builder.suggest_names(())

    def _located(
        self, error: TirxError, node: ast.expr, function: Any, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> TirxError:
        """Locate an error of a call at the offending argument, or else at the call with the signature as hint."""
        if self.source.library:
            return error.at(self.span(node))
        place = argument_about(error.about, node, args, kwargs)
        if place is not None:
            placed(error, self.span(place))
        error.about = None
        if error.diagnostic.hint is None and is_ours(function):
            error.diagnostic = replace(error.diagnostic, hint=signature_hint(function, _callee(node)))
        return error.at(self.span(node))

    def _check_call(
        self, node: ast.expr, span: Span, function: Any, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        """Reject calls that would change objects only once, and calls that format a run-time value."""
        check_call(self.builder, function, tuple(args), functools.partial(short, node), span)
        if isinstance(function, Hashable) and function in _CONSUMERS:
            for value in args:
                if isinstance(value, (*_ENDLESS, Buffer)):
                    raise not_iterable(value, span)
        formats = isinstance(getattr(function, "__self__", None), str) and function.__name__ == "format"
        if formats or function in (str, repr, format):
            for value in (*args, *kwargs.values()):
                self.check_text(node, value)

    def check_text(self, node: ast.expr, value: object) -> None:
        """Reject formatting a run-time value, which would show the expression instead of the value."""
        if is_runtime(value) and not isinstance(value, Str):
            raise self.error(
                node,
                f"`{short(node)}` makes text of a value that is only known when the kernel runs",
                'print it on the GPU with `Tx.cuda.printf("%d\\n", value)`, or make text of Python values only',
            )

    def _items(self, nodes: Sequence[ast.expr], names: Sequence[str] = ()) -> list[object]:
        """Evaluate a list of expressions, unpacking starred ones."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.iterate(node, self.eval(node.value)))
            else:
                values.append(self.eval(node, element_names(names, len(values)) if names else ()))
        return values

    def mapping(self, node: ast.expr, value: object) -> dict[str, Any]:
        """Return the mapping that ``**value`` unpacks."""
        if not isinstance(value, Mapping):
            message = f"`**` expects a dict, found {described(value)}"
            raise self.error(node, message, "give each entry by its name")
        return dict(value)

    # -- values that are needed at compile time -----------------------------------------------------------------

    def iterate(self, node: ast.expr, value: Any) -> list[Any]:
        """Return the elements of a Python iterable."""
        if is_runtime(value) or isinstance(value, Buffer) or not _has_elements(value):
            raise not_iterable(value, self.span(node))
        elements = self.guarded(node, lambda: list(itertools.islice(value, MAX_UNROLL + 1)))
        if len(elements) > MAX_UNROLL:
            count = f"{len(value):,}" if hasattr(value, "__len__") else f"more than {MAX_UNROLL:,}"
            raise self.error(
                node,
                f"`{short(node)}` has {count} elements, which are too many to be read one by one",
                "use range(…) or Tx.serial(…) for a run-time loop",
            )
        return elements

    def decide(self, node: ast.expr) -> bool:
        """Return the truth value of a condition that must be known at compile time."""
        value = self.eval(node)
        if is_runtime(value):
            raise self.error(
                node,
                f"`{ast.unparse(node)}` is only known at run time, but is needed at compile time",
                "use a Python value, or an `if` of the kernel",
            )
        return self.truth(node, value)


def _callee(node: ast.expr) -> str:
    """Return the source text of a call's callee."""
    return short(node.func if isinstance(node, ast.Call) else node)


def _is_huge(base: Any, power: Any) -> bool:
    """Return whether the power or shift of two Python integers would be excessively large."""
    whole = isinstance(base, int) and isinstance(power, int)
    return whole and abs(base) > 1 and power * base.bit_length() > _MAX_BITS


def _has_elements(value: object) -> bool:
    """Return whether Python can iterate over a value."""
    kind = type(value)
    if isinstance(value, Enum) or getattr(value, "ndim", 1) == 0:
        return False
    return getattr(kind, "__iter__", None) is not None if hasattr(kind, "__iter__") else hasattr(kind, "__getitem__")


def element_names(names: Sequence[str], key: object) -> Sequence[str]:
    """Return the suggested names for element `key` of a container that is assigned to variables."""
    if len(names) == 1:
        label = f"{names[0]}_{key}"
        return (label,) if label.isidentifier() else names
    return names[key : key + 1] if isinstance(key, int) else ()
