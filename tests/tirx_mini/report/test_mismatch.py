"""Each mistake that leaves a pattern in D is recognised from D alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx_mini.report import Mismatch, explain_mismatch

K_TILE = 64


def operands(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return tuple(rng.standard_normal(shape).astype(np.float16).astype(np.float32) for shape in ((m, k), (n, k)))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a @ b.T).astype(np.float16).astype(np.float32)


def explain(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> Mismatch:
    return explain_mismatch(got, product(a, b), a, b, rtol=1e-3, atol=1e-2)


def test_the_headline_counts_and_shows_the_first_wrong_element() -> None:
    a, b = operands(128, 128, 64)
    got = product(a, b)
    right = got[3, 5]
    got[3, 5] = 1234.0
    found = explain(got, a, b)
    assert found.headline == f"0.0% of D is wrong (1 of 16,384 elements): D[3, 5] is 1234, but should be {right:.6g}"
    assert found.where == ("in the tile, 1 of 16,384 elements is wrong; rows affected: 3",)


def test_agreement_has_nothing_to_explain() -> None:
    a, b = operands(128, 128, 64)
    with pytest.raises(ValueError, match="nothing to explain"):
        explain(product(a, b), a, b)


def test_what_was_never_written() -> None:
    a, b = operands(256, 256, 64)
    got = product(a, b)
    got[128:, :128] = np.nan
    found = explain(got, a, b)
    assert "the kernel wrote nothing there" in found.cause
    assert found.suspect == "D"
    assert found.where == ("1 of 4 tiles of 128 × 128 is affected: (1, 0)", "tile (1, 0) is entirely wrong")


def test_b_read_at_the_offset_of_a() -> None:
    a, b = operands(256, 256, 128)
    got = product(a, b)
    got[:128, 128:] = product(a[:128], b[:128])
    got[128:, :128] = product(a[128:], b[128:])
    found = explain(got, a, b)
    assert found.suspect == "B"
    assert "tile (0, 1) holds the values of tile (0, 0)" in found.cause
    assert "multiplied rows 0-127 of B instead of rows 128-255" in found.cause


def test_a_read_at_the_wrong_rows() -> None:
    a, b = operands(256, 128, 64)
    got = product(a, b)
    got[128:] = product(a[:128], b)
    assert explain(got, a, b).suspect == "A"


def test_tiles_written_to_each_others_place() -> None:
    a, b = operands(256, 256, 64)
    want = product(a, b)
    got = want.copy()
    got[:128, 128:], got[128:, :128] = want[128:, :128], want[:128, 128:]
    found = explain(got, a, b)
    assert found.suspect == "D"
    assert "written to the wrong place in D" in found.cause


def test_a_transposed_result() -> None:
    a, b = operands(128, 128, 64)
    assert "transposed" in explain(product(a, b).T.copy(), a, b).cause


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((0, 0, 0, 1), "accum must be true for all K tiles but the first"),
        ((1, 1, 1, 0), "the loop ends one iteration early"),
        ((0, 1, 1, 1), "the second MMA overwrites the first"),
        ((1, 0, 0, 1), "2 of 4 K tiles are missing from D (1, 2)"),
        ((2, 1, 1, 1), "K tile 0 is added 2 times"),
        ((0, 0, 0, 0), "D is zero"),
    ],
)
def test_k_tiles_that_are_missing_or_counted_twice(times: tuple[int, ...], words: str) -> None:
    a, b = operands(128, 128, K_TILE * len(times))
    scale = np.repeat(np.array(times, dtype=np.float32), K_TILE)
    assert words in explain(product(a * scale, b), a, b).cause


@settings(max_examples=25)
@given(times=st.lists(st.integers(0, 3), min_size=1, max_size=8).filter(lambda times: set(times) != {1}))
def test_any_mixture_of_k_tiles_is_explained(times: list[int]) -> None:
    a, b = operands(128, 128, K_TILE * len(times))
    scale = np.repeat(np.array(times, dtype=np.float32), K_TILE)
    assert explain(product(a * scale, b), a, b).cause


def test_the_row_of_one_thread() -> None:
    a, b = operands(128, 128, 64)
    got = product(a, b)
    got[77] += 5
    found = explain(got, a, b)
    assert "thread 77 of the warpgroup" in found.cause
    assert found.where == ("in the tile, row 77 is entirely wrong, and the others are right",)


def test_the_rows_of_a_warp() -> None:
    a, b = operands(128, 128, 64)
    got = product(a, b)
    got[32:64] += 5
    assert "rows of warp 1 are wrong" in explain(got, a, b).cause


def test_noise_has_no_cause() -> None:
    a, b = operands(128, 128, 128)
    got = product(a, b) + np.random.default_rng(2).standard_normal((128, 128)).astype(np.float32)
    found = explain(got, a, b)
    assert found.cause == ""
    assert "help" not in str(found)


def test_tiles_that_are_transposed_in_their_places() -> None:
    a, b = operands(128, 256, 64)
    got = product(a, b)
    for start in (0, 128):
        got[:, start : start + 128] = got[:, start : start + 128].T.copy()
    assert "each tile is transposed: A and B are swapped in the MMA" in explain(got, a, b).cause


@pytest.mark.parametrize(("start", "other", "width"), [(64, 0, 64), (32, 64, 32), (0, 136, 8)])
def test_columns_of_another_slice(start: int, other: int, width: int) -> None:
    a, b = operands(128, 256, 128)
    got, want = product(a, b), product(a, b)
    got[:, start : start + width] = want[:, other : other + width]
    found = explain(got, a, b)
    assert found.suspect == "D"
    assert (
        f"columns {start}-{start + width - 1} of D hold what belongs to columns {other}-{other + width - 1}"
        in found.cause
    )


def test_a_tile_that_was_stored_beside_its_place() -> None:
    a, b = operands(128, 256, 64)
    got = product(a, b)
    got[:, 128:] = got[:, :128]
    got[:, :128] = np.nan
    found = explain(got, a, b)
    assert found.suspect == "D" and "(0, 1) holds the values of tile (0, 0): it is written to" in found.cause


@pytest.mark.parametrize("stays", ["A", "B", None])
def test_k_tiles_that_do_not_belong_together(stays: str | None) -> None:
    a, b = operands(128, 128, 192)
    one, other = a.copy(), b.copy()
    if stays == "A":
        one[:] = np.tile(a[:, :K_TILE], 3)
    elif stays == "B":
        other[:] = np.tile(b[:, :K_TILE], 3)
    else:
        other[:] = np.roll(b, K_TILE, axis=1)
    found = explain(product(one, other), a, b)
    assert found.suspect == stays
    why = f"the loads of {stays} do not advance along K" if stays else "the two loads advance along K differently"
    assert found.cause.endswith(why) and "of A is multiplied by K tile" in found.cause
