"""Descriptors, bit by bit, and the places in shared memory that they mean."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tirx_mini.isa import Format, InstructionDescriptor, SmemDescriptor, describe, operand_chunks, swizzle_bytes
from tirx_mini.layout import SwizzleMode, tma_shared_layout

F16, BF16 = Format("float16", 2), Format("bfloat16", 2)
KINDS = st.sampled_from(["tcgen05", "wgmma"])
descriptors = st.builds(
    SmemDescriptor,
    start=st.integers(0, 0x3FFF).map(lambda v: v << 4),
    leading=st.integers(0, 0x3FFF).map(lambda v: v << 4),
    stride=st.integers(0, 0x3FFF).map(lambda v: v << 4),
    swizzle=st.sampled_from([0, 32, 64, 128]),
    base_offset=st.integers(0, 7),
)


@given(descriptors, KINDS)
def test_shared_memory_descriptors_are_read_as_written(descriptor: SmemDescriptor, kind: str) -> None:
    assert SmemDescriptor.decode(descriptor.encode(kind), kind) == descriptor


def test_fields_of_a_shared_memory_descriptor() -> None:
    """A K-major tile with 128-byte swizzle: stride 1024 >> 4 in [32, 46), 0b001 in [46, 49), 2 in [61, 64)."""
    word = SmemDescriptor(0x400, 16, 1024, 128).encode()
    assert word == 0x40 | 1 << 16 | 64 << 32 | 1 << 46 | 2 << 61
    assert SmemDescriptor(0x400, 16, 1024, 128).encode("wgmma") == 0x40 | 1 << 16 | 64 << 32 | 1 << 62


@pytest.mark.parametrize(("word", "says"), [(0, "0b001"), (3 << 61 | 1 << 46, "swizzle"), (1 << 61, "swizzle")])
def test_words_that_are_no_descriptor(word: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SmemDescriptor.decode(word)


@pytest.mark.parametrize(
    ("word", "group", "expected"),
    [
        (0x08200010, 1, InstructionDescriptor(128, 128, F16, F16, "float32", 16)),
        (0x10400010, 2, InstructionDescriptor(256, 256, F16, F16, "float32", 16)),
        (0x08200490, 1, InstructionDescriptor(128, 128, BF16, BF16, "float32", 16)),
        (0x04018000 | 2 << 17 | 1 << 4, 1, InstructionDescriptor(64, 16, F16, F16, "float32", 16, transpose_a=True,
                                                                transpose_b=True)),
    ],
)  # fmt: skip
def test_instruction_descriptors(word: int, group: int, expected: InstructionDescriptor) -> None:
    assert InstructionDescriptor.decode(word, "f16", group) == expected
    assert expected.encode() == word


@pytest.mark.parametrize(
    ("word", "kind", "group", "says"),
    [
        (0x08200010, "f16", 2, None), (0x10400010, "f16", 1, "M is 256"), (0x08200010 | 4, "f16", 1, "sparse"),
        (0x08200010 | 5 << 7, "f16", 1, "operand types"), (0x08200000, "tf32", 1, "operand types"),
        (0x08200020, "f16", 1, "result type"), (0x08000010, "f16", 1, "N is 0"),
        (0x08000010 | 3 << 17, "f16", 1, "N is 24"), (0x04000010 | 3 << 17, "f16", 1, None),
    ],
)  # fmt: skip
def test_instructions_that_do_not_exist(word: int, kind: str, group: int, says: str | None) -> None:
    if says is None:
        InstructionDescriptor.decode(word, kind, group)
    else:
        with pytest.raises(ValueError, match=says):
            InstructionDescriptor.decode(word, kind, group)


@given(st.integers(0, 1 << 18), st.sampled_from([0, 32, 64, 128]))
def test_a_swizzle_moves_chunks_within_their_atom(address: int, swizzle: int) -> None:
    place = swizzle_bytes(address, swizzle)
    assert swizzle_bytes(place, swizzle) == address
    assert place % 16 == address % 16 and place // 128 == address // 128
    assert place // max(swizzle, 16) == address // max(swizzle, 16)


@pytest.mark.parametrize("mode", [mode for mode in SwizzleMode if mode is not SwizzleMode.SWIZZLE_NONE])
@pytest.mark.parametrize("rows", [16, 128])
def test_operands_lie_where_the_layout_of_the_tile_puts_them(mode: SwizzleMode, rows: int) -> None:
    """Descriptors of a K-major tile, advanced along K by bytes inside the atom, against the tile's layout."""
    depth = mode.span_bytes // 2
    layout = tma_shared_layout("float16", mode, (rows, depth))
    for k in range(0, depth, 16):
        descriptor = SmemDescriptor(2048 + k * 2, 16, mode.atom_bytes, mode.span_bytes)
        chunks = operand_chunks(descriptor, rows, 16, 2, False)
        expected = [[2048 + 2 * layout.apply_m(row, k + 8 * c) for c in range(2)] for row in range(rows)]
        np.testing.assert_array_equal(chunks, expected)


def test_the_base_offset_moves_the_pattern() -> None:
    """A tile that does not begin at a multiple of 1024 bytes, with the pattern beginning at the tile."""
    aligned = operand_chunks(SmemDescriptor(1024, 16, 1024, 128), 16, 16, 2, False)
    moved = operand_chunks(SmemDescriptor(1024 + 256, 16, 1024, 128, base_offset=2), 16, 16, 2, False)
    np.testing.assert_array_equal(moved - aligned, np.full((16, 2), 256))


def test_operands_of_broken_chunks() -> None:
    with pytest.raises(ValueError, match="16-byte"):
        operand_chunks(SmemDescriptor(0, 16, 1024, 128), 8, 4, 2, False)


@pytest.mark.parametrize(
    ("descriptor", "words"),
    [
        (SmemDescriptor(0, 16, 1024, 128), "128B swizzle, SBO 1024"),
        (SmemDescriptor(0, 8192, 512, 64), "64B swizzle, LBO 8192, SBO 512"),
        (SmemDescriptor(0x400, 128, 256, 0), "start 1024, no swizzle, LBO 128, SBO 256"),
        (SmemDescriptor(0, 16, 256, 32, base_offset=2), "32B swizzle, SBO 256, base offset 2"),
    ],
)
def test_a_shared_memory_descriptor_reads_as_its_fields(descriptor: SmemDescriptor, words: str) -> None:
    for family in ("tcgen05", "wgmma"):
        assert describe(family, descriptor.encode(family)) == words


@pytest.mark.parametrize(
    ("word", "kind", "group", "words"),
    [
        (0x08200010, "f16", 1, "f16·f16→f32, M 128, N 128"),
        (0x10400010, "f16", 2, "f16·f16→f32, M 256, N 256"),
        (0x04040490, "f16", 1, "bf16·bf16→f32, M 64, N 16"),
        (0x08200910, "tf32", 1, "tf32·tf32→f32, M 128, N 128"),
        (0x08200410, "f8f6f4", 1, "e4m3·e5m2→f32, M 128, N 128"),
        (0x08200010 | 1 << 13 | 1 << 16, "f16", 1, "f16·f16→f32, M 128, N 128, A negated, B MN-major"),
    ],
)
def test_an_instruction_descriptor_reads_as_types_and_shape(word: int, kind: str, group: int, words: str) -> None:
    assert describe("instruction", word, kind, group) == words


def test_a_word_that_is_not_a_descriptor_has_no_description() -> None:
    with pytest.raises(ValueError, match="0b001"):
        describe("tcgen05", 512)
