"""The Hopper references are right: on any shape their tiles cover, in any schedule, in both dtypes, with no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.ladder import STEPS, Shape, load_kernels
from utils import prepare_data, verify

FOLDER = Path(__file__).parents[2] / "kernels_ref" / "sm90"
FILES = {f"step{step}": next(FOLDER.glob(f"step{step:02}_*.py")) for step in STEPS} | {
    "ping-pong": FOLDER / "ping_pong.py"
}
SMALL: dict[str, Shape] = {
    "step1": (128, 128, 64),
    "step2": (128, 128, 192),
    **dict.fromkeys([f"step{step}" for step in range(3, 9)], (128, 384, 192)),
    "step9": (512, 384, 448),
    "step10": (256, 768, 320),
    "ping-pong": (256, 640, 448),
}
"""A few tiles, and more K tiles than there are stages, by an odd number."""
SMS = 4
"""Of the GPU that persistent kernels are written for here: each CTA then has several tiles."""
SHAPES: tuple[tuple[str, Shape], ...] = (
    ("step2", (128, 128, 64)),
    ("step3", (384, 256, 320)),
    ("step4", (384, 256, 64)),
    ("step5", (256, 640, 320)),
    *((f"step{step}", (128, 128, 64)) for step in (5, 6, 7, 8)),  # one tile, and one K tile
    *((f"step{step}", (128, 1408, 128)) for step in (6, 7, 8)),  # tiles that the CTAs do not share out evenly
    ("step9", (256, 128, 64)),
    ("step9", (256, 1408, 384)),
    ("step10", (128, 256, 64)),
    ("step10", (128, 2816, 320)),
    ("ping-pong", (128, 128, 64)),
    ("ping-pong", (128, 1408, 64)),
    ("ping-pong", (384, 1408, 832)),
)


def kernel_of(name: str, shape: Shape, dtype: str, folder: Path) -> PrimFunc:
    """The kernel for a GPU of `SMS` multiprocessors."""
    text = re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", FILES[name].read_text(encoding="utf-8"))
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    (factory,) = load_kernels(path).values()
    return factory(*shape, dtype=dtype)


def check(name: str, shape: Shape, folder: Path, dtype: str = "float16", schedules: int = 1, seed: int = 0) -> None:
    kernel = kernel_of(name, shape, dtype, folder)
    A, B, D = prepare_data(*shape, dtype=dtype, target="sim:h100")
    report = tvm.simulate(kernel, A, B, D, gpu="h100", schedules=schedules, seed=seed)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    verify(A, B, D)


@pytest.mark.parametrize("name", FILES)
def test_random_schedules(name: str, tmp_path: Path) -> None:
    check(name, SMALL[name], tmp_path, schedules=10, seed=1)


@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=lambda value: str(value).replace(", ", "x"))
def test_shapes_that_divide_unevenly(name: str, shape: Shape, tmp_path: Path) -> None:
    check(name, shape, tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_bfloat16(name: str, tmp_path: Path) -> None:
    check(name, SMALL[name], tmp_path, dtype="bfloat16")
