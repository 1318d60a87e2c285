"""Small lowered kernels, built by hand."""

from __future__ import annotations

from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    DeclBuffer,
    Evaluate,
    For,
    If,
    Launch,
    PrimFunc,
    Ramp,
    Span,
    Stmt,
    Var,
    cast,
    const,
    scalar,
    seq,
    special,
)

THREADS = 128
TID = special("threadIdx.x")
WARP = special("warp_id_in_cta")


def func(
    *stmts: Stmt, params: tuple[Buffer | Var, ...] = (), smem: int = 0, name: str = "kernel", **launch
) -> PrimFunc:
    """A lowered kernel of one CTA of 128 threads."""
    shape = Launch(launch.pop("grid", (1, 1, 1)), THREADS, smem_bytes=smem, **launch)
    return PrimFunc(name, params, seq(*stmts), launch=shape)


def vector(name: str, size: int, dtype: str = "float32", scope: str = "global") -> Buffer:
    return Buffer(name, (size,), DataType(dtype), scope)


def at(buffer: Buffer, index, lanes: int = 1):
    """``buffer[index]``, or the `lanes` elements from there."""
    place = index if not isinstance(index, int) else const(index)
    if lanes > 1:
        place = Ramp(INT32, place, lanes)
    return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, (place,))


def put(buffer: Buffer, index, value, lanes: int = 1, line: int | None = None) -> BufferStore:
    """``buffer[index] = value``."""
    target = at(buffer, index, lanes)
    span = Span("kernel.py", line) if line else None
    return BufferStore(buffer, target.indices, value, span=span)


def scale(size: int = 1024) -> PrimFunc:
    """B = 2 A, eight elements a thread, through registers."""
    A, B = vector("A", size, "float16"), vector("B", size, "float16")
    wide, narrow = vector("wide", 8, "float32", "local"), vector("narrow", 8, "float16", "local")
    i, j = Var(INT32, "i"), Var(INT32, "j")
    pair = cast("float16x2", at(wide, j * 2, 2))
    return func(
        AllocBuffer(wide),
        AllocBuffer(narrow),
        For(i, const(0), const(8), put(wide, i, cast("float32", at(A, TID * 8 + i)) * 2.0)),
        For(j, const(0), const(4), put(narrow, j * 2, pair, 2), kind="unrolled", parallel=True),
        put(B, TID * 8, at(narrow, 0, 8), 8),
        params=(A, B),
        name="scale",
    )


def shared_reverse() -> PrimFunc:
    """A reversed within shared memory by one warpgroup, in place."""
    A = vector("A", THREADS)
    smem = Buffer("smem", (2048,), DataType("uint8"), "shared", align=1024)
    tile = Buffer("tile", (THREADS,), DataType("float32"), "shared", source=smem, byte_offset=1024)
    steps = scalar("steps", "int32")
    return func(
        AllocBuffer(smem),
        DeclBuffer(tile),
        AllocBuffer(steps),
        put(steps, 0, const(0)),
        If((WARP >> 2) == 0, put(tile, TID, at(A, TID))),
        Evaluate(Call(INT32, "bar.sync.all", (const(0),))),
        put(steps, 0, (at(steps, 0) + 1) % 3),
        If(at(steps, 0) * THREADS > TID, put(A, TID, at(tile, const(THREADS - 1) - TID))),
        params=(A,),
        smem=2048,
        name="reverse",
    )
