"""The references are right: on any shape their tiles cover, in any schedule, in both dtypes, without a finding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, Factory, Shape, load_kernels
from tools.mutants.judge import on_small_gpu
from tools.source import KernelSource
from utils import prepare_data, verify

REFERENCES = load_kernels(Path(__file__).parents[2] / "kernels_ref")
SMALL: dict[int, Shape] = {number: step.in_tiles(1, 3, 3) for number, step in STEPS.items()}
"""A few tiles, and more K tiles than the first pipelines have stages, by an odd number."""
SHAPES: tuple[tuple[int, Shape], ...] = (
    (2, (128, 128, 64)),
    (3, (384, 256, 320)),
    (4, (384, 256, 64)),
    (5, (256, 640, 320)),
    *((step, (128, 128, 64)) for step in (5, 6, 7, 8)),  # one tile, and one K tile in a pipeline of two and four
    *((step, (128, 1664, 128)) for step in (6, 7, 8)),  # a prime number of tiles
    *((step, (1664, 1664, 192)) for step in (6, 7, 8)),  # 169 tiles for 148 CTAs
    (9, (256, 256, 64)),
    (9, (256, 1792, 320)),
    (9, (3328, 1792, 192)),  # 91 tiles for 74 clusters
    (10, (512, 256, 64)),
    (10, (512, 1792, 320)),
    (10, (3584, 3328, 192)),
)


@pytest.fixture
def on_few_sms(step: int, tmp_path: Path) -> Factory:
    """The reference for a GPU of few SMs, so that each CTA of a persistent kernel has several tiles of a small D."""
    path = tmp_path / "kernel.py"
    path.write_text(on_small_gpu(step, KernelSource.reference(step).text), encoding="utf-8")
    return load_kernels(path)[step]


def check(factory: Factory, shape: Shape, dtype: str = "float16", schedules: int = 1, seed: int = 0) -> None:
    kernel = factory(*shape, dtype=dtype)
    A, B, D = prepare_data(*shape, dtype=dtype, target="sim", arrays=True)
    report = tvm.simulate(kernel, A, B, D, schedules=schedules, seed=seed)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    verify(A, B, D)


@pytest.mark.parametrize("step", STEPS)
def test_twenty_random_schedules_have_no_findings(step: int, on_few_sms: Factory) -> None:
    check(on_few_sms, SMALL[step], schedules=20, seed=1)


@pytest.mark.parametrize(("step", "shape"), SHAPES, ids=lambda value: str(value).replace(", ", "x"))
def test_shapes_that_divide_unevenly_are_right(step: int, shape: Shape) -> None:
    check(REFERENCES[step], shape)


@pytest.mark.parametrize("step", STEPS)
def test_bfloat16_is_right(step: int, on_few_sms: Factory) -> None:
    check(on_few_sms, SMALL[step], dtype="bfloat16")


@pytest.mark.parametrize("step", STEPS)
def test_the_same_data_give_the_same_bits_in_every_schedule(step: int, on_few_sms: Factory) -> None:
    kernel = on_few_sms(*SMALL[step])
    results = []
    for seed in (0, 7):
        A, B, D = prepare_data(*SMALL[step], target="sim", arrays=True)
        tvm.simulate(kernel, A, B, D, seed=seed)
        results.append(D)
    assert np.array_equal(results[0], results[1])
