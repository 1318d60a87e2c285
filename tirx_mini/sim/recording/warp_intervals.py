"""Conversion of a warp's log into the intervals of its track: execution and waits."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.isa import BarrierEffect, Instruction

from ..machine import Wait
from ..timeline import Activity, Interval
from .naming import Names, plain_operands
from .notes import LOAD, POLL, Step, WarpLog

SMALL = 48
"""The maximum length, in cycles, of arithmetic that is attributed to the following instruction."""

Operands = tuple[tuple[str, str], ...]


class WarpIntervals:
    """A builder of the intervals of one warp. now: the end of the last one. last: the wait in which the run ended.

    The current activity is kept open, as (name, start, span, told, stage), since the next step may extend it. A load is
    deferred until the next step, since an instruction at the same location may use it as an operand.
    """

    def __init__(self, log: WarpLog, names: Names, last: Wait | None = None) -> None:
        self._log = log
        self._last = last
        self._names = names
        self._done: list[Interval] = []
        self._open: tuple[str, float, Span | None, Operands, int | None] | None = None
        self._load: Step | None = None
        self.now = log.start

    def all(self) -> list[Interval]:
        """Return the intervals of the whole log."""
        polling: Step | None = None
        for step in self._log.steps:
            if polling is not None:
                self._wait(polling, "memory", step.begin - step.use.cost)
                polling = None
            if step.use is POLL:
                self._settle()
                polling = step
            elif step.use is LOAD:
                self._settle()
                self._load = step
            elif step.use.entry is None:
                self._settle()
                self._access(step)
            else:
                self._instruction(step, step.use.entry)
        self._settle()
        if self._last is not None:
            self._run(self._last.instruction, self._log.end, self._last.span)
        self._run("arithmetic", self._log.end, None)
        self._close()
        return self._done

    def _instruction(self, step: Step, entry: Instruction) -> None:
        load = self._load
        if load is not None and load.span is step.span and step.begin - self.now <= 2 * SMALL:
            self._load = None
        else:
            self._settle()
            self._idle_until(step.begin - step.use.cost, step.span)
        stage, operands = self._names.call(step.use, step.operands, step.attrs, self._log.rank)
        waits = bool(entry.awaits) or entry.barrier is BarrierEffect.WAIT
        self._run(step.use.name, step.begin if waits else step.end, step.span, operands, stage)
        if waits and step.end > self.now:
            self._wait(step, self._awaited(step, entry), step.end, operands, stage)

    def _settle(self) -> None:
        """Emit an interval for a pending load that no instruction used as an operand."""
        if self._load is not None:
            self._access(self._load)
            self._load = None

    def _access(self, step: Step) -> None:
        self._idle_until(step.begin, step.span)
        self._run(step.use.name, step.end, step.span, plain_operands(step.operands))

    def _awaited(self, step: Step, entry: Instruction) -> str:
        """Return the name of the object that the warp waits for."""
        if step.awaited is not None:
            return step.awaited[0].name
        if entry.barrier is BarrierEffect.WAIT:
            return self._names.shared(step.operands[0], self._log.rank)
        return f"{entry.awaits} {step.operands[0]}" if entry.waits_at_named_barrier else entry.awaits

    # -- intervals -----------------------------------------------------------------------------------------------

    def _idle_until(self, time: float, span: Span | None) -> None:
        """Emit an arithmetic interval before a step if the gap exceeds a few cycles."""
        if time - self.now > SMALL:
            self._run("arithmetic", time, span)

    def _run(self, name: str, end: float, span: Span | None, operands: Operands = (), stage: int | None = None) -> None:
        """Extend the open interval if the name and span match; otherwise start a new one that ends at `end`."""
        if end <= self.now:
            return
        last = self._open
        if last is None or last[0] != name or last[2] is not span or last[4] != stage:
            self._close()
            self._open = name, self.now, span, operands, stage
        self.now = end

    def _close(self) -> None:
        """Close the open interval."""
        if self._open is not None:
            name, start, span, operands, stage = self._open
            self._done.append(Interval(self._log.track, Activity.RUN, name, start, self.now, span, operands, stage))
            self._open = None

    def _wait(
        self, step: Step, name: str, end: float, operands: Operands = (), stage: int | None = None
    ) -> None:  # fmt: skip
        """Emit a wait interval that lasts until `end`."""
        if end <= self.now:
            return
        self._close()
        place, parity, phase = step.awaited or (None, 0, None)
        told = operands if place is None else (("parity", str(parity)),)
        self._done.append(
            Interval(self._log.track, Activity.WAIT, name, self.now, end, step.span, told, stage, place, phase)
        )
        self.now = end
