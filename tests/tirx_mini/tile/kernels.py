"""Small kernels around one tile call, for the tests of dispatch and of the passes."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import (
    BOOL,
    INT32,
    UINT32,
    AllocBuffer,
    Buffer,
    Call,
    DataType,
    DeclBuffer,
    Expr,
    PrimFunc,
    Scope,
    ScopeIds,
    Stmt,
    Var,
    const,
    seq,
)
from tirx_mini.layout import Layout, S, SwizzleMode, TCol, TileLayout, TLane, m, tid_in_wg, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.tile import OPS

B128 = SwizzleMode.SWIZZLE_128B_ATOM


def var(name: str) -> Var:
    return Var(INT32, name)


def gmem(name: str, shape: tuple[int, ...], dtype: str = "float16") -> Buffer:
    return Buffer(name, shape, DataType(dtype))


def local(name: str, shape: tuple[int, ...], dtype: str = "float16") -> Buffer:
    return Buffer(name, shape, DataType(dtype), "local")


def swizzled(shape: tuple[int, ...], dtype: str = "float16", mode: SwizzleMode = B128) -> Layout:
    return tma_shared_layout(dtype, mode, shape)


def register_view(buffer: Buffer, rows: int, columns: int) -> Buffer:
    return buffer.view(rows, columns, layout=TileLayout(S[(rows, columns) : (1 @ tid_in_wg, 1)]))


def tmem(columns: int = 512, dtype: str = "float32", addr: Expr | None = None) -> Buffer:
    layout = TileLayout(S[(128, columns) : (1 @ TLane, 1 @ TCol)])
    address = const(64, UINT32) if addr is None else addr
    return Buffer("tmem", (128, columns), DataType(dtype), "tmem", layout, allocated_addr=address)


class Pool:
    """Consecutive shared buffers in one allocation."""

    def __init__(self) -> None:
        self.placed: list[tuple[str, tuple[int, ...], DataType, Any, int]] = []
        self.size = 0
        self.buffers: list[Buffer] = []

    def alloc(
        self, name: str, shape: tuple[int, ...], dtype: str = "float16", layout: Any = None, align: int = 1024
    ) -> int:
        """Place another buffer and return its index."""
        kind = DataType(dtype)
        offset = -(-self.size // align) * align
        elements = layout.cosize(m) if layout is not None else Buffer(name, shape, kind).size
        self.placed.append((name, shape, kind, layout, offset))
        self.size = offset + elements * kind.itemsize
        return len(self.placed) - 1

    def commit(self) -> tuple[Stmt, list[Buffer]]:
        root = Buffer("smem", (self.size,), DataType("uint8"), "shared", align=1024)
        buffers = [Buffer(n, s, k, "shared", layout, root, offset) for n, s, k, layout, offset in self.placed]
        return seq(AllocBuffer(root), *(DeclBuffer(b) for b in buffers)), buffers


def shared(name: str, shape: tuple[int, ...], dtype: str = "float16", layout: Any = None) -> tuple[Stmt, Buffer]:
    """One shared buffer in a pool of its own."""
    pool = Pool()
    pool.alloc(name, shape, dtype, layout)
    declare, (buffer,) = pool.commit()
    return declare, buffer


def call(op: str, *args: Any, **options: Any) -> Stmt:
    return OPS[op].build(*args, **options)


def elect() -> Expr:
    return Call(BOOL, "elect.sync", ())


def ids(warpgroups: int = 1) -> tuple[Stmt, Var, Var, Var]:
    """The declarations of wg_id, warp_id and lane_id, and their variables."""
    wg, warp, lane = var("wg_id"), var("warp_id"), var("lane_id")
    declare = seq(
        ScopeIds((wg,), (warpgroups,), "warpgroup", "cta"),
        ScopeIds((warp,), (4,), "warp", "warpgroup"),
        ScopeIds((lane,), (32,), "thread", "warp"),
    )
    return declare, wg, warp, lane


def kernel(*body: Stmt, params: tuple[Buffer | Var, ...] = (), warpgroups: int | None = 1) -> PrimFunc:
    """A kernel of one CTA around `body`; if `warpgroups` is given, it declares its threads."""
    declared = ids(warpgroups)[0] if warpgroups else None
    return PrimFunc("kernel", params, Scope("kernel", seq(declared, *body)))


def lowered(*body: Stmt, params: tuple[Buffer | Var, ...] = (), warpgroups: int | None = 1) -> PrimFunc:
    return lower(kernel(*body, params=params, warpgroups=warpgroups))
