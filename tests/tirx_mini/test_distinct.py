"""The distinct numbers of an array are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.distinct import counted, distinct


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 4), (40, 2)])
def test_values_and_counts_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(len(shape)).integers(-4, 5, shape)
    for found, expected in zip(counted(values), np.unique(values, return_counts=True), strict=True):
        assert found.tolist() == expected.tolist()
    assert distinct(values).dtype == values.dtype
