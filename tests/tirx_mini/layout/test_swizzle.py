"""Swizzles and `tma_shared_layout`, compared with the pattern of the hardware."""

from __future__ import annotations

from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

import tirx_mini.layout as layout_room
from tests.tirx_mini.layout.strategies import (
    DTYPES,
    SWIZZLED,
    coordinates,
    itemsize,
    shared_layouts,
    swizzled_bytes,
    tiles,
)
from tests.tirx_mini.layout.symbolic import Name
from tirx_mini.layout import (
    ComposeLayout,
    LayoutError,
    S,
    SwizzleLayout,
    SwizzleMode,
    TCol,
    TileLayout,
    TLane,
    dtype_bits,
    m,
    tma_shared_layout,
)

NONE, B32, B64, B128 = SwizzleMode


@pytest.mark.parametrize(
    ("mode", "span", "atom", "low", "source"),
    [(B128, 128, 1024, (4, 7), (7, 10)), (B64, 64, 512, (4, 6), (7, 9)), (B32, 32, 256, (4, 5), (7, 8))],
)
def test_the_swizzled_address_bits_match_the_isa(mode, span, atom, low, source) -> None:
    assert (mode.span_bytes, mode.atom_bytes) == (span, atom)
    swizzle = SwizzleLayout(mode, bits=8)
    for address in range(4096):
        bits = list(f"{address:012b}"[::-1])
        for target, partner in zip(range(*low), range(*source), strict=True):
            bits[target] = str(int(bits[target] != bits[partner]))
        assert swizzle(address) == int("".join(reversed(bits)), 2) == swizzled_bytes(address, mode)


def test_the_128_byte_pattern_by_hand() -> None:
    layout = tma_shared_layout("float16", B128, (8, 64))
    chunk_at = [[layout.apply_m(row, chunk * 8) % 64 // 8 for chunk in range(8)] for row in range(8)]
    assert chunk_at[0] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert chunk_at[1] == [1, 0, 3, 2, 5, 4, 7, 6]
    assert chunk_at[2] == [2, 3, 0, 1, 6, 7, 4, 5]
    assert chunk_at[5] == [5, 4, 7, 6, 1, 0, 3, 2]
    assert chunk_at[7] == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("mode", SWIZZLED)
def test_eight_rows_of_a_column_use_distinct_banks(mode) -> None:
    layout = tma_shared_layout("float16", mode, (8, mode.span_bytes // 2))
    for chunk in range(mode.span_bytes // 16):
        banks = [layout.apply_m(row, chunk * 8) * 2 % 128 // 16 for row in range(8)]
        assert sorted(banks) == list(range(8))


@pytest.mark.parametrize("mode", SwizzleMode)
@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64, 128])
def test_a_swizzle_is_its_own_inverse_and_keeps_to_its_atom(mode, bits) -> None:
    swizzle = SwizzleLayout(mode, bits)
    places = np.arange(4 * swizzle.atom)
    moved = swizzle(places)
    np.testing.assert_array_equal(swizzle(moved), places)
    np.testing.assert_array_equal(moved // swizzle.atom, places // swizzle.atom)
    np.testing.assert_array_equal(moved % swizzle.chunk, places % swizzle.chunk)
    assert swizzle.atom * bits == mode.atom_bytes * 8 and swizzle.span * bits == mode.span_bytes * 8


@given(shared_layouts())
def test_the_shared_layout_arranges_atoms_in_slabs(made) -> None:
    layout, dtype, mode = made
    *outer, rows, cols = layout.shape
    size, span = itemsize(dtype), mode.span_bytes
    *stage, row, col = np.indices(layout.shape)
    stage_number = np.ravel_multi_index(stage, outer) if outer else 0
    slab, within = divmod(col * size, span)
    address = stage_number * rows * cols * size + slab * rows * span + row * span + within
    np.testing.assert_array_equal(layout.to_table()[m] * size, swizzled_bytes(address, mode))


def test_without_a_swizzle_the_tile_is_plain() -> None:
    plain = tma_shared_layout("float16", NONE, (16, 16))
    assert plain == TileLayout(S[(16, (2, 8)) : (8, (128, 1))])
    assert (NONE.span_bytes, NONE.atom_bytes) == (16, 128)
    tile = TileLayout(S[(16, 64)])
    for coords in ((3, 5), (15, 63)):
        assert ComposeLayout(SwizzleLayout(NONE, 16), tile).apply_m(*coords) == tile.apply_m(*coords)


@pytest.mark.parametrize(
    ("mode", "shape", "expected"),
    [
        (B128, (128, 64), "((r * 64) + (c ^ ((r % 8) * 8)))"),
        (B64, (128, 32), "((r * 32) + (c ^ (((r // 2) % 4) * 8)))"),
        (B32, (128, 16), "((r * 16) + (c ^ (((r // 4) % 2) * 8)))"),
        (B128, (128, 128), "(((r * 64) + ((c // 64) * 8192)) + ((c % 64) ^ ((r % 8) * 8)))"),
    ],
)
def test_the_emitted_swizzle_moves_a_chunk_by_its_row(mode, shape, expected) -> None:
    assert str(tma_shared_layout("float16", mode, shape).apply_m(Name("r"), Name("c"))) == expected


def test_stages_stay_outside_the_swizzle() -> None:
    layout = tma_shared_layout("float16", B128, (4, 128, 64))
    assert str(layout.apply_m(Name("s"), Name("r"), Name("c"))) == "(((s * 8192) + (r * 64)) + (c ^ ((r % 8) * 8)))"
    assert str(layout.apply_m(Name("s"), 0, Name("c"))) == "((s * 8192) + c)"
    assert str(layout.apply_m(0, Name("r"), 0)) == "((r * 64) + ((r % 8) * 8))"


def test_a_tile_that_straddles_the_atom_is_swizzled_by_the_plain_formula() -> None:
    column_major = ComposeLayout(SwizzleLayout(B128, 16), TileLayout(S[(128, 64) : (1, 128)]))
    for row, col in coordinates(column_major.shape):
        address = swizzled_bytes((row + col * 128) * 2, B128)
        assert column_major.apply_m(row, col) * 2 == address


@given(tiles(axes=(m,)), st.sampled_from(SwizzleMode), st.sampled_from([8, 16, 32]))
@example(TileLayout(S[(8, 3) : (64, 32)]), B128, 16)  # the columns extend into the next row by one
@example(TileLayout(S[(4, 2, 3) : (512, 64, 16)]), B64, 16)
def test_a_swizzle_permutes_the_places_of_any_tile(tile: TileLayout, mode: SwizzleMode, bits: int) -> None:
    swizzle = SwizzleLayout(mode, bits)
    np.testing.assert_array_equal(ComposeLayout(swizzle, tile).to_table()[m], swizzle(tile.to_table()[m]))


def test_cosize_covers_whole_atoms() -> None:
    assert tma_shared_layout("float16", B128, (3, 16, 64)).cosize() == 3 * 16 * 64
    ragged = ComposeLayout(SwizzleLayout(B128, 16), TileLayout(S[(3, 64)]))
    assert ragged.cosize() == 512 > int(ragged.to_table()[m].max())
    assert ragged.cosize(TCol) == 1


@given(shared_layouts(SWIZZLED))
def test_repr_evaluates_to_the_layout(made) -> None:
    layout, _, _ = made
    again = eval(repr(layout), vars(layout_room))
    assert again == layout and hash(again) == hash(layout)


def test_group_keeps_the_swizzle() -> None:
    layout = tma_shared_layout("float16", B128, (2, 16, 128))
    grouped = layout.reshape((32, 2, 64))
    np.testing.assert_array_equal(grouped.to_table()[m], layout.to_table()[m].reshape(32, 2, 64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_come_as_names_or_objects(dtype) -> None:
    bits = itemsize(dtype) * 8
    assert dtype_bits(dtype) == dtype_bits(SimpleNamespace(bits=bits)) == bits
    assert tma_shared_layout(dtype, B128, (8, 1024 // bits)).size() * bits == 1024 * 8


def test_the_widths_of_other_dtypes() -> None:
    named = {"bool": 8, "uint64": 64, "int32": 32, "float4_e2m1fn": 4, "torch.bfloat16": 16}
    assert {name: dtype_bits(name) for name in named} == named
    assert dtype_bits(np.dtype("float16")) == 16


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: tma_shared_layout("float16", B128, (100, 64)), "100 rows in its second-to-last .* multiple of 8"),
        (lambda: tma_shared_layout("float16", B128, (128, 96)), r"last .* 96, .* multiple of 64 .*\(128 bytes\)"),
        (lambda: tma_shared_layout("float32", B64, (128, 8)), r"last .* 8, .* multiple of 16 .*\(64 bytes\)"),
        (lambda: tma_shared_layout("float16", B128, (64,)), "has fewer than two dimensions"),
        (lambda: tma_shared_layout("half", B128, (8, 64)), "dtype 'half' is not an element type"),
        (lambda: tma_shared_layout("float6_e2m3fn", B128, (8, 64)), "128 bits, not 6"),
        (lambda: tma_shared_layout("float16", B128, (8, "64")), "each extent of shape must be an int, not '64'"),
        (lambda: tma_shared_layout("float16", B128, (8, 128 / 2)), r"an int, not 64\.0 \(use // to divide ints\)"),
        (lambda: tma_shared_layout("float16", B128, (0, 64)), "each extent of shape must be at least 1"),
        (lambda: tma_shared_layout("float16", B128, 128), "shape must be a tuple of ints .* not 128"),
        (lambda: tma_shared_layout("float16", (8, 64), B128), "shape must be a tuple of ints .* not SwizzleMode"),
        (lambda: tma_shared_layout("float16", 4, (8, 64)), "mode must be a SwizzleMode, .* not 4"),
        (lambda: ComposeLayout(B128, TileLayout(S[8, 64])), "takes a SwizzleLayout and a TileLayout"),
        (lambda: ComposeLayout(SwizzleLayout(B128, 16), TileLayout(S[8 : 1 @ TLane])), "acts on shared memory"),
    ],
)
def test_invalid_arguments_are_rejected_in_one_sentence(build, sentence) -> None:
    with pytest.raises(LayoutError, match=sentence):
        build()
