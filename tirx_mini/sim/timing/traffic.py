"""Timing of the memory system: shared memory, the port of an SM to the L2, the L2 and HBM.

Each has a bandwidth in bytes per cycle. The L2 holds the most recently used tiles (`L2`); the rest comes from HBM.
Times are those of one of many consecutive launches, so arguments that fit in the L2 together are cached from the
previous launch. The L2 serves the TMA loads of all SMs in turn (`FairShare`). Ordinary loads are limited by the L1
before the L2: one sector arrives per cycle, in the memory that is also the SM's shared memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from tirx_mini.hardware import QUARTERS, GpuSpec

from .bandwidth import Bandwidth
from .clock import Clock
from .fair_share import FairShare, Flow
from .l2 import L2

LINE_BITS = 7
"""The log2 of the line size of 128 bytes in which ordinary accesses are tracked."""
SECTOR = 32
"""The smallest transfer of the L2, in bytes."""
L1_BYPASS = 16
"""The bytes of a cp.async from which on it may bypass the L1 (PTX ISA, "cp.async": .cg)."""


class SmTraffic:
    """The data paths of one SM, and the units that its warps share.

    port: to the L2. shared: the bandwidth of its shared memory for accesses of warps and reads of engines; accesses:
    for warps alone, which have priority. writes: of its shared memory, for writes of engines. loads: its TMA requests
    to the L2. partition: its adjacent L2 partition. slots, special: issue slots and special function units of each
    quarter, in cycles of a warp's issue costs. shuffles: instructions among lanes.
    """

    __slots__ = ("accesses", "loads", "partition", "port", "shared", "shuffles", "slots", "special", "writes")

    def __init__(self, spec: GpuSpec, partition: int = 0) -> None:
        self.partition = partition
        self.port = Bandwidth(spec.port_bytes_per_cycle)
        self.shared = Bandwidth(spec.smem_bytes_per_cycle)
        self.accesses = Bandwidth(spec.smem_bytes_per_cycle)
        self.writes = Bandwidth(spec.smem_bytes_per_cycle)
        self.loads = Flow()
        self.slots = [Bandwidth(spec.issue_overlap) for _ in range(QUARTERS)]
        self.special = [Bandwidth(1.0) for _ in range(QUARTERS)]
        self.shuffles = Bandwidth(1.0)


class Traffic:
    """The shared memory system of one run.

    All times are cycles. lost: the share of the arguments that the L2 does not hold at the start.
    """

    def __init__(self, spec: GpuSpec, clock: Clock, rng: random.Random | None, lost: float = 1.0) -> None:
        self.spec = spec
        self._lost = lost
        self._warm = lost == 0.0
        self._clock = clock
        self._rng = rng
        self._l2 = Bandwidth(spec.l2_bytes_per_cycle * spec.sms)
        self._answers = FairShare(clock, spec.l2_bytes_per_cycle * spec.sms, spec.port_bytes_per_cycle)
        self._hbm = Bandwidth(spec.hbm_bytes_per_cycle)
        self._lines: dict[int, np.ndarray] = {}
        self.cached = L2(spec)
        self.l2_bytes = 0
        self.hbm_bytes = 0
        self.shared_bytes = 0.0

    def generic(
        self, sm: SmTraffic, time: float, slot: int, where: np.ndarray | int, width: int, count: int, write: bool
    ) -> float:
        """Transfer items of a warp's load or store, and return the completion time."""
        return self.serve(sm, time, *self.touch(slot, where, width, count), write)

    def touch(self, slot: int, where: np.ndarray | int, width: int, count: int) -> tuple[int, int]:
        """Return (bytes through the L2, bytes that miss) of the items with indices `where`, of `width` bytes."""
        moved = through_l2(where, width, count)
        if self._warm:
            return moved, 0
        line = where * width >> LINE_BITS
        seen = self._seen(slot, int(line.max()) if isinstance(line, np.ndarray) else line)
        missed = count - int(np.count_nonzero(seen[line]))
        if missed:
            seen[line] = True
        return moved, int(missed * width * self._lost)

    def touch_lines(self, slot: int, lines: np.ndarray, counts: np.ndarray, width: int) -> int:
        """Return the bytes missing from the L2 for `counts` items of `width` bytes in each distinct line."""
        if self._warm:
            return 0
        seen = self._seen(slot, int(lines[-1]))
        there = seen[lines]
        if there.all():
            return 0
        seen[lines] = True
        return int(counts[~there].sum() * width * self._lost)

    def _seen(self, slot: int, top: int) -> np.ndarray:
        """Return a mask of the lines of an argument that the L2 holds, at least up to line `top`."""
        seen = self._lines.get(slot)
        if seen is None or top >= len(seen):
            grown = np.zeros(max(top + 1, 2 * len(seen) if seen is not None else 1024), bool)
            if seen is not None:
                grown[: len(seen)] = seen
            seen = self._lines[slot] = grown
        return seen

    def load(self, sm: SmTraffic, time: float, nbytes: int, issues: float) -> float:
        """Return the completion time of ordinary loads of `nbytes` by `issues` instructions, as limited by the SM.

        A thread has a limited number of loads in flight: further ones wait for the latency of earlier ones.
        """
        spec = self.spec
        passed = self.access(sm, time, nbytes * spec.smem_bytes_per_cycle / spec.l1_fill_bytes_per_cycle)
        return passed + (-(-issues // spec.loads_in_flight) - 1) * spec.l2_latency

    def copy(self, sm: SmTraffic, time: float, nbytes: int, width: int) -> float:
        """Return the completion time of a cp.async of `nbytes` in items of `width`, as limited by the SM.

        It passes the L1 unless it bypasses it.
        """
        spec = self.spec
        if width < L1_BYPASS:
            return self.load(sm, time, nbytes, 1)
        return self.access(sm, time, nbytes * spec.smem_bytes_per_cycle / spec.cp_async_bytes_per_cycle)

    def load_tile(self, sm: SmTraffic, key: object, nbytes: int, arrived: Callable[[float, float], None]) -> None:
        """Start a bulk load of the tile `key`, and report its arrival with `arrived(first, last)`.

        If SMs contend for the L2, its slices are unequally loaded, and the last bytes come from the busiest one.
        """
        spec, now = self.spec, self._clock.now
        self.l2_bytes += nbytes
        there = (now, now) if self._warm else self.cached.read(sm.partition, key, nbytes, now)
        if there is None:
            fetched = int(nbytes * self._lost)
            self.hbm_bytes += fetched
            beyond = self.jitter(spec.hbm_latency - spec.l2_latency)
            passed = self._hbm.take(now, fetched, now)
            there = self.cached.fill(sm.partition, key, nbytes, (now + beyond, passed + beyond), now)
        begins, ends = there
        latency = self.jitter(spec.l2_latency)
        alone, unevenness, clock = nbytes / (2 * spec.l2_bytes_per_cycle), spec.l2_unevenness, self._clock

        def answered(took: float) -> None:
            last = clock.now + (begins - now if begins > now else 0.0)
            last = (last if last > ends else ends) + latency
            arrived(last - took, last + unevenness * (took - alone if took > alone else 0.0))

        self._answers.serve(sm.loads, nbytes, answered)

    def store_tile(self, sm: SmTraffic, time: float, key: object, nbytes: int) -> float:
        """Start a bulk store of the tile `key`, and return its completion time."""
        if not self._warm:
            self.cached.begin_store(self._clock.now)
        missed = 0
        if not self._warm and not self.cached.holds(key):
            self.cached.write(key, nbytes)
            missed = int(nbytes * self._lost)
        return self.serve(sm, time, nbytes, missed, write=True)

    def serve(
        self, sm: SmTraffic, time: float, nbytes: int, missed: int, write: bool, atomic: bool = False
    ) -> float:
        """Transfer `nbytes` between an SM and the L2 from `time` on, `missed` of them from HBM; return the end."""
        spec = self.spec
        self.l2_bytes += nbytes
        if atomic:
            nbytes = int(nbytes * spec.l2_atomic_cost)
        now = self._clock.now
        done = max(sm.port.take(time, nbytes, now), self._l2.take(time, nbytes, now))
        if missed:
            self.hbm_bytes += missed
            done = max(done, self._hbm.take(time, missed, now))
        latency = spec.hbm_latency if missed and not write else spec.l2_latency
        return done + self.jitter(latency)

    def read_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """Read shared memory of an SM by an engine, and return the completion time."""
        self.shared_bytes += nbytes
        return sm.shared.take(time, nbytes, self._clock.now)

    def write_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """Write shared memory of an SM by an engine, which delays reads by a share; return the completion time."""
        now, held = self._clock.now, nbytes * self.spec.smem_write_share
        self.shared_bytes += held
        sm.shared.take(time, held, now)
        return sm.writes.take(time, nbytes, now)

    def access(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """Transfer data between a warp and the SM's shared memory or L1, and return the completion time. Warps have
        priority over the engines."""
        now = self._clock.now
        self.shared_bytes += nbytes
        sm.shared.take(time, nbytes, now)
        return sm.accesses.take(time, nbytes, now)

    def jitter(self, latency: float) -> float:
        """Return the latency, scaled by a random factor of 0.5 to 2 under a random schedule."""
        return latency * self._rng.uniform(0.5, 2.0) if self._rng else latency

    def figures(self) -> dict[str, float]:
        """Return the bytes transferred through the L2, from HBM, and through the shared memories of all SMs."""
        return {
            "l2_bytes": float(self.l2_bytes), "hbm_bytes": float(self.hbm_bytes), "shared_bytes": self.shared_bytes,
        }  # fmt: skip


class Untimed(Traffic):
    """A memory system without bandwidth limits, for a run that needs only results."""

    def touch(self, slot: int, where: np.ndarray | int, width: int, count: int) -> tuple[int, int]:
        """See `Traffic.touch`."""
        return 0, 0

    def touch_lines(self, slot: int, lines: np.ndarray, counts: np.ndarray, width: int) -> int:
        """See `Traffic.touch_lines`."""
        return 0

    def load(self, sm: SmTraffic, time: float, nbytes: int, issues: float) -> float:
        """See `Traffic.load`."""
        return time + self.spec.l2_latency

    def load_tile(self, sm: SmTraffic, key: object, nbytes: int, arrived: Callable[[float, float], None]) -> None:
        """See `Traffic.load_tile`."""
        last = self._clock.now + self.spec.l2_latency
        arrived(last, last)

    def store_tile(self, sm: SmTraffic, time: float, key: object, nbytes: int) -> float:
        """See `Traffic.store_tile`."""
        return time + self.spec.l2_latency

    def serve(
        self, sm: SmTraffic, time: float, nbytes: int, missed: int, write: bool, atomic: bool = False
    ) -> float:
        """See `Traffic.serve`."""
        return time + self.spec.l2_latency

    def read_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """See `Traffic.read_shared`."""
        return time

    def write_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """See `Traffic.write_shared`."""
        return time

    def access(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """See `Traffic.access`."""
        return time


def through_l2(where: np.ndarray | int, width: int, count: int) -> int:
    """Return the bytes that `count` items of `width` bytes at indices `where` move through the L2, in whole sectors."""
    return max(count * width, SECTOR * _sectors(where, width))


def _sectors(where: np.ndarray | int, width: int) -> int:
    """Return the total number of sectors that each instruction touches; adjacent lanes share sectors."""
    if not isinstance(where, np.ndarray):
        return 1
    if not where.size:  # the condition of a loop that all lanes have left by `break`
        return 0
    sector = where * width // SECTOR
    return int(np.count_nonzero(sector[..., 1:] != sector[..., :-1])) + sector.size // sector.shape[-1]
