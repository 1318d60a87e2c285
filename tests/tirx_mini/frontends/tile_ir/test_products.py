"""Products of the types that tile programs have, from arrays to arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels_ref.tile import gemm
from tirx_mini.tile_ir import compile, ct, simulated

GPUS = ("h100", "b200")


@ct.kernel
def product(A, B, D, TM: ct.Constant[int], TK: ct.Constant[int]):
    acc = ct.zeros((TM, TM), dtype=ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        acc = ct.mma(ct.load(A, (0, k), shape=(TM, TK)), ct.load(B, (k, 0), shape=(TK, TM)), acc)
    ct.store(D, (0, 0), acc)


@ct.kernel
def by_rows(A, B, D, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    """D = A @ B.T: both operands lie along K."""
    acc = ct.zeros((TM, TN), dtype=D.dtype)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        a, b = ct.load(A, (0, k), shape=(TM, TK)), ct.load(B, (0, k), shape=(TN, TK))
        acc = ct.mma(a, b.transpose(), acc)
    ct.store(D, (0, 0), acc)


@ct.kernel
def scaled(A, SA, B, SB, D, M: ct.Constant[int], K: ct.Constant[int], BLOCK: ct.Constant[int]):
    a, b = ct.load(A, (0, 0), shape=(M, K)), ct.load(B, (0, 0), shape=(K, M))
    sa, sb = ct.load(SA, (0, 0), shape=(M, K // BLOCK)), ct.load(SB, (0, 0), shape=(K // BLOCK, M))
    ct.store(D, (0, 0), ct.mma_scaled(a, sa, b, sb, ct.zeros((M, M), dtype=ct.float32)))


@ct.kernel
def converted(x, y):
    ct.store(y, (0,), ct.load(x, (0,), shape=(256,)).astype(y.dtype))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_float8_is_loaded_by_tma(dtype: Any, gpu: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = (numbers.standard_normal(shape).astype(dtype) for shape in ((64, 128), (128, 64)))
    d = np.zeros((64, 64), np.float32)
    with simulated(gpu, schedules=5):
        ct.launch(None, (1,), product, (a, b, d, 64, 64))
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32), atol=1e-3)
    assert "tiled_tma_load" in compile(product, (a, b, d, 64, 64), gpu).text("nv_tileas")


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_scaled_products(dtype: Any, gpu: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = (numbers.standard_normal(shape).astype(dtype) for shape in ((64, 128), (128, 64)))
    sa, sb = ((2.0 ** numbers.integers(-6, 7, shape)).astype(ml_dtypes.float8_e8m0fnu) for shape in ((64, 4), (4, 64)))
    d = np.zeros((64, 64), np.float32)
    with simulated(gpu, schedules=3):
        ct.launch(None, (1,), scaled, (a, sa, b, sb, d, 64, 128, 32))
    left = a.astype(np.float32) * np.repeat(sa.astype(np.float32), 32, axis=1)
    right = b.astype(np.float32) * np.repeat(sb.astype(np.float32), 32, axis=0)
    assert np.allclose(d, left @ right, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("rows", [128, 16])
@pytest.mark.parametrize("gpu", [*GPUS, "b300"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8, np.uint8])
def test_the_tensor_core_multiplies_what_lies_along_k(dtype: Any, gpu: str, rows: int) -> None:
    numbers = np.random.default_rng(0)
    whole = dtype in (np.int8, np.uint8)
    low, high = (100, 256) if dtype is np.uint8 else (-8, 9)
    a, b = (numbers.integers(low, high, shape).astype(dtype) for shape in ((rows, 192), (128, 192)))
    d = np.zeros((rows, 128), np.int32 if whole else np.float32)
    with simulated(gpu, schedules=2):
        ct.launch(None, (1,), by_rows, (a, b, d, rows, 128, 64))
    assert np.array_equal(d, a.astype(np.int32) @ b.astype(np.int32).T)
    text = compile(by_rows, (a, b, d, rows, 128, 64), gpu).text("nv_tileas")
    assert ("mma = mma_sync" in text) == (gpu == "b300" and whole)  # it has no kind::i8


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("types", [(np.int8, np.uint8), (np.uint8, np.int8)])
@pytest.mark.parametrize("rows", [16, 128])
def test_one_operand_has_signs(types: tuple[Any, Any], gpu: str, rows: int) -> None:
    """mma.sync multiplies integers of 8 bits with signs by those without."""
    numbers = np.random.default_rng(0)
    bounds = [(-128, 128) if dtype is np.int8 else (0, 256) for dtype in types]
    a, b = (numbers.integers(*bounds[i], (extent, 96)).astype(types[i]) for i, extent in enumerate((rows, 64)))
    d = np.zeros((rows, 64), np.int32)
    with simulated(gpu, schedules=2):
        ct.launch(None, (1,), by_rows, (a, b, d, rows, 64, 32))
    assert np.array_equal(d, a.astype(np.int32) @ b.astype(np.int32).T)
    assert "mma = mma_sync" in compile(by_rows, (a, b, d, rows, 64, 32), gpu).text("nv_tileas")


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_scales_are_powers_of_two(dtype: Any) -> None:
    x, y = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu), np.zeros(256, dtype)
    with simulated("h100"):
        ct.launch(None, (1,), converted, (x, y))
    assert np.array_equal(y.astype(np.float32), x.astype(np.float32).astype(dtype).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_numbers_become_the_nearest_scales(dtype: Any) -> None:
    edges = [0, 1, 0x400000, 0x400001, 0x600000, 0x7FFFFF, 0x800000, 0x3FBFFFFF, 0x3FC00000, 0x7F3FFFFF, 0x7F400000,
             0x7F800000, 0x7FC00000, 0x80000000, 0xBF800000]  # fmt: skip
    bits = np.random.default_rng(0).integers(0, 1 << 31, 256 - len(edges))
    with np.errstate(invalid="ignore"):
        x = np.concatenate([bits, edges]).astype(np.uint32).view(np.float32).astype(dtype)
    y = np.zeros(256, ml_dtypes.float8_e8m0fnu)
    with simulated("b200"):
        ct.launch(None, (1,), converted, (x, y))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(y.view(np.uint8), x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))


def test_tiles_that_are_too_small_get_a_note() -> None:
    a, d = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)
    program = compile(product, (a, a, d, 16, 16), "h100")
    program.text("nv_tileas")
    (note,) = program.context.notes
    assert "16 × 16 sums" in note.message and note.span is not None


@pytest.mark.parametrize(
    ("gpu", "tile", "rows", "words", "hint"),
    [
        ("h100", (16, 256, 64), 4096, "loads 34.8 KB, for 15 operations a byte", "64 × 256 does 51 "),
        ("h100", (128, 32, 64), 4096, "a step of 128 × 32 × 64", "128 × 64 does 43 "),
        ("b200", (64, 64, 64), 4096, "the B200", "128 × 128 does 64 "),
        ("h100", (64, 64, 64), 4096, "", ""),  # the L2 feeds more than half of what the tensor cores do
        ("h100", (16, 64, 64), 16, "", ""),  # there are no more rows for a larger tile
    ],
)
def test_a_tile_that_the_l2_cannot_feed_gets_a_note(
    gpu: str, tile: tuple[int, int, int], rows: int, words: str, hint: str
) -> None:
    a, b, c = (np.zeros(shape, np.float16) for shape in ((rows, 1024), (1024, 4096), (rows, 4096)))
    program = compile(gemm.gemm_tile, (a, b, c, *tile), gpu)
    program.text("nv_tileas")
    notes = program.context.notes
    assert len(notes) == bool(words)
    assert all(words in n.message and n.hint is not None and hint in n.hint and n.span is not None for n in notes)


@ct.kernel
def doubled(A, B, D):
    a, b = ct.load(A, (0, 0), shape=(32, 64)), ct.load(B, (0, 0), shape=(64, 128))
    ct.store(D, (0, 0), ct.matmul(a + a, b))


def test_tiles_of_few_rows_get_a_note_on_hopper() -> None:
    a, b, d = np.zeros((32, 64), np.float16), np.zeros((64, 128), np.float16), np.zeros((32, 128), np.float16)
    for gpu, count in (("h100", 1), ("b200", 0)):
        program = compile(doubled, (a, b, d), gpu)
        program.text("nv_tileas")
        found = [note.message for note in program.context.notes if "32 × 128 sums" in note.message]
        assert len(found) == count and all("wgmma multiplies 64 rows at a time" in message for message in found)


@ct.kernel
def recurrent(q, k, v, sums, scores, T: ct.Constant[int]):
    state = ct.zeros((T, T), dtype=ct.float32)
    for t in range(ct.num_tiles(q, 0, (T, T))):
        keys, values = ct.load(k, (t, 0), (T, T)), ct.load(v, (t, 0), (T, T))
        score = ct.mma(ct.load(q, (t, 0), (T, T)), ct.transpose(keys), ct.zeros((T, T), ct.float32))
        state = ct.mma(ct.transpose(keys), values, state)
        ct.store(scores, (t, 0), score)
    ct.store(sums, (0, 0), state)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_tile_that_two_products_read_transposed(gpu: str) -> None:
    numbers = np.random.default_rng(0)
    q, k, v = (numbers.standard_normal((64, 16)).astype(np.float16) for _ in range(3))
    sums, scores = np.zeros((16, 16), np.float32), np.zeros((64, 16), np.float32)
    with simulated(gpu, schedules=5):
        ct.launch(None, (1,), recurrent, (q, k, v, sums, scores, 16))
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    np.testing.assert_allclose(sums, k.T @ v, atol=1e-2)
    np.testing.assert_allclose(scores[16:32], q[16:32] @ k[16:32].T, atol=1e-2)
