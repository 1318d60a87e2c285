"""Mbarriers of a run whose accesses are not checked, in which everything counts as happening before everything else."""

from __future__ import annotations

from tirx_mini.ir import Span

from ..ordering import Agent
from .barriers import Signal
from .interfaces import Cta, Warp
from .mbarrier import Mbarrier


class UncheckedMbarrier(Mbarrier):
    """An mbarrier that keeps nothing of who released what to whom."""

    __slots__ = ()

    def _check_init(self, w: Warp, proxy: bool = False) -> None:
        """Only another CTA may lack a fence."""
        if w.cta is not self.cta:
            super()._check_init(w, proxy)

    def complete_tx(self, cta: Cta, agent: Agent, nbytes: int, time: float, role: str, span: Span | None) -> None:
        """As `Mbarrier.complete_tx`."""
        self._record(Signal.TMA_LOAD, role, span, 0, nbytes, time)
        self.tx -= nbytes
        if time > self.phase_time:
            self.phase_time = time
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def _check_observers(self) -> None:
        """Every wait that found the phase before happens before its end."""
        self.history.observers.clear()
