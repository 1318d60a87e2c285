"""Loads and stores of tensor memory by warps (PTX ISA: "tcgen05.ld", "tcgen05.st", "tcgen05.wait").

Both are asynchronous: the operations in flight form an agent, whose accesses the warp acquires at the wait.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx_mini.hardware import TMEM_COLUMNS
from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..machine import GROUP_LANES, Cluster, Cta, Registers, Warp
from ..ordering import ORDER, Actor, Agent, Operation, Proxy
from .tmem import TmemAllocators
from .unread import check_result


@dataclass(frozen=True)
class AccumulatorLane(Fact):
    """An MMA operand in tensor memory at an invalid lane. lanes: the valid start lanes."""

    address: int
    lanes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class ImplicitTmemLane(Fact):
    """An address in the lanes of warp 0, by a warp that accesses its own. first: the first lane that it can access."""

    first: int
    warp_in_warpgroup: int


@dataclass(frozen=True)
class WrongTmemLane(Fact):
    """An access to lanes that the warp cannot access. lane: the first one; first: the first accessible lane."""

    lane: int
    first: int
    warp_in_warpgroup: int


@dataclass(frozen=True)
class TmemColumnsExceeded(Fact):
    """An access beyond the columns of tensor memory. column: its start; width: in columns."""

    operation: Operation
    column: int
    width: int


def check_column(w: Warp, address: int, lanes: tuple[int, ...] = (0,)) -> int:
    """Return the column of an operand's address; raise a fault if its lane is none of `lanes`."""
    if address >> 16 not in lanes:
        raise Fault(AccumulatorLane(w.origin, address, lanes))
    return address & 0xFFFF


class PendingLoad:
    """A tcgen05.ld that its warp has not waited for. span: where it was issued.

    Only instructions that depend on its registers wait for it (PTX ISA: "Register dependencies, same thread").
    """

    def __init__(self, w: Warp, registers: Registers, values: np.ndarray | None, done: float) -> None:
        self.span = w.span
        self._warp = w
        self._registers = registers
        self._values = values
        self._done = done + w.gpu.spec.tmem_load_latency
        self._delivered = False

    def deliver(self) -> None:
        """Write the values to the registers, once."""
        if not self._delivered:
            self._delivered = True
            if self._values is not None:
                self._registers.write(self._values)
            self._warp.time = max(self._warp.time, self._done)


class WarpTmem:
    """The tensor-memory accesses of one warp. loads, stores: the agents of operations in flight, once there are any."""

    def __init__(self, w: Warp, allocators: TmemAllocators) -> None:
        self._warp = w
        self._allocators = allocators
        self.loads: Agent | None = None
        self.stores: Agent | None = None
        self._loading: list[PendingLoad] = []
        self._stored = False
        self._done = 0.0

    def _actor(self, operation: Operation, agent: Agent) -> Actor:
        w = self._warp
        actor = Actor(agent, w.cta.cluster.domain, Proxy.ASYNC, operation, w.place, w.span, w.time)
        actor.tcgen05 = True
        actor.awaited = w.agent.clocks.item(ORDER, agent.index)
        actor.fenced = w.agent.fenced
        actor.own = tuple(a.index for a in (self.loads, self.stores, w.agent) if a is not None)
        return actor

    def _start(self, operation: Operation) -> Agent:
        """Return the agent for another load or store, which follows everything that the warp did and acquired."""
        w = self._warp
        agent = self.loads if operation is Operation.TCGEN05_LD else self.stores
        if agent is None:
            agent = w.cta.cluster.causality.agent(f"{w.cta.name} {operation} of {w.role}")
            if operation is Operation.TCGEN05_LD:
                self.loads = agent
            else:
                self.stores = agent
        agent.acquire_from(w.agent)
        return agent

    def _place(
        self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, operation: Operation
    ) -> tuple[int, slice]:
        """Return the checked (lane offset, columns) of an access."""
        w.require_converged(operation.value)
        column, lane = address & 0xFFFF, address >> 16
        quarter = 32 * (w.warp_id % 4)
        extent = int(lanes.max()) + 1
        if lane == 0 or (extent == 16 and lane == 16):
            if quarter:  # the hardware takes the warp's own lanes
                w.gpu.facts.record(ImplicitTmemLane(w.origin, quarter, w.warp_id % 4))
            lane += quarter
        elif lane != quarter and not (extent == 16 and lane == quarter + 16):
            raise Fault(WrongTmemLane(w.origin, lane, quarter, w.warp_id % 4))
        width = int(columns.max()) + 1
        if column + width > TMEM_COLUMNS:
            raise Fault(TmemColumnsExceeded(w.origin, operation, column, width))
        self._allocators.of(w.cta).check(w, column, width, operation)
        return lane, slice(column, column + width)

    def load(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Registers) -> None:
        """Execute tcgen05.ld: the registers receive the values at their first use or at the wait."""
        lane, where = self._place(w, address, lanes, columns, Operation.TCGEN05_LD)
        w.cta.cluster.order.record(check_result, w, lane, where.start, registers)
        values = w.cta.cluster.values.of(self._values, lane, where, lanes, columns)
        begin = max(w.time, self._done)
        self._done = begin + (where.stop - where.start) / w.gpu.spec.tmem_columns_per_cycle
        load = PendingLoad(w, registers, values, self._done)
        if values is not None:
            registers.invalidate(len(values), load)
        self._loading.append(load)

    def _record(self, access: Callable[..., None], operation: Operation, groups: slice, where: slice) -> None:
        """Record an access to some columns of lane groups."""
        access((groups, where), self._actor(operation, self._start(operation)))

    def _values(self, lane: int, where: slice, lanes: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the values that a load reads: uint32[registers, 32]."""
        w, tmem = self._warp, self._warp.cta.tmem
        w.cta.cluster.order.record(self._record, tmem.shadow.read, Operation.TCGEN05_LD, _groups(lane, lanes), where)
        width = where.stop - where.start
        rows = lanes.shape == (width, 32) and lane % 32 == 0 and _is_rows(lanes)
        found = [
            words[lane : lane + 32].T if rows else words[lanes + lane, columns]
            for words in (one.words(where.start, width) for one in tmem.clusters)
        ]
        return np.concatenate(found, axis=-1)

    def store(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Registers) -> None:
        """Execute tcgen05.st."""
        lane, where = self._place(w, address, lanes, columns, Operation.TCGEN05_ST)
        order, shadow = w.cta.cluster.order, w.cta.tmem.shadow
        order.record(self._record, shadow.write, Operation.TCGEN05_ST, _groups(lane, lanes), where)
        words = w.cta.cluster.values.of(registers.read, len(lanes))
        if words is not None:
            w.cta.tmem.words(where.start, where.stop - where.start)[lanes + lane, columns] = words
        self._stored = True
        self._done = max(w.time, self._done) + (where.stop - where.start) / w.gpu.spec.tmem_columns_per_cycle

    def wait(self, w: Warp, loads: bool) -> None:
        """Execute tcgen05.wait::ld or ::st."""
        w.require_converged("tcgen05.wait")
        agent = self.loads if loads else self.stores
        if agent is not None:
            w.agent.acquire_epoch(agent.index, agent.epoch)
            agent.advance()
        if loads:
            for load in self._loading:
                load.deliver()
            self._loading.clear()
        elif self._stored:
            w.time = max(w.time, self._done)
            self._stored = False


def _groups(lane: int, lanes: np.ndarray) -> slice:
    """Return the lane groups of an access from `lane` on."""
    return slice(lane // GROUP_LANES, (lane + int(lanes.max())) // GROUP_LANES + 1)


def _is_rows(lanes: np.ndarray) -> bool:
    """Return whether register i of thread t is a column of lane t (shape 32x32b)."""
    return bool(lanes.strides[0] == 0 and lanes[0, 1] == 1 and lanes[0, -1] == 31)


class TmemAccesses:
    """The tensor-memory accesses of all warps."""

    def __init__(self, allocators: TmemAllocators) -> None:
        self._allocators = allocators
        self._warps: dict[Warp, WarpTmem] = {}

    def of(self, w: Warp) -> WarpTmem:
        """Return the tensor-memory accesses of a warp."""
        found = self._warps.get(w)
        if found is None:
            found = self._warps[w] = WarpTmem(w, self._allocators)
        return found

    def awaited(self, cluster: Cluster, agent: int, epoch: int) -> bool:
        """Return whether the warp has waited for its tcgen05.ld or .st that accessed memory as `agent` at `epoch`."""
        for cta in cluster.ctas:
            for warp in cta.warps:
                found = self._warps.get(warp)
                if found is None:
                    continue
                if any(own is not None and own.index == agent for own in (found.loads, found.stores)):
                    return warp.agent.happens_after(agent, epoch)
        return True

    def cta_ended(self, cta: Cta) -> None:
        """Drop the state of the CTA's warps."""
        for warp in cta.warps:
            self._warps.pop(warp, None)
