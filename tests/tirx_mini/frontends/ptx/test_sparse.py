"""Products of a sparse A: `mma.sp` and `wgmma.mma_async.sp` against NumPy."""

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


def sparse(
    rng: np.random.Generator, k: int, dtype: np.dtype, rows: int = 16
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix [rows, k], its elements that are not left out, and their codes [rows, groups]."""
    wide = dtype.itemsize == 4
    size, held = (2, 1) if wide else (4, 2)
    packed = rng.integers(1, 5, (rows, k // size, held)).astype(dtype)
    full = np.zeros((rows, k // size, size), dtype)
    codes = np.zeros((rows, k // size), np.int64)
    for row, group in np.ndindex(codes.shape):
        places = (int(rng.integers(2)),) if wide else _PAIRS[rng.integers(6)]
        full[row, group, list(places)] = packed[row, group]
        codes[row, group] = (4, 14)[places[0]] if wide else places[0] | places[1] << 2
    return full.reshape(rows, k), packed.reshape(rows, k // 2), codes


def metadata(codes: np.ndarray, selector: int, itemsize: int) -> np.ndarray:
    """The metadata of 16 rows in the lanes of a warp, uint32[32]."""
    lanes = max(1, codes.shape[1] // 4)
    words = np.zeros(32, np.uint64)
    for (row, group), code in np.ndenumerate(codes):
        lane, shift = 4 * (row % 8) + lanes * selector + group // 4, 16 * (row // 8) + 4 * (group % 4)
        if itemsize == 1:
            lane, shift = 4 * (row % 8) + 2 * selector + row // 8 + 2 * (group // 8), 4 * (group % 8)
        words[lane] |= np.uint64(int(code) << shift)
    return words.astype(np.uint32)


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
    held = metadata(codes, selector, np.dtype(_DTYPES[kinds[0]]).itemsize)
    given = np.concatenate([fragments(packed, False), fragments(b.T, True), held[None]])
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


_N = 16
_COPY = """mov.u32 %r0, %tid.x; mul.wide.u32 %d3, %r0, 16; ld.param.u64 %d0, [image]; add.s64 %d0, %d0, %d3;
mov.u64 %d4, tile; cvt.u32.u64 %r1, %d4; shl.b32 %r2, %r0, 4; add.u32 %r2, %r2, %r1;
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0]; st.shared.v4.u32 [%r2], {%r10, %r11, %r12, %r13};
@%p1 bra COPIED; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0+2048];
st.shared.v4.u32 [%r2+2048], {%r10, %r11, %r12, %r13};
COPIED: mul.wide.u32 %d5, %r0, 4; ld.param.u64 %d1, [words]; add.s64 %d1, %d1, %d5; ld.global.u32 %r30, [%d1];
ld.param.u64 %d2, [out]; mul.wide.u32 %d6, %r0, 32; add.s64 %d2, %d2, %d6;
fence.proxy.async.shared::cta; bar.sync 0; shr.u32 %r4, %r1, 4; cvt.u64.u32 %d4, %r4;
"""


def image(matrix: np.ndarray) -> np.ndarray:
    """The chunks of 16 bytes of a matrix in shared memory, those of each column side by side."""
    chunks = np.ascontiguousarray(matrix).view(np.uint8).reshape(len(matrix), -1, 16)
    return np.ascontiguousarray(chunks.transpose(1, 0, 2)).reshape(-1)


def descriptor(rows: int, start: int) -> int:
    """The descriptor of `image(matrix)`, relative to the tile at `start` units of 16 bytes."""
    return start | rows << 16 | 8 << 32


def warpgroup_product(
    kinds: tuple[str, str, str], selector: int, in_registers: bool, rest: str = "", more: str = ""
) -> tuple[np.ndarray, np.ndarray, object]:
    """A product [64, 16] of a warpgroup, what NumPy has, and the report. kinds: of A, of B and of D."""
    a_type, b_type, d_type = kinds
    dtype = np.dtype(_DTYPES[a_type])
    k, rng = 64 // dtype.itemsize, np.random.default_rng(4)
    full, packed, codes = sparse(rng, k, dtype, 64)
    b = rng.integers(0, 5, (k, _N)).astype(_DTYPES[b_type])
    shared = np.concatenate([image(packed), image(b.T)])
    words = np.concatenate([metadata(rows, selector, dtype.itemsize) for rows in np.split(codes, 4)])
    registers = 4 if d_type == "f16" else 8
    d = ", ".join(f"%{'r' if d_type in ('f16', 's32') else 'f'}{40 + n}" for n in range(registers))
    a, loads = f"%d10{rest}", ""
    if in_registers:
        held = [fragments(rows, False) for rows in np.split(packed, 4)]
        words = np.concatenate([words, *np.concatenate(held, axis=1)]).astype(np.uint32)
        loads = "".join(f"ld.global.u32 %r{20 + n}, [%d1+{512 * (n + 1)}];" for n in range(4))
        a = "{%r20, %r21, %r22, %r23}"
    turned = ("" if in_registers else ", 0") + ", 0" if dtype.itemsize == 2 else ""
    scales = ", 1, 1" if a_type not in ("s8", "u8") else ""
    body = f"""setp.ge.u32 %p1, %tid.x, {len(shared) // 16 - 128}; setp.ne.u32 %p2, 0, 0; {_COPY}{loads}
        or.b64 %d10, %d4, {descriptor(64, 0)}; add.s64 %d11, %d4, {descriptor(_N, len(packed) * 2)};
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sp.sync.aligned.m64n{_N}k{k}.{d_type}.{a_type}.{b_type}
        {{{d}}}, {a}, %d11, %r30, {selector}, %p2{scales}{turned};
        {more}
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        {"".join(f"st.global.b32 [%d2+{4 * n}], {name};" for n, name in enumerate(d.split(", ")))}"""
    out = np.zeros((128, 8), np.uint32)
    text = entry("image words out", body, ".shared .align 128 .b8 tile[4096];\n")
    report = run(text, shared, words, out, block=(128,))
    thread, register = np.indices((128, 8))
    row, column = 16 * (thread // 32) + thread % 32 // 4, 2 * (thread % 4) + register % 2 + 8 * (register // 4)
    row += 8 * (register // 2 % 2)
    wanted = (full.astype(np.float64) @ b.astype(np.float64))[row, column]
    if d_type == "f16":
        return out[:, :4].copy().view(np.float16).reshape(128, 8), wanted, report
    return out.view(np.int32 if d_type == "s32" else np.float32), wanted, report


@pytest.mark.parametrize(
    ("kinds", "selector", "in_registers"),
    [
        (("f16", "f16", "f32"), 0, False), (("f16", "f16", "f16"), 1, False), (("bf16", "bf16", "f32"), 1, True),
        (("tf32", "tf32", "f32"), 1, False), (("tf32", "tf32", "f32"), 0, True), (("s8", "u8", "s32"), 0, False),
        (("e4m3", "e4m3", "f32"), 0, True), (("e5m2", "e4m3", "f16"), 0, False),
    ],
)  # fmt: skip
def test_a_sparse_wgmma_is_the_product_of_the_whole_matrix(
    kinds: tuple[str, str, str], selector: int, in_registers: bool
) -> None:
    got, wanted, report = warpgroup_product(kinds, selector, in_registers)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(got, wanted)
