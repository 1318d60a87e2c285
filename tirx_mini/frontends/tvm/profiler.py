"""`tvm.tirx.bench`'s profiler: kernels record events in a buffer, which exports as a trace.

An entry is a time in its upper half, in nanoseconds, and a tag: the kind of the event, its number, and the group of
threads of a CTA. The first entry holds the numbers of CTAs and of groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tirx_mini.script import tirx

T: Any = tirx


class EventType(Enum):
    """Event kinds of a profile."""

    kBegin = 0
    kEnd = 1
    kInstant = 2
    kFinalize = 3


def decode_tag(tag: int, num_groups: int) -> tuple[int, int, int, int]:
    """Decode a tag into (CTA, group, event number, event kind)."""
    place, event, kind = tag >> 12, tag >> 2 & 0x3FF, tag & 3
    return place // num_groups, place % num_groups, event, kind


class CudaProfiler:
    """The in-kernel profiler, called while the kernel is parsed; when disabled, its calls do nothing.

    profiler_buffer: a parameter of uint64. write_stride: how far the entries of one group are apart, as a rule the
    number of groups in the launch. default_leader: which thread of a group writes; all, unless given.
    """

    def __init__(
        self,
        profiler_buffer: Any,
        write_stride: int,
        num_groups: int,
        default_leader: Any = None,
        profiler_enabled: Any = True,
    ) -> None:
        self.buffer, self.write_stride, self.num_groups = profiler_buffer, write_stride, num_groups
        self.default_leader, self.profiler_enabled = default_leader, profiler_enabled
        if self._on:
            self.profiler_tag = T.alloc_local((1,), "uint64")
            self.profiler_write_offset = T.alloc_local((1,), "uint32")

    @property
    def _on(self) -> bool:
        """Return whether the profiler may be enabled, possibly only at run time."""
        return not isinstance(self.profiler_enabled, (bool, int, np.bool_)) or bool(self.profiler_enabled)

    def init(self, group_id: Any) -> None:
        """Initialise the profile of a thread group."""
        if self._on:
            place = self.profiler_tag.data, self.profiler_write_offset.data
            T.cuda.timer_init(self.buffer.data, *place, self.num_groups, group_id)

    def start(self, event_type: object, leader: object = None) -> None:
        """Record the start of an event."""
        if self._on:
            T.cuda.timer_start(event_type, *self._where, self._leader(leader))

    def end(self, event_type: object, leader: object = None) -> None:
        """Record the end of an event."""
        if self._on:
            T.cuda.timer_end(event_type, *self._where, self._leader(leader))

    def finalize(self, leader: object = None) -> None:
        """Record the end of the profile."""
        if self._on:
            T.cuda.timer_finalize(*self._where, self._leader(leader))

    @property
    def _where(self) -> tuple[Any, ...]:
        return self.buffer.data, self.profiler_tag.data, self.profiler_write_offset.data, self.write_stride

    def _leader(self, leader: object) -> Any:
        """Return the condition under which a thread writes an entry."""
        chosen = self.default_leader if leader is None else leader
        chosen = T.bool(True) if chosen is None else chosen
        always = isinstance(self.profiler_enabled, (bool, int, np.bool_))
        return chosen if always else T.all(self.profiler_enabled, chosen)


def export_to_perfetto_trace(profiler_buffer: object, file_name: str, event_type_names: Sequence[str]) -> None:
    """Write a profile as JSON for ui.perfetto.dev, with a process per CTA and a thread per group."""
    names = {EventType.kBegin.value: "B", EventType.kEnd.value: "E", EventType.kInstant.value: "i"}
    events = [
        {"name": event_type_names[event], "ph": names[kind], "ts": time / 1e3, "pid": cta, "tid": group}
        for cta, group, event, kind, time in _entries(np.asarray(profiler_buffer).reshape(-1).view(np.uint64))
        if kind in names
    ]
    Path(file_name).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


def _entries(words: np.ndarray) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (CTA, group, event number, event kind, time in nanoseconds) for each entry of a group up to its end."""
    num_groups, ended = int(words[0]) >> 32, set[tuple[int, int]]()
    for word in map(int, words[1:]):
        if word == 0:
            continue
        cta, group, event, kind = decode_tag(word & 0xFFFFFFFF, num_groups)
        if (cta, group) not in ended:
            yield cta, group, event, kind, word >> 32
        if kind == EventType.kFinalize.value:
            ended.add((cta, group))
