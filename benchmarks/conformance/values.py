"""Votes and sums of warps, arithmetic with a rounding mode, and barriers that lanes come to on ways of their own."""

from __future__ import annotations

import numpy as np

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes, small_integers


def votes() -> Built:
    """Votes of all lanes and of some, of random conditions."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), out: T.Buffer((6, 64), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        every = T.uint32(0xFFFFFFFF)
        out[0, tx] = T.Cast("int32", T.cuda.ballot_sync(every, A[tx] > 0))
        out[1, tx] = T.Cast("int32", T.cuda.any_sync(every, A[tx] > 3))
        out[2, tx] = T.Cast("int32", T.cuda.all_sync(every, A[tx] > -5))
        out[3, tx] = T.ptx.redux.s32(every, A[tx], op="add")
        out[4, tx] = T.Cast("int32", T.ptx.redux.u32(every, T.Cast("uint32", A[tx]), op="max"))
        if tx % 32 < 16:
            out[5, tx] = T.Cast("int32", T.cuda.ballot_sync(T.uint32(0xFFFF), A[tx] > 0))

    return kernel, (small_integers((64,), "int32"), blank((6, 64)))


def arithmetic(op: str, rounding: str) -> Built:
    """Numbers of any bits, with each rounding mode."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), out: T.Buffer((64,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        x = T.alloc_local((1,), "float32")
        if op == "add":
            x[0] = T.ptx.add.f32(A[tx], B[tx], rounding=rounding)
        elif op == "sub":
            x[0] = T.ptx.sub.f32(A[tx], B[tx], rounding=rounding)
        elif op == "mul":
            x[0] = T.ptx.mul.f32(A[tx], B[tx], rounding=rounding)
        elif op == "max":
            x[0] = T.ptx.max_f32(A[tx], B[tx])
        else:
            x[0] = T.ptx.min_f32(A[tx], B[tx])
        out[tx] = x[0]

    return kernel, (small_integers((64,), "float32"), small_integers((64,), "float32", 1), blank(64, "float32"))


def fused(rounding: str) -> Built:
    """Products plus numbers of about their size, of which one rounding keeps 24 bits."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 64), "float32"), out: T.Buffer((64,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        out[tx] = T.ptx.fma.f32(A[0, tx], A[1, tx], A[2, tx], rounding=rounding)

    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((3, 64)) * 2.0 ** rng.integers(-8, 8, (3, 64))
    return kernel, (numbers.astype(np.float32), blank(64, "float32"))


def quotients_and_roots(dtype: str, rounding: str) -> Built:
    """Quotients, reciprocals and roots of ordinary numbers, each rounded once."""
    kind = "f32" if dtype == "float32" else "f64"

    @T.prim_func
    def kernel(A: T.Buffer((2, 64), dtype), out: T.Buffer((3, 64), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        x = T.alloc_local((3,), dtype)
        T.ptx[f"div.{rounding}.{kind}"](x[0], A[0, tx], A[1, tx])
        T.ptx[f"rcp.{rounding}.{kind}"](x[1], A[0, tx])
        T.ptx[f"sqrt.{rounding}.{kind}"](x[2], A[1, tx])
        for i in T.unroll(3):
            out[i, tx] = x[i]

    rng = np.random.default_rng(0)
    numbers = (0.5 + rng.random((2, 64))) * 2.0 ** rng.integers(-8, 8, (2, 64))
    return kernel, (numbers.astype(dtype), blank((3, 64), dtype))


def functions() -> Built:
    """Special functions at powers of 4, a fused product and a root. A chip's approximations are a unit of float32 off
    there, which float16 does not show. Of tanh, sine and cosine, only where they are 0 or 1, or far below."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), P: T.Buffer((64,), "float32"), out: T.Buffer((10, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        out[0, tx] = T.Cast("float16", T.ptx.ex2.approx(A[tx]))
        out[1, tx] = T.Cast("float16", T.ptx.lg2.approx(P[tx]))
        out[2, tx] = T.Cast("float16", T.ptx.rcp.approx(P[tx]))
        out[3, tx] = T.Cast("float16", T.ptx.rsqrt.approx(P[tx]))
        out[4, tx] = T.Cast("float16", T.ptx.sqrt.rn(P[tx]))
        out[5, tx] = T.Cast("float16", T.ptx.fma.rn(A[tx], P[tx], A[63 - tx]))
        out[6, tx] = T.Cast("float16", T.ptx.sqrt.approx(P[tx]))
        out[7, tx] = T.Cast("float16", T.ptx.tanh.approx(A[tx] * 16.0))
        out[8, tx] = T.Cast("float16", T.ptx.sin.approx(A[tx] * 0.0))
        out[9, tx] = T.Cast("float16", T.ptx.cos.approx(A[tx] * 0.0))

    numbers = small_integers((64,), "float32")
    return kernel, (numbers, (4.0**numbers).astype("float32"), blank((10, 64), "float16"))


def library() -> Built:
    """Functions of the mathematical library, rounded to float16, which does not show their last bits."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), P: T.Buffer((64,), "float32"), out: T.Buffer((10, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        out[0, tx] = T.Cast("float16", T.cuda.sinf(A[tx]))
        out[1, tx] = T.Cast("float16", T.cuda.cosf(A[tx]))
        out[2, tx] = T.Cast("float16", T.cuda.tanf(A[tx]))
        out[3, tx] = T.Cast("float16", T.cuda.sinhf(A[tx]))
        out[4, tx] = T.Cast("float16", T.cuda.coshf(A[tx]))
        out[5, tx] = T.Cast("float16", T.cuda.tanhf(A[tx]))
        out[6, tx] = T.Cast("float16", T.cuda.powf(P[tx], A[tx]))
        out[7, tx] = T.Cast("float16", T.cuda.atan2f(A[tx], P[tx]))
        out[8, tx] = T.Cast("float16", T.cuda.floorf(A[tx] / 2.0))
        out[9, tx] = T.Cast("float16", T.cuda.ceilf(A[tx] / 2.0))

    numbers = small_integers((64,), "float32")
    return kernel, (numbers, (abs(numbers) + 0.5).astype("float32"), blank((10, 64), "float16"))


def more_of_the_library() -> Built:
    """Other functions of the library, also rounded; the last rows are exact."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), P: T.Buffer((64,), "float32"), out: T.Buffer((18, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        for i, value in enumerate([
            T.asin(A[tx] / 8.0), T.acos(A[tx] / 8.0), T.atan(A[tx]), T.asinh(A[tx]), T.acosh(P[tx] + 1.0),
            T.atanh(A[tx] / 8.0), T.erf(A[tx] / 2.0), T.exp10(A[tx] / 4.0), T.log10(P[tx]), T.log1p(P[tx]),
            T.hypot(A[tx], P[tx]), T.fmod(A[tx], 1.5), T.copysign(P[tx], A[tx]), T.ldexp(A[tx], T.Cast("int32", A[tx])),
            T.trunc(A[tx] / 2.0), T.round(A[tx] / 2.0), T.nextafter(A[tx], P[tx]) * 0.5, T.sigmoid(A[tx]),
        ]):
            out[i, tx] = T.Cast("float16", value)

    numbers = small_integers((64,), "float32")
    return kernel, (numbers, (abs(numbers) + 0.5).astype("float32"), blank((18, 64), "float16"))


def of_doubles() -> Built:
    """The same functions of float64, rounded to float32."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float64"), out: T.Buffer((6, 64), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        for i, value in enumerate([T.sin(A[tx]), T.exp(A[tx]), T.erf(A[tx]), T.pow(2.0, A[tx]), T.floor(A[tx] / 2.0),
                                   T.sqrt(A[tx] * A[tx])]):
            out[i, tx] = T.Cast("float32", value)

    return kernel, (small_integers((64,), "float64"), blank((6, 64), "float32"))


def counts_of_bits() -> Built:
    """Bits that are set, zeros above them, and products of bytes."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "uint32"), B: T.Buffer((64,), "uint64"), out: T.Buffer((6, 64), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        T.Assert(tx < 64, "the condition of a trap that is not taken")
        out[0, tx] = T.Cast("int32", T.popcount(A[tx]))
        out[1, tx] = T.Cast("int32", T.popcount(B[tx]))
        out[2, tx] = T.clz(A[tx] >> T.Cast("uint32", tx % 32))
        out[3, tx] = T.clz(B[tx] >> T.Cast("uint64", tx))
        out[4, tx] = T.ptx.dp4a(A[tx], A[63 - tx], tx)
        out[5, tx] = T.ptx.dp4a(A[tx], A[63 - tx], tx, atype="u32", btype="s32")

    return kernel, (random_bytes((64,), "uint32"), random_bytes((64,), "uint64", 1), blank((6, 64)))


def lanes_of_their_own(arrive: bool) -> Built:
    """Lanes of a warp come to one barrier on two ways, and to one of the warp with a mask."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), out: T.Buffer((64,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), "int32")
        if arrive:
            box[tx] = A[tx]
            if tx < 32:
                T.ptx.barrier.arrive(1, 64)
                out[tx] = A[tx]
            else:
                T.ptx.barrier.sync(1, 64)
                out[tx] = box[63 - tx]
        elif tx % 32 < 16:
            box[tx] = A[tx]
            T.ptx.bar.warp.sync(T.uint32(0xFFFF))
            out[tx] = box[tx ^ 15]

    return kernel, (random_bytes((64,), "int32"), blank(64))


def doubles(op: str, rounding: str) -> Built:
    """Numbers of float64 of many sizes, with each rounding mode."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 64), "float64"), out: T.Buffer((64,), "float64")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        x = T.alloc_local((1,), "float64")
        if op == "add":
            x[0] = T.ptx.add.f64(A[0, tx], A[1, tx], rounding=rounding)
        elif op == "sub":
            x[0] = T.ptx.sub.f64(A[0, tx], A[1, tx], rounding=rounding)
        elif op == "mul":
            x[0] = T.ptx.mul.f64(A[0, tx], A[1, tx], rounding=rounding)
        else:
            x[0] = T.ptx.fma.f64(A[0, tx], A[1, tx], A[2, tx], rounding=rounding)
        out[tx] = x[0]

    rng = np.random.default_rng(6)
    numbers = rng.normal(size=(3, 64)) * 2.0 ** rng.integers(-40, 40, (3, 64))
    numbers[1, :4] = -numbers[0, :4]  # zeros, whose sign depends on the direction
    return kernel, (numbers, blank(64, "float64"))


def bits() -> Built:
    """Bits by their places, and the greater and smaller ones of pairs of bfloat16."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "uint32"), B: T.Buffer((64,), "uint32"), out: T.Buffer((5, 64), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        out[0, tx] = T.cuda.ffs_u32(A[tx] & B[tx])
        out[1, tx] = T.ptx.fns_b32(A[tx], T.Cast("uint32", tx % 32), tx % 9 - 4)
        out[2, tx] = T.cuda.ffs_u32(T.Cast("uint32", tx - 1))
        out[3, tx] = T.cuda.hmax2(A[tx] & T.uint32(0x7F7F7F7F), B[tx] & T.uint32(0x7F7F7F7F))
        out[4, tx] = T.cuda.hmin2(A[tx] & T.uint32(0x7F7F7F7F), B[tx] & T.uint32(0x7F7F7F7F))

    return kernel, (random_bytes((64,), "uint32"), random_bytes((64,), "uint32", 1), blank((5, 64), "uint32"))


def quotients() -> Built:
    """Quotients by powers of two, which are exact, in range of the approximation and beyond it."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), out: T.Buffer((64,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        out[tx] = T.cuda.fdividef(A[tx], B[tx])

    divisors = (2.0 ** np.arange(-31, 33)).astype(np.float32)
    divisors[:2] = 2.0**127, -(2.0**127)
    return kernel, (small_integers((64,), "float32"), divisors, blank(64, "float32"))


VALUES = (
    Case("vote, redux", "of a warp and of half", votes),
    *(
        Case("arithmetic", f"{op}.{rounding}.f32", lambda a=(op, rounding): arithmetic(*a))
        for op in ("add", "sub", "mul")
        for rounding in ("rn", "rz", "rm", "rp")
    ),
    *(Case("arithmetic", f"{op}.f32", lambda op=op: arithmetic(op, "rn")) for op in ("max", "min")),
    *(Case("arithmetic", f"fma.{each}.f32", lambda each=each: fused(each)) for each in ("rn", "rz", "rm", "rp")),
    Case("arithmetic", "functions", functions),
    Case("arithmetic", "functions of the library", library),
    Case("arithmetic", "more functions of the library", more_of_the_library),
    Case("arithmetic", "functions of float64", of_doubles),
    Case("arithmetic", "counts of bits, products of bytes", counts_of_bits),
    Case("bar", "barrier.arrive and barrier.sync", lambda: lanes_of_their_own(True)),
    Case("bar", "bar.warp.sync of 16 lanes", lambda: lanes_of_their_own(False)),
    *(
        Case("arithmetic", f"{op}.f64 {rounding}", lambda op=op, rounding=rounding: doubles(op, rounding))
        for op in ("add", "sub", "mul", "fma") for rounding in ("rn", "rz", "rm", "rp")
    ),
    *(
        Case("arithmetic", f"div, rcp, sqrt.{each} of {dtype}", lambda a=(dtype, each): quotients_and_roots(*a))
        for dtype in ("float32", "float64") for each in ("rn", "rz", "rm", "rp")
    ),
    Case("arithmetic", "bits and pairs of bfloat16", bits),
    Case("arithmetic", "div.approx", quotients),
)  # fmt: skip
