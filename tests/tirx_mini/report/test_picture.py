"""The picture of a wrong product."""

from __future__ import annotations

import numpy as np

from tirx_mini.report import product_picture


def test_blocks_are_right_wrong_in_parts_wrong_or_never_written() -> None:
    exact = np.zeros((256, 256))
    got = exact.astype(np.float16)
    got[:16, :8] = 1
    got[16:32, 0] = 1
    got[128:, 248:] = np.nan
    share, picture = product_picture(got, exact, 0.5)
    lines = picture.splitlines()
    assert share == (16 * 8 + 16 + 128 * 8) / 256**2
    assert lines[0] == "#" + 15 * "." + "|" + 16 * "."
    assert lines[1][0] == "x" and lines[8] == 16 * "-" + "+" + 16 * "-"
    assert len(lines) == 17 and all(line.endswith("o") for line in lines[9:])


def test_a_large_product_fits_the_terminal() -> None:
    exact = np.ones((2048, 4096))
    lines = product_picture(np.zeros((2048, 4096), np.float16), exact, 0.5)[1].splitlines()
    assert len([line for line in lines if "-" not in line]) <= 48
    assert len(lines[0].replace("|", "")) <= 64


def test_a_block_that_is_right_by_chance_here_and_there_is_wrong() -> None:
    exact = np.zeros((16, 8))
    got = np.ones((16, 8), np.float16)
    got[3, 3] = 0
    assert product_picture(got, exact, 0.5)[1] == "#"
