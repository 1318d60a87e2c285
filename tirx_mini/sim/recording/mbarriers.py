"""Mbarriers that note their state changes and the phase of each wait."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Span

from ..machine import Blocking, Cta, Element, Mbarrier, Signal, Warp
from ..ordering import Agent, SyncClock
from ..timeline import Place, Track, TrackKind
from .notes import SignalNote


def _track(warp: Any) -> Track:
    """The track of a `RecordedWarp`."""
    return warp.log.track


class RecordedMbarrier(Mbarrier):
    """An mbarrier that reports its changes to the recorder.

    A phase is numbered by the count of phases completed before it.
    """

    __slots__ = ("_note", "_source", "place")

    def __init__(self, cta: Cta, offset: int, element: Element) -> None:
        super().__init__(cta, offset, element)
        self.place = Place(cta.number, self.name)
        recorder: Any = cta.gpu.recorder
        self._note = recorder.signals.append
        self._source: Track | None = None

    def arrive(self, w: Warp, count: int = 1) -> None:
        if self.expected:
            time = w.time if w.cta is self.cta else w.time + w.gpu.spec.remote_latency
            self._changed(time, _track(w), Signal.ARRIVE, count, 0, w.span)
        super().arrive(w, count)

    def expect(self, w: Warp, nbytes: int) -> bool:
        if self.expected:
            self._changed(w.time, _track(w), Signal.EXPECT_TX, 0, -nbytes, w.span)
        return super().expect(w, nbytes)

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        self._changed(time, Track(cta.number, TrackKind.TMA_LOAD), signal, 0, nbytes, span)
        super().complete_tx(cta, agent, nbytes, time, signal, role, span)

    def arrive_async(
        self, cta: Cta, agent: int, released: SyncClock, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        source = Track(cta.number, TrackKind.TENSOR)
        if signal is not Signal.COMMIT:
            source = next((_track(w) for w in cta.warps if w.place == role), source)
        self._changed(time, source, signal, 1, 0, span)
        super().arrive_async(cta, agent, released, time, signal, role, span)

    def wait(self, w: Warp, parity: int) -> Blocking:
        warp: Any = w
        phase = self.phase - self.completed(parity)
        warp.awaited = self.place, parity & 1, phase if phase >= 0 else None
        mine = warp.awaited
        yield from super().wait(w, parity)
        warp.awaited = mine  # other lanes of the warp may have waited meanwhile

    def _changed(self, time: float, source: Track, kind: Signal, arrivals: int, nbytes: int, span: Span | None) -> None:
        self._source = source
        self._note(SignalNote(time, self.place, source, kind, self.phase, arrivals, nbytes, self.expected, span))

    def _complete(self) -> None:
        phase, source = self.phase, self._source
        super()._complete()
        if source is not None:
            self._note(
                SignalNote(self.done_time, self.place, source, Signal.COMPLETE, phase, 0, 0, self.expected, None)
            )
