"""Warps that record each of their instructions, accesses and waits."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from tirx_mini.isa import Instruction, OperandKind

from ..machine import Cta, GlobalBuffer, Index, KernelImage, Number, RunningWarp, SharedBuffer, Wait
from ..ordering import Agent
from .notes import COPY, GLOBAL_COPY, GLOBAL_LOAD, GLOBAL_STORE, LOAD, POLL, STORE, Step, Use, WarpLog, Written

Buffer = SharedBuffer | GlobalBuffer
NOTHING: Mapping[str, Any] = {}
STEP = len(Step._fields)
"""The number of flat-log entries per step."""
_NAMED = (OperandKind.REGISTERS, OperandKind.TENSOR_MAP)
"""The kinds of operands that are recorded by name. Registers would keep their CTA alive, and tensor maps are expensive
to compare; an instruction has at most one of them."""


class RecordedWarp(RunningWarp):
    """A warp with a log. awaited: the mbarrier and the phase of the current wait."""

    __slots__ = ("awaited", "log", "note")

    def __init__(self, cta: Cta, warp_id: int, agent: Agent, time: float) -> None:
        super().__init__(cta, warp_id, agent, time)
        self.awaited: Any = None
        recorder: Any = cta.gpu.recorder
        self.log: WarpLog = recorder.warp_log(cta, warp_id, time)
        self.note = self.log.flat.extend

    def resume(self) -> None:
        super().resume()
        self.log.end = self.time

    def load(self, buffer: Buffer, index: Index, lanes: int = 1) -> Number:
        begin = self.time
        value = super().load(buffer, index, lanes)
        use = LOAD if isinstance(buffer, SharedBuffer) else GLOBAL_LOAD
        self.note((use, begin, self.time, self.span, (buffer.name,), NOTHING, None))
        return value

    def store(self, buffer: Buffer, index: Index, value: Number, lanes: int = 1, in_cta: bool | None = None) -> None:
        begin = self.time
        super().store(buffer, index, value, lanes, in_cta)
        use = STORE if isinstance(buffer, SharedBuffer) else GLOBAL_STORE
        self.note((use, begin, self.time, self.span, (self._written(buffer, index, lanes),), NOTHING, None))

    def copy(self, dst: Buffer, dst_index: Index, src: Buffer, src_index: Index, lanes: int = 1) -> None:
        begin = self.time
        super().copy(dst, dst_index, src, src_index, lanes)
        use = COPY if isinstance(dst, SharedBuffer) else GLOBAL_COPY
        written = self._written(dst, dst_index, lanes)
        self.note((use, begin, self.time, self.span, (written, src.name), NOTHING, None))

    def move(
        self, dst: Buffer, first: int, pattern: Index, src: Buffer, src_first: int, src_pattern: Index, lanes: int = 1
    ) -> None:
        self.copy(dst, first + pattern, src, src_first + src_pattern, lanes)

    def put(self, buffer: Buffer, first: int, pattern: Index, value: Number, lanes: int = 1) -> None:
        self.store(buffer, first + pattern, value, lanes)

    def passes(self, buffer: Buffer, start: int, pattern: Index | None, lanes: int, write: bool) -> None:
        begin = self.time
        super().passes(buffer, start, pattern, lanes, write)
        self._note_passed(buffer, start if pattern is None else start + pattern, lanes, write, begin)

    def passes_at(self, buffer: Buffer, index: Index, lanes: int, write: bool) -> None:
        begin = self.time
        super().passes_at(buffer, index, lanes, write)
        self._note_passed(buffer, index, lanes, write, begin)

    def _note_passed(self, buffer: Buffer, index: Index, lanes: int, write: bool, begin: float) -> None:
        """Record an access without data as `load`, `store` and `copy` would: a store right after a load is a copy."""
        shared, flat = isinstance(buffer, SharedBuffer), self.log.flat
        if not write:
            use = LOAD if shared else GLOBAL_LOAD
            self.note((use, begin, self.time, self.span, (buffer.name,), NOTHING, None))
            return
        written = self._written(buffer, index, lanes)
        loaded = Step(*flat[-STEP:]) if flat else None
        if loaded is not None and loaded.use in (LOAD, GLOBAL_LOAD) and loaded[2:4] == (begin, self.span):
            del flat[-STEP:]
            use = COPY if shared else GLOBAL_COPY
            self.note((use, loaded.begin, self.time, self.span, (written, *loaded.operands), NOTHING, None))
            return
        self.note((STORE if shared else GLOBAL_STORE, begin, self.time, self.span, (written,), NOTHING, None))

    def _written(self, buffer: Buffer, index: Index, lanes: int) -> Written | str:
        """Return the destination of a store: the name of a shared buffer, or the extent in global memory."""
        if isinstance(buffer, SharedBuffer):
            return buffer.name
        if isinstance(index, np.ndarray):
            places = index if self.mask.full else index[..., self.mask.lanes]
            return Written(buffer.name, int(places.min()), int(places.max()) + lanes - 1)
        return Written(buffer.name, int(index), int(index) + lanes - 1)


def recorded(image: KernelImage) -> KernelImage:
    """Return the kernel with a program whose instructions record themselves in the log of a `RecordedWarp`."""
    program = image.warp
    if not isinstance(program, FunctionType):
        return image
    names = dict(program.__globals__)
    for name, entry in image.instructions.items():
        names[name] = _noting(entry, names[name])
    if "poll" in names:
        names["poll"] = _noting_poll(names["poll"])
    again = FunctionType(program.__code__, names, program.__name__, program.__defaults__, program.__closure__)
    return replace(image, warp=again)


def _noting(entry: Instruction, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `execute` and records the call."""
    use = Use(entry.awaits if entry.waits_at_named_barrier else entry.name, entry)

    blocks: Callable[..., Generator[Wait, None, object]] = execute

    def blocking(gpu: object, w: RecordedWarp, *operands: object, **attrs: object) -> Generator[Wait, None, Any]:
        begin, span = w.time, w.span
        result = yield from blocks(gpu, w, *operands, **attrs)
        w.note((use, begin, w.time, span, operands, attrs, w.awaited))
        w.awaited = None
        return result

    def passing(gpu: object, w: RecordedWarp, *operands: object, **attrs: object) -> Any:
        begin = w.time
        result = execute(gpu, w, *operands, **attrs)
        w.note((use, begin, w.time, w.span, operands, attrs, None))
        return result

    if entry.blocking:
        return blocking
    at = next((i for i, operand in enumerate(entry.operands) if operand.type.kind in _NAMED), None)
    return passing if at is None else _noting_names(use, execute, at)


def _noting_names(use: Use, execute: Callable[..., object], at: int) -> Callable[..., Any]:
    """Return a recording function for an instruction whose operand `at` is an object, recorded by name."""

    def passing(gpu: object, w: RecordedWarp, *operands: object, **attrs: object) -> Any:
        begin = w.time
        result = execute(gpu, w, *operands, **attrs)
        buffer = getattr(operands[at], "buffer", None)
        plain = (*operands[:at], buffer and buffer.name, *operands[at + 1 :])
        w.note((use, begin, w.time, w.span, plain, attrs, None))
        return result

    return passing


def _noting_poll(poll: Callable[[Any, bool], Wait]) -> Callable[[RecordedWarp, bool], Wait]:
    """Return `poll`, recorded as an open-ended wait that lasts until the warp's next step."""

    def noting(w: RecordedWarp, steady: bool) -> Wait:
        w.note((POLL, w.time, w.time, w.span, (), NOTHING, None))
        return poll(w, steady)

    return noting
