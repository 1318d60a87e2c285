"""Products of a sparse A: `mma.sp` against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run

_DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def fragments(matrix: np.ndarray, of_b: bool) -> np.ndarray:
    """The registers of a fragment of A [16, k], or of B [k, 8] as its transpose [8, k]: uint32[registers, 32]."""
    words = np.ascontiguousarray(matrix).view(np.uint32)
    rows, length = words.shape
    return np.array([
        [words[lane // 4 + 8 * side, 4 * part + lane % 4] for lane in range(32)]
        for part in range(length // 4) for side in range(1 if of_b else rows // 8)
    ], np.uint32)  # fmt: skip


def sparse(rng: np.random.Generator, k: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix [16, k], its elements that are not left out, and their codes [16, groups]."""
    wide = dtype.itemsize == 4
    size, held = (2, 1) if wide else (4, 2)
    packed = rng.integers(1, 5, (16, k // size, held)).astype(dtype)
    full = np.zeros((16, k // size, size), dtype)
    codes = np.zeros((16, k // size), np.int64)
    for row, group in np.ndindex(codes.shape):
        places = (int(rng.integers(2)),) if wide else _PAIRS[rng.integers(6)]
        full[row, group, list(places)] = packed[row, group]
        codes[row, group] = (4, 14)[places[0]] if wide else places[0] | places[1] << 2
    return full.reshape(16, k), packed.reshape(16, k // 2), codes


@pytest.mark.parametrize(
    ("kinds", "k", "selector", "sums"),
    [
        (("f16", "f16"), 16, 3, "f32"), (("f16", "f16"), 32, 1, "f16"), (("bf16", "bf16"), 32, 0, "f32"),
        (("tf32", "tf32"), 8, 2, "f32"), (("tf32", "tf32"), 16, 1, "f32"), (("s8", "u8"), 32, 1, "s32"),
        (("u8", "s8"), 64, 0, "s32"), (("e4m3", "e5m2"), 64, 0, "f32"),
    ],
)
def test_a_sparse_product_is_that_of_the_whole_matrix(
    kinds: tuple[str, str], k: int, selector: int, sums: str
) -> None:
    rng = np.random.default_rng(3)
    full, packed, codes = sparse(rng, k, np.dtype(_DTYPES[kinds[0]]))
    b = rng.integers(0, 5, (k, 8)).astype(_DTYPES[kinds[1]])
    lanes, bytes_ = max(1, codes.shape[1] // 4), np.dtype(_DTYPES[kinds[0]]).itemsize == 1
    metadata = np.zeros(32, np.uint64)
    for (row, group), code in np.ndenumerate(codes):
        lane, shift = 4 * (row % 8) + lanes * selector + group // 4, 16 * (row // 8) + 4 * (group % 4)
        if bytes_:
            lane, shift = 4 * (row % 8) + 2 * selector + row // 8 + 2 * (group // 8), 4 * (group % 8)
        metadata[lane] |= np.uint64(int(code) << shift)
    given = np.concatenate([fragments(packed, False), fragments(b.T, True), metadata.astype(np.uint32)[None]])
    count = len(given) // 2
    names = [[f"%r{first + n}" for n in range(length)] for first, length in ((40, 4), (10, count), (20, count))]
    d, left, right = ("{" + ", ".join(each) + "}" for each in names)
    if sums == "f16":
        d = "{%r40, %r41}"
    loads = "".join(
        f"ld.global.b32 {name}, [%d2+{128 * n}];" for n, name in enumerate([*names[1], *names[2], "%r30"])
    )
    shape = f"m16n8k{k}.row.col.{sums}.{kinds[0]}.{kinds[1]}.{sums}"
    body = f"""mov.u32 %r0, %tid.x; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; mul.wide.u32 %d3, %r0, 4;
        add.s64 %d2, %d0, %d3; add.s64 %d4, %d1, %d3; {loads}
        mov.b32 %r40, 0; mov.b32 %r41, 0; mov.b32 %r42, 0; mov.b32 %r43, 0;
        mma.sp::ordered_metadata.sync.aligned.{shape} {d}, {left}, {right}, {d}, %r30, {selector:#x};
        {"".join(f"st.global.b32 [%d4+{128 * n}], %r{40 + n};" for n in range(4))}"""
    out = np.zeros((4, 32), np.uint32)
    report = run(entry("a b", body), given, out)
    assert report.verdict == "ok" and not report.findings, report
    wanted = full.astype(np.float64) @ b.astype(np.float64)
    lane = np.arange(32)
    for register in range(4):
        row, column = lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2
        if sums == "f16":
            halves = out.view(np.float16).reshape(4, 32, 2)
            got = halves[register // 2, :, register % 2]
        else:
            got = out.view(np.int32 if sums == "s32" else np.float32)[register]
        np.testing.assert_array_equal(got, wanted[row, column])


def test_a_selector_that_no_lane_has_is_refused() -> None:
    line = (
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, "
        "{%r9,%r10,%r11,%r12}, {%r1,%r2,%r3,%r4}, %r13, 1;"
    )
    report = run(entry("a", line), np.zeros(1, np.int32))
    assert report.verdict == "incomplete" and "at most 0" in str(report)
