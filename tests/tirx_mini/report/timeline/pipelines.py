"""Made-up timelines of a pipelined kernel, in which every figure is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from tirx_mini.diagnose import (
    Activity,
    BarrierChange,
    CtaTime,
    Finding,
    Interval,
    Place,
    Report,
    Signal,
    Tile,
    Timeline,
    Track,
    TrackKind,
)
from tirx_mini.ir import Span

LOAD, MULTIPLY, WRITE = 400.0, 256.0, 300.0
"""Cycles of a TMA load, of the MMAs of a stage, and of writing a tile back."""


@dataclass
class Pipeline:
    """One CTA: a TMA warp loads a stage, an MMA warp multiplies it when it has landed, four warps write a tile back."""

    cta: int
    stages: int
    file: str
    intervals: list[Interval] = field(default_factory=list)
    changes: list[BarrierChange] = field(default_factory=list)

    def run(self, start: float, steps: int) -> float:
        """The cycle at which a tile of so many steps is written."""
        loads, tensor = Track(self.cta, TrackKind.TMA_LOAD), Track(self.cta, TrackKind.TENSOR)
        issue = self._line(2)
        landed: list[float] = []
        free = [start] * self.stages
        at = start
        for step in range(steps):
            stage = step % self.stages
            self._wait(0, f"mma2tma[{stage}]", at, free[stage], step // self.stages)
            at = max(at, free[stage])
            self._add(Track(self.cta, TrackKind.WARP, 0), Activity.RUN, "cp.async.bulk.tensor", at, at + 30, 2, stage)
            at += 30
            end = at + LOAD
            for what in ("load A", "load B"):
                operands = (("bytes", "16384"), ("box", "[128, 64]"))
                self.intervals.append(
                    Interval(loads, Activity.BUSY, what, at, end, issue, operands, stage, self._place("tma2mma", stage))
                )
            self._complete(end, "tma2mma", stage, loads, step // self.stages, 32768)
            landed.append(end)
            busy = max(end + 30, landed[-2] if step else 0, free[(step - 1) % self.stages] if step else 0)
            free[stage] = busy + MULTIPLY
        at = start
        for step, end in enumerate(landed):
            stage = step % self.stages
            self._wait(1, f"tma2mma[{stage}]", at, end + 30, step // self.stages)
            at = max(at, end + 30)
            self._add(Track(self.cta, TrackKind.WARP, 1), Activity.RUN, "tcgen05.mma", at, at + 20, 3, stage)
            self.intervals.append(Interval(tensor, Activity.BUSY, "MMA", at, at + MULTIPLY, self._line(3), (), stage))
            at += 20
            self._complete(at + MULTIPLY, "mma2tma", stage, tensor, step // self.stages)
            done = at + MULTIPLY
        for warp in range(4, 8):
            self._wait(warp, "mma2ld", start, done, 0)
            self._add(Track(self.cta, TrackKind.WARP, warp), Activity.RUN, "tcgen05.ld", done, done + WRITE, 4, None)
        return done + WRITE

    def _line(self, line: int) -> Span:
        return Span(self.file, line)

    def _place(self, name: str, stage: int) -> Place:
        return Place(self.cta, f"{name}[{stage}]")

    def _add(
        self, track: Track, activity: Activity, name: str, start: float, end: float, line: int, stage: int | None
    ) -> None:
        self.intervals.append(Interval(track, activity, name, start, end, self._line(line), (), stage))

    def _wait(self, warp: int, name: str, start: float, end: float, phase: int) -> None:
        if end > start:
            stage = int(name[-2]) if name.endswith("]") else None
            self.intervals.append(
                Interval(
                    Track(self.cta, TrackKind.WARP, warp), Activity.WAIT, name, start, end, self._line(2 + (warp > 0)),
                    (), stage, Place(self.cta, name), phase,
                )
            )  # fmt: skip

    def _complete(self, time: float, name: str, stage: int, source: Track, phase: int, tx: int = 0) -> None:
        place = self._place(name, stage)
        if tx:
            self.changes.append(
                BarrierChange(time - LOAD, place, Track(self.cta, TrackKind.WARP, 0), Signal.EXPECT_TX, phase, 0, tx)
            )
        self.changes.append(
            BarrierChange(time, place, source, Signal.COMMIT if not tx else Signal.TMA_LOAD, phase, 0, 0)
        )
        self.changes.append(BarrierChange(time, place, source, Signal.COMPLETE, phase, 1, 0))


def roles(ctas: int) -> dict[Track, str]:
    named = {0: "TMA", 1: "MMA", **dict.fromkeys(range(4, 8), "write-back")}
    return {Track(cta, TrackKind.WARP, warp): role for cta in range(ctas) for warp, role in named.items()}


def pipelined(
    file: str, *, ctas: int = 4, tiles: int = 2, steps: int = 8, stages: int = 2, stuck: bool = False
) -> Report:
    """The report of a kernel on clusters of two CTAs. `file` has at least four lines."""
    parts = [Pipeline(cta, stages, file) for cta in range(ctas)]
    blocks: list[Tile] = []
    ends: list[float] = []
    for part in parts:
        at = 100.0 * part.cta
        for tile in range(tiles):
            end = part.run(at, steps)
            blocks.append(
                Tile(part.cta, at, end, f"D[{128 * part.cta}:{128 * part.cta + 128}, {128 * tile}:{128 * tile + 128}]")
            )
            at = end
        ends.append(at)
    lives = [
        CtaTime(cta, f"CTA ({cta}, 0)", cta, cta // 2, cta % 2, 100.0 * cta, ends[cta]) for cta in range(ctas)
    ]  # fmt: skip
    timeline = Timeline(
        tuple(sorted((each for part in parts for each in part.intervals), key=lambda each: each.start)),
        tuple(sorted((each for part in parts for each in part.changes), key=lambda each: each.time)),
        tuple(lives), tuple(blocks), roles(ctas), max(ends), max(ends) if stuck else None,
    )  # fmt: skip
    findings = (
        (Finding("deadlock", "error", "the MMA warp waits for ever for tma2mma[0]", Span(file, 3)),) if stuck else ()
    )
    flops = 2.0 * 128 * 128 * 64 * steps * tiles * ctas
    stats = {"clock_ghz": 1.86, "flops": flops, "l2_bytes": flops / 64, "hbm_bytes": flops / 400}
    time_us = max(ends) / 1860
    return Report(
        "deadlock" if stuck else "ok", findings, None if stuck else time_us, None if stuck else flops / time_us / 1e6,
        max(ends), timeline, stats, "pipelined", "B200",
    )  # fmt: skip


def kernel_source() -> str:
    """The kernel of these timelines, for a reader."""
    return """\
def pipelined(A, B, D):
    Tx.copy_async(Asmem[stage, :, :], A[m, k], dispatch="tma", mbar=tma2mma[stage])  # a stage
    Tx.gemm_async(tmem, Asmem[stage, :, :], Bsmem[stage, :, :])
    Tx.copy(D[m, n], registers)
"""
