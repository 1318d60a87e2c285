"""Each Hopper kernel of the course once at small shapes, without a library on the GPU: what compute-sanitizer watches.

    PYTHONPATH=. compute-sanitizer --tool racecheck python3 benchmarks/each_kernel.py
    PYTHONPATH=. python3 benchmarks/each_kernel.py "every shape"           # only kernels whose names begin so

The ten steps run on whole tiles and on tiles that extend beyond the edge; the kernel for every shape runs with each
number of consumers and of CTAs that share K or columns, too, with swapped operands, and where all CTAs share the steps
of all tiles; in both types. The kernel for 8-bit floats runs with sums of each kind. The CPU computes the expected
products. The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import tirx_mini as tvm
from kernels_ref.sm90.extra_every_shape import hgemm, shared_tiles
from kernels_ref.sm90.extra_fp8 import Tiling, tiled
from kernels_ref.sm90.extra_shared_k import shared_k
from tirx_mini.course import Shape, load_kernels, matches, shape_text
from tirx_mini.ending import command
from tirx_mini.hardware import HOPPER
from tirx_mini.ir import PrimFunc
from tirx_mini.runtime import device_arch

ROOT = Path(__file__).parents[1]
SHAPES: tuple[Shape, ...] = (
    (128, 128, 64), (128, 128, 256), (512, 512, 256), (320, 448, 192), (512, 768, 1024), (128, 1024, 4096),
    (131, 200, 200), (131, 203, 200), (1, 8, 8), (1, 2056, 4096), (50, 1001, 1000),
)  # fmt: skip
DTYPES = ("float16", "bfloat16")
FLOAT8 = "float8_e4m3fn"
TILES: tuple[tuple[Shape, int, int, int], ...] = (
    ((320, 448, 192), 64, 96, 1), ((320, 192, 384), 64, 64, 1), ((128, 192, 192), 64, 64, 1),
    ((512, 768, 1024), 128, 256, 1), ((448, 384, 192), 192, 192, 1),
    ((128, 256, 1024), 128, 64, 2), ((192, 96, 512), 64, 32, 2), ((256, 320, 512), 128, 128, 4),
    ((128, 192, 1024), 64, 32, 4), ((192, 320, 1024), 64, 128, 8), ((128, 128, 1024), 128, 64, 8),
    ((201, 203, 72), 128, 48, 1), ((300, 136, 328), 192, 96, 1), ((200, 101, 328), 64, 64, 4),
    ((300, 328, 72), 128, 256, 1), ((70, 136, 64), 64, 128, 1),
)  # fmt: skip
"""Shapes, with the rows and columns of a tile and the CTAs that share its K."""
COLUMNS: tuple[tuple[Shape, int, int, int, bool], ...] = (
    ((512, 640, 136), 128, 128, 2, False), ((385, 136, 72), 192, 128, 2, False), ((330, 128, 136), 64, 64, 4, False),
    ((130, 72, 200), 64, 64, 2, False), ((72, 320, 128), 64, 72, 1, True), ((70, 136, 200), 64, 40, 1, True),
    ((19, 328, 136), 128, 24, 1, True), ((200, 208, 72), 192, 104, 1, True), ((48, 101, 72), 64, 48, 1, True),
    ((70, 520, 136), 64, 96, 4, True), ((3, 256, 72), 64, 16, 2, True),
)  # fmt: skip
"""Shapes, with the rows and columns of a tile, the CTAs that share the columns, and whether the operands are swapped.
"""
SHARED: tuple[tuple[Shape, int, int, int, bool, int], ...] = (
    ((320, 320, 2048), 64, 64, 132, False, 1), ((128, 256, 4096), 128, 128, 100, False, 1),
    ((100, 131, 1000), 64, 64, 7, False, 1), ((1, 2000, 1032), 64, 8, 132, True, 1),
    ((40, 1000, 264), 128, 40, 17, True, 1), ((256, 72, 520), 64, 80, 8, False, 2),
    ((100, 131, 1000), 64, 64, 18, False, 2), ((200, 64, 392), 64, 64, 4, False, 4),
    ((20, 500, 712), 128, 32, 12, True, 4),
)  # fmt: skip
"""The same, after the rows and columns of a tile the CTAs that share all steps, and last those that share columns."""
EIGHT_BITS: tuple[tuple[Shape, Tiling], ...] = (
    ((144, 272, 304), Tiling(128, 256)), ((64, 64, 640), Tiling(64, 64, 1, 1)),
    ((64, 64, 784), Tiling(64, 64, 1, 2, 4)), ((80, 176, 720), Tiling(128, 96, 2, 2, 3)),
    ((128, 256, 144), Tiling(128, 256, 4, 2, 1)), ((144, 144, 784), Tiling(64, 64, 1, 2, 2, 2)),
    ((208, 64, 144), Tiling(64, 64, 1, 1, 1, 4)),
)  # fmt: skip
"""Shapes and tilings of the kernel for 8-bit floats."""


def kernels() -> Iterator[tuple[str, Shape, str, PrimFunc]]:
    """Name, (M, N, K), type and kernel, at each shape that the kernel takes."""
    factories: dict[str, Callable[..., PrimFunc]] = {
        f"step {step}": factory for step, factory in load_kernels(ROOT / "kernels_ref", HOPPER.kernels).items()
    }
    for name, factory in {**factories, "every shape": hgemm}.items():
        for shape in SHAPES:
            for dtype in DTYPES:
                try:
                    yield name, shape, dtype, factory(*shape, dtype=dtype)
                except ValueError:
                    continue  # the step does not take this shape
    for shape, rows, cols, ctas in TILES:
        for dtype in DTYPES:
            name = f"every shape, {rows} × {cols}, K shared by {ctas}"
            yield name, shape, dtype, shared_tiles(*shape, dtype, rows, cols, ctas)
    for shape, rows, cols, multicast, swapped in COLUMNS:
        for dtype in DTYPES:
            name = f"every shape, {rows} × {cols}, columns shared by {multicast}"
            yield name, shape, dtype, shared_tiles(*shape, dtype, rows, cols, 1, multicast, swapped)
    for shape, rows, cols, workers, swapped, multicast in SHARED:
        for dtype in DTYPES:
            name = f"every shape, {rows} × {cols} shared by {workers}"
            yield name, shape, dtype, shared_k(*shape, dtype, rows, cols, workers, swapped, multicast)
    for shape, chosen in EIGHT_BITS:
        yield f"8-bit floats, {chosen}", shape, FLOAT8, tiled(*shape, chosen)


def is_right(kernel: PrimFunc, shape: Shape, dtype: str) -> bool:
    """Launch once; whether D is A · Bᵀ within the tolerance of the course."""
    m, n, k = shape
    generator = torch.Generator().manual_seed(0)
    element = getattr(torch, dtype)
    a, b = (torch.randn(rows, k, generator=generator).to(element) for rows in (m, n))
    factors = [torch.ones(1), torch.ones(1)] if dtype == FLOAT8 else []
    d = torch.empty(m, n, dtype=torch.bfloat16 if factors else element).cuda()
    on_gpu = [tensor.cuda() for tensor in (a, b, *factors)]
    tvm.compile(tvm.IRModule({"main": kernel}), target=f"cuda:{device_arch()}")(*on_gpu, d)
    torch.cuda.synchronize()
    if not factors:
        return matches(a, b, d.cpu())
    # Sums that are not promoted have 14 bits of mantissa.
    return torch.allclose(d.cpu().float(), a.float() @ b.float().t(), rtol=2e-2, atol=2e-2 * k**0.5)


def main() -> int:
    beginnings = tuple(sys.argv[1:]) or ("",)
    runs = wrong = 0
    for name, shape, dtype, kernel in kernels():
        if not name.startswith(beginnings):
            continue
        runs += 1
        if not is_right(kernel, shape, dtype):
            wrong += 1
            print(f"wrong: {name} at {shape_text(shape)} {dtype}", flush=True)
    print(f"{runs} launches, {wrong} wrong")
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(command(main))
