"""The classes of shapes are drawn as they are described, and the kernel that only reads does so."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from benchmarks import h100_classes as classes


@pytest.mark.parametrize("letter", "abcd")
def test_shapes_are_drawn_anew_from_their_class(letter: str) -> None:
    first, again, other = (classes.drawn(letter, 8, seed) for seed in (1, 1, 2))
    assert first == again != other
    for m, n, k in first + other:
        assert n % 8 == k % 8 == 0 and m > 0
        if letter == "a":
            assert 2 * m * n * k > 1e11
        elif letter == "b":
            assert 17 <= m <= 512 and 2 * m * n * k < 1e11
        elif letter == "c":
            assert -(-m // 128) * -(-n // 128) < 132 and k >= 8192
        else:
            assert m <= 16 and 2 * n * k > 20e6


def test_the_reader_loads_every_byte_of_b_once() -> None:
    A, B, D = np.ones((2, 520), np.float16), np.ones((1000, 520), np.float16), np.ones((2, 1000), np.float16)
    report = tvm.simulate(classes.reader(2, 1000, 520, "float16"), A, B, D, gpu="h100")
    assert report.verdict == "ok" and report.stats["tma_load_bytes"] >= B.nbytes
    assert not D[0, : classes.SM_COUNT].any() and D[0, classes.SM_COUNT :].all()


def test_the_interval_of_a_median_contains_it() -> None:
    ratio, low, high = classes.median_of([2.0 + i / 100 for i in range(40)], [1.0] * 40)
    assert low < ratio < high and ratio == pytest.approx(2.195)
