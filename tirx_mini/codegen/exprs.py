"""Rendering of lowered IR expressions as C++."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tirx_mini.ir import (
    AddressOf,
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Const,
    DataType,
    Expr,
    Ramp,
    Reinterpret,
    Select,
    Special,
    Str,
    TirxError,
    Unary,
    Var,
    const,
    int_value,
)  # fmt: skip
from tirx_mini.isa import instruction_on_pairs

from .names import Names
from .signs import Signs
from .types import CONVERSIONS, bits_type, c_type, literal, plain_literal, storage_type

SPECIAL_TEXT: Mapping[str, str] = {
    **{f"{r}.{axis}": f"((int){r}.{axis})" for r in ("threadIdx", "blockIdx", "gridDim") for axis in "xyz"},
    **{f"clusterCtaIdx.{axis}": f"cluster_ctaid_{axis}" for axis in "xyz"},
    "warp_id_in_cta": "warp_id_in_cta",
    "cluster_ctarank": "cluster_ctarank",
}

_SUMS, _COMPARISONS = ("+", "-"), ("==", "!=", "<", "<=", ">", ">=")
C_OPERATORS: Mapping[str, str] = {"//": "/", "and": "&&", "or": "||"}
"""IR operators that C++ spells differently."""

BARE: Mapping[str, tuple[str, ...]] = {
    "+": (*_SUMS, "*"), "-": (*_SUMS, "*"), "*": ("*",), "and": ("and", *_COMPARISONS), "or": ("or", *_COMPARISONS),
    "|": ("|",), "&": ("&",), "^": ("^",), **dict.fromkeys(("<", "<=", ">", ">="), (*_SUMS, "*")),
}  # fmt: skip
"""The operators whose result may be a left operand without parentheses. All others get them, so that a reader need not
remember that ``&`` binds less tightly than ``==``."""

_BARE_RIGHT: Mapping[str, tuple[str, ...]] = {**BARE, **dict.fromkeys("+-", ("*",)), **dict.fromkeys("*|&^", ())}
"""The same for right operands, which keep their grouping: floating-point sums depend on it."""
_ASSOCIATIVE: Mapping[str, tuple[str, ...]] = {"+": ("+", "*"), "*": ("*",), "|": ("|",), "&": ("&",), "^": ("^",)}
"""The same for right operands that are integers."""
_AS_BITS: Mapping[str, Callable[[int], tuple[str, int]]] = {
    "//": lambda n: (">>", n.bit_length() - 1), "%": lambda n: ("&", n - 1)
}  # fmt: skip
"""Division and remainder by a power of two, which round as the IR does for operands of either sign."""
_SHIFTS = ("<<", ">>")
_ROUNDING = {"//": "floordiv", "%": "floormod"}


class Term(NamedTuple):
    """Rendered text with its outermost operator, or "" if it never needs parentheses."""

    text: str
    op: str = ""


class Calls(Protocol):
    """Renders instructions (`helpers.Helpers`)."""

    def call(self, call: Call, render: ExprRenderer) -> str: ...

    def of_halves(self, call: Call, render: ExprRenderer) -> str: ...

    def require(self, name: str) -> str: ...


class ExprRenderer:
    """Renders a function's expressions. `names` must define every variable and buffer in them."""

    def __init__(self, names: Names, signs: Signs, calls: Calls) -> None:
        self.names, self.signs, self.calls = names, signs, calls
        self.specials: set[str] = set()

    def __call__(self, expr: Expr) -> str:
        """Render `expr` as a full expression, without outer parentheses."""
        return self._term(expr).text

    def operand(self, expr: Expr, bare: tuple[str, ...] = ()) -> str:
        """Render `expr` as an operand, parenthesised unless its operator is one of `bare`."""
        term = self._term(expr)
        return term.text if not term.op or term.op in bare else f"({term.text})"

    def _term(self, expr: Expr) -> Term:
        method = _METHODS[type(expr)]
        if method is None:
            raise TirxError(f"{type(expr).__name__} has no CUDA form; was the kernel lowered?", expr.span)
        try:
            rendered = method(self, expr)
        except TirxError as error:
            raise error.at(expr.span) from None
        return Term(rendered) if isinstance(rendered, str) else rendered

    # -- leaves -------------------------------------------------------------------------------------------------

    def _var(self, expr: Var) -> str:
        return self.names[expr]

    def _const(self, expr: Const) -> str:
        return literal(expr.value, expr.dtype)

    def _str(self, expr: Str) -> str:
        escaped = expr.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'

    def _special(self, expr: Special) -> str:
        self.specials.add(expr.name)
        return SPECIAL_TEXT[expr.name]

    # -- memory -------------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, index: Expr, storage: str | None = None) -> str:
        """Render the element (or, for a `Ramp`, the vector) of `buffer` at the flat `index` as an lvalue."""
        name = self.names[buffer]
        if buffer.scalar:
            return name
        if not isinstance(index, Ramp):
            return f"{name}[{self(index)}]"
        kind = storage or c_type(buffer.dtype.with_lanes(index.lanes))
        return f"*({kind}*){self._pointer(name, index.base)}"

    def address(self, expr: AddressOf) -> str:
        """Render a pointer to an element."""
        if expr.buffer.scalar:
            return f"&{self.names[expr.buffer]}"
        return f"&{self.names[expr.buffer]}[{self(flat_index(expr))}]"

    def copied(self, load: BufferLoad) -> str:
        """Render a load whose value is only copied, in the type of the access."""
        return self.place(load.buffer, flat_index(load), storage_type(load.dtype))

    def _pointer(self, name: str, base: Expr) -> str:
        return name if int_value(base) == 0 else f"({name} + {self.operand(base, _ASSOCIATIVE['+'])})"

    def _bufferload(self, expr: BufferLoad) -> str:
        return self.place(expr.buffer, flat_index(expr))

    def _addressof(self, expr: AddressOf) -> str:
        return self.address(expr)

    # -- operators ----------------------------------------------------------------------------------------------

    def _unary(self, expr: Unary) -> str:
        value = self.operand(expr.value)
        if expr.op == "-" and value.startswith("-"):  # two of them are C's decrement
            value = f"({value})"
        return f"{'!' if expr.op == 'not' else expr.op}{value}"

    def _binary(self, expr: Binary) -> str | Term:
        packed = instruction_on_pairs(expr)
        if packed is not None:
            return self.calls.call(packed, self)
        if expr.op in ("min", "max"):  # CUDA 13.0 has no overloads of min and max for types of 16 bits
            name = f"__h{expr.op}" if expr.dtype in ("float16", "bfloat16") else expr.op
            return f"{name}({self(expr.a)}, {self(expr.b)})"
        op, a, b = expr.op, expr.a, expr.b
        if op in _AS_BITS and not (self.signs.natural(a) and self.signs.natural(b)):
            divisor = int_value(b)
            if divisor is None or divisor <= 0 or divisor & (divisor - 1):
                return f"{self.calls.require(_ROUNDING[op])}({self(a)}, {self(b)})"
            op, amount = _AS_BITS[op](divisor)
            b = const(amount, expr.dtype)
        bare = _ASSOCIATIVE.get(op) if expr.dtype.is_integer else None
        if op in _SHIFTS:  # the left operand alone decides the type
            left, right = self.operand(a), self.argument(b) if isinstance(b, Const) else self.operand(b)
        else:
            left = self._converted(a, b, BARE.get(op, ()))
            right = self._converted(b, a, _BARE_RIGHT.get(op, ()) if bare is None else bare)
        text = f"{left} {C_OPERATORS.get(op, op)} {right}"
        if expr.dtype.is_integer and expr.dtype.bits < 32:  # C++ computes it as int
            return f"({c_type(expr.dtype)})({text})"
        return Term(text, op)

    def _converted(self, expr: Expr, other: Expr, bare: tuple[str, ...]) -> str:
        """Render an operand without the conversion that C++ performs implicitly."""
        if not isinstance(other, (Cast, Const)) and other.dtype.is_integer and other.dtype.bits >= 32:
            if isinstance(expr, Const) and 0 <= expr.value < 2**31:
                return plain_literal(int(expr.value))
            if isinstance(expr, Cast) and _implicit(expr.value.dtype, expr.dtype):
                return self.operand(expr.value, bare)
        return self.operand(expr, bare)

    def argument(self, expr: Expr) -> str:
        """Render a function argument, dropping a widening integer conversion that the call performs implicitly."""
        if isinstance(expr, Const) and expr.dtype.is_integer and -(2**31) < expr.value < 2**32:
            return plain_literal(int(expr.value))
        integers = isinstance(expr, Cast) and expr.dtype.is_integer and expr.value.dtype.is_integer
        if isinstance(expr, Cast) and integers and expr.value.dtype.bits <= expr.dtype.bits:
            return self(expr.value)
        return self(expr)

    def _select(self, expr: Select) -> Term:
        cond = self.operand(expr.cond, _COMPARISONS)
        return Term(f"{cond} ? {self.operand(expr.a)} : {self.operand(expr.b)}", "?:")

    def _cast(self, expr: Cast) -> str | Term:
        value, target = expr.value, expr.dtype
        if isinstance(value, AddressOf) and target.is_integer:
            return self._address_value(value, target)
        if target.is_bool:
            return Term(f"{self.operand(value, _SUMS)} != 0", "!=")
        return convert(self, value, target)

    def _reinterpret(self, expr: Reinterpret) -> str:
        value = expr.value
        moved = isinstance(value, BufferLoad) and value.dtype.lanes > 1  # a vector that is only copied
        text = self.copied(value) if moved and isinstance(value, BufferLoad) else self(value)
        types = f"{bits_type(expr.dtype)}, {storage_type(value.dtype) if moved else bits_type(value.dtype)}"
        return f"{self.calls.require('reinterpret')}<{types}>({text})"

    def _address_value(self, pointer: AddressOf, target: DataType) -> str:
        if pointer.buffer.scope == "shared":
            address = f"{self.calls.require('shared_address')}({self.address(pointer)})"
            return address if target == "uint32" else f"({c_type(target)}){address}"
        return f"({c_type(target)})({self.address(pointer)})"

    def _call(self, expr: Call) -> str:
        packed = instruction_on_pairs(expr)
        if packed is None and expr.dtype == "float32x2":
            return self.calls.of_halves(expr, self)
        return self.calls.call(expr if packed is None else packed, self)


class _Methods(dict[type, Callable[[ExprRenderer, Any], "str | Term"] | None]):
    """The rendering methods by expression class, or None for a class without a CUDA form."""

    def __missing__(self, kind: type) -> Callable[[ExprRenderer, Any], str | Term] | None:
        self[kind] = getattr(ExprRenderer, f"_{kind.__name__.lower()}", None)
        return self[kind]


_METHODS = _Methods()


def convert(render: ExprRenderer, value: Expr, target: DataType) -> str:
    """Convert `value` to `target`, through float if there is no direct conversion."""
    source = value.dtype
    if target == "float32x2" and source == "float32":
        return f"{render.calls.require('pair')}({render(value)})"
    function = CONVERSIONS.get((str(source), str(target)))
    if function:
        return f"{function}({render(value)})"
    text = render.operand(value)
    inner = CONVERSIONS.get((str(source), "float32"))  # half -> anything but float
    if inner:
        text = f"{inner}({render(value)})"
    outer = CONVERSIONS.get(("float32", str(target)))  # anything but float -> half
    if outer:
        return f"{outer}({text})" if inner else f"{outer}((float){text})"
    return f"({c_type(target)}){text}"


def _implicit(source: DataType, target: DataType) -> bool:
    """Return whether C++ converts an integer of type `source` implicitly in an operation with a `target`."""
    if not source.is_integer or not target.is_integer or target.bits < 32:
        return False
    return source.bits < target.bits or (source.bits == target.bits and not target.is_signed)


def flat_index(node: BufferLoad | AddressOf) -> Expr:
    """Return the single index of a lowered access."""
    if len(node.indices) != 1:
        raise TirxError(f"the access to {node.buffer.name} was not flattened; was the kernel lowered?", node.span)
    return node.indices[0]
