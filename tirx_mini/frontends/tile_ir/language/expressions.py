"""Tracing of expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .arguments import materialize, typed
from .dtypes import bool_, default_dtype
from .errors import TileSyntaxError, TileTypeError
from .objects import Computed, is_kind, is_object, member
from .ops.arithmetic import SYMBOLS, binary, logical
from .ops.shapes import subscript
from .ops.unary import bitwise_not, negative, positive
from .surface import METHODS, Operation
from .tracer import Tracer
from .unrolled import COLLECTING
from .values import (
    MISSING,
    ArrayList,
    ArrayValue,
    BoundMethod,
    ChoiceValue,
    Closure,
    Formatted,
    PointerValue,
    RangeValue,
    RawMemoryValue,
    SliceValue,
    Strict,
    TiledViewValue,
    TileValue,
    describe,
    is_constant,
    plain,
)

_BINARY: Mapping[type[ast.AST], str] = MappingProxyType({
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "bitwise_lshift", ast.RShift: "bitwise_rshift",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
})  # fmt: skip
_PYTHON: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "add": operator.add, "mul": operator.mul, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "mod": operator.mod,
})  # fmt: skip
"""Operators of strings, tuples and dtypes, which are decided while the kernel is compiled."""

UNSUPPORTED: Mapping[type[ast.AST], tuple[str, str]] = MappingProxyType(
    {
        ast.List: ("lists", "write a tuple"),
        ast.Dict: ("dictionaries", "write a tuple, or compute it outside of the kernel"),
        ast.Set: ("sets", "write a tuple"),
        ast.ListComp: ("comprehensions", "compute it in `ct.static_eval(…)`, or unroll `for x in ct.static_iter(…)`"),
        ast.SetComp: ("comprehensions", "compute it in `ct.static_eval(…)`"),
        ast.DictComp: ("comprehensions", "compute it in `ct.static_eval(…)`"),
        ast.GeneratorExp: ("generators", "write `tuple(… for … in …)`, which is unrolled"),
        ast.NamedExpr: ("assignments in expressions", "assign in a statement of its own"),
        ast.Await: ("coroutines", "a kernel is one function"),
        ast.Yield: ("generators", "a kernel is one function"),
        ast.YieldFrom: ("generators", "a kernel is one function"),
    }
)
"""What tile code does not have, and what to write instead."""

_STATIC = ("static_eval", "static_assert", "static_iter", "static_exception")


class Expressions(Tracer):
    """Evaluates expressions, at compile time if all operands are known, else by emitting operations."""

    def evaluate(self, node: ast.expr) -> Any:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        with self.at(node):
            if method is None:
                what, instead = UNSUPPORTED.get(
                    type(node), ("such expressions", "see the list of what tile code supports")
                )
                raise TileSyntaxError(f"tile code does not support {what}", hint=instead)
            return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return typed(self.frame.lookup(node.id))

    def _tuple(self, node: ast.Tuple) -> object:
        items: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                items += self._spread(item)
            else:
                items.append(self.evaluate(item))
        return tuple(items)

    def _spread(self, node: ast.Starred) -> tuple[object, ...]:
        value = self.evaluate(node.value)
        if not isinstance(value, tuple):
            raise TileTypeError(f"`*` needs a tuple, not {describe(value)}")
        return value

    def _lambda(self, node: ast.Lambda) -> object:
        return Closure(node, self.frame)

    def _slice(self, node: ast.Slice) -> object:
        return slice(*(None if part is None else self.evaluate(part) for part in (node.lower, node.upper, node.step)))

    def _binop(self, node: ast.BinOp) -> object:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        self.emit.block.span = self.emit.span
        return self.operator(_BINARY[type(node.op)], left, right)

    def operator(self, name: str, x: object, y: object) -> Any:
        """Evaluate a binary operator."""
        if _is_number(x) and _is_number(y):
            return self._number_operator(name, x, y)
        dynamic = any(
            isinstance(v, (TileValue, ArrayValue, TiledViewValue, RawMemoryValue, RangeValue)) for v in (x, y)
        )
        if name in ("equal", "not_equal") and not dynamic and isinstance(x, tuple) and isinstance(y, tuple):
            return self._tuples_equal(name, x, y)
        if dynamic or name not in _PYTHON:
            raise TileTypeError(f"`{SYMBOLS[name]}` is not defined for {describe(x)} and {describe(y)}")
        try:
            return _PYTHON[name](x if isinstance(x, tuple) else plain(x), y if isinstance(y, tuple) else plain(y))
        except TypeError:
            raise TileTypeError(f"`{SYMBOLS[name]}` is not defined for {describe(x)} and {describe(y)}") from None

    def _number_operator(self, name: str, x: object, y: object) -> object:
        if name == "matmul":
            return self.call(_operation("matmul"), (x, y), {})
        if name == "pow":
            return self.call(_operation("pow"), (x, y), {})
        return binary(self, name, x, y)

    def _tuples_equal(self, name: str, x: tuple[object, ...], y: tuple[object, ...]) -> object:
        if len(x) != len(y):
            return name == "not_equal"
        found: Any = True
        for a, b in zip(x, y, strict=True):
            found = self._both(found, self.operator("equal", a, b))
        return found if name == "equal" else self._not(found)

    def _both(self, x: object, y: object) -> object:
        a, b = (self.condition(v, "an operand of `and`") for v in (x, y))
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return logical(self, "and", a, b)

    def _not(self, value: object) -> object:
        if isinstance(value, TileValue):
            return bitwise_not.implementation(self, self.emit.cast(value, bool_))
        return not self.condition(value, "the operand of `not`")

    def _unaryop(self, node: ast.UnaryOp) -> object:
        value = self.evaluate(node.operand)
        self.emit.block.span = self.emit.span
        if isinstance(node.op, ast.Not):
            return self._not(value)
        if not _is_number(value):
            raise TileTypeError(f"this operator is not defined for {describe(value)}")
        if isinstance(node.op, ast.USub):
            return negative.implementation(self, value)
        return positive(self, value) if isinstance(node.op, ast.UAdd) else bitwise_not.implementation(self, value)

    def _compare(self, node: ast.Compare) -> object:
        left = self.evaluate(node.left)
        found: Any = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            self.emit.block.span = self.emit.span
            step = self._compared(op, left, right)
            found = step if found is True else self._both(found, step)
            left = right
        return found

    def _compared(self, op: ast.cmpop, left: object, right: object) -> object:
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = left is right or (is_constant(left) and is_constant(right) and plain(left) is plain(right))
            return same if isinstance(op, ast.Is) else not same
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._contained(left, right, isinstance(op, ast.NotIn))
        name = _BINARY[type(op)]
        if name in ("equal", "not_equal") and (left is None or right is None) and not isinstance(left, TileValue):
            return (plain(left) == plain(right)) is (name == "equal")
        return self.operator(name, left, right)

    def _contained(self, item: object, items: object, negated: bool) -> object:
        if isinstance(items, (str, dict, frozenset, set, list)):
            return (plain(item) in items) is not negated
        if not isinstance(items, tuple):
            raise TileTypeError(f"`in` needs a tuple on its right, not {describe(items)}")
        found: Any = False
        for candidate in items:
            step = self.operator("equal", item, candidate)
            found = step if found is False else self._either(found, step)
        return self._not(found) if negated else found

    def _either(self, x: object, y: object) -> object:
        a, b = (self.condition(v, "an operand of `or`") for v in (x, y))
        if isinstance(a, bool):
            return True if a else b
        if isinstance(b, bool):
            return True if b else a
        return logical(self, "or", a, b)

    def _boolop(self, node: ast.BoolOp) -> object:
        """Evaluate `and` or `or` of scalars with short-circuit semantics."""
        is_and = isinstance(node.op, ast.And)
        word = "and" if is_and else "or"
        value = self.evaluate(node.values[0])
        for index, right in enumerate(node.values[1:], 1):
            known = self.condition(value, f"the left operand of `{word}`")
            if isinstance(known, bool):
                if known is not is_and:
                    return value
                value = self.evaluate(right)
                continue
            if _executes_nothing(right):
                other = self.condition(self.evaluate(right), f"the right operand of `{word}`")
                value = self._both(known, other) if is_and else self._either(known, other)
                continue
            rest = (
                right
                if index == len(node.values) - 1
                else ast.copy_location(ast.BoolOp(node.op, node.values[index:]), right)
            )
            return self.choose(node, known, rest if is_and else True, False if is_and else rest)
        return value

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.condition(self.evaluate(node.test), "the condition of `if … else`")
        if isinstance(test, bool):
            return self.evaluate(node.body if test else node.orelse)
        return self.choose(node, test, node.body, node.orelse)

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        parts: list[str | tuple[Any, str]] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                spec = self.evaluate(part.format_spec) if part.format_spec is not None else ""
                if not isinstance(spec, str):
                    raise TileTypeError("the format specifier of an f-string must be known when the kernel is compiled")
                value = self.evaluate(part.value)
                if part.conversion == ord("r") and not isinstance(value, TileValue):
                    value = repr(value)
                parts.append((value, spec))
        if all(isinstance(p, str) or not _has_tiles(p[0]) for p in parts):
            return "".join(p if isinstance(p, str) else format(plain(p[0]), p[1]) for p in parts)
        return Formatted(tuple(parts))

    def _subscript(self, node: ast.Subscript) -> object:
        value, key = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(value, TileValue):
            return subscript(self, value, key)
        if is_constant(value):
            return subscript(self, materialize(self, value), key)
        if isinstance(value, tuple):
            return self._item(value, key)
        if isinstance(value, ArrayValue):
            raise TileSyntaxError(
                f"the array `{value.name}` cannot be indexed",
                hint="`ct.load(array, index, shape)` loads a tile, `ct.gather(array, indices)` single elements",
            )
        try:
            return value[plain(key)]
        except (TypeError, KeyError, IndexError) as error:
            raise TileTypeError(f"{describe(value)} cannot be indexed so: {error}") from None

    def _item(self, value: tuple[object, ...], key: object) -> object:
        if isinstance(value, ArrayList) and not isinstance(key, slice):
            return self.element(value, key)  # type: ignore[attr-defined]
        if isinstance(key, slice):
            return value[slice(plain(key.start), plain(key.stop), plain(key.step))]
        index = plain(key)
        if not isinstance(index, int):
            raise TileTypeError(
                f"the index of a tuple must be a constant, not {describe(key)}",
                hint="unroll the loop: `for i in ct.static_iter(range(n))`",
            )
        if not -len(value) <= index < len(value):
            raise TileTypeError(f"the index {index} is out of range for {describe(value)}")
        return value[index]

    def _attribute(self, node: ast.Attribute) -> object:
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, owner: object, name: str) -> Any:
        """Evaluate ``owner.name``."""
        if isinstance(owner, ChoiceValue):
            method = METHODS.get((type(owner.items[0]), name))
            return self.choice_attribute(owner, name) if method is None else BoundMethod(method, owner)  # type: ignore[attr-defined]
        number = is_constant(owner)
        found = METHODS.get((TileValue if number else type(owner), name))
        static = METHODS.get((owner, name)) if isinstance(owner, type) else None
        if static is not None:
            return static
        if found is not None:
            return BoundMethod(found, materialize(self, owner) if number else owner)
        known = _FIELDS.get(TileValue if number else type(owner))
        if known is not None:
            if name not in known:
                methods = [m for (kind, m) in METHODS if kind is (TileValue if number else type(owner))]
                hint = f"it has {', '.join(sorted([*known, *methods]))}"
                if _is_operation(name):
                    hint = f"`{name}` is a function: write `ct.{name}(…)` with it as the first argument"
                raise TileTypeError(f"{describe(owner)} has no attribute `{name}`", hint=hint)
            return _field(owner, name)
        if is_object(owner) or is_kind(owner):
            found = member(owner, name)
            if found is not MISSING:
                return self.call(found.function, (), {}) if isinstance(found, Computed) else found
        if isinstance(owner, (Closure, BoundMethod, Formatted, tuple)) or owner is None:
            if isinstance(owner, tuple) and hasattr(type(owner), "_fields") and hasattr(owner, name):
                return typed(getattr(owner, name))
            raise TileTypeError(f"{describe(owner)} has no attribute `{name}`")
        try:
            value = getattr(owner, name)
        except AttributeError as error:
            raise TileTypeError(str(error)) from None
        return typed(value)

    def _call(self, node: ast.Call) -> object:
        function = self.evaluate(node.func)
        if isinstance(function, Operation) and function.__name__ in _STATIC:
            return self.static(function.__name__, node)
        args, kwargs = self.arguments(node, any(function is f for f in COLLECTING))
        self.emit.block.span = self.emit.span
        return self.call(function, args, kwargs)

    def arguments(self, node: ast.Call, collects: bool = False) -> tuple[list[Any], dict[str, Any]]:
        """Evaluate the positional and keyword arguments of a call. collects: whether a generator is allowed."""
        args: list[Any] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self._spread(arg)
            elif isinstance(arg, ast.GeneratorExp) and collects:
                args.append(self.collected(arg))  # type: ignore[attr-defined]
            else:
                args.append(self.evaluate(arg))
        kwargs: dict[str, Any] = {}
        for item in node.keywords:
            named = {item.arg: self.evaluate(item.value)} if item.arg is not None else self._by_name(item.value)
            twice = next((name for name in named if name in kwargs), None)
            if twice is not None:
                raise TileTypeError(f"the argument `{twice}` is given twice")
            kwargs |= named
        return args, kwargs

    def _by_name(self, node: ast.expr) -> dict[str, object]:
        """Evaluate the arguments of ``**kwargs``."""
        given = self.evaluate(node)
        if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
            raise TileTypeError(
                f"`**` needs the named arguments of a function, not {describe(given)}",
                hint="it forwards those of a parameter `**kwargs`; write others by name",
            )
        return {name: typed(value) for name, value in given.items()}


_FIELDS: Mapping[type, tuple[str, ...]] = MappingProxyType({
    TileValue: ("dtype", "shape", "ndim"),
    ArrayValue: ("dtype", "shape", "strides", "ndim", "foreign_pointer"),
    PointerValue: (),
    TiledViewValue: ("dtype", "tile_shape", "traversal_steps"),
    SliceValue: ("start", "length"),
    RawMemoryValue: ("dtype",),
    RangeValue: ("start", "stop", "step"),
})  # fmt: skip


def _field(owner: Any, name: str) -> object:
    if is_constant(owner):
        dtype = owner.dtype if isinstance(owner, Strict) else default_dtype(owner)
        return {"dtype": dtype, "shape": (), "ndim": 0}[name]
    if name == "foreign_pointer":
        return PointerValue(owner)
    if name == "traversal_steps":
        return owner.steps
    return getattr(owner, name)


def _operation(name: str) -> Operation:
    from .surface import OPERATIONS

    return OPERATIONS[name]


def _is_operation(name: str) -> bool:
    from .surface import OPERATIONS

    return name in OPERATIONS


def _is_number(value: object) -> bool:
    return isinstance(value, TileValue) or is_constant(value)


def _has_tiles(value: object) -> bool:
    if isinstance(value, tuple):
        return any(_has_tiles(v) for v in value)
    return isinstance(value, (TileValue, Formatted))


def _executes_nothing(node: ast.expr) -> bool:
    """Return whether an expression contains no calls and no memory reads."""
    return not any(isinstance(n, (ast.Call, ast.Subscript)) for n in ast.walk(node))
