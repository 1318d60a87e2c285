"""Timelines by hand: a producer, an MMA warp and a write-back over a ring of stages, as regular as a clock."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.diagnose import (
    Activity,
    BarrierChange,
    CtaTime,
    Interval,
    Place,
    Signal,
    Tile,
    Timeline,
    Track,
    TrackKind,
)

TMA, MMA, WRITE = (Track(0, TrackKind.WARP, warp) for warp in (7, 4, 0))
LOADS, TENSOR, STORES = (Track(0, kind) for kind in (TrackKind.TMA_LOAD, TrackKind.TENSOR, TrackKind.TMA_STORE))
ROLES = {TMA: "TMA", MMA: "MMA", **{Track(0, TrackKind.WARP, warp): "write-back" for warp in range(4)}}


@dataclass(frozen=True)
class Ring:
    """A ring of `depth` stages over `k_tiles` tiles of K and `tiles` output tiles; times in cycles.

    load: from the issue of a load to its last byte; multiply: of one tile on the tensor core; write: of a write-back.
    """

    depth: int = 2
    k_tiles: int = 8
    tiles: int = 2
    load: float = 800
    multiply: float = 256
    write: float = 900

    def timeline(self, stuck: bool = False) -> Timeline:
        """The run. stuck: the last load never lands, and the MMA warp waits for ever."""
        return _Run(self).timeline(stuck)


class _Run:
    """The events of a ring, as they follow from one another."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.intervals: list[Interval] = []
        self.changes: list[BarrierChange] = []
        self.free = [0.0] * ring.depth  # when each stage was last multiplied
        self.producer = self.consumer = self.tensor = self.writer = 0.0

    def timeline(self, stuck: bool) -> Timeline:
        ring, tiles = self.ring, []
        for tile in range(ring.tiles):
            begin = self.tensor
            for k in range(ring.k_tiles):
                last = tile == ring.tiles - 1 and k == ring.k_tiles - 1
                self.step(tile * ring.k_tiles + k, lands=not (stuck and last))
            if not (stuck and tile == ring.tiles - 1):
                self.write_back(tile)
                tiles.append(Tile(0, begin, self.writer, f"D[0:128, {128 * tile}:{128 * tile + 128}]"))
        end = max(interval.end for interval in self.intervals) + (500 if stuck else 0)
        if stuck:
            self.wait(MMA, "tma2mma", ring.k_tiles * ring.tiles - 1, self.consumer, end)
        return Timeline(
            intervals=tuple(sorted(self.intervals, key=lambda interval: interval.start)),
            changes=tuple(sorted(self.changes, key=lambda change: change.time)),
            ctas=(CtaTime(0, "CTA (0, 0)", 0, 0, 0, 0.0, end),),
            tiles=tuple(tiles),
            roles=ROLES,
            cycles=end,
            stuck=end if stuck else None,
        )

    def step(self, k: int, lands: bool) -> None:
        stage, turn = k % self.ring.depth, k // self.ring.depth
        if turn:
            self.wait(TMA, "mma2tma", k - self.ring.depth, self.producer, self.free[stage])
            self.producer = max(self.producer, self.free[stage])
        issue = self.producer
        self.run(TMA, "cp.async.bulk.tensor", issue, issue + 60, stage)
        self.producer = issue + 60
        landed = issue + self.ring.load
        place = Place(0, f"tma2mma[{stage}]")
        self.change(issue + 30, place, TMA, Signal.EXPECT_TX, turn, 0, 32768)
        self.intervals.append(
            Interval(LOADS, Activity.BUSY, "load A", issue + 30, landed, None, (), stage, place, turn)
        )
        if not lands:
            return
        self.change(landed, place, LOADS, Signal.TMA_LOAD, turn, 0, 0)
        self.change(landed, place, LOADS, Signal.COMPLETE, turn, 1, 0)
        self.wait(MMA, "tma2mma", k, self.consumer, landed)
        self.consumer = max(self.consumer, landed)
        self.run(MMA, "tcgen05.mma", self.consumer, self.consumer + 90, stage)
        self.consumer += 90
        begin = max(self.tensor, self.consumer)
        self.tensor = self.free[stage] = begin + self.ring.multiply
        place = Place(0, f"mma2tma[{stage}]")
        self.intervals.append(Interval(TENSOR, Activity.BUSY, "MMA", begin, self.tensor, None, (), stage, place, turn))
        self.change(self.tensor, place, TENSOR, Signal.COMMIT, turn, 0, 0)
        self.change(self.tensor, place, TENSOR, Signal.COMPLETE, turn, 1, 0)

    def write_back(self, tile: int) -> None:
        place, done = Place(0, "mma2ld"), self.tensor
        self.change(done, place, TENSOR, Signal.COMMIT, tile, 0, 0)
        self.change(done, place, TENSOR, Signal.COMPLETE, tile, 1, 0)
        self.intervals.append(Interval(WRITE, Activity.WAIT, "mma2ld", self.writer, done, None, (), None, place, tile))
        self.run(WRITE, "tcgen05.ld", done, done + self.ring.write / 2, None)
        self.intervals.append(
            Interval(STORES, Activity.BUSY, "store D", done + self.ring.write / 2, done + self.ring.write)
        )
        self.intervals.append(
            Interval(WRITE, Activity.WAIT, "bulk-group", done + self.ring.write / 2, done + self.ring.write)
        )
        self.writer = done + self.ring.write

    def wait(self, track: Track, family: str, k: int, start: float, end: float) -> None:
        if end > start:
            stage, turn = k % self.ring.depth, k // self.ring.depth
            name = f"{family}[{stage}]"
            self.intervals.append(
                Interval(track, Activity.WAIT, name, start, end, None, (), stage, Place(0, name), turn)
            )

    def run(self, track: Track, name: str, start: float, end: float, stage: int | None) -> None:
        self.intervals.append(Interval(track, Activity.RUN, name, start, end, None, (), stage))

    def change(self, time: float, place: Place, source: Track, kind: Signal, phase: int, pending: int, tx: int) -> None:
        self.changes.append(BarrierChange(time, place, source, kind, phase, pending, tx))
