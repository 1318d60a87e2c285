"""The benchmark of tensor expressions on the CPU computes products, and prints a line for each of its three ways."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import te_matmul
from tirx_mini import te


@pytest.mark.parametrize("make", [te_matmul.plain, te_matmul.scheduled])
def test_both_schedules_compute_the_product(make):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (64, 64)).astype(np.float32) for _ in range(2))
    c = np.full((64, 64), np.nan, np.float32)
    te.build(*make(64), target="llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_it_prints_the_three_times(capsys):
    te_matmul.main(64)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == ["NumPy", "scheduled", "plain loops"]
    assert all("GFLOPS" in line for line in lines) and lines[0].endswith("1.00 times NumPy's time")


def test_a_size_that_the_tiles_do_not_divide_is_refused():
    with pytest.raises(SystemExit, match=r"a positive multiple of \d+"):
        te_matmul.main(100)
