"""Mbarriers of a run whose accesses are not checked, in which everything counts as happening before everything else.

Those of a part of a launch keep no history either.
"""

from __future__ import annotations

from tirx_mini.ir import Span

from ..facts import Origin
from ..ordering import Agent, Epochs, SyncClock
from .barriers import BarrierUse, Signal
from .interfaces import Cta, Warp
from .mbarrier import Mbarrier


class UncheckedMbarrier(Mbarrier):
    """An mbarrier without records of releases."""

    __slots__ = ()

    def _check_init(self, w: Warp, proxy: bool = False) -> None:
        """Only another CTA may lack a fence."""
        if w.cta is not self.cta:
            super()._check_init(w, proxy)

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """As `Mbarrier.complete_tx`."""
        self._record(signal, role, span, 0, nbytes, time)
        self.tx -= nbytes
        if time > self.phase_time:
            self.phase_time = time
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def _check_observers(self) -> None:
        """Every wait that found the phase before happens before its end."""
        self.history.observers.clear()


class PartMbarrier(UncheckedMbarrier):
    """An mbarrier of a run of a part of a launch. Where something is wrong, the whole is run, and says why."""

    __slots__ = ()

    def usable(self, w: Warp, use: BarrierUse) -> bool:
        """As `Mbarrier.usable`."""
        return bool(self.expected and w.cta is self.cta) or super().usable(w, use)

    def arrive(self, w: Warp, count: int = 1) -> None:
        """As `Mbarrier.arrive`."""
        if self.usable(w, BarrierUse.ARRIVE):
            self._arrived(count, w.time if w.cta is self.cta else w.time + w.gpu.spec.remote_latency, _NOBODY)

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """As `Mbarrier.complete_tx`."""
        self.tx -= nbytes
        self._arrived(0, time, _NOBODY)

    def arrive_async(
        self, cta: Cta, agent: int, released: SyncClock, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """As `Mbarrier.arrive_async`."""
        self._arrived(1, time, _NOBODY)

    def _acquire(self, w: Warp) -> None:
        """Only time passes."""
        time = self.done_time + w.gpu.spec.mbarrier_latency
        if time > w.time:
            w.time = time

    def _record(self, signal: Signal, role: str, span: Span | None, count: int, nbytes: int, time: float) -> None:
        """Keep nothing: accesses are not checked."""

    def _check_observers(self) -> None:
        """Nobody is kept."""

    def check_signals(self, ordered: Epochs, past: Epochs) -> None:
        """Every signal happens before the CTA's end."""


_NOBODY = Origin("", "", "", None)
