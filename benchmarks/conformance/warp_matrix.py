"""mma: every shape and type, with the registers of each lane as they come from memory. Small integers are exact."""

from __future__ import annotations

import numpy as np

from tirx_mini.script import tirx as T

from .case import Array, Built, Case, blank, element_type, small_integers

NAMES = {
    "f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "s8": "int8", "u8": "uint8", "f32": "float32", "s32": "int32",
}  # fmt: skip


def elements(count: int, dtype: str, seed: int) -> Array:
    """As many elements, small integers, in words of 32 bits: registers of 32 lanes."""
    values = small_integers((count,), "int32", seed)
    values = np.abs(values) if dtype == "uint8" else values
    return values.astype(element_type(dtype)).view(np.uint32).reshape(-1, 32)


def product(shape: str, d_type: str, a_type: str, b_type: str, *, zero: bool, scattered: bool = False) -> Built:
    """One mma; with `scattered`, its registers are in the reverse order, and are named one by one."""
    k = int(shape.partition("k")[2])
    A, B = elements(16 * k, NAMES[a_type], 1), elements(8 * k, NAMES[b_type], 2)
    C = elements(128, NAMES[d_type], 3)
    na, nb, nd = len(A), len(B), len(C)

    @T.prim_func
    def kernel(
        A: T.Buffer((na, 32), "uint32"), B: T.Buffer((nb, 32), "uint32"), C: T.Buffer((nd, 32), "uint32"),
        D: T.Buffer((nd, 32), "uint32"),
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        lane = T.thread_id([32])
        a = T.alloc_local((na,), "uint32")
        b = T.alloc_local((nb,), "uint32")
        c = T.alloc_local((nd,), "uint32")
        d = T.alloc_local((nd,), "uint32")
        for i in T.unroll(na):
            a[i] = A[i, lane]
        for i in T.unroll(nb):
            b[i] = B[i, lane]
        for i in T.unroll(nd):
            c[i] = C[i, lane]
        if scattered:
            ds = T.meta_var([d.ptr_to([nd - 1 - i]) for i in range(nd)])
            as_ = T.meta_var([a.ptr_to([na - 1 - i]) for i in range(na)])
            bs = T.meta_var([b.ptr_to([nb - 1 - i]) for i in range(nb)])
            cs = T.meta_var([c.ptr_to([nd - 1 - i]) for i in range(nd)])
            T.ptx.mma(shape, "row", "col", d_type, a_type, b_type, d_type, ds, as_, bs, cs)
        elif zero:
            T.ptx.mma(d.ptr_to([0]), a.ptr_to([0]), b.ptr_to([0]), shape, "row", "col", d_type, a_type, b_type, d_type)
        else:
            T.ptx.mma(
                d.ptr_to([0]), a.ptr_to([0]), b.ptr_to([0]), c.ptr_to([0]), shape, "row", "col", d_type, a_type, b_type,
                d_type,
            )  # fmt: skip
        for i in T.unroll(nd):
            D[i, lane] = d[i]

    return kernel, (A, B, C, blank((nd, 32), "uint32"))


def saturated(*, satfinite: bool) -> Built:
    """Sums that leave the range of int32, which wrap or stay at its ends."""
    A = np.full((4, 32), 0x7F7F7F7F, np.uint32)
    B = np.where(np.arange(32) < 16, np.uint32(0x7F7F7F7F), np.uint32(0x80808080)) * np.ones((2, 1), np.uint32)
    C = np.where(np.arange(32) < 16, np.int32(2**31 - 10), np.int32(10 - 2**31)) * np.ones((4, 1), np.int32)

    @T.prim_func
    def kernel(
        A: T.Buffer((4, 32), "uint32"), B: T.Buffer((2, 32), "uint32"), C: T.Buffer((4, 32), "int32"),
        D: T.Buffer((4, 32), "int32"),
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        lane = T.thread_id([32])
        a = T.alloc_local((4,), "uint32")
        b = T.alloc_local((2,), "uint32")
        d = T.alloc_local((4,), "int32")
        for i in T.unroll(4):
            a[i] = A[i, lane]
            d[i] = C[i, lane]
        for i in T.unroll(2):
            b[i] = B[i, lane]
        T.ptx.mma(
            d.ptr_to([0]), a.ptr_to([0]), b.ptr_to([0]), d.ptr_to([0]), shape="m16n8k32", d_type="s32", a_type="s8",
            b_type="s8", c_type="s32", satfinite=satfinite,
        )  # fmt: skip
        for i in T.unroll(4):
            D[i, lane] = d[i]

    return kernel, (A, B.astype(np.uint32), C.astype(np.int32), blank((4, 32)))


def quads(d_type: str, a_layout: str, b_layout: str) -> Built:
    """mma.m8n8k4: four products of quad pairs; its accumulators pass the compiler's fence of registers."""
    words = 8 if d_type == "f32" else 4

    @T.prim_func
    def kernel(
        A: T.Buffer((2, 32), "uint32"), B: T.Buffer((2, 32), "uint32"), C: T.Buffer((words, 32), "uint32"),
        D: T.Buffer((words, 32), "uint32"),
    ):  # fmt: skip
        T.device_entry()
        cta = T.cta_id([1])
        lane = T.thread_id([32])
        a = T.alloc_local((2,), "uint32")
        b = T.alloc_local((2,), "uint32")
        d = T.alloc_local((words,), "uint32")
        for i in T.unroll(2):
            a[i] = A[i, lane]
            b[i] = B[i, lane]
        for i in T.unroll(words):
            d[i] = C[i, lane]
        T.call("wgmma.fence_operand", d.ptr_to([0]), count=words)
        T.call(
            "mma.sync.m8n8k4", d.ptr_to([0]), a.ptr_to([0]), b.ptr_to([0]), d.ptr_to([0]), a_layout=a_layout,
            b_layout=b_layout, d_type=d_type,
        )  # fmt: skip
        for i in T.unroll(words):
            D[i, lane] = d[i]

    A, B = elements(128, "float16", 1), elements(128, "float16", 2)
    return kernel, (A, B, elements(256, NAMES[d_type], 3), blank((words, 32), "uint32"))


FORMS = (
    *((f"m16n8k{k}", d, "f16", "f16") for k in (8, 16) for d in ("f32", "f16")),
    *((f"m16n8k{k}", "f32", "bf16", "bf16") for k in (8, 16)),
    *((f"m16n8k{k}", "f32", "tf32", "tf32") for k in (4, 8)),
    *((f"m16n8k{k}", "s32", a, b) for k in (16, 32) for a in ("s8", "u8") for b in ("s8", "u8")),
    *((f"m16n8k{k}", d, a, b) for k in (16, 32) for d in ("f32", "f16") for a in ("e4m3", "e5m2")
      for b in ("e4m3", "e5m2")),
)  # fmt: skip

WARP_MATRIX = (
    *(
        Case("mma", f"{form[0]} of {form[2]} and {form[3]} to {form[1]}", lambda form=form: product(*form, zero=False))
        for form in FORMS
    ),
    *(
        Case("mma", f"m8n8k4 {a} {b} to {d}", lambda a=a, b=b, d=d: quads(d, a, b))
        for d in ("f32", "f16") for a in ("row", "col") for b in ("row", "col")
    ),
    Case("mma", "without C", lambda: product("m16n8k16", "f32", "f16", "f16", zero=True)),
    Case("mma", "without C, to f16", lambda: product("m16n8k8", "f16", "f16", "f16", zero=True)),
    Case("mma", "without C, to s32", lambda: product("m16n8k32", "s32", "s8", "u8", zero=True)),
    Case("mma", "registers anywhere", lambda: product("m16n8k16", "f32", "bf16", "bf16", zero=False, scattered=True)),
    Case("mma", "wrapping", lambda: saturated(satfinite=False)),
    Case("mma", "satfinite", lambda: saturated(satfinite=True)),
)
