"""The register pool of a CTA, from which setmaxnreg moves registers between warps (PTX ISA: "setmaxnreg").

A CTA has the registers of its launch, and no more: increases are served by the decreases of other warps. An increase
below the current count of a warp, or a decrease above it, is undefined: it is a finding, and has no effect.
"""

from __future__ import annotations

from typing import ClassVar

from tirx_mini.hardware import REGISTERS_PER_SM
from tirx_mini.ir import Span
from tirx_mini.records import dataclass, replace

from ..doubts import Doubt
from ..facts import Fact, Fault
from .interfaces import Blocking, Cta, Wait, Warp
from .masks import LANES
from .phases import past

STEP = 8
FEWEST, MOST = 24, 256


@dataclass
class RegisterWait(Wait):
    """A wait of setmaxnreg.inc for registers. needed: of a warp. count: the new count per thread. free: in the CTA."""

    instruction: ClassVar[str] = "setmaxnreg"
    looks: ClassVar[bool] = True
    needed: int
    count: int
    free: int


@dataclass(frozen=True)
class BadRegisterCount(Fact):
    """setmaxnreg with an invalid register count. Valid counts are the multiples of `step` from `fewest` to `most`."""

    count: int
    step: int
    fewest: int
    most: int


@dataclass(frozen=True)
class WrongRegisterDirection(Fact):
    """setmaxnreg.inc to fewer registers per thread than `held`, or .dec to more."""

    count: int
    held: int
    increase: bool


@dataclass(frozen=True)
class RegisterCountsDiffer(Fact):
    """Different setmaxnreg counts in two warps of a warpgroup. peer: the other warp; peer_count: its count."""

    count: int
    peer: str
    peer_count: int


@dataclass(frozen=True)
class UnsynchronisedRegisters(Fact):
    """A second setmaxnreg that is not ordered after the first one of another warp of the warpgroup.

    peer: that warp. earlier: its first setmaxnreg; None if it has not reached one.
    """

    peer: str
    earlier: Span | None


@dataclass(frozen=True)
class PartialSetmaxnreg(Fact):
    """A setmaxnreg that another warp of the same warpgroup does not execute. many, few: those warps."""

    many: str
    few: str


class RegisterPool:
    """The registers that the warps of a CTA have released and not reclaimed.

    share: the initial registers per thread of every warp. held: the current registers per thread of each warp.
    free: released registers. changed: the counts that each warp has requested, in order. places: the location and the
        epoch of each request.

    A setmaxnreg.inc may have to wait in another order. It never waits forever if no setmaxnreg.dec waits for it: all
    registers that are released in the run are then released without it.
    """

    def __init__(self, cta: Cta) -> None:
        warps = cta.gpu.image.launch.warps
        whole = REGISTERS_PER_SM // (warps * LANES) // STEP * STEP
        self.share = cta.gpu.image.registers or min(MOST, whole)
        self.free = 0
        self.held = [self.share] * warps
        self.changed: list[list[int]] = [[] for _ in range(warps)]
        self.places: list[list[tuple[Span | None, int]]] = [[] for _ in range(warps)]
        self._waiting: list[tuple[int, Warp]] = []
        self._increases: list[tuple[int, int]] = []  # the agent and the epoch of each

    def _doubt(self, w: Warp) -> None:
        """Record that an increase before this decrease may have to wait for it."""
        agent = w.agent
        if any(past(agent.index, agent.clocks, (one,)) for one in self._increases):
            w.gpu.doubts.record(Doubt.REGISTERS, w.origin, "registers")

    def set(self, w: Warp, count: int, increase: bool) -> Blocking:
        """Execute setmaxnreg.inc (which waits for enough registers) or .dec, for one warp."""
        self._check(w, count, increase)
        if count < self.held[w.warp_id] if increase else count > self.held[w.warp_id]:
            return
        agent = w.agent
        if increase:
            self._increases.append((agent.index, agent.epoch))
        else:
            w.cta.cluster.order.record(self._doubt, w)
        need = (count - self.held[w.warp_id]) * LANES
        while need > self.free:
            self._waiting.append((need, w))
            yield RegisterWait(w, w.time, w.span, need, count, max(0, self.free))
        self.free -= need
        self.held[w.warp_id] = count
        if need < 0:
            self._hand_out(w.time)

    def _hand_out(self, time: float) -> None:
        """Wake the warps for which the free registers may suffice; they check again."""
        waiting, self._waiting = self._waiting, []
        for need, warp in waiting:
            if need <= self.free:
                warp.gpu.wake(warp, time)
            else:
                self._waiting.append((need, warp))

    def _check(self, w: Warp, count: int, increase: bool) -> None:
        w.require_converged("setmaxnreg")
        if count % STEP or not FEWEST <= count <= MOST:
            raise Fault(BadRegisterCount(w.origin, count, STEP, FEWEST, MOST))
        held = self.held[w.warp_id]
        if count < held if increase else count > held:
            w.gpu.facts.record(WrongRegisterDirection(w.origin, count, held, increase))
        self._check_order(w)
        self.changed[w.warp_id].append(count)
        number = len(self.changed[w.warp_id]) - 1
        for peer in peers(w):
            other = self.changed[peer.warp_id]
            if len(other) > number and other[number] != count:
                raise Fault(RegisterCountsDiffer(w.origin, count, peer.role, other[number]))

    def _check_order(self, w: Warp) -> None:
        """Check that all warps of the warpgroup synchronise between two executions of setmaxnreg."""
        number = len(self.places[w.warp_id])
        for peer in peers(w) if number else ():
            places = self.places[peer.warp_id]
            span, epoch = places[number - 1] if len(places) >= number else (None, 0)
            if not epoch or not w.agent.happens_after(peer.agent.index, epoch):
                w.gpu.facts.record(UnsynchronisedRegisters(w.origin, peer.role, span))
                break
        self.places[w.warp_id].append((w.span, w.agent.epoch))

    def exited(self, w: Warp) -> None:
        """Record a warpgroup that did not execute setmaxnreg together, when one of its warps ends."""
        for peer in peers(w):
            if peer.done and len(self.changed[peer.warp_id]) != len(self.changed[w.warp_id]):
                few, many = sorted((w, peer), key=lambda warp: len(self.changed[warp.warp_id]))
                span, _ = self.places[many.warp_id][len(self.changed[few.warp_id])]
                w.gpu.facts.record(PartialSetmaxnreg(replace(many.origin, span=span), many.role, few.role))
                return


def peers(w: Warp) -> list[Warp]:
    """Return the other warps of the warpgroup."""
    first = w.warp_id // 4 * 4
    return [warp for warp in w.cta.warps[first : first + 4] if warp is not w]
