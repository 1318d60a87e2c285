"""Lowering of expressions to LLVM instructions."""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import (
    Analyzer,
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
    TirxError,
    Unary,
    Var,
    walk,
)
from tirx_mini.isa import instruction_of

from .function import FunctionText
from .types import constant, llvm_type, memory_type, splat

_FLOAT: Mapping[str, str] = {"+": "fadd contract", "-": "fsub contract", "*": "fmul contract", "/": "fdiv"}
_INTEGER: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl", "and": "and", "or": "or"
}  # fmt: skip
_COMPARE: Mapping[str, str] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Expressions:
    """Emits the expressions of a function.

    values: the variables in scope.
    places: the pointers of the buffers in scope.
    ranges: the bounds of the variables.
    declared: the LLVM intrinsics that the module must declare.
    """

    def __init__(self, out: FunctionText, declared: set[str]) -> None:
        self.out, self.declared = out, declared
        self.values: dict[Var, str] = {}
        self.places: dict[Buffer, str] = {}
        self.ranges = Analyzer()

    def __call__(self, expr: Expr) -> str:
        """Return the value of `expr` as an LLVM operand."""
        method = getattr(self, f"_{type(expr).__name__.lower()}", None)
        if method is None:
            raise TirxError(f"`{expr!r}` has no meaning on a CPU", expr.span)
        try:
            return method(expr)
        except TirxError as error:
            raise error.at(expr.span) from None

    def _var(self, expr: Var) -> str:
        return self.values[expr]

    def _const(self, expr: Const) -> str:
        return splat(constant(expr.value, expr.dtype.scalar), expr.dtype)

    # -- memory -------------------------------------------------------------------------------------------------

    def address(self, buffer: Buffer, index: Expr) -> tuple[str, DataType]:
        """Return a pointer to the element or vector at the flat `index`, with its type."""
        base = index.base if isinstance(index, Ramp) else index
        lanes = index.lanes if isinstance(index, Ramp) else 1
        offset = self(self.ranges.simplify(base))
        if base.dtype.bits < 64:
            wider = "sext" if base.dtype.is_signed else "zext"
            offset = self.out.value(f"{wider} {llvm_type(base.dtype)} {offset} to i64")
        kind = memory_type(buffer.dtype)
        pointer = self.out.value(f"getelementptr inbounds {kind}, ptr {self.places[buffer]}, i64 {offset}", "at")
        return pointer, buffer.dtype.with_lanes(lanes)

    def _bufferload(self, expr: BufferLoad) -> str:
        pointer, dtype = self.address(expr.buffer, expr.indices[0])
        align = max(1, expr.buffer.dtype.itemsize)
        loaded = self.out.value(f"load {memory_type(dtype)}, ptr {pointer}, align {align}")
        return self.out.value(f"trunc {memory_type(dtype)} {loaded} to {llvm_type(dtype)}") if dtype.is_bool else loaded

    # -- operators ----------------------------------------------------------------------------------------------

    def _unary(self, expr: Unary) -> str:
        value, kind = self(expr.value), llvm_type(expr.dtype)
        if expr.op == "-" and expr.dtype.is_float:
            return self.out.value(f"fneg {kind} {value}")
        if expr.op == "-":
            return self.out.value(f"sub {kind} {splat('0', expr.dtype)}, {value}")
        ones = "true" if expr.dtype.is_bool else "-1"
        return self.out.value(f"xor {kind} {value}, {splat(ones, expr.dtype)}")

    def _binary(self, expr: Binary) -> str:
        op, dtype = expr.op, expr.a.dtype
        if op in ("and", "or") and any(isinstance(node, BufferLoad) for node in walk(expr.b)):
            return self._lazy(expr)
        a, b, kind = self(expr.a), self(expr.b), llvm_type(dtype)
        if op in _COMPARE:
            return self.out.value(f"{_comparison(op, dtype)} {kind} {a}, {b}")
        if op in ("min", "max"):
            return self._extremum(op, dtype, a, b)
        if dtype.is_float:
            return self.out.value(f"{_FLOAT[op]} {kind} {a}, {b}")
        if op in _INTEGER:
            wraps = " nsw" if op in "+-*" and dtype.is_signed else ""
            return self.out.value(f"{_INTEGER[op]}{wraps} {kind} {a}, {b}")
        if op == ">>":
            return self.out.value(f"{'ashr' if dtype.is_signed else 'lshr'} {kind} {a}, {b}")
        return self._division(expr, a, b)

    def _extremum(self, op: str, dtype: DataType, a: str, b: str) -> str:
        kind = llvm_type(dtype)
        if dtype.is_float:
            return self.intrinsic(f"{op}num", dtype, a, b)
        less = self.out.value(f"icmp {'s' if dtype.is_signed else 'u'}{'lt' if op == 'min' else 'gt'} {kind} {a}, {b}")
        return self._choose(less, dtype, a, b)

    def _choose(self, condition: str, dtype: DataType, a: str, b: str) -> str:
        kind, flag = llvm_type(dtype), llvm_type(DataType("bool").with_lanes(dtype.lanes))
        return self.out.value(f"select {flag} {condition}, {kind} {a}, {kind} {b}")

    def _division(self, expr: Binary, a: str, b: str) -> str:
        """Emit integer division or remainder, rounding towards minus infinity."""
        dtype, kind = expr.dtype, llvm_type(expr.dtype)
        bounds = [self.ranges.bounds(side) for side in (expr.a, expr.b)]
        natural = not dtype.is_signed or all(bound is not None and bound[0] >= 0 for bound in bounds)
        wanted = "div" if expr.op in ("//", "/") else "rem"
        if natural:
            return self.out.value(f"u{wanted} {kind} {a}, {b}")
        rest = self.out.value(f"srem {kind} {a}, {b}")
        zero = splat("0", dtype)
        differ = self.out.value(f"icmp slt {kind} {self.out.value(f'xor {kind} {rest}, {b}')}, {zero}")
        inexact = self.out.value(f"icmp ne {kind} {rest}, {zero}")
        flag = llvm_type(DataType("bool").with_lanes(dtype.lanes))
        off = self.out.value(f"and {flag} {differ}, {inexact}")
        if wanted == "rem":
            return self._choose(off, dtype, self.out.value(f"add {kind} {rest}, {b}"), rest)
        quotient = self.out.value(f"sdiv {kind} {a}, {b}")
        return self._choose(off, dtype, self.out.value(f"sub {kind} {quotient}, {splat('1', dtype)}"), quotient)

    def _lazy(self, expr: Binary) -> str:
        """Emit ``a and b`` or ``a or b`` with short-circuit evaluation, since the second operand contains a load."""
        known = Const(expr.dtype, expr.op == "or")
        sides = (expr.b, known) if expr.op == "and" else (known, expr.b)
        return self._select(Select(expr.dtype, expr.a, *sides, span=expr.span))

    def _select(self, expr: Select) -> str:
        condition = self(expr.cond)
        loads = any(isinstance(node, BufferLoad) for side in (expr.a, expr.b) for node in walk(side))
        if not loads or expr.cond.dtype.lanes > 1:
            return self._choose(condition, expr.dtype, self(expr.a), self(expr.b))
        then, orelse, after = (self.out.label(hint) for hint in ("then", "else", "after"))
        self.out.branch(condition, then, orelse)
        found: list[str] = []
        for label, side in ((then, expr.a), (orelse, expr.b)):
            self.out.enter(label)
            value = self(side)
            found.append(f"[ {value}, %{self.out.block} ]")
            self.out.jump(after)
        self.out.enter(after)
        return self.out.value(f"phi {llvm_type(expr.dtype)} {', '.join(found)}")

    # -- conversions --------------------------------------------------------------------------------------------

    def _cast(self, expr: Cast) -> str:
        value, source, target = self(expr.value), expr.value.dtype, expr.dtype
        if target.lanes > source.lanes:
            return self._broadcast(self._converted(value, source, target.scalar), target)
        return self._converted(value, source, target)

    def _broadcast(self, value: str, target: DataType) -> str:
        kind = llvm_type(target)
        one = self.out.value(f"insertelement {kind} poison, {llvm_type(target.scalar)} {value}, i64 0")
        return self.out.value(f"shufflevector {kind} {one}, {kind} poison, <{target.lanes} x i32> zeroinitializer")

    def _converted(self, value: str, source: DataType, target: DataType) -> str:
        if source == target:
            return value
        a, b = llvm_type(source), llvm_type(target)
        if target.is_bool:
            zero = splat(constant(0, source.scalar), source)
            return self.out.value(f"{_comparison('!=', source)} {a} {value}, {zero}")
        if source.is_float and target.is_float:
            if source.bits == target.bits:  # float16 and bfloat16
                return self._converted(self._converted(value, source, _float32(target)), _float32(target), target)
            return self.out.value(f"{'fpext' if target.bits > source.bits else 'fptrunc'} {a} {value} to {b}")
        signed = source.is_signed if target.is_float else target.is_signed
        if source.is_float:
            return self.out.value(f"fpto{'s' if signed else 'u'}i {a} {value} to {b}")
        if target.is_float:
            return self.out.value(f"{'s' if signed else 'u'}itofp {a} {value} to {b}")
        if a == b:
            return value
        if llvm_bits(target) < llvm_bits(source):
            return self.out.value(f"trunc {a} {value} to {b}")
        return self.out.value(f"{'sext' if source.is_signed else 'zext'} {a} {value} to {b}")

    def _reinterpret(self, expr: Reinterpret) -> str:
        value = self(expr.value)
        return self.out.value(f"bitcast {llvm_type(expr.value.dtype)} {value} to {llvm_type(expr.dtype)}")

    # -- functions ----------------------------------------------------------------------------------------------

    def _call(self, expr: Call) -> str:
        entry = instruction_of(expr)
        if entry is None or not entry.computes:
            raise TirxError(f"{expr.op} is an instruction of a GPU, which a CPU does not have", expr.span)
        operands = [self(arg) for arg in expr.args]
        if entry.computes.startswith("libm."):
            return self._from_library(entry.computes.removeprefix("libm."), expr, operands)
        return self.intrinsic(entry.computes, expr.dtype, *operands)

    def _from_library(self, name: str, expr: Call, operands: list[str]) -> str:
        """Emit a call of a C math library function, once per vector lane."""
        kinds = [llvm_type(arg.dtype.scalar) for arg in expr.args]
        result = llvm_type(expr.dtype.scalar)
        self.declared.add(f"declare {result} @{name}({', '.join(kinds)}) nounwind willreturn memory(none)")

        def called(values: list[str]) -> str:
            pairs = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values, strict=True))
            return self.out.value(f"call {result} @{name}({pairs})")

        if expr.dtype.lanes == 1:
            return called(operands)
        whole, vectors = "poison", [llvm_type(arg.dtype) for arg in expr.args]
        for lane in range(expr.dtype.lanes):
            pairs = zip(vectors, operands, strict=True)
            one = called([self.out.value(f"extractelement {kind} {value}, i64 {lane}") for kind, value in pairs])
            whole = self.out.value(f"insertelement {llvm_type(expr.dtype)} {whole}, {result} {one}, i64 {lane}")
        return whole

    def intrinsic(self, name: str, dtype: DataType, *operands: str) -> str:
        """Emit a call of an LLVM intrinsic on operands of one type."""
        kind = llvm_type(dtype)
        if name in ("rcp", "rsqrt"):
            value = operands[0] if name == "rcp" else self.intrinsic("sqrt", dtype, *operands)
            return self.out.value(f"fdiv {kind} {splat(constant(1, dtype.scalar), dtype)}, {value}")
        suffix = f"v{dtype.lanes}" if dtype.lanes > 1 else ""
        full = f"llvm.{name}.{suffix}{'bf' if dtype.code == 'bfloat' else 'f'}{dtype.bits}"
        self.declared.add(f"declare {kind} @{full}({', '.join([kind] * len(operands))})")
        return self.out.value(f"call {kind} @{full}({', '.join(f'{kind} {operand}' for operand in operands)})")


def llvm_bits(dtype: DataType) -> int:
    """Return the width of a value's lane in bits; a bool has one bit."""
    return 1 if dtype.is_bool else dtype.bits


def _float32(like: DataType) -> DataType:
    return DataType("float32").with_lanes(like.lanes)


def _comparison(op: str, dtype: DataType) -> str:
    relation = _COMPARE[op]
    if dtype.is_float:
        return f"fcmp {'une' if op == '!=' else f'o{relation}'}"
    if op in ("==", "!="):
        return f"icmp {relation}"
    return f"icmp {'s' if dtype.is_signed else 'u'}{relation}"
