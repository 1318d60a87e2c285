"""cp.async: copies of a few bytes a thread, in groups that the thread waits for (PTX ISA: "cp.async").

The copies of one warp between two commits are one agent: an ordinary, unordered write until the wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .barriers import Mbarrier
from .causality import Agent
from .shadow import GENERIC, Actor

if TYPE_CHECKING:
    from .warp import Warp


class CpAsyncGroups:
    """The cp.async of one warp. A group is (agent, epoch, time it is done), with the writes it still has to make."""

    def __init__(self) -> None:
        self._open: list[tuple[Any, ...]] = []
        self._groups: list[list[tuple[Any, ...]]] = []

    def copy(self, w: Warp, dst: Any, src: Any, nbytes: int) -> None:
        """Each active thread copies `nbytes` bytes. The shared memory changes when the copy is waited for."""
        lanes = w.mask.lanes
        targets = np.broadcast_to(np.asarray(dst), 32)[lanes].astype(np.int64)
        sources = np.broadcast_to(np.asarray(src), 32)[lanes].astype(np.int64)
        if (targets % nbytes).any() or (sources % nbytes).any():
            raise w.fault(
                "misaligned-access",
                f"a cp.async of {nbytes} bytes is not at multiples of {nbytes} bytes",
                rule="PTX ISA: cp.async",
            )
        cta, _ = w.gpu.cta_at(w, int(targets[0]))
        offsets = targets & 0xFFFFFF
        if cta is not w.cta or offsets.max() + nbytes > cta.smem.size:
            raise w.fault(
                "out-of-bounds", "a cp.async writes outside the shared memory of its CTA", rule="PTX ISA: cp.async"
            )
        found = w.gpu.memory.locate(int(sources[0]))
        last = w.gpu.memory.locate(int(sources.max()) + nbytes - 1)
        if found is None or last is None or last[0] is not found[0]:
            raise w.fault("out-of-bounds", "a cp.async reads outside its global buffer", rule="PTX ISA: cp.async")
        buffer = found[0]
        if w.dependence is not None:
            w.dependence.check(w, "cp.async", buffer.name, writes=False)
        places = sources - w.gpu.memory.base(buffer.slot)
        segment = w.gpu.memory.segments.get(buffer.slot)
        if segment is not None:
            w.loads.span = w.span
            segment.read(np.unique(places // segment.granule), w.loads)
        data = w.gpu.memory.view(buffer.slot, nbytes)[places // nbytes]
        traffic, sm = w.gpu.traffic, w.cta.sm
        done = traffic.generic(sm, w.time, buffer.slot, places // nbytes, nbytes, len(lanes), False)
        done = max(done, traffic.load(sm, w.time, nbytes * len(lanes), 1))
        agent = w.cta.cluster.causality.fork(w.agent, "cp.async")
        actor = Actor(agent, w.cta.cluster.index, GENERIC, "cp.async", w.place, w.span)
        cta.smem.shadow.write_items(offsets, nbytes, actor)
        self._open.append((agent, done, offsets // nbytes, data, nbytes))

    def commit(self) -> None:
        """cp.async.commit_group."""
        self._groups.append(self._open)
        self._open = []

    def wait(self, w: Warp, count: int) -> None:
        """cp.async.wait_group: land all groups but the `count` most recent."""
        while len(self._groups) > count:
            for copy in self._groups.pop(0):
                agent, done, *_ = copy
                self._land(w, copy)
                w.agent.learn_epoch(agent.index, agent.epoch)
                w.time = max(w.time, done)

    def _land(self, w: Warp, copy: tuple[Any, ...]) -> Agent:
        agent, _, items, data, nbytes = copy
        w.cta.smem.view(nbytes)[items] = data
        w.cta.cluster.causality.finish(agent)
        return agent

    def arrive(self, w: Warp, barrier: Mbarrier) -> None:
        """cp.async.mbarrier.arrive.noinc: each thread's arrival follows all its copies so far."""
        if not barrier.usable(w, "arrives at"):
            return
        copies = [copy for group in [*self._groups, self._open] for copy in group]
        knowledge = w.cta.cluster.causality.message()
        done = w.time
        for copy in copies:
            agent = self._land(w, copy)
            knowledge.add_epoch(agent.index, agent.epoch)
            done = max(done, copy[1])
        self._groups = [[] for _ in self._groups]
        self._open = []
        knowledge.add_past(w.agent)
        for _ in range(w.mask.count):
            w.gpu.clock.at(
                done, barrier.arrive_async, w.cta, w.agent.index, knowledge, done, "cp.async", w.place, w.span
            )
