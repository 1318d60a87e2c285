"""Tile programs compiled and launched: `compile`, `launch`, `simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from tirx_mini.arguments import ArgumentError

from .arguments import Arguments, arguments_of
from .cuda_tile import AssertionFailed, OutOfBounds, interpret
from .language import Spec, TileError, TileKernel, TileTypeError, trace
from .ssa import Module, print_module

STAGES = ("cuda_tile",)
"""The levels whose text `TileProgram.text` gives."""


@dataclass(frozen=True, eq=False)
class TileProgram:
    """A kernel compiled for the kinds of its arguments.

    module: the program as cuda_tile.
    """

    kernel: TileKernel
    specs: tuple[Spec, ...]
    module: Module

    def text(self, stage: str = "cuda_tile") -> str:
        """The program at a level, one of `STAGES`. Raises `ValueError` for another one."""
        if stage not in STAGES:
            raise ValueError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
        return print_module(self.module)

    def interpret(self, grid: Sequence[int], values: Sequence[Any]) -> None:
        """Execute the program in NumPy, one block after another: the meaning of cuda_tile, without a GPU.

        values: as `Arguments.values`. Raises `TileRunError` for an access out of bounds, and a failed assertion.
        """
        arrays = [_signless(value) for value in values]
        try:
            interpret(self.module, self.kernel.__name__, arrays, grid)
        except (OutOfBounds, AssertionFailed) as error:
            raise TileRunError(f"{self.kernel.__name__}: {error}") from error


class TileRunError(TileError):
    """A kernel that did something wrong while it ran."""

    default_kind = "tile-unsupported"


def _signless(value: Any) -> Any:
    """Arrays of unsigned integers as the interpreter reads them: cuda_tile's integers have no sign."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "u":
        return value.view(np.dtype(f"i{value.itemsize}"))
    return value


def compile(kernel: TileKernel, args: Sequence[Any], arch: str = "sm_100") -> TileProgram:
    """A kernel for arguments of these kinds: their dtypes, shapes and strides, and the values of constants.

    args: as they are passed to `launch`.
    Raises `TileError` for what the kernel does wrong, and `ArgumentError` for arguments that no kernel takes.
    """
    return _compiled(_kernel(kernel), arguments_of(kernel, args), arch)


def _compiled(kernel: TileKernel, arguments: Arguments, arch: str) -> TileProgram:
    key = (arguments.specs, arch)
    if key not in kernel.programs:
        kernel.programs[key] = TileProgram(kernel, arguments.specs, trace(kernel, arguments.specs, arch).module)
    return kernel.programs[key]


def launch(
    stream: Any, grid: Sequence[int], kernel: Any, kernel_args: Sequence[Any], /, *,
    programmatic_dependent_launch: bool = False,
) -> None:  # fmt: skip
    """Execute a kernel for each block of a grid. Results are written into the arrays among its arguments.

    stream: a stream of the GPU; without one, launches are executed in order.
    grid: one to three numbers of blocks.
    kernel_args: the arguments: arrays (NumPy or PyTorch), numbers, tuples of them, and constants.
    """
    function = _kernel(kernel)
    blocks = _grid(grid)
    if not isinstance(kernel_args, (tuple, list)):
        raise ArgumentError(
            f"the arguments of {function.__name__} must be a tuple, not {type(kernel_args).__name__}: "
            f"write ct.launch(stream, grid, {function.__name__}, (a, b))"
        )
    arguments = arguments_of(function, kernel_args)
    program = _compiled(function, arguments, ARCH.get())
    program.interpret(blocks, arguments.values)


ARCH: ContextVar[str] = ContextVar("arch", default="sm_100")
"""The architecture that launches are compiled for."""


def _kernel(kernel: Any) -> TileKernel:
    if isinstance(kernel, TileKernel):
        return kernel
    raise TileTypeError(
        f"only kernels can be launched, not {getattr(kernel, '__name__', type(kernel).__name__)}",
        hint="mark the function with `@ct.kernel`",
    )


def _grid(grid: Any) -> tuple[int, int, int]:
    given = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in given)
    if not 1 <= len(given) <= 3 or not whole:
        raise ArgumentError(f"the grid must be one to three positive numbers of blocks, not {grid!r}")
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z
