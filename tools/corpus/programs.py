"""The programs of the corpus: references, tile programs, programs in other languages, lessons, examples, the book's."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tirx_mini.course import (
    STEPS,
    default_kernels,
    findings_book,
    load_kernels,
    load_module,
)
from tirx_mini.frontends.tile_ir.programs import TILE_PROGRAMS, tile_program
from tirx_mini.hardware import GPUS
from tirx_mini.ir import PrimFunc

from .cutile import cutile_programs
from .program import BLACKWELL, HOPPER, Program, arguments
from .tilelang import tilelang_programs
from .tiles import tile_primitives

ROOT = Path(__file__).parents[2]


def ladder() -> Iterator[Program]:
    """The ten steps; their runs are those of `runs`."""

    def kernel(step: int, dtype: str, gpu: str) -> PrimFunc:
        factory = load_kernels(default_kernels(), GPUS[gpu].architecture.kernels)[step]
        return factory(*STEPS[step].shape(512), dtype=dtype)

    for step, dtype in product(STEPS, ("float16", "bfloat16")):
        yield Program(f"step {step}, {dtype}", partial(kernel, step, dtype), None)


def every_shape() -> Iterator[Program]:
    """The kernel for every shape, with each number of consumers and of CTAs that share K."""
    from kernels_ref.sm90.extra_every_shape import hgemm, shared_tiles
    from kernels_ref.sm90.extra_shared_k import shared_k

    for shape in ((512, 512, 256), (320, 448, 192), (128, 1024, 4096), (131, 203, 200)):
        yield Program(f"every shape, {shape}", lambda gpu, shape=shape: hgemm(*shape), arguments, HOPPER)
    tiles = [((192, 96, 512), (64, 32, 2)), ((448, 384, 192), (192, 192, 1)), ((128, 128, 1024), (128, 64, 8))]
    for shape, tile in tiles:
        yield Program(
            f"every shape, {shape} in {list(tile)}",
            lambda gpu, shape=shape, tile=tile: shared_tiles(*shape, "float16", *tile), arguments, HOPPER,
        )  # fmt: skip
    for shape, width, swapped in (((100, 136, 1000), 64, False), ((5, 200, 520), 8, True)):
        yield Program(
            f"every shape, {shape} shared by 7",
            lambda gpu, shape=shape, width=width, swapped=swapped: shared_k(
                *shape, "float16", 64, width, 7, swapped
            ), arguments, HOPPER,
        )  # fmt: skip


def tile_programs() -> Iterator[Program]:
    """The tile programs of the course."""
    from tirx_mini.tile_ir import compile

    def kernel(name: str, size: int, gpu: str) -> PrimFunc:
        launch = tile_program(name, size)
        return compile(launch.kernel, launch.args, gpu).func(launch.grid)

    for name in TILE_PROGRAMS:
        runs = None if name in ("attention", "moe", "persistent_gemm") else arguments
        yield Program(f"tile program {name}", partial(kernel, name, 512), runs)


def lessons() -> Iterator[Program]:
    """The scheduled programs of the lesson on tensor expressions that are for a GPU."""
    from tirx_mini import te

    given, solved = (load_module(ROOT / folder / "tir_exercises.py") for folder in ("lessons", "kernels_ref"))

    def kernel(schedule: Callable[..., te.Schedule], computation: Any, gpu: str) -> PrimFunc:
        return te.lower(schedule(computation), list(computation.tensors)).main

    staged = given.matmul(64, 64, 64)
    for align in (False, True):
        schedule = partial(solved.matmul_staged, align=align)
        yield Program(f"lesson: staged, align={align}", partial(kernel, schedule, staged))
    cores = given.matmul_half(64, 64, 64)
    yield Program("lesson: tensor cores", partial(kernel, solved.matmul_tensor_cores, cores))


def examples() -> Iterator[Program]:
    """The examples of the native dialect, and flash attention."""
    with _importable(ROOT / "examples" / "native"):
        for file in sorted((ROOT / "examples" / "native").glob("[0-9]*.py")):
            yield Program(f"example {file.stem}", lambda gpu, file=file: load_module(file).kernel)
    attention = load_module(ROOT / "examples" / "attention" / "flash_attention.py").flash_attention
    for causal in (False, True):
        yield Program(
            f"example attention, causal={causal}", lambda gpu, causal=causal: attention(1, 512, 64, causal),
            arguments, BLACKWELL,
        )  # fmt: skip


def dialects() -> Iterator[Program]:
    """The kernels that TVM takes, too."""
    from tirx_mini.compat.tvm import imports

    def kernel(file: Path, gpu: str) -> PrimFunc:
        with imports():
            return load_module(file).kernel

    for file in sorted((ROOT / "benchmarks" / "dialect_kernels").glob("*.py")):
        yield Program(f"dialect {file.stem}", partial(kernel, file), None)


def book() -> Iterator[Program]:
    """The mistakes of docs/findings.md."""
    from tests.tirx_mini.course.test_book import kernel_of, option

    def kernel(code: str, gpu: str) -> PrimFunc:
        (example,) = findings_book().sections[code].examples
        with tempfile.TemporaryDirectory() as folder:
            return kernel_of(example, Path(folder))

    for code, section in findings_book().sections.items():
        for example in section.examples:
            if example.language == "cuda":  # is no kernel of this language
                continue
            yield Program(f"book {code}", partial(kernel, code), arguments, (option(example, "gpu", "b200"),))


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


PROGRAMS: Mapping[str, Callable[[], Iterator[Program]]] = MappingProxyType({
    "ladder": ladder,
    "every shape": every_shape,
    "tile programs": tile_programs,
    "tile primitives": tile_primitives,
    "cuTile": cutile_programs,
    "TileLang": tilelang_programs,
    "lessons": lessons,
    "examples": examples,
    "dialects": dialects,
    "book": book,
})  # fmt: skip


def programs() -> Iterator[Program]:
    """All of them, kind by kind."""
    for made in PROGRAMS.values():
        yield from made()
