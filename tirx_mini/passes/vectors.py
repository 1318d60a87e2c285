"""The LowerVectors pass: compute vectors lane by lane, since CUDA C++ can only copy most of them."""

from __future__ import annotations

from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Binary,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    DataType,
    Expr,
    Mutator,
    PrimFunc,
    Ramp,
    Reinterpret,
    Select,
    Span,
    Stmt,
    TirxError,
    Unary,
    Var,
    binary,
    cast,
    const,
    lanes_of,
    seq,
    substitute,
    unary,
)
from tirx_mini.ir import select as choose
from tirx_mini.records import replace

_WIDTHS = (2, 4, 8, 16)
"""The bytes that one access copies."""


def lower_vectors(func: PrimFunc) -> PrimFunc:
    """Expand vector operations to one per lane; pure copies of vectors stay single accesses."""
    return func.with_body(_Vectors().stmt(func.body))


def _is_copy(expr: Expr) -> bool:
    """Return whether a vector is only copied, or converted by an instruction for pairs."""
    if isinstance(expr, Reinterpret):
        return lanes_of(expr.value) == 1 or _is_copy(expr.value)
    if isinstance(expr, BufferLoad):
        return isinstance(expr.indices[-1], Ramp) and _in_one_access(expr.dtype)
    return isinstance(expr, Var)


def _in_one_access(dtype: DataType) -> bool:
    return dtype.nbytes in _WIDTHS


class _Vectors(Mutator):
    """Lowers vectors. bound: the loads that replace variables whose vectors are in registers."""

    def __init__(self) -> None:
        self.bound: dict[Var, Expr] = {}

    def expr(self, node: Expr) -> Expr:
        return substitute(node, self.bound) if self.bound else node

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        store: BufferStore = self.rebuild(node) if self.bound else node
        index, count = store.indices[-1] if store.indices else const(0), lanes_of(store.value)
        places = lanes_of(index)
        if places == count == 1:
            return store
        if places != count:
            raise TirxError(f"a vector of {count} values is stored to {places} elements", store.span)
        side_by_side = isinstance(index, Ramp)
        if side_by_side and _is_copy(store.value):
            return store
        lanes = _Lanes(store.span)
        result = lanes.computed(store.value, store.buffer.dtype)
        if side_by_side and store.buffer.scope != "local" and _in_one_access(result.dtype.with_lanes(count)):
            return seq(*lanes.before, replace(store, value=_load(result, count)), span=store.span)
        stores = [
            replace(store, indices=(*store.indices[:-1], lanes.lane(index, lane)), value=result[lane])
            for lane in range(count)
        ]
        return seq(*lanes.before, *stores, span=store.span)

    def visit_Bind(self, node: Bind) -> Stmt:
        bind: Bind = self.rebuild(node) if self.bound else node
        count = lanes_of(bind.value)
        if count == 1 or _is_copy(bind.value):
            return bind
        lanes = _Lanes(bind.span)
        self.bound[bind.var] = _load(lanes.computed(bind.value, bind.value.dtype.scalar, bind.var.name), count)
        return seq(*lanes.before, span=bind.span)


def _load(buffer: Buffer, lanes: int) -> BufferLoad:
    return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, (Ramp(INT32, const(0), lanes),))


class _Lanes:
    """The lanes of vectors in one statement. before: the statements that load them, once each."""

    def __init__(self, span: Span | None) -> None:
        self.span = span
        self.before: list[Stmt] = []
        self._loaded: dict[int, tuple[Expr, Buffer]] = {}

    def computed(self, value: Expr, dtype: DataType, name: str = "vector") -> Buffer:
        """Compute the lanes of `value` into registers."""
        count = lanes_of(value)
        result = self._registers(name, count, dtype)
        values = [cast(dtype, self.lane(value, lane)) for lane in range(count)]
        self.before += [BufferStore(result, (const(i),), each, span=self.span) for i, each in enumerate(values)]
        return result

    def lane(self, expr: Expr, lane: int) -> Expr:
        """Return one lane of a vector, or a scalar unchanged."""
        if lanes_of(expr) == 1:
            return expr
        if isinstance(expr, Ramp):
            return binary("+", expr.base, lane) if lane else expr.base
        if isinstance(expr, Var):
            return self._kept(expr)[lane]
        if isinstance(expr, BufferLoad):
            if _is_copy(expr) and expr.buffer.scope != "local":
                return self._kept(expr)[lane]
            place = (*expr.indices[:-1], self.lane(expr.indices[-1], lane))
            return BufferLoad(expr.dtype.scalar, expr.buffer, place, span=expr.span)
        if isinstance(expr, Const):
            return const(expr.value, expr.dtype.scalar, span=expr.span)
        if isinstance(expr, Cast):
            return cast(expr.dtype.scalar, self.lane(expr.value, lane), span=expr.span)
        if isinstance(expr, Binary):
            return binary(expr.op, self.lane(expr.a, lane), self.lane(expr.b, lane), span=expr.span)
        if isinstance(expr, Unary):
            return unary(expr.op, self.lane(expr.value, lane), span=expr.span)
        if isinstance(expr, Call):
            return replace(expr, dtype=expr.dtype.scalar, args=tuple(self.lane(each, lane) for each in expr.args))
        if isinstance(expr, Select):
            parts = (self.lane(part, lane) for part in (expr.cond, expr.a, expr.b))
            return choose(*parts, span=expr.span)
        if isinstance(expr, Reinterpret) and _is_copy(expr):
            return self._kept(expr)[lane]
        if isinstance(expr, Reinterpret) and lanes_of(expr.value) == expr.dtype.lanes:
            return replace(expr, dtype=expr.dtype.scalar, value=self.lane(expr.value, lane))
        raise TirxError(
            f"{expr!r} cannot be computed lane by lane", expr.span or self.span, "write a loop over the elements"
        )

    def _kept(self, value: Expr) -> Buffer:
        """Return registers that hold a vector that is only moved."""
        found = self._loaded.get(id(value))
        if found is None:
            count = value.dtype.lanes
            buffer = self._registers("loaded", count, value.dtype.scalar)
            self.before.append(BufferStore(buffer, (Ramp(INT32, const(0), count),), value, span=self.span))
            found = self._loaded[id(value)] = value, buffer
        return found[1]

    def _registers(self, name: str, count: int, dtype: DataType) -> Buffer:
        buffer = Buffer(name, (count,), dtype, "local", span=self.span)
        self.before.append(AllocBuffer(buffer, span=self.span))
        return buffer
