"""A tile program compiled for given argument kinds, with its text at every level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from tirx_mini import driver
from tirx_mini.ir import EARLY_ACCESSES, Buffer, DataType, Pass, PrimFunc, Var
from tirx_mini.records import dataclass
from tirx_mini.target import Target

from .context import Context, Options, context_for
from .cuda_tile import AssertionFailed, OutOfBounds, interpret, ops
from .language import ArraySpec, DType, ListSpec, RecordSpec, ScalarSpec, Spec, TileError, TileKernel, Traced, trace
from .ssa import Module, Watch, print_module, run_verified

LEVELS = ("cuda_tile", "nv_tileaa", "nv_tileas")
"""The dialects of tile programs, in order."""
STAGES = (*LEVELS, "tir", "lowered", "cuda", "ptx", "sass")
"""What a program can be shown as, from its author's form to machine code."""


@cache
def _passes() -> tuple[Pass[Module], ...]:
    """The passes from cuda_tile to nv_tileas, imported on first use: tracing and interpreting a program need none."""
    from .nv_tileaa import convert_cudatile_to_tileaa
    from .nv_tileas import IN_ORDER

    first = Pass("convert-cudatile-to-tileaa", "tiles become memory and values", convert_cudatile_to_tileaa)
    return first, *IN_ORDER


class TileRunError(TileError):
    """An error of a kernel at run time."""

    default_kind = "tile-unsupported"


@dataclass(frozen=True, eq=False)
class TileProgram:
    """A kernel compiled for given argument kinds and one GPU.

    specs: the compile-time description of each parameter.
    gpu: a name of `hardware.GPUS`.
    options: the compiler's options; the kernel's decorator sets the others.
    """

    kernel: TileKernel
    specs: tuple[Spec, ...]
    gpu: str
    options: Options = field(default_factory=Options)
    executables: dict[tuple[int, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """What it was compiled to for this machine's GPU, by the grid."""
    _kernels: dict[Any, PrimFunc] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def context(self) -> Context:
        """The compilation context, with the options that the kernel's decorator fixes."""
        context = context_for(self.gpu)
        hints = self.kernel.hints.at(context.arch)
        given = self.options
        options = replace(
            given,
            num_warps=given.num_warps or hints.num_worker_warps,
            occupancy=given.occupancy or hints.occupancy,
            num_ctas=given.num_ctas or hints.num_ctas,
        )
        return context_for(self.gpu, options)

    @cached_property
    def cuda_tile(self) -> Module:
        """The program as traced from its source. Raises `TileError` for an incorrect program."""
        return self._traced.module

    @cached_property
    def _traced(self) -> Traced:
        return trace(self.kernel, self.specs, self.context.arch.rstrip("af"))

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the parameters that the program may write."""
        return frozenset(self._traced.accesses.written)

    @property
    def names(self) -> list[str]:
        """The parameter names of `func`."""
        (entry,) = self.cuda_tile.ops
        return [value.hint for value in entry.body.params]

    @cached_property
    def nv_tileas(self) -> Module:
        """The program with layouts, as passed to code generation."""
        return self.passes()

    def passes(self, watch: Watch | None = None) -> Module:
        """Run the passes.

        watch: called after each one, with its name and the modules before and after it. Each module is verified then;
        else only the last one is.
        """
        context = self.context if watch is None else Context(self.context.gpu, self.context.options)
        return run_verified(self.cuda_tile, _passes(), context, watch, each=watch is not None)

    def text(self, stage: str = "cuda_tile", grid: Sequence[int] = (1,)) -> str:
        """Return the program's text at one of `STAGES`, for a grid from "tir" on. Raises `ValueError` for others."""
        if stage not in STAGES:
            raise ValueError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
        if stage not in LEVELS:
            target = Target("sim:" + self.gpu)
            return driver.compile(self.func(grid), target).source(stage)
        if stage == "nv_tileaa":
            return print_module(_passes()[0].run(self.cuda_tile, self.context))
        return print_module(self.cuda_tile if stage == "cuda_tile" else self._module(grid))

    def func(self, grid: Sequence[int]) -> PrimFunc:
        """Return the kernel in tirx_mini.ir for a grid."""
        x, y, z = (*grid, 1, 1)[:3]
        key = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
        if key not in self._kernels:
            from .emit import emit_kernel

            self._kernels[key] = emit_kernel(self._module(key), key, self._parameters())
        return self._kernels[key]

    def func_before(self, grid: Sequence[int], early: tuple[frozenset[str], frozenset[str]]) -> PrimFunc:
        """Return `func` annotated with the parameters that it may read and write while earlier launches run."""
        func = self.func(grid)
        if not any(early) or not self.waits:
            return func
        key = (tuple(grid), early)
        if key not in self._kernels:
            self._kernels[key] = replace(func, attrs=(*func.attrs, (EARLY_ACCESSES, early)))
        return self._kernels[key]

    @cached_property
    def waits(self) -> bool:
        """Return whether the program waits for the preceding launch."""
        return any(op.kind is ops.gdc_wait_tko for op in self.cuda_tile.walk())

    def _module(self, grid: Sequence[int]) -> Module:
        """Return the module to emit for a grid, on which it depends if clusters can be formed."""
        if (self.context.options.num_ctas or 1) == 1:
            return self.nv_tileas
        x, y, z = (*grid, 1, 1)[:3]
        return run_verified(self.cuda_tile, _passes(), replace(self.context, grid=(x, y, z)), each=False)

    def _parameters(self) -> list[Buffer | Var]:
        """Return the parameters of `func`: a buffer for each array, and a variable for each number."""
        (entry,) = self.cuda_tile.ops
        params: list[Buffer | Var] = []
        for name, spec in zip(self.names, flat_specs(self.specs), strict=True):
            if isinstance(spec, ScalarSpec):
                params.append(Var(DataType(_stored(spec.dtype)), name))
            else:
                params.append(Buffer(name, passed_shape(spec), DataType(_stored(spec.dtype)), span=entry.span))
        return params

    def interpret(self, grid: Sequence[int], values: Sequence[object]) -> None:
        """Interpret the program in NumPy, block by block, by the semantics of cuda_tile.

        values: as `Arguments.values`. Raises `TileRunError` for an access out of bounds, and a failed assertion.
        """
        arrays = [_signless(value) for value in values]
        try:
            interpret(self.cuda_tile, self.kernel.__name__, arrays, grid)
        except (OutOfBounds, AssertionFailed) as error:
            raise TileRunError(f"{self.kernel.__name__}: {error}") from error


def flat_specs(specs: Sequence[object]) -> list[ArraySpec | ScalarSpec]:
    """Return the parameters of the entry function, with constants removed and tuples flattened."""
    flat: list[ArraySpec | ScalarSpec] = []
    for spec in specs:
        if isinstance(spec, (tuple, RecordSpec, ListSpec)):
            flat += flat_specs(spec if isinstance(spec, tuple) else spec.items)
        elif isinstance(spec, (ArraySpec, ScalarSpec)):
            flat.append(spec)
    return flat


def is_dense(spec: ArraySpec) -> bool:
    """Return whether an array is dense and row-major."""
    dense = [math.prod(spec.shape[axis + 1 :]) for axis in range(len(spec.shape))]
    return all(n == 1 or s == d for n, s, d in zip(spec.shape, spec.strides, dense, strict=True))


def passed_shape(spec: ArraySpec) -> tuple[int, ...]:
    """Return the shape of an array as passed to `func`: its own, or the shape of the memory that it spans."""
    if spec.shape and is_dense(spec):
        return spec.shape
    return (1 + sum((n - 1) * s for n, s in zip(spec.shape, spec.strides, strict=True)),)


def as_passed(spec: ArraySpec | ScalarSpec, value: Any) -> Any:
    """Return an argument as `func` takes it; arrays share the original's memory."""
    if isinstance(spec, ScalarSpec):
        return value
    if isinstance(value, np.ndarray):
        array = value
        if not (spec.shape and is_dense(spec)):
            bits = array.view(f"u{array.itemsize}")  # NumPy makes no strided view of an 8-bit float
            flat = np.lib.stride_tricks.as_strided(bits, passed_shape(spec), (array.itemsize,))
            array = flat.view(array.dtype)
        return _signless(array)
    return value if spec.shape and is_dense(spec) else value.as_strided(passed_shape(spec), (1,))


def _stored(dtype: DType) -> str:
    """Return the dtype name in tirx_mini.ir, where integers are signed and a boolean is a byte."""
    return f"int{dtype.bitwidth}" if dtype.kind == "u" else "bool" if dtype.is_bool else dtype.name


def _signless(value: object) -> object:
    """Return arrays of unsigned integers as signed ones, since cuda_tile's integers are signless."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "u":
        return value.view(np.dtype(f"i{value.itemsize}"))
    return value
