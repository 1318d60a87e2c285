"""Random functions, both source-level and lowered, in the normal form that the front end and the passes produce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis.strategies as st

from tirx_mini.ir import (
    FLOAT32,
    HANDLE,
    INT32,
    SERIAL,
    UNROLLED,
    AddressOf,
    AllocBuffer,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Continue,
    DataType,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    Hint,
    If,
    Launch,
    PrimFunc,
    Ramp,
    Region,
    Scope,
    ScopeIds,
    Stmt,
    TensorMap,
    Var,
    While,
    binary,
    cast,
    const,
    scalar,
    select,
    seq,
    special,
    unary,
)  # fmt: skip
from tirx_mini.isa import NAMES
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.tile import OPS

Draw = Callable[[st.SearchStrategy[Any]], Any]
INTEGERS = ("int32", "uint32", "int64", "uint64", "int8")
FLOATS = ("float32", "float16", "bfloat16", "float64")
NAMES_OF_VARIABLES = st.sampled_from(["x", "k", "stage", "tid", "lambda", "Tx", "a b", "1st", "range", "m"])


@dataclass
class World:
    """The variables, buffers and open loops that a statement may use."""

    draw: Draw
    variables: list[Var] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    loops: int = 0

    def inner(self, loops: int = 0) -> World:
        return World(self.draw, list(self.variables), list(self.buffers), self.loops + loops)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    # -- expressions --------------------------------------------------------------------------------------------

    def integer(self, depth: int = 2, dtype: str = "int32") -> Expr:
        kind = DataType(dtype)
        leaves = [v for v in self.variables if v.dtype == kind]
        choice = self.draw(st.integers(0, 9 if depth else 2))
        if choice <= 2:
            if leaves and choice:
                return self.pick(leaves)
            if choice == 2 and dtype == "int32":
                return special(self.pick(["threadIdx.x", "warp_id_in_cta", "blockIdx.y", "cluster_ctarank"]))
            low, high = (
                (-128, 127) if dtype == "int8" else (0, 2**31 - 1) if kind.code == "uint" else (-(2**31), 2**31 - 1)
            )
            return const(self.draw(st.integers(low, high)), kind)
        a = self.integer(depth - 1, dtype)
        if choice == 3:
            return unary(self.pick(["-", "~"]), a)
        if choice == 4:
            return cast(kind, self.value(depth - 1))
        if choice == 5:
            return select(self.condition(depth - 1), a, self.integer(depth - 1, dtype))
        if choice == 6:
            return self.load(dtype, depth - 1)
        if choice == 7:
            return binary(self.pick(["//", "%", "<<", ">>"]), a, const(self.draw(st.integers(1, 7)), kind))
        return binary(self.pick(["+", "-", "*", "&", "|", "^", "min", "max"]), a, self.integer(depth - 1, dtype))

    def floating(self, depth: int = 2, dtype: str = "float32") -> Expr:
        choice = self.draw(st.integers(0, 3 if depth else 0))
        if choice == 0:
            return const(self.draw(st.floats(allow_nan=False, allow_infinity=False, width=32)), dtype)
        if choice == 1:
            return self.load(dtype, depth - 1)
        if choice == 2:
            return cast(dtype, self.value(depth - 1))
        op = self.pick(["+", "-", "*", "max"])
        return binary(op, self.floating(depth - 1, dtype), self.floating(depth - 1, dtype))

    def condition(self, depth: int = 2) -> Expr:
        choice = self.draw(st.integers(0, 3 if depth else 0))
        if choice <= 1:
            dtype = self.pick(INTEGERS)
            op = self.pick(["==", "!=", "<", "<=", ">", ">="])
            return binary(op, self.integer(max(depth - 1, 0), dtype), self.integer(0, dtype))
        if choice == 2:
            return unary("not", self.condition(depth - 1))
        return binary(self.pick(["and", "or"]), self.condition(depth - 1), self.condition(depth - 1))

    def value(self, depth: int = 2) -> Expr:
        choice = self.draw(st.integers(0, 2))
        if choice == 0:
            return self.floating(depth, self.pick(FLOATS))
        return self.integer(depth, self.pick(INTEGERS)) if choice == 1 else self.condition(depth)

    def load(self, dtype: str, depth: int) -> Expr:
        found = [b for b in self.buffers if b.dtype == dtype and b.scope != "tmem"]
        if not found:
            return const(1, dtype)
        buffer = self.pick(found)
        return BufferLoad(buffer.dtype, buffer, self.indices(buffer, depth))

    def indices(self, buffer: Buffer, depth: int = 1) -> tuple[Expr, ...]:
        if buffer.scalar:
            return (const(0),)
        if buffer.ndim > 1 and self.draw(st.booleans()):
            return (self.integer(max(depth, 0)),)  # one flat offset, as in lowered code
        return tuple(self.integer(max(depth, 0)) for _ in buffer.shape)

    def region(self, buffer: Buffer, extents: Sequence[int] | None = None) -> Region:
        keys: list[Any] = []
        for axis, extent in enumerate(buffer.shape):
            size = extents[axis] if extents else self.draw(st.sampled_from([1, extent]))
            if size == extent:
                keys.append(slice(None))
            elif size == 1 and self.draw(st.booleans()):
                keys.append(self.pick([v for v in self.variables if v.dtype == INT32] or [const(0)]))
            else:
                start = self.pick([v for v in self.variables if v.dtype == INT32] or [const(0)]) * size
                keys.append(slice(start, start + size))
        found = buffer[tuple(keys)]
        if isinstance(found, Region):
            return found
        return buffer[(*keys[:-1], slice(keys[-1], keys[-1] + 1))]  # type: ignore[return-value]

    # -- statements ---------------------------------------------------------------------------------------------

    def block(self, depth: int, loops: int = 0) -> Stmt:
        inner = self.inner(loops)
        return seq(*(inner.statement(depth) for _ in range(self.draw(st.integers(0, 3)))))

    def statement(self, depth: int) -> Stmt:
        makers = [self.bind, self.alloc, self.store, self.vector_store, self.instruction, self.tile, self.mutable]
        makers += [self.view, self.hint]
        if depth:
            makers += [self.branch, self.loop, self.while_loop, self.scope, self.hinted]
        if self.loops:
            makers += [Break, Continue]
        return self._make(self.pick(makers), depth)

    def _make(self, maker: Callable[..., Stmt], depth: int) -> Stmt:
        nested = maker in (self.branch, self.loop, self.while_loop, self.scope, self.hinted)
        return maker(depth - 1) if nested else maker()

    def bind(self) -> Stmt:
        value = self.value()
        if self.draw(st.integers(0, 9)) == 0:
            buffer = self.pick([b for b in self.buffers if not b.scalar])
            value = AddressOf(HANDLE, buffer, self.indices(buffer))
        var = Var(value.dtype, self.draw(NAMES_OF_VARIABLES))
        self.variables.append(var)
        return Bind(var, value)

    def alloc(self) -> Stmt:
        dtype = DataType(self.pick([*INTEGERS, *FLOATS]))
        shape = self.pick([(8,), (4, 8), (2, 3, 4)])
        scope = self.pick(["local", "shared"])
        align = self.pick([0, 128])
        layout = self.pick([None, TileLayout(S[shape])])
        buffer = Buffer(self.draw(NAMES_OF_VARIABLES), shape, dtype, scope, layout, align=align)
        self.buffers.append(buffer)
        return AllocBuffer(buffer)

    def mutable(self) -> Stmt:
        buffer = scalar(self.draw(NAMES_OF_VARIABLES), self.pick(["int32", "uint32", "float32", "bool"]))
        value = cast(buffer.dtype, self.value(1))
        self.buffers.append(buffer)
        store = BufferStore(buffer, (const(0),), value) if self.draw(st.booleans()) else None
        return seq(AllocBuffer(buffer), store)

    def view(self) -> Stmt:
        source = self.pick([b for b in self.buffers if b.scope in ("local", "shared") and not b.scalar])
        buffer = Buffer("view", (source.size,), source.dtype, source.scope, None, source, self.pick([0, 16]))
        self.buffers.append(buffer)
        return DeclBuffer(buffer)

    def store(self) -> Stmt:
        buffer = self.pick([b for b in self.buffers if b.scope != "tmem"])
        return BufferStore(buffer, self.indices(buffer), cast(buffer.dtype, self.value()))

    def vector_store(self) -> Stmt:
        found = [b for b in self.buffers if b.scope in ("local", "shared") and not b.scalar]
        dst, src = self.pick(found), self.pick(found)
        lanes = self.pick([2, 4])
        base = self.integer(1)
        value: Expr = BufferLoad(src.dtype.with_lanes(lanes), src, (Ramp(base.dtype, base, lanes),))
        value = cast(dst.dtype.with_lanes(lanes), value)
        at = self.integer(1)
        return BufferStore(dst, (Ramp(at.dtype, at, lanes),), value)

    def instruction(self) -> Stmt:
        bar = next(b for b in self.buffers if b.name == "bar").ptr_to([self.integer(1)])
        address = cast("uint32", bar)
        call = self.pick([
            lambda: NAMES["ptx.mbarrier.arrive.expect_tx"].call(bar, self.integer()),
            lambda: NAMES["ptx.mbarrier.arrive"].call(bar, cta_id=self.integer(1), pred=self.condition()),
            lambda: NAMES["ptx.mbarrier.try_wait"].call(address, self.integer()),
            lambda: NAMES["ptx.fence.proxy_async"].call("shared::cta"),
            lambda: NAMES["cuda.cta_sync"].call(),
            lambda: NAMES["cuda.warpgroup_sync"].call(self.integer(1)),
            lambda: NAMES["ptx.cp_async.bulk.wait_group"].call(1),
            lambda: NAMES["ptx.tcgen05.commit"].call(bar, cta_group=2, cta_mask=3),
            lambda: NAMES["ptx.elect_sync"].call(),
        ])()  # fmt: skip
        return Evaluate(call)

    def tile(self) -> Stmt:
        named = {b.name: b for b in self.buffers}
        scope = self.pick([None, "cta", "warpgroup"])
        a, smem, tmem = named["A"], named["Asmem"], named["tmem"]
        return self.pick([
            lambda: OPS["copy"].build(self.region(smem, (1, 64, 64)), self.region(a, (64, 64)), scope=scope),
            lambda: OPS["fill"].build(self.region(a), self.floating(1, "float16"), scope=scope),
            lambda: OPS["gemm_async"].build(
                self.region(tmem, (64, 64)), self.region(smem, (1, 64, 64)), self.region(smem, (1, 64, 64)),
                accum=self.condition(1), dispatch="tcgen05", cta_group=1,
            ),
            lambda: OPS["copy_async"].build(
                self.region(smem, (1, 64, 64)), self.region(a, (64, 64)), dispatch="tma",
                mbar=named["bar"].ptr_to([self.integer(1)]),
            ),
        ])()  # fmt: skip

    def hint(self) -> Stmt:
        return Hint(self.draw(st.text(max_size=8)), self.pick([(), (("depth", 2), ("of", "it"))]))

    def hinted(self, depth: int) -> Stmt:
        return Hint("a block", (), self.block(depth))

    def branch(self, depth: int) -> Stmt:
        orelse = self.pick([None, lambda: self.block(depth), lambda: self.branch(0)])
        then = self.block(depth)
        return If(self.condition(), then, orelse() if orelse else None)

    def loop(self, depth: int) -> Stmt:
        var = Var(INT32, self.draw(NAMES_OF_VARIABLES))
        kind = self.pick([SERIAL, UNROLLED])
        start = const(0) if self.draw(st.booleans()) else const(3) if kind == UNROLLED else self.integer(1)
        stop = const(8) if kind == UNROLLED else self.integer(1)
        inner = self.inner(1)
        inner.variables.append(var)
        body = inner.block(depth)
        return For(var, start, stop, body, self.pick([1, 1, 2]), kind, self.draw(st.booleans()))

    def while_loop(self, depth: int) -> Stmt:
        condition = self.condition() if self.draw(st.booleans()) else const(True)
        return While(condition, self.block(depth, loops=1))

    def scope(self, depth: int) -> Stmt:
        kind, parent = self.pick([("cta", None), ("warpgroup", None), ("thread", "warp"), ("warp", "cta")])
        condition = self.condition(1) if self.draw(st.booleans()) else None
        return Scope(kind, self.block(depth), parent, condition)


@st.composite
def functions(draw: Draw) -> PrimFunc:
    """A function with parameters, buffers of every kind, and random statements."""
    world = World(draw)
    params: list[Buffer | Var] = [
        Buffer("A", (64, 128), DataType("float16"), layout=draw(st.sampled_from([None, TileLayout(S[(64, 128)])]))),
        Buffer("B", (32,), FLOAT32, align=draw(st.sampled_from([0, 16]))),
        Var(INT32, "n"),
    ]
    world.buffers += [p for p in params if isinstance(p, Buffer)]
    world.variables.append(params[2])  # type: ignore[arg-type]
    pool = Buffer("smem", (65536,), DataType("uint8"), "shared", align=1024)
    bar = Buffer("bar", (4,), DataType("uint64"), "shared", None, pool, 8)
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 64, 64))
    smem = Buffer("Asmem", (2, 64, 64), DataType("float16"), "shared", layout, pool, 1024)
    reg = Buffer("reg", (16,), FLOAT32, "local")
    rows = Buffer("reg_wg", (128, 16), FLOAT32, "local", TileLayout(S[(128, 16) : (1 @ tid_in_wg, 1)]), reg)
    places = TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)])
    address = draw(st.sampled_from([const(0, "uint32"), BufferLoad(DataType("uint32"), _words(pool), (const(0),))]))
    tmem = Buffer("tmem", (128, 512), FLOAT32, "tmem", places, None, allocated_addr=address)
    ids = (Var(INT32, "bx"), Var(INT32, "by"))
    world.variables += ids
    head: list[Stmt] = [ScopeIds(ids, (4, 2), "cta", "kernel"), AllocBuffer(pool), DeclBuffer(bar), DeclBuffer(smem),
                        AllocBuffer(reg), DeclBuffer(rows)]  # fmt: skip
    if isinstance(address, BufferLoad):
        head.append(DeclBuffer(address.buffer))
    head.append(DeclBuffer(tmem))
    world.buffers += [bar, smem, reg, tmem]
    func = PrimFunc(
        "k", tuple(params), seq(*head, world.block(3)), draw(st.sampled_from([(), (("note", "π"), ("n", 3))]))
    )
    if not draw(st.booleans()):
        return func
    maps = (TensorMap(Var(DataType("tensormap"), "A_map"), params[0], (128, 64), (256,), (64, 64), 128),)  # type: ignore[arg-type]
    return replace(func, launch=Launch((4, 2, 1), 128, (2, 1, 1), 65536, draw(st.booleans())), tensor_maps=maps)


def _words(pool: Buffer) -> Buffer:
    return Buffer("tmem_addr", (1,), DataType("uint32"), "shared", None, pool)
