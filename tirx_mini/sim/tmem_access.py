"""A warp's loads and stores of tensor memory (PTX ISA: "tcgen05.ld", "tcgen05.st", "tcgen05.wait").

Both are asynchronous: what a warp has in flight is an agent of its own, which the warp learns of at the wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .causality import Agent
from .memory import TMEM_COLUMNS
from .shadow import GENERIC, Actor

if TYPE_CHECKING:
    from .warp import Warp


def check_column(w: Warp, address: int) -> int:
    """The column of an accumulator's address; a fault where the lane field is not 0."""
    if address >> 16:
        raise w.fault(
            "tmem-access",
            f"an MMA's accumulator is at address {address:#x}, lane {address >> 16}; it must begin at lane 0",
            rule="PTX ISA: tcgen05.mma",
        )
    return address & 0xFFFF


class WarpTmem:
    """Tensor memory as one warp uses it. loads, stores: the agents of what is in flight, once there was any."""

    def __init__(self, w: Warp) -> None:
        self._warp = w
        self.loads: Agent | None = None
        self.stores: Agent | None = None
        self._loading: list[tuple[Any, np.ndarray]] = []
        self._stored = False
        self._done = 0.0

    def _actor(self, what: str, agent: Agent) -> Actor:
        w = self._warp
        actor = Actor(agent, w.cta.cluster.index, GENERIC, what, w.place, w.span, w.time)
        actor.tcgen05 = True
        actor.fenced = w.agent.fenced
        actor.own = tuple(a.index for a in (self.loads, self.stores, w.agent) if a is not None)
        return actor

    def _start(self, what: str) -> Agent:
        """The agent for another load or store, which knows what the warp knows now."""
        w = self._warp
        agent = self.loads if what == "tcgen05.ld" else self.stores
        if agent is None:
            agent = w.cta.cluster.causality.agent(f"{w.cta.name} {what} of {w.role}")
            if what == "tcgen05.ld":
                self.loads = agent
            else:
                self.stores = agent
        agent.learn_from(w.agent)
        return agent

    def _place(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, what: str) -> tuple[int, slice]:
        """(lane offset, columns) of an access, checked."""
        w.require_converged(what)
        column, lane = address & 0xFFFF, address >> 16
        quarter = 32 * (w.warp_id % 4)
        extent = int(lanes.max()) + 1
        if lane != quarter and not (extent == 16 and lane == quarter + 16):
            raise w.fault(
                "tmem-access",
                f"{w.role} accesses tensor memory from lane {lane} on; warp {w.warp_id % 4} of a warpgroup can "
                f"only reach lanes {quarter} to {quarter + 31}",
                rule="PTX ISA: tcgen05.ld, access restrictions",
                hint="the address's lane is 32 × the warp's number in its warpgroup",
            )
        width = int(columns.max()) + 1
        if column + width > TMEM_COLUMNS:
            raise w.fault(
                "tmem-access",
                f"{what} of {width} columns from column {column} on leaves the {TMEM_COLUMNS} columns of tensor memory",
                rule="PTX ISA: Tensor Memory",
            )
        w.cta.allocator.check(w, column, width, what)
        return lane, slice(column, column + width)

    def load(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Any) -> None:
        """tcgen05.ld: the registers are undefined until the wait."""
        lane, where = self._place(w, address, lanes, columns, "tcgen05.ld")
        agent = self._start("tcgen05.ld")
        tmem = w.cta.tmem
        tmem.shadow.read((w.warp_id % 4, where), self._actor("tcgen05.ld", agent))
        if lanes.shape[0] == where.stop - where.start and lanes.shape[1] == 32 and lane % 32 == 0:
            values = tmem.words[lane : lane + 32, where].T.copy()
            if not _is_rows(lanes):
                values = tmem.words[lanes + lane, columns + where.start]
        else:
            values = tmem.words[lanes + lane, columns + where.start]
        registers.invalidate(len(values))
        self._loading.append((registers, values))
        begin = max(w.time, self._done)
        self._done = begin + (where.stop - where.start) / w.gpu.spec.tmem_columns_per_cycle

    def store(self, w: Warp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Any) -> None:
        """tcgen05.st."""
        lane, where = self._place(w, address, lanes, columns, "tcgen05.st")
        agent = self._start("tcgen05.st")
        w.cta.tmem.shadow.write((w.warp_id % 4, where), self._actor("tcgen05.st", agent))
        w.cta.tmem.words[lanes + lane, columns + where.start] = registers.read(len(lanes))
        self._stored = True
        self._done = max(w.time, self._done) + (where.stop - where.start) / w.gpu.spec.tmem_columns_per_cycle

    def wait(self, w: Warp, loads: bool) -> None:
        """tcgen05.wait::ld or ::st."""
        w.require_converged("tcgen05.wait")
        agent = self.loads if loads else self.stores
        if agent is not None:
            w.agent.learn_epoch(agent.index, agent.epoch)
            agent.advance()
        if loads:
            for registers, values in self._loading:
                registers.write(values)
            if self._loading:
                w.time = max(w.time, self._done + w.gpu.spec.tmem_load_latency)
            self._loading.clear()
        elif self._stored:
            w.time = max(w.time, self._done)
            self._stored = False


def _is_rows(lanes: np.ndarray) -> bool:
    """Whether register i of thread t is a column of lane t (shape 32x32b)."""
    return bool(lanes.strides[0] == 0 and lanes[0, 1] == 1 and lanes[0, -1] == 31)
