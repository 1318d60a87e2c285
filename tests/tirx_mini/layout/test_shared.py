"""TMA boxes and matrix descriptors: executed as the hardware does, and compared with the layout."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests.tirx_mini.layout.strategies import itemsize, shared_layouts, swizzled_bytes
from tests.tirx_mini.layout.symbolic import Name, evaluate
from tirx_mini.layout import (
    LayoutError,
    S,
    SwizzleMode,
    TileLayout,
    TLane,
    m,
    mma_descriptor_params,
    swizzle_mode,
    tma_boxes,
    tma_shared_layout,
    vector_length,
    wgmma_accumulator_layout,
)

NONE, B32, B64, B128 = SwizzleMode


def fill_boxes(layout, dtype, starts, extents) -> np.ndarray:
    """The byte address to which TMA writes each element of the region: box by box, row by row, then swizzled."""
    base, boxes = tma_boxes(layout, starts, extents)
    size = itemsize(dtype)
    written = np.full(extents, -1)
    for box in boxes:
        assert max(box.extent) <= 256
        window = tuple(slice(start, start + extent) for start, extent in zip(box.start, box.extent, strict=True))
        assert (written[window] == -1).all()
        place = base + box.offset + np.arange(math.prod(box.extent)).reshape(box.extent)
        written[window] = swizzled_bytes(place * size, swizzle_mode(layout))
    return written


@given(shared_layouts(), st.data())
def test_boxes_fill_the_places_of_the_layout(made, data: st.DataObject) -> None:
    layout, dtype, mode = made
    span = mode.span_bytes // itemsize(dtype)
    stages = [data.draw(st.integers(0, extent - 1)) for extent in layout.shape[:-2]]
    row = 8 * data.draw(st.integers(0, layout.shape[-2] // 8 - 1))
    col = span * data.draw(st.integers(0, layout.shape[-1] // span - 1))
    starts = (*stages, row, col)
    extents = (*(1 for _ in stages), layout.shape[-2] - row, layout.shape[-1] - col)
    window = tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))
    expected = layout.to_table()[m][window] * itemsize(dtype)
    np.testing.assert_array_equal(fill_boxes(layout, dtype, starts, extents), expected)


def test_a_wide_and_tall_tile_is_cut_into_slabs_and_256_rows() -> None:
    layout = tma_shared_layout("float16", B128, (2, 512, 128))
    base, boxes = tma_boxes(layout, (Name("stage"), 0, 0), (1, 512, 128))
    assert str(base) == "(stage * 65536)"
    assert [(box.offset, box.start, box.extent) for box in boxes] == [
        (0, (0, 0, 0), (1, 256, 64)),
        (32768, (0, 0, 64), (1, 256, 64)),
        (16384, (0, 256, 0), (1, 256, 64)),
        (49152, (0, 256, 64), (1, 256, 64)),
    ]


def test_boxes_of_unswizzled_tiles() -> None:
    base, boxes = tma_boxes(TileLayout(S[(128, 64)]), (0, 0), (128, 64))
    assert base == 0 and [(box.offset, box.extent) for box in boxes] == [(0, (128, 64))]
    _, vector = tma_boxes(TileLayout(S[600]), (0,), (600,))
    assert [(box.offset, box.extent) for box in vector] == [(0, (256,)), (256, (256,)), (512, (88,))]
    _, row = tma_boxes(TileLayout(S[(4, 512)]), (Name("row"), 0), (1, 512))
    assert [(box.offset, box.extent) for box in row] == [(0, (1, 256)), (256, (1, 256))]


@pytest.mark.parametrize(
    ("layout", "starts", "extents", "sentence"),
    [
        (tma_shared_layout("float16", B128, (64, 64)), (0, 0), (64, 32), "fills packed rows of 64 elements"),
        (tma_shared_layout("float16", B128, (64, 64)), (4, 0), (8, 64), "begin it on a whole atom"),
        (TileLayout(S[(128, 64)]), (0, 0), (128, 32), "fills packed rows of 32 elements"),
        (TileLayout(S[(64, 64) : (1, 64)]), (0, 0), (64, 64), "fills packed rows"),
        (TileLayout(S[((2, 4), 8) : ((8, 16), 1)]), (0, 0), (8, 8), "fills packed rows"),
        (TileLayout(S[(8, 512)]), (0, 0), (8, 512), "at most 256 elements wide"),
        (TileLayout(S[(8, 64) : (1 @ TLane, 1)]), (0, 0), (8, 64), "fills packed rows"),
    ],
)
def test_slices_that_tma_cannot_fill_are_rejected(layout, starts, extents, sentence) -> None:
    with pytest.raises(LayoutError, match=sentence):
        tma_boxes(layout, starts, extents)


def read_operand(params, mode, row: np.ndarray, byte: np.ndarray, k: int) -> np.ndarray:
    """The byte addresses that the tensor core reads for (row, byte) of the K step at `k`, by the descriptor alone."""
    address = params.byte_offset(k) + row // 8 * params.stride_byte_offset + row % 8 * mode.span_bytes
    if mode is NONE:
        return address + byte // 16 * params.leading_byte_offset + byte % 16
    return swizzled_bytes(address + byte, mode)


@given(shared_layouts(), st.data())
def test_descriptors_read_the_places_of_the_layout(made, data: st.DataObject) -> None:
    layout, dtype, mode = made
    size = itemsize(dtype)
    step = 32 // size  # each MMA consumes 32 bytes of K
    stages = [data.draw(st.integers(0, extent - 1)) for extent in layout.shape[:-2]]
    row = 8 * data.draw(st.integers(0, layout.shape[-2] // 8 - 1))
    if layout.shape[-1] < step:
        return
    k_start = step * data.draw(st.integers(0, layout.shape[-1] // step - 1))
    rows, depth = layout.shape[-2] - row, layout.shape[-1] // step * step - k_start
    params = mma_descriptor_params(layout, dtype, (*stages, row, k_start), (*(1 for _ in stages), rows, depth))
    assert (params.mode, params.rows, params.cols) == (mode, rows, depth)
    table = layout.to_table()[m][tuple(stages)] * size
    r, element = np.indices((rows, step))
    for k in range(0, depth, step):
        expected = table[row:, k_start + k : k_start + k + step]
        np.testing.assert_array_equal(read_operand(params, mode, r, element * size, k), expected)


@pytest.mark.parametrize(
    ("mode", "stride", "leading"), [(B128, 1024, 16), (B64, 512, 16), (B32, 256, 16), (NONE, 128, 128 * 16)]
)
def test_offsets_of_a_k_major_half_precision_tile(mode, stride, leading) -> None:
    layout = tma_shared_layout("float16", mode, (128, 64))
    params = mma_descriptor_params(layout, "float16")
    assert (params.stride_byte_offset, params.leading_byte_offset) == (stride, leading)
    assert mma_descriptor_params(layout, "float16", (0, 0), (8, 64)).stride_byte_offset == stride
    slab = 128 * mode.span_bytes
    for k in range(0, 64, 16):
        assert params.byte_offset(k) == k * 2 // mode.span_bytes * slab + k * 2 % mode.span_bytes


def test_k_advances_by_32_bytes_inside_the_atom() -> None:
    layout = tma_shared_layout("float16", B128, (4, 2, 128, 64))
    params = mma_descriptor_params(layout, "float16", (Name("s"), Name("w"), 0, 0), (1, 1, 128, 64))
    assert str(params.byte_offset()) == "(((s * 16384) + (w * 8192)) * 2)"
    assert str(params.byte_offset(16)) == "((((s * 16384) + (w * 8192)) + 16) * 2)"
    assert evaluate(params.byte_offset(Name("k")), s=1, w=1, k=48) == 49152 + 96


@pytest.mark.parametrize(
    ("layout", "dtype", "starts", "extents", "sentence"),
    [
        (tma_shared_layout("float16", B128, (64, 64)), "float32", None, None, "16 bits, but float32 has 32"),
        (tma_shared_layout("float16", B128, (64, 64)), "float16", (4, 0), (8, 64), "begin it on a whole atom"),
        (tma_shared_layout("float16", B128, (64, 64)), "float16", (0, 0), (12, 64), "not a whole number of 8"),
        (tma_shared_layout("float16", B128, (64, 64)), "float16", (0, 4), (64, 16), "multiple of 8 elements"),
        (tma_shared_layout("float16", B128, (2, 64, 64)), "float16", None, None, "extent 1 in any earlier"),
        (TileLayout(S[(64, 64)]), "float16", None, None, "rows of 16 bytes, packed in groups of 8"),
        (TileLayout(S[(8, 8) : (8, 2)]), "float16", None, None, "rows of 16 bytes, packed in groups of 8"),
        (TileLayout(S[(64, (4, 2, 8)) : (8, (512, 4096, 1))]), "float16", None, None, "not evenly spaced"),
        (TileLayout(S[(64, 64) : (1 @ TLane, 1)]), "float16", None, None, "not evenly spaced"),
    ],
)
def test_operands_that_no_descriptor_expresses_are_rejected(layout, dtype, starts, extents, sentence) -> None:
    with pytest.raises(LayoutError, match=sentence):
        mma_descriptor_params(layout, dtype, starts, extents)


@given(shared_layouts())
def test_vectors_are_contiguous_and_aligned(made) -> None:
    layout, dtype, mode = made
    length = vector_length(layout)
    assert length * itemsize(dtype) == 16
    places = layout.to_table()[m].reshape(-1, length)
    assert (places[:, 0] % length == 0).all()
    np.testing.assert_array_equal(places - places[:, :1], np.broadcast_to(np.arange(length), places.shape))


def test_vector_lengths() -> None:
    assert vector_length(TileLayout(S[(128, 64)])) == 64
    assert vector_length(TileLayout(S[(128, 64) : (68, 1)])) == 4
    assert vector_length(TileLayout(S[(128, 64) : (1, 128)])) == 1
    assert vector_length(TileLayout(S[(4, 8) : (1, 1)])) == 1
    assert vector_length(TileLayout(S[(8, 1)])) == 1
    assert vector_length(TileLayout(S[(128, 512) : (1, 1 @ TLane)])) == 1
    assert vector_length(wgmma_accumulator_layout(64)) == 2
