"""Asynchronous copies from threads to the shared memory of a CTA in their cluster: cp.async.bulk and st.async.

Both write when they complete, and then complete their bytes on a barrier of the receiving CTA. A bulk copy also reads
its source at completion, and uses the async proxy; st.async reads its registers at issue, and writes through the
generic proxy. The duration of a copy has not been measured: it is modelled as the transfer through both shared memories
at their bandwidth, plus the latency of an access to another CTA's shared memory.
"""

from __future__ import annotations

import numpy as np

from tirx_mini.hardware import TMA_GLOBAL_ALIGN
from tirx_mini.ir import Span
from tirx_mini.isa import Addresses, MemoryAccess
from tirx_mini.records import dataclass

from ..facts import Fault, Origin
from ..machine import LANES, Cta, Gpu, Mbarrier, Registers, Signal, Warp, numpy_dtype, offset_of
from ..ordering import Actor, Agent, Epochs, Operation, Proxy
from .scoped_facts import BadAddress, MisalignedAddress
from .tma_rules import BadBulkSize, BoxOutOfSharedMemory, BulkCopyAtExit


@dataclass(eq=False)
class Sent:
    """Bytes in flight. cta: of the sending thread; the CTA of `barrier` receives them. issued: in cycles. epoch: of its
    agent. nbytes: their number."""

    cta: Cta
    agent: Agent
    barrier: Mbarrier
    nbytes: int
    role: str
    span: Span | None
    issued: float
    epoch: int

    operation = Operation.BULK_COPY
    signal = Signal.BULK_COPY
    proxy = Proxy.ASYNC
    what = "a bulk copy"

    @property
    def target(self) -> Cta:
        """The CTA that receives the bytes."""
        return self.barrier.cta

    @property
    def sides(self) -> set[Cta]:
        """The CTAs whose shared memory the copy uses."""
        return {self.cta, self.target}

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the {self.operation} of {self.role} at {f'line {self.span.user.line}' if self.span else 'its start'}"

    def delay(self, now: float) -> None:
        """Do nothing: a copy has no time of its own."""

    @property
    def actor(self) -> Actor:
        """The actor of the copy's accesses."""
        domain = self.cta.cluster.domain
        return Actor(self.agent, domain, self.proxy, self.operation, self.role, self.span, self.issued)

    @property
    def origin(self) -> Origin:
        """The origin of facts about the copy: its issuer, in the receiving CTA."""
        return Origin(self.role, self.role, self.target.name, self.span)

    def land(self) -> None:
        """Write the bytes."""
        raise NotImplementedError


@dataclass(eq=False)
class ClusterCopy(Sent):
    """A bulk copy of `nbytes` from byte `source` of the issuing CTA to byte `place` of the target."""

    source: int
    place: int

    def land(self) -> None:
        size, actor = TMA_GLOBAL_ALIGN, self.actor
        first, begin, count = self.source // size, self.place // size, self.nbytes // size
        self.cta.smem.shadow.read(self.source, self.source + self.nbytes, actor)
        chunks = self.cta.smem.view(size)[first : first + count].copy()
        self.target.written(self.origin, self.place, self.nbytes, "bulk copy")
        self.target.smem.shadow.write(self.place, self.place + self.nbytes, actor)
        self.target.smem.view(size)[begin : begin + count] = chunks


@dataclass(eq=False)
class AsyncStore(Sent):
    """The st.async of some lanes. places: int64[n], the first byte of each store. words: uint32[words, n]."""

    places: np.ndarray
    words: np.ndarray

    operation = Operation.ST_ASYNC
    signal = Signal.ST_ASYNC
    proxy = Proxy.GENERIC
    what = "st.async"

    @property
    def sides(self) -> set[Cta]:
        return {self.target}

    def land(self) -> None:
        memory, actor, width = self.target.smem, self.actor, 4 * len(self.words)
        self.target.written(self.origin, self.places, width, self.what)
        for place in self.places.tolist():
            memory.shadow.write(place, place + width, actor)
        items = memory.view(4)
        for i, word in enumerate(self.words):
            items[self.places // 4 + i] = word


class ClusterCopies:
    """The asynchronous copies of all CTAs. in flight: by the CTAs whose shared memory they use."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._in_flight: dict[Cta, list[Sent]] = {}

    def copy(self, w: Warp, source: int, target: int, nbytes: int, barrier: Mbarrier) -> None:
        """Begin a copy to the CTA of the barrier. Raises a fault if a size or address is not a multiple of 16, or if
        the bytes are outside shared memory."""
        for what, number in (("size", nbytes), ("source address", source), ("destination address", target)):
            if number % TMA_GLOBAL_ALIGN:
                raise Fault(BadBulkSize(w.origin, what, number))
        for offset in (source, target):
            if offset + nbytes > w.cta.smem.size:
                raise Fault(BoxOutOfSharedMemory(w.origin, nbytes, offset, w.cta.smem.size))
        agent = self._agent(w, "bulk copy")
        self._send(ClusterCopy(
            w.cta, agent, barrier, nbytes, w.place, w.span, w.time, agent.epoch, source=source, place=target
        ))  # fmt: skip

    def store(
        self, w: Warp, access: MemoryAccess, addresses: Addresses, registers: Registers, lanes: np.ndarray,
        barrier: Mbarrier
    ) -> None:
        """Begin the stores of some lanes to the CTA of the barrier. Raises a fault if an address is not a multiple of
        the width, or outside that CTA's shared memory."""
        width = access.words * numpy_dtype(access.dtype).itemsize
        own = np.broadcast_to(addresses, (LANES,))[lanes].astype(np.int64)
        if (own % width).any():
            raise Fault(MisalignedAddress(w.origin, int(own[own % width > 0][0]), width))
        places = np.array([offset_of(address) for address in own.tolist()], np.int64)
        if (places + width > barrier.cta.smem.size).any():
            raise Fault(BadAddress(w.origin, access.space, int(own.max()), width))
        read = w.cta.cluster.values.of(registers.read, access.words)
        words = np.zeros((access.words, 0), np.uint32) if read is None else read[:, lanes].copy()
        agent = self._agent(w, "st.async")
        self._send(AsyncStore(
            w.cta, agent, barrier, width * len(lanes), w.place, w.span, w.time, agent.epoch, places=places, words=words
        ))  # fmt: skip

    @staticmethod
    def _agent(w: Warp, name: str) -> Agent:
        return w.cta.cluster.causality.fork(w.agent, name)

    def _send(self, sent: Sent) -> None:
        sent.cta.cluster.order.record(self._keep, sent)
        self.gpu.clock.at(sent.issued, sent, self._start, sent)

    def _keep(self, sent: Sent) -> None:
        """Track a copy in flight, which must complete before its CTAs end."""
        for cta in sent.sides:
            self._in_flight.setdefault(cta, []).append(sent)

    def _start(self, sent: Sent) -> None:
        gpu, now = self.gpu, self.gpu.clock.now
        moved = max(gpu.traffic.read_shared(cta.sm.traffic, now, sent.nbytes) for cta in sent.sides)
        gpu.clock.at(moved + gpu.traffic.jitter(gpu.spec.remote_latency), sent, self._land, sent)

    def _land(self, sent: Sent) -> None:
        target = sent.target
        if target.alive:  # the memory of a CTA that has ended may still hold the source: that it may not is a finding
            sent.cta.cluster.values.apply(sent.land)
        if target.alive and sent.barrier.expected:
            now = self.gpu.clock.now
            sent.barrier.complete_tx(sent.cta, sent.agent, sent.nbytes, now, sent.signal, sent.role, sent.span)
        sent.cta.cluster.causality.finish(sent.agent)

    def cta_ended(self, cta: Cta, ordered: Epochs) -> None:
        """Record copies that may still access the shared memory of an ending CTA. ordered: the epochs before its
        end."""
        for sent in self._in_flight.pop(cta, ()):
            if ordered.item(sent.agent.index) >= sent.epoch:
                continue
            origin = Origin(sent.role, sent.role, cta.name, sent.span)
            self.gpu.facts.record(BulkCopyAtExit(origin, sent.what, cta is sent.target))
