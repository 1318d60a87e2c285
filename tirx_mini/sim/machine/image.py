"""Kernel images, the input of the simulator: the program of one warp, and the buffers that it names."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from tirx_mini.ir import DataType, Launch, Span, TensorMap
from tirx_mini.isa import Instruction
from tirx_mini.records import dataclass

from .written_tiles import WrittenTile

WarpProgram = Callable[[Any], Generator[Any, None, None]]
"""A function that executes one warp (`RunningWarp`) from start to end and yields each `Wait`."""


@dataclass(frozen=True)
class SharedBuffer:
    """A named range of the dynamic shared memory of a CTA.

    byte_offset: its start. size: elements. shape: as in the source, for naming a stage. access_bytes: the narrowest
    access of the kernel to it (a power of two), at most 16 bytes; races are detected at this granularity.
    """

    name: str
    dtype: DataType
    byte_offset: int
    size: int
    shape: tuple[int, ...] = ()
    access_bytes: int = 16
    span: Span | None = None

    @cached_property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @cached_property
    def end(self) -> int:
        return self.byte_offset + self.nbytes


@dataclass(frozen=True)
class GlobalBuffer:
    """A kernel argument in global memory. slot: its index among the buffer arguments.

    written: whether the kernel writes it, by stores or by TMA; only then are accesses to it checked for races.
    access_bytes: as in `SharedBuffer`.
    """

    name: str
    dtype: DataType
    size: int
    slot: int
    shape: tuple[int, ...] = ()
    written: bool = True
    access_bytes: int = 16
    span: Span | None = None

    @cached_property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class KernelImage:
    """A kernel in executable form.

    warp: the program of one warp. shared: every named buffer in dynamic shared memory, except the pool itself.
    globals: by slot. tensor_maps: by the name of their variable. registers: per thread, 0 if unknown.
    local_bytes: of a thread's arrays and variables.
    tmem_names: source names of tensor memory, for messages.
    early_accesses: the names of globals that may be read, and written, before the end of the previous grid.
    grid_wide: whether clusters synchronise with one another.
    equal: whether clusters with equal `RunningWarp.decisions` are equal (`plans.equality`).
    batchable: whether equal clusters may be executed as one (`translate.batched`).
    represented: whether one warp may act for others of its warpgroup (`translate.representatives`).
    idle: the locations of reads by instructions whose results decide nothing (`translate.decided`). tested: those
        whose results reach a condition.
    fixed: the locations of stores for which each thread writes the same value in every run (`translate.sameness`).
    tile_writes: the tiles that a tile call writes to shared memory, by its location.
    travelled: the reads whose values reach a write through other lanes (`translate.travels`).
    instructions: the instructions of the program, by the names of their functions in its globals.
    """

    name: str
    launch: Launch
    warp: WarpProgram
    shared: tuple[SharedBuffer, ...] = ()
    globals: tuple[GlobalBuffer, ...] = ()
    tensor_maps: dict[str, TensorMap] = field(default_factory=dict[str, TensorMap])
    registers: int = 0
    local_bytes: int = 0
    tmem_names: tuple[str, ...] = ()
    span: Span | None = None
    early_accesses: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    grid_wide: bool = False
    equal: bool = False
    batchable: bool = False
    represented: bool = False
    idle: frozenset[Span] = frozenset()
    tested: frozenset[Span] = frozenset()
    fixed: frozenset[Span] = frozenset()
    travelled: Mapping[Span, frozenset[Span]] = field(default_factory=dict[Span, frozenset[Span]])
    tile_writes: Mapping[Span, tuple[WrittenTile, ...]] = field(default_factory=dict[Span, tuple[WrittenTile, ...]])
    instructions: Mapping[str, Instruction] = field(default_factory=dict[str, Instruction])
