"""Translation of lowered expressions to Python source.

Integers are exact: Python ints if uniform, int64 arrays otherwise, wrapped to their type wherever an operation may
overflow. A static lane-dependent value (an address pattern over `threadIdx.x` and the variables of compiler-made
parallel loops) is computed at translation time for all warps, and looked up by warp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from tirx_mini.ir import (
    Address,
    AddressOf,
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Const,
    DataType,
    Expr,
    Launch,
    Ramp,
    Reinterpret,
    Select,
    Special,
    Str,
    TirxError,
    Unary,
    Var,
)  # fmt: skip

from ..machine import LANES, Mask, numpy_dtype
from .addresses import passes_on
from .affine import Affine
from .choice import as_choice, choose, is_choice
from .values import Value, bounds, checked, combined, literal, ranged, wrapped
from .writer import Writer

_T = TypeVar("_T")

SCALAR_OPS: Mapping[str, str] = {
    **{op: f"({{a}} {op} {{b}})" for op in ("+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^", "and", "or")},
    **{op: f"({{a}} {op} {{b}})" for op in ("==", "!=", "<", "<=", ">", ">=")},
    "min": "min({a}, {b})", "max": "max({a}, {b})",
}  # fmt: skip
LANE_OPS: Mapping[str, str] = {
    **SCALAR_OPS, "min": "minimum({a}, {b})", "max": "maximum({a}, {b})", "and": "({a} & {b})", "or": "({a} | {b})",
}  # fmt: skip
FLOAT_OPS: Mapping[str, str] = {"min": "least({a}, {b})", "max": "greatest({a}, {b})"}
"""Floating-point operations whose semantics differ from NumPy's."""
MAX_DEPTH = 50
"""The maximum nesting depth of a generated expression; Python's parser stops at 200 parentheses."""

LONG = 200
"""The text length from which a static pattern is replaced by a table computed at translation time."""

RING_OPS = ("+", "-", "*")
"""Operations whose result modulo a power of two depends only on the operands modulo that power."""

SPECIAL_TEXT: Mapping[str, str] = {
    **{f"{name}.{axis}": f"w.{field}[{i}]" for name, field in
       (("blockIdx", "block_idx"), ("gridDim", "grid_dim"), ("clusterCtaIdx", "cluster_ctaid"))
       for i, axis in enumerate("xyz")},
    "cluster_ctarank": "w.cluster_ctarank",
}  # fmt: skip


_LANE = np.arange(LANES)


class Storage(Protocol):
    """The interface of the storage of buffers."""

    def is_checked(self, buffer: Buffer) -> bool: ...

    def load(self, expr: BufferLoad, raw: bool) -> Value: ...

    def address(self, expr: AddressOf) -> Value: ...

    def name(self, buffer: Buffer) -> str: ...


class Calls(Protocol):
    """The interface of instructions with a result."""

    def value(self, call: Call) -> Value: ...


class Expressions:
    """The expression translator. `vars` holds the values of the variables in scope."""

    def __init__(
        self, writer: Writer, launch: Launch, storage: Storage, calls: Calls, addresses: Set[Var | Buffer] = frozenset()
    ) -> None:
        self.out = writer
        self.launch = launch
        self.storage = storage
        self.calls = calls
        self.vars: dict[Var, Value] = {}
        self.addresses = addresses
        self.addressing = False
        """Whether the current expression contributes to an address."""

        self.iterations = 0
        """The total number of iterations of the enclosing parallel loops; 0 outside."""
        self.static_names: dict[str, Any] = dict(writer.namespace)
        self._tables: dict[tuple[str, int], np.ndarray] = {}

    # -- entry points --------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Value:
        """Return `expr` in a form ready for use in generated code."""
        return self.ready(self.build(expr))

    def uniform(self, expr: Expr, what: str) -> str:
        """Return `expr` as a Python number; a lane-varying value is an error of the passes."""
        value = self.value(expr)
        if value.lanes:
            raise TirxError(f"{what} differs among the threads of a warp here", expr.span)
        return value.code

    def build(self, expr: Expr) -> Value:
        """Return `expr` as text that may still contain static lane patterns."""
        value = self.loose(expr)
        if self.addressing and value.dtype.is_integer and value.dtype.is_signed and not value.static:
            return checked(value)
        return wrapped(value) if value.dtype.is_integer else value

    def part(self, expr: Expr, target: Var | Buffer) -> Value:
        """Translate the value assigned to a variable or scalar, which may contribute to addresses."""
        return self._addressed(target in self.addresses, self.build, expr)

    def _addressed(self, addressing: bool, translate: Callable[[Expr], _T], expr: Expr) -> _T:
        """Translate an expression with the given setting of `addressing`."""
        before, self.addressing = self.addressing, addressing
        result = translate(expr)
        self.addressing = before
        return result

    def loose(self, expr: Expr) -> Value:
        """Translate an expression without reducing sums and products to the range of their type.

        Sums and products are correct modulo the size of the type, so only their final result has to be wrapped.
        """
        method: Callable[[Any], Value] | None = getattr(self, f"_{type(expr).__name__}", None)
        if method is None:
            raise TirxError(f"the simulator cannot compute a {type(expr).__name__}; was the kernel lowered?", expr.span)
        if self.addressing and not passes_on(expr):
            return self._addressed(False, method, expr)
        return method(expr)

    def ready(self, value: Value) -> Value:
        """Return `value` with a static lane pattern replaced by the name of its table."""
        if not (value.static and value.lanes):
            return value
        table = self.table(value)
        name = self.out.per_warp("P", list(table), (value.code, self.iterations))
        return replace(value, code=name, static=False, depth=0)

    def brief(self, value: Value) -> Value:
        """Return `value` with a long static lane pattern replaced by the name of its table."""
        if not value.lanes or self.iterations or len(value.code) <= LONG:
            return value
        name = self.out.object("K", self.table(value), value.code)
        self.static_names[name] = self.out.namespace[name]
        return replace(value, code=f"{name}[wid]", depth=0)

    def shallow(self, value: Value) -> Value:
        """Return `value`, stored in a variable if its text exceeds the nesting limit of Python's parser."""
        if value.depth < MAX_DEPTH:
            return value
        name = self.out.fresh("part")
        self.out.line(f"{name} = {value.code}")
        return replace(value, code=name, static=False, view=False, depth=0)

    def table(self, value: Value) -> np.ndarray:
        """Return all values of a static pattern: [warps, 32], or [warps, iterations, 32] in a parallel loop."""
        key = (value.code, self.iterations)
        if key not in self._tables:
            compiled = compile(value.code, "<pattern>", "eval")
            shape = (self.iterations, LANES) if self.iterations else (LANES,)
            self._tables[key] = np.stack(
                [
                    np.broadcast_to(
                        eval(compiled, self.static_names, {"wid": warp, "tid": _LANE + LANES * warp}), shape
                    )
                    for warp in range(self.launch.warps)
                ]
            )
        return self._tables[key]

    def static_masks(self, value: Value) -> list[Mask]:
        """Return the lanes where a static condition holds, for each warp."""
        return [Mask.from_bits(row) for row in self.table(value)]

    def split(self, expr: Expr) -> tuple[Value | None, Value | None, Value | None]:
        """Return (uniform, static pattern, rest), whose sum is `expr`; None stands for zero."""
        return self._addressed(True, Affine(self.build).split, expr)

    def index(self, expr: Expr) -> Value:
        """Return a flat index as ``uniform + pattern``: one addition in the loop, whatever the layout."""
        return self.joined(expr, *self.split(expr))

    def joined(self, expr: Expr, uniform: Value | None, pattern: Value | None, rest: Value | None) -> Value:
        """Return the index `expr` as the sum of its parts."""
        terms = [v for v in (uniform, rest) if v is not None]
        if pattern is not None:
            terms.append(self.ready(pattern))
        if not terms:
            return literal(0, expr.dtype)
        low, high = sum(t.low for t in terms), sum(t.high for t in terms)
        code = terms[0].code if len(terms) == 1 else "(" + " + ".join(t.code for t in terms) + ")"
        return combined(code, expr.dtype, *terms, low=low, high=high)

    # -- leaves --------------------------------------------------------------------------------------------------

    def _Var(self, expr: Var) -> Value:
        value = self.vars.get(expr)
        if value is None:
            raise TirxError(f"{expr.name} is used outside the block that defines it", expr.span)
        return value

    def _Const(self, expr: Const) -> Value:
        if expr.dtype.is_float:
            kind = numpy_dtype(expr.dtype).type
            name = self.out.object("F", kind(expr.value), (str(expr.dtype), repr(expr.value)))
            self.static_names[name] = self.out.namespace[name]
            return Value(name, expr.dtype, static=True)
        return literal(bool(expr.value) if expr.dtype.is_bool else int(expr.value), expr.dtype)

    def _Str(self, expr: Str) -> Value:
        return Value(repr(expr.value), expr.dtype, static=True)

    def _Special(self, expr: Special) -> Value:
        launch = self.launch
        if expr.name == "threadIdx.x":
            return Value("tid", expr.dtype, True, 0, launch.threads - 1, static=True)
        if expr.name == "warp_id_in_cta":
            return Value("wid", expr.dtype, False, 0, launch.warps - 1, static=True)
        if expr.name.startswith("threadIdx."):
            return literal(0, expr.dtype)
        axis = "xyz".index(expr.name[-1]) if "." in expr.name else 0
        tops = {"blockIdx": launch.grid[axis] - 1, "gridDim": launch.grid[axis],
                "clusterCtaIdx": launch.cluster[axis] - 1, "cluster_ctarank": launch.cluster_size - 1}  # fmt: skip
        top = tops[expr.name.split(".")[0]]
        if top == 0:
            return literal(0, expr.dtype)
        name = expr.name.replace(".", "_")
        line = f"    {name} = {SPECIAL_TEXT[expr.name]}"
        if line not in self.out.prologue:
            self.out.prologue.append(line)
        return Value(name, expr.dtype, False, 0, top)

    # -- operators -----------------------------------------------------------------------------------------------

    def _Binary(self, expr: Binary) -> Value:
        choice = as_choice(expr, self.storage.is_checked)
        if choice is not None:
            return choose(self, choice, "False")
        operand = self.loose if expr.op in RING_OPS else self.build
        a, b = operand(expr.a), operand(expr.b)
        if expr.op in RING_OPS and (a.lanes or b.lanes) and max(map(abs, bounds(expr.op, a, b))) >> 62:
            a, b = wrapped(a), wrapped(b)  # arrays are exact in 64 bits only
        guarded = _guarded(expr, a, b)
        if guarded or not (a.static and b.static) or max(a.depth, b.depth) >= MAX_DEPTH:
            a, b = self.shallow(self.ready(a)), self.shallow(self.ready(b))
            self.out.spend(1)
        lanes = a.lanes or b.lanes
        usual = FLOAT_OPS if expr.op in FLOAT_OPS and expr.dtype.is_float else LANE_OPS if lanes else SCALAR_OPS
        code = (guarded or usual[expr.op]).format(a=a.code, b=b.code)
        if expr.dtype.is_bool:
            low, high = 0, 1
        else:
            low, high = bounds(expr.op, a, b) if expr.dtype.is_integer else (0, 0)
        value = combined(code, expr.dtype, a, b, low=low, high=high)
        return replace(value, static=False) if guarded else value

    def _Unary(self, expr: Unary) -> Value:
        value = self.build(expr.value)
        if expr.op == "not":
            return replace(value, code=f"logical_not({value.code})" if value.lanes else f"(not {value.code})")
        code = f"({expr.op}{value.code})"
        if not expr.dtype.is_integer:
            return replace(value, code=code, view=False)
        low, high = (-value.high, -value.low) if expr.op == "-" else (~value.high, ~value.low)
        return replace(value, code=code, low=low, high=high, view=False)

    def _Select(self, expr: Select) -> Value:
        if is_choice(expr, self.storage.is_checked):
            return choose(self, expr, self._zero(expr.dtype))
        cond, a, b = self.build(expr.cond), self.build(expr.a), self.build(expr.b)
        static = cond.static and a.static and b.static
        if not static:
            cond, a, b = (self.shallow(self.ready(part)) for part in (cond, a, b))
        lanes = cond.lanes or a.lanes or b.lanes
        form = "where({c}, {a}, {b})" if lanes else "({a} if {c} else {b})"
        wide = lanes and expr.dtype == "uint64"  # NumPy makes int64 of two Python ints
        sides = [f"uint64({side.code})" if wide and not side.lanes else side.code for side in (a, b)]
        code = form.format(c=cond.code, a=sides[0], b=sides[1])
        return combined(code, expr.dtype, cond, a, b, low=min(a.low, b.low), high=max(a.high, b.high))

    def _zero(self, dtype: DataType) -> str:
        return self._Const(Const(dtype, 0.0)).code if dtype.is_float else "False" if dtype.is_bool else "0"

    def _Cast(self, expr: Cast) -> Value:
        value = self.build(expr.value)
        if expr.dtype.lanes > 1 and expr.value.dtype.lanes == 1 and value.lanes:
            value = self.ready(value)
            value = replace(value, code=f"{value.code}[..., None]", static=False, view=False)  # one for all elements
        return self.convert(value, expr.dtype)

    def _Reinterpret(self, expr: Reinterpret) -> Value:
        value = self.shallow(self.ready(self.build(expr.value)))
        source, target = expr.value.dtype, expr.dtype
        kinds = f"{self._type_name(source)}, {self._type_name(target)}"
        code = f"reinterpret({value.code}, {kinds}, {source.lanes}, {target.lanes})"
        return ranged(code, target, lanes=value.lanes, depth=value.depth + 1)

    def convert(self, value: Value, dtype: DataType) -> Value:
        """Convert `value` to another dtype."""
        source = value.dtype
        if source.is_handle:
            source = DataType("uint64")
        if dtype.is_bool:
            return replace(value, code=f"({value.code} != 0)", dtype=dtype, low=0, high=1, view=False)
        if dtype.is_float:
            kind = self._type_name(dtype)
            array = value.lanes or dtype.lanes > 1
            if dtype.bits in (4, 8):
                value = replace(value, code=f"finite({value.code}, {kind})")
            code = f"{value.code}.astype({kind})" if array else f"{kind}({value.code})"
            return replace(value, code=code, dtype=dtype, low=0, high=0, view=False)
        if dtype.is_handle:
            return replace(value, dtype=dtype)
        if source.is_float:
            word = ranged("", DataType(f"{dtype.code}{max(32, dtype.bits)}"))  # as CUDA: no narrower integers
            code = f"float_to_int({value.code}, {word.low}, {word.high})"
            return wrapped(replace(word, code=code, dtype=dtype, lanes=value.lanes, static=value.static))
        return self._integer(value, source, dtype)

    def _integer(self, value: Value, source: DataType, dtype: DataType) -> Value:
        wide, was_wide = (d.bits == 64 and d.code == "uint" for d in (dtype, source))
        code = value.code
        if source.is_bool:
            code = f"{code}.astype(int64)" if value.lanes else f"int({code})"
        if value.lanes and wide != was_wide:
            same = ranged(
                f"{code}.astype({'uint64' if wide else 'int64'})",
                dtype,
                lanes=True,
                static=value.static,
            )  # both are 64 bits: values wrap as the hardware's do
            if was_wide:
                return wrapped(replace(same, low=-(1 << 63), high=(1 << 63) - 1))
            return same if value.low < 0 else replace(same, low=value.low, high=value.high)
        return wrapped(replace(value, code=code, dtype=dtype, view=value.view and code == value.code))

    def _type_name(self, dtype: DataType) -> str:
        name = self.out.object("T", numpy_dtype(dtype).type, str(dtype.scalar))
        self.static_names[name] = self.out.namespace[name]
        return name

    # -- memory and instructions ---------------------------------------------------------------------------------

    def _BufferLoad(self, expr: BufferLoad) -> Value:
        return self.storage.load(expr, False)

    def raw(self, expr: Expr) -> Value:
        """Return `expr` for a move: a load keeps the dtype of its memory."""
        return self.storage.load(expr, True) if isinstance(expr, BufferLoad) else self.value(expr)

    def _AddressOf(self, expr: AddressOf) -> Value:
        return self.storage.address(expr)

    def _Address(self, expr: Address) -> Value:
        return self.convert(self.build(expr.value), expr.dtype)

    def _Call(self, expr: Call) -> Value:
        return self.calls.value(expr)

    def _Ramp(self, expr: Ramp) -> Value:
        base = self.value(expr.base)
        code = f"({base.code}{'[..., None]' if base.lanes else ''} + arange({expr.lanes}))"
        return replace(base, code=code, dtype=expr.dtype, lanes=True, high=base.high + expr.lanes - 1, view=False)


def _guarded(expr: Binary, a: Value, b: Value) -> str | None:
    """Return the form of an integer operation that needs more than Python's operator, or None."""
    if not a.dtype.is_integer:
        return None
    if expr.op in ("//", "%", "/") and (expr.op == "/" or b.low <= 0 <= b.high):
        return {"//": "floor_div(w, {a}, {b})", "%": "floor_mod(w, {a}, {b})", "/": "trunc_div(w, {a}, {b})"}[expr.op]
    if expr.op in ("<<", ">>") and (b.low < 0 or b.high >= a.dtype.bits):
        return f"{'shift_left' if expr.op == '<<' else 'shift_right'}({{a}}, {{b}}, {a.dtype.bits})"
    return None


def flat_index(expr: BufferLoad | AddressOf, buffer: Buffer) -> Expr:
    """Return the single flat index of a lowered access."""
    if len(expr.indices) != 1:
        raise TirxError(f"an access to {buffer.name} was not flattened by the lowering", expr.span)
    return expr.indices[0]
