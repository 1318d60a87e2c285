"""tcgen05.mma with a sparse A, and with operands of 4, 6 and 8 bits, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry, run
from tests.tirx_mini.frontends.ptx.test_sparse import image, sparse
from tirx_mini.diagnose import Report
from tirx_mini.hardware import gpu_spec
from tirx_mini.isa import InstructionDescriptor
from tirx_mini.sim.engines import arithmetic, operand_bytes

HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
M, N = 128, 16
TYPES = {
    "f16": (np.float16, 0, "f16"), "bf16": (ml_dtypes.bfloat16, 1, "f16"), "tf32": (np.float32, 2, "tf32"),
    "e4m3": (ml_dtypes.float8_e4m3fn, 0, "f8f6f4"), "e5m2": (ml_dtypes.float8_e5m2, 1, "f8f6f4"),
    "e2m3": (ml_dtypes.float6_e2m3fn, 3, "f8f6f4"), "e3m2": (ml_dtypes.float6_e3m2fn, 4, "f8f6f4"),
    "e2m1": (ml_dtypes.float4_e2m1fn, 5, "f8f6f4"), "u8": (np.uint8, 0, "i8"), "s8": (np.int8, 1, "i8"),
}  # fmt: skip
"""The dtype, the number in an instruction descriptor, and the kind of each type."""
BITS = {"e2m3": 6, "e3m2": 6, "e2m1": 4}
_BEGIN = """setp.ne.u32 %p1, %tid.x, 0; setp.ge.u32 %p2, %tid.x, 32; setp.ne.u32 %p3, 0, 0;
mov.u32 %r0, %tid.x; mul.wide.u32 %d3, %r0, 16; ld.param.u64 %d0, [image]; add.s64 %d0, %d0, %d3;
mov.u64 %d4, tile; cvt.u32.u64 %r1, %d4; shl.b32 %r2, %r0, 4; add.u32 %r2, %r2, %r1;
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0]; st.shared.v4.u32 [%r2], {%r10, %r11, %r12, %r13};
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0+2048]; st.shared.v4.u32 [%r2+2048], {%r10, %r11, %r12, %r13};
ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0+4096]; st.shared.v4.u32 [%r2+4096], {%r10, %r11, %r12, %r13};
mov.u32 %r5, bar; mov.u32 %r6, slot;
@%p1 bra STARTED; mbarrier.init.shared::cta.b64 [%r5], 1; fence.mbarrier_init.release.cluster;
STARTED: @%p2 bra ALLOCATED; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 64;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED: fence.proxy.async.shared::cta; tcgen05.fence::before_thread_sync; bar.sync 0;
tcgen05.fence::after_thread_sync; ld.shared.u32 %r7, [%r6];
shr.u32 %r8, %r0, 5; shl.b32 %r8, %r8, 21; add.u32 %r9, %r7, %r8; add.u32 %r14, %r9, 32;
mul.wide.u32 %d5, %r0, 64; ld.param.u64 %d1, [words]; add.s64 %d1, %d1, %d5;
"""
_WORDS = [f"%r{20 + n}" for n in range(16)]
_STORED = f"""{"".join(f"ld.global.u32 {name}, [%d1+{4 * n}];" for n, name in enumerate(_WORDS))}
tcgen05.st.sync.aligned.32x32b.x16.b32 [%r14], {{{", ".join(_WORDS)}}}; tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
add.u32 %r15, %r7, 32; add.u32 %r16, %r7, 36; add.u32 %r17, %r7, 40; shr.u32 %r4, %r1, 4; cvt.u64.u32 %d4, %r4;
"""
_END = f"""@%p1 bra ISSUED; {{mma}}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r5];
ISSUED: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5], 0; @!%p4 bra ISSUED;
tcgen05.fence::after_thread_sync; tcgen05.ld.sync.aligned.32x32b.x16.b32 {{{{{", ".join(_WORDS)}}}}}, [%r9];
tcgen05.wait::ld.sync.aligned; ld.param.u64 %d2, [out]; add.s64 %d2, %d2, %d5;
{"".join(f"st.global.u32 [%d2+{4 * n}], {name};" for n, name in enumerate(_WORDS))}
tcgen05.fence::before_thread_sync; bar.sync 0;
@%p2 bra FREED; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 64; FREED:"""


def stored(matrix: np.ndarray, kind: str) -> np.ndarray:
    """The bytes of a matrix in shared memory. 16 elements of 4 or 6 bits begin 16 bytes, and the rest is padding."""
    if kind not in BITS:
        return image(matrix)
    codes = matrix.view(np.uint8).reshape(len(matrix), -1, 16, 1)
    bits = np.unpackbits(codes, axis=-1, bitorder="little")[..., : BITS[kind]].reshape(*codes.shape[:2], -1)
    chunks = np.full((*codes.shape[:2], 16), 0xA5, np.uint8)
    chunks[..., : 2 * BITS[kind]] = np.packbits(bits, axis=-1, bitorder="little")
    return image(chunks.reshape(len(matrix), -1))


def in_columns(codes: np.ndarray, itemsize: int) -> np.ndarray:
    """The metadata of 128 rows in tensor memory, uint32[128, 2]."""
    words = np.zeros((M, 2), np.uint32)
    for (row, group), code in np.ndenumerate(codes):
        if itemsize == 1:
            lane, column, shift = row, group // 8, 4 * (group % 8)
        else:
            high, upper = row // 8 % 2, group // 4
            lane, column, shift = row - 8 * high + 8 * upper, 0, 16 * high + 4 * (group % 4)
        words[lane, column] |= np.uint32(int(code) << shift)
    return words


def executed(mma: str, shared: np.ndarray, words: np.ndarray, idesc: int, **options: Any) -> tuple[np.ndarray, Report]:
    """The contents of tensor memory after an MMA of thread 0, uint32[128, 16].

    mma: the opcode and its operands: D in %r7, %d10 and %d11 are the descriptors, %r3 that of the instruction, and %r15
    is the first of the columns that hold `words`.
    """
    given = np.zeros(6144, np.uint8)
    given[: len(shared)] = shared
    columns = np.zeros((M, 16), np.uint32)
    columns[:, : words.shape[1]] = words
    described = f"""mov.b32 %r3, {idesc}; or.b64 %d10, %d4, {1 << 46 | M << 16 | 8 << 32};
        add.s64 %d11, %d4, {1 << 46 | N << 16 | 8 << 32 | 256};"""
    out = np.zeros((M, N), np.uint32)
    shapes = ".shared .align 128 .b8 tile[6144];\n.shared .align 8 .b64 bar;\n.shared .align 4 .b32 slot;\n"
    text = entry("image words out", _BEGIN + _STORED + described + _END.format(mma=mma), shapes, HEADER)
    return out, run(text, given, columns, out, block=(128,), gpu="b200", **options)


def instruction(kinds: tuple[str, str, str], more: int = 0) -> int:
    """The instruction descriptor. kinds: of A, of B and of D."""
    a, b = (TYPES[kind][1] for kind in kinds[:2])
    return more | ("f16", "f32", "s32").index(kinds[2]) << 4 | a << 7 | b << 10 | N >> 3 << 17 | M >> 4 << 24


def numbers(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    dtype = TYPES[kind][0]
    if kind in BITS:
        return rng.integers(0, 1 << BITS[kind], shape).astype(np.uint8).view(dtype)
    return rng.integers(0 if kind == "u8" else -4, 5, shape).astype(np.float32).astype(dtype)


SPARSE = [
    (("f16", "f16", "f32"), 0, ""), (("bf16", "bf16", "f32"), 1, ""), (("f16", "f16", "f16"), 1, "tmem"),
    (("tf32", "tf32", "f32"), 1, ""), (("e4m3", "e5m2", "f32"), 0, "tmem"), (("s8", "u8", "s32"), 0, ""),
    (("e2m1", "e4m3", "f32"), 0, ""), (("f16", "f16", "f32"), 0, "masked"),
]  # fmt: skip


@pytest.mark.parametrize(("kinds", "selector", "form"), SPARSE)
def test_a_sparse_mma_is_the_product_of_the_whole_matrix(
    kinds: tuple[str, str, str], selector: int, form: str
) -> None:
    a_type, b_type, d_type = kinds
    dtype, _, kind = TYPES[a_type]
    itemsize, rng = np.dtype(dtype).itemsize, np.random.default_rng(5)
    k = 64 // itemsize
    full, packed, codes = sparse(rng, k, np.dtype(dtype), M)
    b = numbers(rng, b_type, N, k)
    words = np.zeros((M, 16), np.uint32)
    columns = in_columns(codes, itemsize)
    words[:, selector : selector + 2] = columns if itemsize == 1 else columns[:, :1]
    a, lanes = "%d10", ""
    if form == "tmem":
        words[:, 8:] = np.ascontiguousarray(packed).view(np.uint32)
        a = "[%r17]"
    if form == "masked":
        lanes = " {0, 4294967295, 0, 0},"
    shared = np.concatenate([stored(packed, a_type), stored(b, b_type)])
    mma = f"tcgen05.mma.sp.cta_group::1.kind::{kind} [%r7], {a}, %d11, [%r15], %r3,{lanes} %p3;"
    out, report = executed(mma, shared, words, instruction(kinds, 0b100 | selector))
    assert report.verdict == "ok" and not report.findings, report
    got = out.view(np.int32 if d_type == "s32" else np.float32)
    if d_type == "f16":
        got = out.astype(np.uint16).view(np.float16)
    rows = np.r_[0:32, 64:128] if form == "masked" else slice(None)
    wanted = full.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_array_equal(got[rows], wanted[rows])
    assert form != "masked" or not (got[32:64] == wanted[32:64]).any()


@pytest.mark.parametrize(
    ("word", "code", "text"),
    [
        (0b110, "TX601", "the metadata of tcgen05.mma.sp with the sparsity selector 2"),
        (0b000, "TX311", "a dense MMA, and this instruction is a sparse one"),
    ],
)
def test_what_is_not_known_of_metadata_is_named(word: int, code: str, text: str) -> None:
    mma = "tcgen05.mma.sp.cta_group::1.kind::f16 [%r7], %d10, %d11, [%r15], %r3, %p3;"
    _, report = executed(mma, np.zeros(5120, np.uint8), np.zeros((M, 2)), instruction(("f16", "f16", "f32"), word))
    assert text in str(report) and code in {finding.code for finding in report.findings}, report


def test_a_sparse_mma_with_block_scaling_is_not_modelled() -> None:
    mma = """tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [%r7], %d10, %d11, [%r15], %r3, [%r16], [%r17],
        %p3;"""
    idesc = instruction(("e4m3", "e4m3", "f16"), 0b100 | 1 << 23)
    _, report = executed(mma, np.zeros(5120, np.uint8), np.zeros((M, 2)), idesc)
    assert report.verdict == "incomplete" and "tcgen05.mma.sp with block scaling" in str(report)


MIXED = [
    ("e4m3", "e2m1"), ("e2m1", "e5m2"), ("e2m3", "e3m2"), ("e3m2", "e4m3"), ("e2m1", "e2m1"), ("e5m2", "e2m3"),
]  # fmt: skip


@pytest.mark.parametrize("kinds", MIXED)
@pytest.mark.parametrize("scaled", [False, True], ids=["f8f6f4", "mxf8f6f4"])
def test_operands_of_4_6_and_8_bits_may_be_mixed(kinds: tuple[str, str], scaled: bool) -> None:
    rng = np.random.default_rng(6)
    a, b = (numbers(rng, kind, rows, 32) for kind, rows in zip(kinds, (M, N), strict=True))
    shared = np.concatenate([stored(a, kinds[0]), stored(b, kinds[1])])
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    words = np.zeros((M, 16), np.uint32)
    idesc = instruction((*kinds, "f32"))
    mma = "tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::discard [%r7], %d10, %d11, %r3, %p3;"
    if scaled:
        powers = [rng.integers(125, 130, rows).astype(np.uint32) for rows in (M, N)]
        words[:, :4] = np.tile(powers[0].reshape(4, 32).T, (4, 1))
        words[np.arange(N)[:, None] + 32 * np.arange(4), 4] = powers[1][:, None]
        of_a, of_b = (2.0 ** (each.astype(np.float64) - 127) for each in powers)
        wanted *= of_a[:, None] * of_b
        idesc = idesc & ~0x30 | 1 << 23
        mma = """tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r7], %d10, %d11, %r3, [%r15], [%r16], %p3;"""
    out, report = executed(mma, shared, words, idesc)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_allclose(out.view(np.float32), wanted, rtol=1e-6)


def test_padded_elements_in_tensor_memory_are_not_modelled() -> None:
    mma = "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r7], [%r17], %d11, %r3, %p3;"
    _, report = executed(mma, np.zeros(5120, np.uint8), np.zeros((M, 2)), instruction(("e2m1", "e4m3", "f32")))
    assert report.verdict == "incomplete" and "a matrix A of e2m1 in tensor memory" in str(report)


def test_a_sparse_mma_takes_as_long_as_a_dense_one_of_half_the_depth() -> None:
    spec, kinds = gpu_spec("b200"), ("f16", "f16", "f32")
    dense = InstructionDescriptor.decode(instruction(kinds), "f16", 1)
    half = InstructionDescriptor.decode(instruction(kinds, 0b101), "f16", 1, False, True)
    assert half.depth == 2 * dense.depth and half.flops == dense.flops
    assert arithmetic(spec, half, 1) == arithmetic(spec, dense, 1)
    more = operand_bytes(spec, half, 1, False) - operand_bytes(spec, dense, 1, False)
    assert more == N * dense.depth * 2  # the other half of each row of B
