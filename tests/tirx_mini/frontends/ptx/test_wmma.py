"""wmma: products of 16 x 16 fragments by one warp, in each layout and type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "s8": np.int8,
    "u8": np.uint8, "s32": np.int32,
}  # fmt: skip


def registers(letter: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"%{letter}{first + place}" for place in range(count)) + "}"


def body(shape: str, factor: str, total: str, layouts: tuple[str, str, str], counts: tuple[int, int, int]) -> str:
    row_a, row_b, row_c = layouts
    a, b, c = (registers("r", first, count) for first, count in zip((100, 110, 120), counts, strict=True))
    types = f"{total}.{total}" if factor == "f16" else f"{total}.{factor}.{factor}.{total}"
    return f"""
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [d]; mov.u32 %r1, 32;
    wmma.load.a.sync.aligned.{row_a}.{shape}.global.{factor} {a}, [%rd1], %r1;
    wmma.load.b.sync.aligned.{row_b}.{shape}.{factor} {b}, [%rd2+0], 32;
    wmma.load.c.sync.aligned.{row_c}.{shape}.global.{total} {c}, [%rd3], %r1;
    wmma.mma.sync.aligned.{row_a}.{row_b}.{shape}.{types} {c}, {a}, {b},
        {c};
    wmma.store.d.sync.aligned.{row_c}.{shape}.global.{total} [%rd4], {c}, %r1;
    """


def stored(matrix: np.ndarray, layout: str) -> np.ndarray:
    """A matrix in an array of rows (or columns) of 32 elements."""
    matrix = matrix if layout == "row" else matrix.T
    padded = np.zeros((matrix.shape[0], 32), matrix.dtype)
    padded[:, : matrix.shape[1]] = matrix
    return padded


@pytest.mark.parametrize("layouts", [("row", "col", "row"), ("col", "row", "col"), ("row", "row", "col")])
@pytest.mark.parametrize(
    ("shape", "factor", "total", "counts"),
    [
        ("m16n16k16", "f16", "f32", (8, 8, 8)), ("m16n16k16", "f16", "f16", (8, 8, 4)),
        ("m16n16k16", "bf16", "f32", (4, 4, 8)), ("m16n16k16", "s8", "s32", (2, 2, 8)),
        ("m16n16k16", "u8", "s32", (2, 2, 8)), ("m16n16k8", "tf32", "f32", (4, 4, 8)),
        ("m32n8k16", "f16", "f32", (8, 8, 8)), ("m8n32k16", "f16", "f32", (8, 8, 8)),
        ("m8n32k16", "f16", "f16", (8, 8, 4)), ("m8n32k16", "bf16", "f32", (2, 8, 8)),
        ("m8n32k16", "u8", "s32", (1, 4, 8)),
    ],
)  # fmt: skip
def test_a_product_of_fragments(
    shape: str, factor: str, total: str, counts: tuple[int, int, int], layouts: tuple[str, str, str]
) -> None:
    m, n, k = {"m16n16k16": (16, 16, 16), "m16n16k8": (16, 16, 8), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16)}[
        shape
    ]
    rng = np.random.default_rng(0)
    low = 0 if factor == "u8" else -4
    a, b, c = (rng.integers(low, 5, size) for size in ((m, k), (k, n), (m, n)))
    given = [stored(x.astype(DTYPES[kind]), layout) for x, kind, layout in zip(
        (a, b, c), (factor, factor, total), layouts, strict=True
    )]  # fmt: skip
    text = entry("a b c d", body(shape, factor, total, layouts, counts)).replace(
        ".reg .b64 %d<120>;", ".reg .b64 %d<120>; .reg .b64 %rd<5>;"
    )
    d = np.zeros_like(given[2])
    views = [x.view(np.int16) if x.dtype == ml_dtypes.bfloat16 else x for x in given]
    report = run(text, *views, d)
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(d, stored((a @ b + c).astype(DTYPES[total]), layouts[2]))


def test_fragments_come_from_shared_memory_by_32_bit_addresses() -> None:
    text = entry(
        "a d",
        f"""
    .shared .align 32 .b8 tile[512];
    .reg .b64 %rd<5>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd4, [d];
    mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; cvt.u64.u32 %rd2, %r1; add.s64 %rd1, %rd1, %rd2;
    ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%rd1]; mov.u32 %r6, tile; add.u32 %r7, %r6, %r1;
    st.shared.v4.b32 [%r7], {{%r2, %r3, %r4, %r5}};
    bar.warp.sync -1;
    wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {registers("r", 100, 8)}, [%r6];
    wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 {registers("r", 110, 8)}, [tile];
    {"".join(f"mov.b32 %r{120 + n}, 0;" for n in range(8))}
    wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {registers("r", 120, 8)}, {registers("r", 100, 8)},
        {registers("r", 110, 8)}, {registers("r", 120, 8)};
    wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd4], {registers("r", 120, 8)};
    """,
    )
    a, d = np.random.default_rng(1).integers(-3, 4, (16, 16)).astype(np.float16), np.zeros((16, 16), np.float32)
    report = run(text, a, d)
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(d, a.astype(np.float32) @ a.astype(np.float32))


def test_a_shape_that_is_not_modelled_is_named() -> None:
    report = run(
        entry("a", "ld.param.u64 %d1, [a]; wmma.load.a.sync.aligned.row.m8n8k4.f64 {%g1}, [%d1], 8;"), np.zeros(64)
    )
    assert report.verdict == "incomplete" and "wmma.load.a.sync.aligned.row.m8n8k4.f64" in report.findings[0].message
