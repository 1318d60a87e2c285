"""Kernels for the modelled GPU written by hand, as generator functions of one warp, without front end or translator.

    def program(w):
        at(w, 1)                                     # the "source line" of what follows
        do(w, "mbarrier.init", address(w, "bar"), 1)
        yield from block(w, "bar.sync", 0, 32)

    result = run(program, shared={"bar": ("uint64", 1)})
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tirx_mini.diagnose import Finding, finding_of
from tirx_mini.hardware import B200, GpuSpec
from tirx_mini.ir import Buffer, DataType, Launch, Span, TensorMap, Var
from tirx_mini.isa import TABLE
from tirx_mini.sim import Gpu, Outcome, RunningWarp, Setup
from tirx_mini.sim.machine import NO_ORDER, NO_VALUES, GlobalBuffer, KernelImage, SharedBuffer


def at(w: RunningWarp, line: int) -> None:
    """What follows stands in this line."""
    w.span = Span("kernel", line)


def do(w: RunningWarp, op: str, /, *operands: Any, **attrs: Any) -> Any:
    """Execute an instruction that does not block."""
    assert not TABLE[op].blocking, op
    return TABLE[op].execute(w.gpu, w, *operands, **attrs)


def block(w: RunningWarp, op: str, /, *operands: Any, **attrs: Any) -> Generator[Any, None, None]:
    """Execute an instruction that may block."""
    assert TABLE[op].blocking, op
    return TABLE[op].execute(w.gpu, w, *operands, **attrs)


def one_lane(w: RunningWarp, lane: int = 0) -> None:
    """Go on with one lane."""
    w.select(w.all_lanes.where(np.arange(32) == lane))


def all_lanes(w: RunningWarp) -> None:
    """Go on with all lanes."""
    w.select(w.all_lanes)


class FakeRegisters:
    """Registers that remember. values: uint32[num, 32], None while they are undefined."""

    def __init__(self, values: np.ndarray | None = None) -> None:
        self.values = values

    def invalidate(self, words: int, load: Any) -> None:
        self.values = None

    def write(self, values: np.ndarray, lanes: object = None) -> None:
        self.values = values.copy()

    def read(self, words: int) -> np.ndarray:
        assert self.values is not None and len(self.values) == words
        return self.values


@dataclass
class Result:
    """What a run left."""

    outcome: Outcome
    gpu: Gpu
    seen: dict[Any, Any]

    @cached_property
    def findings(self) -> list[Finding]:
        """In the order in which their facts were stated."""
        return [finding_of(entry) for entry in self.outcome.facts]

    @property
    def fault(self) -> Finding | None:
        """The finding of the fault that ended the run, if one did."""
        return self.findings[-1] if self.outcome.fault else None

    @property
    def kinds(self) -> list[str]:
        """Kinds of findings in the order they were found; warnings in parentheses."""
        return [f.kind if f.severity == "error" else f"({f.kind})" for f in self.findings]

    @property
    def finding(self) -> Finding:
        """The only finding."""
        assert len(self.findings) == 1, [f.message for f in self.findings]
        return self.findings[0]

    @property
    def lines(self) -> set[int]:
        """The lines of the only finding and of its notes."""
        spans = [self.finding.span, *(span for _, span in self.finding.details.get("notes", ()))]
        return {span.line for span in spans if span is not None}


def shared_buffers(shared: Mapping[str, tuple[Any, ...]]) -> tuple[SharedBuffer, ...]:
    """Buffers one after the other, aligned to 1024 bytes if they are that large; (dtype, size[, access bytes])."""
    buffers: list[SharedBuffer] = []
    end = 0
    for name, (dtype, size, *rest) in shared.items():
        kind = DataType(dtype)
        align = 1024 if size * kind.itemsize >= 1024 else 16
        start = -(-end // align) * align
        access = rest[0] if rest else min(16, size * kind.itemsize)
        buffers.append(SharedBuffer(name, kind, start, size, (size,), access, Span("kernel", 1000 + len(buffers))))
        end = buffers[-1].end
    return tuple(buffers)


def tensor_map(name: str, array: np.ndarray, box: Sequence[int], swizzle: int = 0) -> TensorMap:
    """The map of an array (dimensions outermost first) with a box innermost first."""
    strides = tuple(array.strides[-2::-1])
    buffer = Buffer(name, array.shape, DataType(str(array.dtype)))
    return TensorMap(Var(DataType("tensormap"), f"{name}_map"), buffer, array.shape[::-1], strides, tuple(box), swizzle)


def run(
    program: Any,
    *,
    threads: int = 32,
    grid: tuple[int, int, int] = (1, 1, 1),
    cluster: tuple[int, int, int] = (1, 1, 1),
    shared: Mapping[str, tuple[Any, ...]] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    maps: Sequence[TensorMap] = (),
    access_bytes: int = 16,
    spec: GpuSpec = B200,
    registers: int = 0,
    programmatic: bool = False,
    **options: Any,
) -> Result:
    """Run `program` on all warps. `seen` of the result is `w.gpu.seen`, a place for programs to leave what they saw."""
    buffers = shared_buffers(shared or {})
    arrays = arrays or {}
    slots = tuple(
        GlobalBuffer(name, DataType(str(array.dtype)), array.size, slot, array.shape, True, access_bytes)
        for slot, (name, array) in enumerate(arrays.items())
    )
    smem = max((b.end for b in buffers), default=0)
    launch = Launch(grid, threads, cluster, smem, programmatic)
    named = {m.var.name: m for m in maps}
    image = KernelImage("kernel", launch, program, buffers, slots, named, registers)
    if not options.pop("data", True):
        options["values"] = NO_VALUES
    if not options.pop("checks", True):
        options["order"] = NO_ORDER
    setup = Setup(**{name: value for name, value in options.items() if value is not None})
    gpu = Gpu(image, list(arrays.values()), spec, setup)
    gpu.seen = {}  # type: ignore[attr-defined]
    outcome = gpu.run()
    return Result(outcome, gpu, gpu.seen)  # type: ignore[attr-defined]


def buffer(w: RunningWarp, name: str) -> Any:
    """The shared or global buffer of this name."""
    image = w.gpu.image
    return next(b for b in (*image.shared, *image.globals) if b.name == name)


def address(w: RunningWarp, name: str, element: int = 0) -> int:
    """The shared address of an element."""
    return w.shared_address(buffer(w, name), element)


def mapped(w: RunningWarp, name: str) -> TensorMap:
    """The tensor map of a global buffer."""
    return w.tensor_map(f"{name}_map")


def initialised(w: RunningWarp, count: int, name: str = "bar") -> Generator[Any, None, None]:
    """Thread 0 initialises the mbarrier `name` for `count` arrivals; then the CTA synchronises."""
    if w.warp_id == 0:
        one_lane(w)
        do(w, "mbarrier.init", address(w, name), count)
        all_lanes(w)
    do(w, "fence.mbarrier_init")
    yield from block(w, "bar.sync.all", 0)
