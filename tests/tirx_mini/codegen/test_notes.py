"""Comments in the emitted text: right, only where they add something, and no more than comments."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.tirx_mini.codegen.samples import TID, at, func, put, vector
from tirx_mini.codegen import cuda_source
from tirx_mini.course import STEPS, load_kernels
from tirx_mini.ir import (
    HANDLE,
    INT32,
    AddressOf,
    AllocBuffer,
    Bind,
    Buffer,
    Call,
    DataType,
    DeclBuffer,
    Evaluate,
    If,
    PrimFunc,
    Span,
    Stmt,
    Var,
    cast,
    const,
    scalar,
)
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

REFERENCES = Path(__file__).parents[3] / "kernels_ref"
KERNELS = [
    *((arch, step, "float16") for arch in ("sm100", "sm90") for step in STEPS),
    *((arch, 10, "bfloat16") for arch in ("sm100", "sm90")),
]


@cache
def lowered(arch: str, step: int, dtype: str = "float16") -> PrimFunc:
    return lower(load_kernels(REFERENCES / arch)[step](*STEPS[step].shape(1024), dtype=dtype))


@cache
def lines(arch: str, step: int, dtype: str = "float16") -> tuple[str, ...]:
    """The lines of the reference's kernel, with comments."""
    text = cuda_source(lowered(arch, step, dtype), comments=True).text
    return tuple(text[text.index("__global__") :].splitlines())


def commented(kernel: PrimFunc) -> dict[str, str]:
    """The comment of each line that has one."""
    body = cuda_source(kernel, comments=True).text.split("__global__")[1]
    return dict(line.strip().split("  // ") for line in body.splitlines() if "  // " in line)


def bits(word: int, first: int, end: int) -> int:
    return word >> first & (1 << end - first) - 1


# -- descriptors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "step", "dtype"), KERNELS)
def test_each_shared_memory_descriptor_is_decoded(arch: str, step: int, dtype: str) -> None:
    """PTX ISA: stride in bits 32 to 45, in 16 bytes; 128 bytes of swizzle are 2 in 61 to 63 (wgmma: 1 in 62 to 63)."""
    descriptors = [line for line in lines(arch, step, dtype) if "_desc = " in line]
    assert len(descriptors) >= 2
    for line in descriptors:
        match = re.search(r"\| 0x([0-9a-f]{16})ULL;  // (\d+)B swizzle, SBO (\d+)$", line)
        assert match, line
        word, swizzle, stride = int(match.group(1), 16), int(match.group(2)), int(match.group(3))
        assert bits(word, 32, 46) * 16 == stride == 1024
        assert bits(word, *((61, 64) if arch == "sm100" else (62, 64))) == (2 if arch == "sm100" else 1)
        assert swizzle == 128


@pytest.mark.parametrize(
    ("step", "dtype", "word", "words"),
    [
        (7, "float16", "0x8200010", "f16·f16→f32, M 128, N 128"),
        (7, "bfloat16", "0x8200490", "bf16·bf16→f32, M 128, N 128"),
        (10, "float16", "0x10400010", "f16·f16→f32, M 256, N 256"),
        (10, "bfloat16", "0x10400490", "bf16·bf16→f32, M 256, N 256"),
    ],
)
def test_the_instruction_descriptor_is_decoded_beside_the_mma(step: int, dtype: str, word: str, words: str) -> None:
    (mma,) = [line for line in lines("sm100", step, dtype) if "tcgen05_mma" in line]
    assert f" {word}, " in mma and mma.endswith(f";  // {words}")
    m, n = bits(int(word, 16), 24, 29) * 16, bits(int(word, 16), 17, 23) * 8
    assert words.endswith(f"M {m}, N {n}") and bits(int(word, 16), 4, 6) == 1  # D is f32
    assert words.startswith("bf16·bf16→f32" if bits(int(word, 16), 7, 10) else "f16·f16→f32")


def mma(a_desc, b_desc, idesc=0x08200010) -> Stmt:
    operands = const(0, "uint32"), a_desc, b_desc, const(idesc, "uint32"), const(True)
    return Evaluate(Call(INT32, "tcgen05.mma", operands, (("cta_group", 1), ("kind", "f16"))))


def address(tile: Buffer):
    return (cast("uint64", cast("uint32", AddressOf(HANDLE, tile, (const(0),)))) >> 4) & 0x3FFF


SMEM = Buffer("smem", (4096,), DataType("uint8"), "shared", align=1024)
TILE = Buffer("tile", (1024,), DataType("float16"), "shared", source=SMEM, byte_offset=1024)
K_MAJOR = const(1 << 16 | 64 << 32 | 1 << 46 | 2 << 61, "uint64")
MN_MAJOR = const(512 << 16 | 32 << 32 | 1 << 46 | 4 << 61, "uint64")


def with_tile(*stmts: Stmt) -> dict[str, str]:
    return commented(func(AllocBuffer(SMEM), DeclBuffer(TILE), *stmts, smem=4096))


def test_a_descriptor_is_decoded_where_a_variable_gets_it() -> None:
    word, desc, moved = scalar("word", "uint64"), Var(DataType("uint64"), "desc"), Var(DataType("uint64"), "moved")
    notes = with_tile(
        AllocBuffer(word),
        put(word, 0, address(TILE) | K_MAJOR),
        Bind(desc, address(TILE) | MN_MAJOR),
        Bind(moved, desc + const(512, "uint64")),
        mma(at(word, 0), moved + const(2, "uint64")),
    )
    found = {line.split(" = ")[0]: note for line, note in notes.items() if "swizzle" in note}
    assert found == {
        "uint64_t word": "128B swizzle, SBO 1024",
        "const uint64_t desc": "64B swizzle, LBO 8192, SBO 512",
    }  # the number that moves a descriptor is not one


def test_descriptors_inside_the_call_are_decoded_beside_it() -> None:
    notes = with_tile(mma(address(TILE) | K_MAJOR, address(TILE) | MN_MAJOR))
    (note,) = [note for line, note in notes.items() if "tcgen05_mma" in line]
    assert note == "128B swizzle, SBO 1024; 64B swizzle, LBO 8192, SBO 512; f16·f16→f32, M 128, N 128"


def test_a_word_that_the_tensor_core_does_not_accept_has_no_comment() -> None:
    notes = with_tile(mma(address(TILE) | const(1 << 61, "uint64"), const(0, "uint64"), 0x08200014))
    assert [line for line in notes if "tcgen05_mma" in line] == []


# -- roles -------------------------------------------------------------------------------------------------------------


def test_the_roles_of_step_7_are_named_as_the_kernel_names_them() -> None:
    tests = [re.search(r"if \((.*)\) \{(?:  // (.*))?$", line) for line in lines("sm100", 7)]
    found = [match.groups() for match in tests if match]
    init, stage = ("((int)threadIdx.x) < 1", None), re.compile(r"\w+_stage == 0")
    wg0, wg1 = ("(warp_id_in_cta >> 2) == 0", "wg_id == 0"), ("(warp_id_in_cta >> 2) == 1", "wg_id == 1")
    warp0, warp3 = ("(warp_id_in_cta % 4) == 0", "warp_id == 0"), ("(warp_id_in_cta % 4) == 3", "warp_id == 3")
    elect = ("tvm_builtin_elect_one_sync_op()", "elect_sync()")
    assert [test for test in found if not stage.fullmatch(test[0])] == [
        *[init] * 5, wg0, warp0, wg1, warp3, elect, warp0, elect, wg0, warp0, elect, wg0, warp0,
    ]  # fmt: skip
    assert {note for code, note in found if stage.fullmatch(code)} == {None}  # they test no id


def test_a_role_has_the_constants_of_the_source() -> None:
    assert "    } else if ((warp_id_in_cta % 4) < 2) {  // warp_id < NUM_CONSUMER" in lines("sm100", 10)
    assert "            if (cluster_ctaid_x == 0) {  // cbx == 0" in lines("sm100", 10)
    assert "  if (warp_id_in_cta == 4) {  // warp_id == CONSUMER_WARPS" in lines("sm90", 8)
    assert "    if (((warp_id_in_cta >> 2) - 1) == 1) {  // consumer == 1" in lines("sm90", 10)


WARM_UP = True


@Tx.prim_func(tirx=True)
def conditions(A: Tx.Buffer((128,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([1], parent="kernel")
        wärme_id = Tx.warp_id([4], parent="cta")
        lane_id = Tx.thread_id([32], parent="warp")
        if WARM_UP:
            A[lane_id] = 1.0
        if Tx.threadIdx.x < 64:
            A[bx + lane_id] = 2.0
        if wärme_id == 2:
            A[32 + lane_id] = 3.0


def test_a_condition_that_python_decides_has_no_comment() -> None:
    assert not any("WARM_UP" in note for note in commented(lower(conditions)).values())


def test_a_condition_that_reads_the_same_in_the_kernel_is_not_repeated() -> None:
    text = cuda_source(lower(conditions), comments=True).text
    assert "if (((int)threadIdx.x) < 64) {\n" in text
    assert "if (warp_id_in_cta == 2) {  // wärme_id == 2\n" in text


def test_a_kernel_whose_source_is_not_at_hand_has_no_role_comments() -> None:
    A = vector("A", 128)
    cond = replace(TID < 64, span=Span("nowhere.py", 1, 3, 1, 22))
    assert commented(func(If(cond, put(A, TID, const(1.0, "float32"))), params=(A,))) == {}


# -- shared memory -----------------------------------------------------------------------------------------------------


def test_the_parts_of_shared_memory_say_what_they_hold() -> None:
    notes = dict(line.strip().split("  // ") for line in lines("sm100", 7) if re.search(r"\bsmem\b.*  // ", line))
    assert notes == {
        "extern __shared__ __align__(1024) uchar smem[];": "82944 bytes",
        "uint32_t* const tmem_addr = (uint32_t*)smem;": "tmem_addr[1] u32",
        "uint64_t* const tma2mma = (uint64_t*)(smem + 8);": "tma2mma[2] mbarrier",
        "uint64_t* const mma2tma = (uint64_t*)(smem + 24);": "mma2tma[2] mbarrier",
        "uint64_t* const mma2ld = (uint64_t*)(smem + 40);": "mma2ld[1] mbarrier",
        "uint64_t* const ld2mma = (uint64_t*)(smem + 48);": "ld2mma[1] mbarrier",
        "half* const Asmem = (half*)(smem + 1024);": "Asmem[2][128][64] f16, 128B swizzle",
        "half* const Bsmem = (half*)(smem + 33792);": "Bsmem[2][128][64] f16, 128B swizzle",
        "half* const Dsmem = (half*)(smem + 66560);": "Dsmem[128][64] f16, 128B swizzle",
    }


@pytest.mark.parametrize(("arch", "step", "dtype"), KERNELS)
def test_what_shared_memory_holds_fits_between_its_offsets(arch: str, step: int, dtype: str) -> None:
    declared = re.compile(
        r"\* const (\w+) = \(\w+\*\)\(?smem(?: \+ (\d+)\))?;  // (\w+)((?:\[\d+\])+) (\w+)(, 128B swizzle)?$"
    )
    parts = [match.groups() for line in lines(arch, step, dtype) if (match := declared.search(line))]
    (total,) = [int(line.split()[-2]) for line in lines(arch, step, dtype) if "extern __shared__" in line]
    places: list[tuple[int, int]] = []
    for name, offset, named, extents, kind, swizzle in parts:
        size = {"f16": 2, "bf16": 2, "u32": 4, "mbarrier": 8}[kind]
        for extent in re.findall(r"\d+", extents):
            size *= int(extent)
        places.append((int(offset or 0), size))
        assert named == name and bool(swizzle) == (kind in ("f16", "bf16"))
    places.sort()
    ends = [start for start, _ in places[1:]] + [total]
    assert parts and all(start + size <= end for (start, size), end in zip(places, ends, strict=True))


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "step", "dtype"), KERNELS)
def test_without_its_comments_the_text_is_the_same_line_by_line(arch: str, step: int, dtype: str) -> None:
    plain = cuda_source(lowered(arch, step, dtype))
    notes = cuda_source(lowered(arch, step, dtype), comments=True)
    assert notes.spans == plain.spans
    for with_note, without in zip(notes.text.splitlines(), plain.text.splitlines(), strict=True):
        assert with_note == without or re.fullmatch(re.escape(without) + r"  // \S.*[^\\ ]", with_note)


def test_comments_are_the_same_each_time_the_text_is_made() -> None:
    kernels = (load_kernels(REFERENCES)[10](1024, 1024, 1024) for _ in range(2))
    first, second = (cuda_source(lower(kernel), comments=True).text for kernel in kernels)
    assert first == second
