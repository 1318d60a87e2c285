"""Translation validation: the PTX that NVRTC makes of the references, read back, computes the same and is as clean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels_ref.edits import HOPPER_SOURCES, SOURCES
from tests.tirx_mini.frontends.ptx.back import read_back
from tirx_mini.course import load_kernels

SIZES = {1: (128, 128, 64), 2: (128, 128, 128), 3: (256, 256, 128), 9: (256, 256, 256), 10: (512, 256, 256)}
TOLERANCE = 0.15
"""Of the predicted time."""


def product(path: Path, step: int, gpu: str, *flags: str) -> None:
    """A reference and its PTX: equal values, the same verdict, no findings and about the same time."""
    m, n, k = SIZES.get(step) or (256, 256, 128)
    rng = np.random.default_rng(step)
    A, B = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    back = read_back(load_kernels(path)[step](m, n, k), (A, B, np.zeros((m, n), np.float16)), gpu, flags)
    assert back.kernel.ok and back.ptx.verdict == back.kernel.verdict and not back.ptx.findings, back.ptx
    assert back.equal
    assert abs(back.ratio - 1) <= TOLERANCE, back.ratio


@pytest.mark.compiler
@pytest.mark.parametrize("step", [1, 2, 3, 4, 7, 9, 10])
@pytest.mark.parametrize(("sources", "gpu"), [(HOPPER_SOURCES, "h100"), (SOURCES, "b200")], ids=["sm90", "sm100"])
def test_a_reference_reads_back_with_equal_values_and_the_same_verdict(
    sources: dict[int, Path], gpu: str, step: int
) -> None:
    product(sources[step], step, gpu)
