"""The Hopper references are right: on any shape their tiles cover, in any schedule, in both dtypes, with no finding."""

from __future__ import annotations

import re
from math import ceil, prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.course import STEPS, Shape, load_kernels, load_module, shape_text
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from utils import prepare_data, verify

FOLDER = Path(__file__).parents[2] / "kernels_ref" / "sm90"
Tile = tuple[int, int]
FILES = {step: next(FOLDER.glob(f"step{step:02}_*.py")) for step in STEPS}
SMALL: dict[int, Shape] = {
    **{number: step.in_tiles(1, 3, 3, "sm90") for number, step in STEPS.items()},
    9: (512, 384, 448),
    10: (256, 640, 576),
}
"""A few tiles, and more K tiles than there are stages, by an odd number."""
SMS = 4
"""Of the GPU that persistent kernels are written for here: each CTA then has several tiles."""
SHAPES: tuple[tuple[int, Shape], ...] = (
    (2, (128, 128, 64)),
    (3, (384, 256, 320)),
    (4, (384, 256, 64)),
    (5, (256, 640, 320)),
    *((step, (128, 128, 64)) for step in (5, 6, 7, 8)),  # one tile, and one K tile
    *((step, (128, 1408, 128)) for step in (6, 7, 8)),  # tiles that the CTAs do not share out evenly
    (9, (256, 128, 64)),
    (9, (256, 1408, 384)),
)
TILES: tuple[Tile, ...] = ((128, 128), (128, 160), (128, 192), (64, 128))
"""Of step 10."""
TILE_SHAPES: tuple[Shape, ...] = (
    (64, 64, 64),  # one tile, of which consumer 1 has none
    (320, 448, 192),  # tiles that hang over both edges
    (384, 1408, 832),  # several rounds of the stages a tile, and CTAs with different numbers of tiles
    (64, 2112, 64),  # one K tile: each tile is one stage
)


def kernel_of(step: int, shape: Shape, dtype: str, folder: Path, tile: Tile | None = None) -> PrimFunc:
    """The kernel for a GPU of `SMS` multiprocessors. tile: what step 10 has to take, whatever the shape."""
    text = re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", FILES[step].read_text(encoding="utf-8"))
    if tile is not None:
        text, count = re.subn(r"(?m)^TILES = .*$", f"TILES = ({tile},)", text)
        assert count == 1
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    (factory,) = load_kernels(path).values()
    return factory(*shape, dtype=dtype)


def check(
    step: int,
    shape: Shape,
    folder: Path,
    dtype: str = "float16",
    schedules: int = 1,
    seed: int = 0,
    tile: Tile | None = None,
) -> None:
    kernel = kernel_of(step, shape, dtype, folder, tile)
    A, B, D = prepare_data(*shape, dtype=dtype, target="sim:h100", arrays=True)
    report = tvm.simulate(kernel, A, B, D, gpu="h100", schedules=schedules, seed=seed)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    verify(A, B, D)


@pytest.mark.parametrize("step", FILES)
def test_random_schedules_have_no_findings(step: int, tmp_path: Path) -> None:
    check(step, SMALL[step], tmp_path, schedules=10, seed=1)


@pytest.mark.parametrize(("step", "shape"), SHAPES, ids=lambda value: str(value).replace(", ", "x"))
def test_shapes_that_divide_unevenly_are_right(step: int, shape: Shape, tmp_path: Path) -> None:
    check(step, shape, tmp_path)


@pytest.mark.parametrize("step", FILES)
def test_bfloat16_is_right(step: int, tmp_path: Path) -> None:
    check(step, SMALL[step], tmp_path, dtype="bfloat16")


@pytest.mark.parametrize("shape", TILE_SHAPES, ids=shape_text)
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_each_tile_of_step_10_is_right(tile: Tile, shape: Shape, tmp_path: Path) -> None:
    check(10, shape, tmp_path, tile=tile)


@pytest.mark.parametrize(("dtype", "schedules"), [("float16", 5), ("bfloat16", 1)])
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_each_tile_of_step_10_is_right_in_random_schedules(
    tile: Tile, dtype: str, schedules: int, tmp_path: Path
) -> None:
    """The type of the elements changes what is computed, and nothing of what waits for what."""
    check(10, (320, 448, 704), tmp_path, dtype=dtype, schedules=schedules, seed=2, tile=tile)


def test_a_tile_that_hangs_over_the_edge_is_right_at_full_size() -> None:
    """8256 columns are 64 and a half of the tiles that 64 rows get; half of the SMs have none."""
    shape = (64, 8256, 64)
    kernel = load_kernels(FOLDER)[10](*shape)
    A, B, D = prepare_data(*shape, target="sim:h100", arrays=True)
    report = tvm.simulate(kernel, A, B, D, gpu="h100")
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    verify(A, B, D)


def tile_shape(M: int, N: int) -> Tile:
    return load_module(FILES[10]).tile_shape(M, N)


@pytest.mark.parametrize(
    ("M", "N", "tile"),
    [
        (1024, 1024, (64, 128)),
        (2048, 2048, (128, 128)),
        (4096, 4096, (128, 128)),
        (8192, 8192, (128, 192)),
        (4096, 14336, (128, 160)),
    ],
)
def test_step_10_chooses_the_tile_by_the_shape(M: int, N: int, tile: Tile) -> None:
    assert tile_shape(M, N) == tile


def rounds(tile: Tile, M: int, N: int) -> int:
    return ceil(ceil(M / tile[0]) * ceil(N / tile[1]) / 132)


@settings(deadline=None)
@given(M=st.integers(1, 256).map(lambda n: n * 64), N=st.integers(1, 256).map(lambda n: n * 64))
def test_no_smaller_tile_would_need_as_few_rounds(M: int, N: int) -> None:
    tile = tile_shape(M, N)
    assert tile in TILES
    smaller = [other for other in TILES if prod(other) < prod(tile)]
    assert [other for other in smaller if rounds(other, M, N) <= rounds(tile, M, N)] == []


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_shared_memory_holds_the_stages_of_each_tile_and_no_more(tile: Tile, tmp_path: Path) -> None:
    launch = lower(kernel_of(10, (1024, 1024, 1024), "float16", tmp_path, tile)).launch
    assert launch is not None
    stage = sum(tile) * 64 * 2
    assert 232_448 - stage - 2048 < launch.smem_bytes <= 232_448
