"""What every thread computes by itself: integer arithmetic, conversions, and float operations that round once."""

from __future__ import annotations

import numpy as np

from tirx_mini.script import tirx as T

from .case import Array, Built, Case, blank, element_type, random_bytes, small_integers

SIZE = 256
SPECIAL = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    65504.0,
    65519.9,
    65520.0,
    1e-8,
    6e-8,
    3.3e38,
    -3.3e38,
    np.inf,
    -np.inf,
]


def integers(dtype: str) -> Built:
    """Quotients and remainders round down, as in Python; shifts and products keep the low bits."""

    @T.prim_func
    def kernel(A: T.Buffer((SIZE,), dtype), B: T.Buffer((SIZE,), dtype), out: T.Buffer((9, SIZE), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([SIZE])
        a: T.let = A[tx]
        b: T.let = B[tx]
        out[0, tx] = a + b
        out[1, tx] = a - b
        out[2, tx] = a * b
        out[3, tx] = a // b
        out[4, tx] = a % b
        out[5, tx] = (a & b) ^ (a | 3)
        out[6, tx] = a >> 3
        out[7, tx] = T.min(a, b)
        out[8, tx] = T.max(a, b) // 8 + a % 16

    a, b = random_bytes((SIZE,), dtype, 1), random_bytes((SIZE,), dtype, 2)
    b[b == 0] = 3
    b[::5] = small_integers((SIZE,), "int8", 3)[::5].astype(dtype) | 1
    a[a == np.iinfo(dtype).min] = 7 if np.iinfo(dtype).min else a[a == np.iinfo(dtype).min]
    return kernel, (a, b, blank((9, SIZE), dtype))


def floats() -> list[float]:
    """Values that are hard to round, and ordinary ones."""
    return [*SPECIAL, *np.random.default_rng(0).normal(size=SIZE - len(SPECIAL)).astype(np.float32).tolist()]


def arithmetic() -> Built:
    """One rounding each: nothing here that a compiler may contract."""

    @T.prim_func
    def kernel(A: T.Buffer((SIZE,), "float32"), B: T.Buffer((SIZE,), "float32"), out: T.Buffer((6, SIZE), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([SIZE])
        out[0, tx] = A[tx] + B[tx]
        out[1, tx] = A[tx] * B[tx]
        out[2, tx] = A[tx] / B[tx]
        out[3, tx] = T.max(A[tx], B[tx])
        out[4, tx] = T.min(A[tx], B[tx])
        out[5, tx] = T.Select(A[tx] < B[tx], A[tx], -B[tx])

    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=SIZE).astype(np.float32) for _ in range(2))
    return kernel, (a, b, blank((6, SIZE), "float32"))


def conversion(source: str, target: str, values: Array) -> Built:
    kept = "uint8" if target.startswith("float6") else target  # PyTorch, which holds the arguments, has no float6

    @T.prim_func
    def kernel(A: T.Buffer((SIZE,), source), out: T.Buffer((SIZE,), kept)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([SIZE])
        if kept == target:
            out[tx] = T.Cast(target, A[tx])
        else:
            out[tx] = T.reinterpret(kept, T.Cast(target, A[tx]))

    return kernel, (values, blank(SIZE, kept))


def converted(source: str, target: str) -> Built:
    if source == "int32":
        values = random_bytes((SIZE,), "int32")
    else:
        with np.errstate(over="ignore"):  # the largest values are no float16
            values = np.array(floats(), np.float32).astype(element_type(source))
    return conversion(source, target, values)


def cast_tile(target: str) -> Built:
    """Tx.cast of a register tile, two elements at a time."""

    @T.prim_func
    def kernel(A: T.Buffer((32, 8), "float32"), out: T.Buffer((32, 8), target)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        wide = T.alloc_local((8,), "float32")
        narrow = T.alloc_local((8,), target)
        with T.thread():
            T.copy(wide[:], A[tx, :])
            T.cast(narrow[:], wide[:])
            T.copy(out[tx, :], narrow[:])

    return kernel, (np.array(floats(), np.float32).reshape(32, 8), blank((32, 8), target))


def bits() -> Built:
    """Words of any bits, also as places and lengths beyond the word."""

    @T.prim_func
    def kernel(
        A: T.Buffer((3, SIZE), "uint32"), out: T.Buffer((24, SIZE), "uint32"), wide: T.Buffer((3, SIZE), "uint64")
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([SIZE])
        a: T.let = A[0, tx]
        b: T.let = A[1, tx]
        c: T.let = A[2, tx]
        left: T.let = T.Cast("int32", a)
        right: T.let = T.Cast("int32", b)
        out[0, tx] = T.ptx.prmt.b32(a, b, c)
        out[1, tx] = T.ptx.lop3.b32(a, b, c, lut=0xE8)
        out[2, tx] = T.ptx.brev.b32(a)
        out[3, tx] = T.ptx.bfind.u32(a >> (b & 31))
        out[4, tx] = T.ptx.bfind.s32(T.Cast("int32", a) >> T.Cast("int32", b & 31))
        for i, (direction, mode) in enumerate((d, m) for d in "lr" for m in ("wrap", "clamp")):
            out[5 + i, tx] = T.ptx.shf(a, b, c & 63, direction=direction, mode=mode)
        out[9, tx] = T.ptx.bfe.u32(a, b & 63, c & 63)
        out[10, tx] = T.Cast("uint32", T.ptx.bfe.s32(left, b & 63, c & 63))
        out[11, tx] = T.ptx.bfi.b32(a, b, c & 63, (c >> 6) & 63)
        out[12, tx] = T.ptx.mul.hi.u32(a, b)
        out[13, tx] = T.Cast("uint32", T.ptx.mul.hi.s32(left, right))
        out[14, tx] = T.ptx.mad.lo.u32(a, b, c)
        out[15, tx] = T.Cast("uint32", T.ptx.mad.lo.s32(left, right, T.Cast("int32", c)))
        out[16, tx] = T.ptx.mad.hi.u32(a, b, c)
        out[17, tx] = T.call("activemask.b32")
        out[18, tx] = T.call("match.any.sync.b32", a & 3, 0xFFFFFFFF)
        out[19, tx] = T.call("match.all.sync.b32", a & 1, 0xFFFFFFFF)
        out[20, tx] = T.call("movmatrix", a)
        out[21, tx] = T.ptx.bfind.u32(0)
        out[22, tx] = T.ptx.bfe.u32(a, 0, 32)
        out[23, tx] = T.Cast("uint32", T.ptx.bfe.s32(left, 31, 1))
        wide[0, tx] = T.ptx.mul.wide.u32(a, b)
        wide[1, tx] = T.ptx.mad.wide.u32(a, b, T.Cast("uint64", c) << 31)
        wide[2, tx] = T.ptx.brev.b64((T.Cast("uint64", a) << 32) | T.Cast("uint64", b))
        T.ptx.prefetch(A.ptr_to([0, tx]), level="L1")
        T.ptx.applypriority(A.ptr_to([0, 0]))
        T.ptx.cp_async.bulk.prefetch(A.ptr_to([0, 0]), 128)

    return kernel, (random_bytes((3, SIZE), "uint32"), blank((24, SIZE), "uint32"), blank((3, SIZE), "uint64"))


SCALARS = (
    Case("bits", "permutations, fields, shifts, wide products", bits),
    *(
        Case("arithmetic", f"of {dtype}", lambda dtype=dtype: integers(dtype))
        for dtype in ("int32", "uint32", "int64", "uint64", "int16", "uint8")
    ),
    Case("arithmetic", "of float32", arithmetic),
    *(
        Case("conversion", f"{a} to {b}", lambda a=a, b=b: converted(a, b))
        for a, b in (("float32", "float16"), ("float32", "bfloat16"), ("float16", "float32"), ("bfloat16", "float32"),
                     ("float32", "int32"), ("float32", "uint8"), ("int32", "float32"), ("int32", "float16"),
                     ("float32", "float8_e4m3fn"), ("float32", "float8_e5m2"), ("float32", "float6_e2m3fn"),
                     ("float32", "float6_e3m2fn"))
    ),
    Case("conversion", "a tile to float16", lambda: cast_tile("float16")),
    Case("conversion", "a tile to bfloat16", lambda: cast_tile("bfloat16")),
)  # fmt: skip
