"""Mbarriers of an unchecked run, in which any two events count as ordered.

Those of a partial run keep no history either.
"""

from __future__ import annotations

from tirx_mini.ir import Span

from ..facts import Origin
from ..ordering import Agent, Epochs, SyncClock
from .barriers import BarrierUse, Signal
from .interfaces import Cta, Warp
from .mbarrier import Mbarrier


class UncheckedMbarrier(Mbarrier):
    """An mbarrier that records no releases."""

    __slots__ = ()

    def _check_init(self, w: Warp, proxy: bool = False) -> None:
        """Check the initialisation only for another CTA, which may lack a fence."""
        if w.cta is not self.cta:
            super()._check_init(w, proxy)

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """See `Mbarrier.complete_tx`."""
        self._record(signal, role, span, 0, nbytes, time)
        self.tx -= nbytes
        if time > self.phase_time:
            self.phase_time = time
        if self.pending == 0 and self.tx == 0:
            self._complete()


class PartMbarrier(UncheckedMbarrier):
    """An mbarrier in a run of a part of a launch. In case of an error, the whole launch is run to explain it."""

    __slots__ = ()

    def usable(self, w: Warp, use: BarrierUse) -> bool:
        """See `Mbarrier.usable`."""
        return bool(self.expected and w.cta is self.cta) or super().usable(w, use)

    def arrive(self, w: Warp, count: int = 1) -> None:
        """See `Mbarrier.arrive`."""
        if self.usable(w, BarrierUse.ARRIVE):
            self._arrived(count, w.time if w.cta is self.cta else w.time + w.gpu.spec.remote_latency, _NOBODY)

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """See `Mbarrier.complete_tx`."""
        self.tx -= nbytes
        self._arrived(0, time, _NOBODY)

    def arrive_async(
        self, cta: Cta, agent: int, released: SyncClock, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """See `Mbarrier.arrive_async`."""
        self._arrived(1, time, _NOBODY)

    def _acquire(self, w: Warp) -> None:
        """Advance the warp's time to the completion of the phase."""
        time = self.done_time + w.gpu.spec.mbarrier_latency
        if time > w.time:
            w.time = time

    def _record(self, signal: Signal, role: str, span: Span | None, count: int, nbytes: int, time: float) -> None:
        """Do nothing: an unchecked run records no signals."""

    def _check_observers(self) -> None:
        """Do nothing: no observers are recorded."""

    def check_signals(self, ordered: Epochs, past: Epochs) -> None:
        """Do nothing: every signal happens before the end of the CTA."""


_NOBODY = Origin("", "", "", None)
