"""Expressions. This is the whole grammar; ``*`` marks a tuple, ``?`` a field that may be None:

    expr ::= Var(name) | Const(value) | Str(value) | Special(name)
           | Unary(op, value) | Binary(op, a, b) | Cast(value) | Reinterpret(value) | Select(cond, a, b)
           | Ramp(base, lanes) | BufferLoad(buffer, indices*) | AddressOf(buffer, indices*)
           | Address(value, buffers*)
           | Region(buffer, ranges*) | Call(op, args*, attrs*, written?)

Every expression also has a `dtype` and a `span`. Nodes are immutable and compared by identity; `structural_equal`
compares their meaning. Python's operators on nodes build nodes. Only a `Const` has a truth value: the front end
translates an ``if`` over IR values. `Special` is in `units.py`, `Reinterpret` in `bits.py`, the rest in `buffer.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from tirx_mini.records import dataclass
from tirx_mini.wording import described, shortened

from .dtype import BOOL, FLOAT32, INT32, DataType, promote
from .extremes import greatest, least
from .span import Span, TirxError
from .text import Written, node_text


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Expr:
    """Base class of all expressions.

    dtype: the type of the value.
    span: the source text that it comes from.
    is_tile: whether it stands for a tile, an operand of tile primitives only.
    """

    dtype: DataType
    span: Span | None = field(default=None, kw_only=True)
    is_tile: ClassVar[bool] = False
    __array_ufunc__: ClassVar[None] = None
    """NumPy leaves operators to this class, and refuses its own functions (NumPy: ndarray, array_ufunc)."""

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TirxError(
            f"`{self!r}` is only known at run time, so Python cannot branch on it",
            None,  # the caller reports the place that branches
            "use it in an `if`, `while`, `and`, `or` or ternary inside the kernel, not in plain Python code",
        )

    def __repr__(self) -> str:
        return node_text(self)

    def __add__(self, other: ExprLike) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("%", other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return binary("&", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return binary("&", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("|", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return binary("|", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return binary("^", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("<<", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return binary("<<", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary(">>", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return binary(">>", other, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary(">=", self, other)

    def __eq__(self, other: ExprLike) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return binary("==", self, other)

    equal = __eq__  # TVM's name

    def __ne__(self, other: ExprLike) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return binary("!=", self, other)

    def __neg__(self) -> Expr:
        return unary("-", self)

    def __invert__(self) -> Expr:
        return unary("~", self)

    if TYPE_CHECKING:  # in kernels, whose `range(n)` is a loop that the front end reads

        def __index__(self) -> int: ...

    def astype(self, dtype: str) -> Expr:
        """Convert this value to `dtype`."""
        return cast(dtype, self)


ExprLike = Expr | int | float | bool


@described.register(Expr)
def _(value: Expr) -> str:
    return shortened(repr(value))


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Var(Expr):
    """A named immutable value: a loop variable, scalar parameter, `Bind` variable or launch index."""

    name: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Const(Expr):
    """A literal number or boolean."""

    value: int | float | bool

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Str(Expr):
    """A literal string, the message of a print or hint."""

    value: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Unary(Expr):
    op: str  # one of UNARY_OPS
    value: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Binary(Expr):
    op: str  # one of BINARY_OPS
    a: Expr
    b: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Cast(Expr):
    """A conversion of `value` to `dtype`. Casting a shared-memory `AddressOf` to uint32 gives its shared::cta address.
    """

    value: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Select(Expr):
    """The value `a` if `cond` holds, else `b`. Each thread evaluates only the selected operand, as in C."""

    cond: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Ramp(Expr):
    """The index of a vector access: base, base + 1, …, base + lanes - 1."""

    base: Expr
    lanes: int


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Element(Expr):
    """Base class of expressions that refer to one buffer element: `BufferLoad` and `AddressOf`."""

    buffer: Hashable
    indices: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Call(Expr):
    """An instruction.

    op: its name in the table of `isa`.
    args: the operands, in order.
    attrs: the modifiers known at compile time, as (name, value) pairs.
    """

    op: str
    args: tuple[Expr, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    written: Written | None = None

    def attr(self, name: str, default: object = None) -> object:
        return dict(self.attrs).get(name, default)


# -- operators: one line each ------------------------------------------------------------------------------------

_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
BINARY_OPS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "min": least, "max": greatest,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip
UNARY_OPS: Mapping[str, Callable[[Any], Any]] = {"-": operator.neg, "~": operator.invert, "not": operator.not_}
_ADDRESSES = ("uint32", "uint64")
_ELEMENT = "use an element, as in A[i, j]; Tx.add and the like compute with tiles"
_INTEGER_ONLY = ("//", "%", "<<", ">>", "&", "|", "^")


def const(value: int | float | bool, dtype: str | None = None, *, span: Span | None = None) -> Const:
    """Return a literal. The dtype defaults to bool, int32 (int64 or uint64 for larger values) or float32."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = BOOL
        elif isinstance(value, int):
            dtype = INT32 if -(2**31) <= value < 2**31 else DataType("int64" if value < 2**63 else "uint64")
        else:
            dtype = FLOAT32
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise TirxError(f"{described(value)} does not fit in 64 bits", span, "use a number that does", about=value)
    kind = dtype if type(dtype) is DataType else DataType(dtype)
    if kind.is_bool:
        value = bool(value)
    elif kind.is_integer:
        value = wrap(int(value), kind)
    elif kind.is_float:
        value = float(value)
    return Const(kind, value, span=span)


def wrap(value: int, dtype: DataType) -> int:
    """Wrap `value` to the range of an integer type, as in two's complement arithmetic."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_signed and value >> (dtype.bits - 1) else value


def as_expr(value: object, dtype: str | None = None) -> Expr:
    """Convert `value` to an expression: Python and NumPy scalars become constants, and expressions are unchanged."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)):
        return const(value, dtype)
    if (convert := getattr(value, "__expr__", None)) is not None:
        return convert()
    if (item := getattr(value, "item", None)) is not None and getattr(value, "ndim", None) == 0:
        return const(item(), dtype)
    raise TirxError(
        f"{described(value)} is not a value of the kernel",
        hint="give a number, an element such as A[i, j], a variable, or an expression of these",
        about=value,
    )


def _match(a: object, b: object) -> tuple[Expr, Expr]:
    """Convert both operands to one dtype; a Python literal takes the type of the other operand."""
    if not isinstance(b, Expr) and isinstance(a, Expr):
        b = _literal(b, a.dtype)
    elif not isinstance(a, Expr) and isinstance(b, Expr):
        a = _literal(a, b.dtype)
    left, right = as_expr(a), as_expr(b)
    if left.dtype != right.dtype and not left.is_tile and not right.is_tile:
        common = promote(left.dtype, right.dtype)
        if common.is_bool:
            common = INT32
        left, right = cast(common, left), cast(common, right)
    return left, right


def _literal(value: object, dtype: DataType) -> Expr:
    if isinstance(value, int) and dtype.is_integer and not isinstance(value, bool):
        fits = value < 1 << dtype.bits if value >= 0 else dtype.bits >= (32 if value >= -(2**31) else 64)
        return const(value, dtype.scalar if fits else None)
    if isinstance(value, (int, float)) and dtype.is_float and not isinstance(value, bool):
        return const(float(value), dtype.scalar)
    return as_expr(value)


def binary(op: str, a: object, b: object, *, span: Span | None = None) -> Expr:
    """Return ``a op b`` with both operands promoted to one type. Literals are folded."""
    for side in (a, b):
        if isinstance(side, Expr) and (side.is_tile or (side.dtype.is_handle and op not in ("==", "!="))):
            message = f"`{op}` needs values, but {described(side)} is {_kind(side)}"
            raise TirxError(message, side.span or span, _ELEMENT)
    left, right = (as_bool(a), as_bool(b)) if op in ("and", "or") else _match(a, b)
    if op in _INTEGER_ONLY and left.dtype.is_float:
        raise TirxError(
            f"`{op}` needs integers, but its operands are {left.dtype}",
            span or left.span,
            "use `/` for floating-point division" if op == "//" else "convert them with Tx.int32(…)",
        )
    dtype = left.dtype
    if op in _COMPARE or op in ("and", "or"):
        dtype = BOOL if dtype.lanes == 1 else BOOL.with_lanes(dtype.lanes)
    if op in ("//", "%") and isinstance(right, Const) and right.value == 0:
        raise TirxError("division by zero", span or left.span or right.span)
    if isinstance(left, Const) and isinstance(right, Const):
        folded = _fold(op, left, right, dtype, span)
        if folded is not None:
            return folded
    if isinstance(right, Const) and _is_identity(op, right.value):
        return left
    if isinstance(left, Const) and op in ("+", "*", "|", "^", "and", "or") and _is_identity(op, left.value):
        return right
    return Binary(dtype, op, left, right, span=span)


def _is_identity(op: str, value: int | float | bool) -> bool:
    """Return whether ``x op value`` equals x for every x."""
    if op in ("+", "-", "<<", ">>", "|", "^"):
        return not isinstance(value, float) and value == 0
    if op in ("*", "//"):
        return not isinstance(value, float) and value == 1
    return (op == "and" and value is True) or (op == "or" and value is False)


def _fold(op: str, a: Const, b: Const, dtype: DataType, span: Span | None) -> Const | None:
    if op == "/" and b.value == 0:
        raise TirxError("division by zero", span or a.span or b.span)
    if op in ("<<", ">>") and not 0 <= b.value < a.dtype.bits:
        return None
    return const(BINARY_OPS[op](a.value, b.value), dtype, span=span)


def unary(op: str, value: object, *, span: Span | None = None) -> Expr:
    """Return ``op value``, where `op` is -, ~ or not."""
    operand = as_bool(value) if op == "not" else as_expr(value)
    if operand.is_tile or operand.dtype.is_handle:
        message = f"`{op}` needs a value, but {described(operand)} is {_kind(operand)}"
        raise TirxError(message, operand.span or span, _ELEMENT)
    if op == "~" and operand.dtype.scalar.is_float:
        wrong = f"`~` needs an integer, but {described(operand)} is {operand.dtype}"
        raise TirxError(wrong, operand.span or span, "convert it with Tx.int32(…)")
    if isinstance(operand, Const):
        return const(UNARY_OPS[op](operand.value), operand.dtype, span=span)
    if op == "not" and isinstance(operand, Unary) and operand.op == "not":
        return operand.value
    return Unary(operand.dtype, op, operand, span=span)


def as_bool(value: object) -> Expr:
    """Convert `value` to a condition; numbers are compared with zero, as in C."""
    expr = as_expr(value)
    if expr.is_tile or expr.dtype.is_handle:
        raise TirxError(f"{described(expr)} is {_kind(expr)}, which is no condition", expr.span, _ELEMENT, about=value)
    if expr.dtype.is_bool:
        return expr
    if isinstance(expr, Const):
        return const(bool(expr.value), span=expr.span)
    return Binary(BOOL.with_lanes(expr.dtype.lanes), "!=", expr, const(0, expr.dtype), span=expr.span)


def _kind(expr: Expr) -> str:
    """Describe an expression that is not a single value."""
    plain = "a pointer" if expr.dtype.is_handle else f"a vector, {expr.dtype}"
    return "a tile" if expr.is_tile else "a text" if isinstance(expr, Str) else plain


def cast(dtype: str, value: object, *, span: Span | None = None) -> Expr:
    """Convert `value` to `dtype`. Literals are converted at compile time."""
    target, expr = DataType(dtype), as_expr(value)
    if expr.dtype == target:
        return expr
    pointer = expr.dtype.is_handle and not isinstance(expr, Str)
    if expr.is_tile or (expr.dtype.is_handle and not (pointer and (target.is_handle or target in _ADDRESSES))):
        message = f"{described(expr)} is {_kind(expr)}, which cannot be converted to {target}"
        raise TirxError(message, expr.span or span, _ELEMENT, about=value)
    if expr.dtype.lanes > 1 and expr.dtype.lanes != target.lanes:
        message = f"{described(expr)} is {expr.dtype}, which cannot be converted to {target}"
        raise TirxError(message, expr.span or span, "convert to as many lanes", about=value)
    if isinstance(expr, Const) and target.lanes == 1 and not target.is_handle:
        return const(expr.value, target, span=span or expr.span)
    return Cast(target, expr, span=span or expr.span)


def select(cond: object, a: object, b: object, *, span: Span | None = None) -> Expr:
    """Return the ternary ``a if cond else b`` with both sides promoted to one type."""
    condition = as_bool(cond)
    left, right = _match(a, b)
    for side in (left, right):
        if side.is_tile:
            raise TirxError(f"a choice needs values, but {described(side)} is a tile", side.span or span, _ELEMENT)
    if isinstance(condition, Const):
        return left if condition.value else right
    return Select(left.dtype, condition, left, right, span=span)


def int_value(value: object) -> int | None:
    """Return the value of a compile-time integer, or None for anything else."""
    known = value.value if isinstance(value, Const) else value
    return int(known) if isinstance(known, (bool, int)) else None
