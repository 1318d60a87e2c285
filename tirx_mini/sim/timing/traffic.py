"""Time and bandwidth of memories: the shared memory of an SM and its port to the L2, the L2 and the HBM.

Each carries a number of bytes a cycle. The L2 holds the most recently used tiles (`L2`); the rest comes from HBM. Times
are those of one of many launches in a row, so arguments that fit in the L2 together are there already, from the launch
before. It answers the TMA loads of all SMs in turns (`FairShare`). Ordinary loads are bound by the L1 before
the L2: one sector a cycle arrives, in the memory that is also the SM's shared memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec

from .bandwidth import Bandwidth
from .clock import Clock
from .fair_share import FairShare, Flow
from .l2 import L2

LINE_BITS = 7
"""Ordinary accesses are followed in lines of 128 bytes."""
SECTOR = 32
"""Bytes that the L2 moves at least."""


class SmTraffic:
    """The paths of one SM.

    port: to the L2. shared: of its shared memory, for what warps access and engines read; accesses: for warps alone,
    which go first. writes: of its shared memory, for what engines write. loads: what its TMA has asked the L2 for.
    partition: of the L2, the one beside it.
    """

    __slots__ = ("accesses", "loads", "partition", "port", "shared", "writes")

    def __init__(self, spec: GpuSpec, partition: int = 0) -> None:
        self.partition = partition
        self.port = Bandwidth(spec.port_bytes_per_cycle)
        self.shared = Bandwidth(spec.smem_bytes_per_cycle)
        self.accesses = Bandwidth(spec.smem_bytes_per_cycle)
        self.writes = Bandwidth(spec.smem_bytes_per_cycle)
        self.loads = Flow()


class Traffic:
    """The shared memory system of one run. All times are cycles. nbytes: of all of the kernel's arguments."""

    def __init__(self, spec: GpuSpec, clock: Clock, rng: random.Random | None, nbytes: float = float("inf")) -> None:
        self.spec = spec
        self._warm = nbytes <= spec.l2_shared_bytes
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

    def generic(self, sm: SmTraffic, time: float, slot: int, where: Any, width: int, count: int, write: bool) -> float:
        """Loads or stores by a warp of items number `where` of `width` bytes; when the last one arrives."""
        return self.serve(sm, time, *self.touch(slot, where, width, count), write)

    def touch(self, slot: int, where: Any, width: int, count: int) -> tuple[int, int]:
        """Return (bytes through the L2, bytes that miss) of the items with numbers `where`, of `width` bytes."""
        moved = through_l2(where, width, count)
        if self._warm:
            return moved, 0
        line = where * width >> LINE_BITS
        seen = self._seen(slot, int(line.max()) if isinstance(line, np.ndarray) else line)
        missed = count - int(np.count_nonzero(seen[line]))
        if missed:
            seen[line] = True
        return moved, missed * width

    def touch_lines(self, slot: int, lines: np.ndarray, counts: np.ndarray, width: int) -> int:
        """The bytes that the L2 does not hold of `counts` items of `width` bytes in each of these different lines."""
        if self._warm:
            return 0
        seen = self._seen(slot, int(lines[-1]))
        there = seen[lines]
        if there.all():
            return 0
        seen[lines] = True
        return int(counts[~there].sum()) * width

    def _seen(self, slot: int, top: int) -> np.ndarray:
        """Which lines of an argument the L2 holds, at least up to line `top`."""
        seen = self._lines.get(slot)
        if seen is None or top >= len(seen):
            grown = np.zeros(max(top + 1, 2 * len(seen) if seen is not None else 1024), bool)
            if seen is not None:
                grown[: len(seen)] = seen
            seen = self._lines[slot] = grown
        return seen

    def load(self, sm: SmTraffic, time: float, nbytes: int, issues: float) -> float:
        """The time at which ordinary loads of `nbytes` by `issues` instructions are over, as the SM itself bounds them.

        A thread has a limited number of loads in flight: the next ones wait for the latency of those before.
        """
        spec = self.spec
        passed = self.access(sm, time, nbytes * spec.smem_bytes_per_cycle / spec.l1_fill_bytes_per_cycle)
        return passed + (-(-issues // spec.loads_in_flight) - 1) * spec.l2_latency

    def load_tile(self, sm: SmTraffic, key: Any, nbytes: int, arrived: Callable[[float, float], None]) -> None:
        """A bulk load of the tile `key` from now on; `arrived(first, last)` says when its bytes come to the SM.

        Where SMs contend for the L2, its slices are not equally busy, and the last bytes come from the busiest.
        """
        spec, now = self.spec, self._clock.now
        self.l2_bytes += nbytes
        there = (now, now) if self._warm else self.cached.read(sm.partition, key, nbytes, now)
        if there is None:
            self.hbm_bytes += nbytes
            beyond = self.jitter(spec.hbm_latency - spec.l2_latency)
            passed = self._hbm.take(now, nbytes, now)
            there = self.cached.fill(sm.partition, key, nbytes, (now + beyond, passed + beyond), now)
        begins, ends = there
        latency = self.jitter(spec.l2_latency)
        alone, unevenness, clock = nbytes / (2 * spec.l2_bytes_per_cycle), spec.l2_unevenness, self._clock

        def answered(took: float) -> None:
            last = clock.now + (begins - now if begins > now else 0.0)
            last = (last if last > ends else ends) + latency
            arrived(last - took, last + unevenness * (took - alone if took > alone else 0.0))

        self._answers.serve(sm.loads, nbytes, answered)

    def store_tile(self, sm: SmTraffic, time: float, key: Any, nbytes: int) -> float:
        """A bulk store of the tile `key`; when its last byte has passed."""
        if not self._warm:
            self.cached.begin_store(self._clock.now)
        missed = 0
        if not self._warm and not self.cached.holds(key):
            self.cached.write(key, nbytes)
            missed = nbytes
        return self.serve(sm, time, nbytes, missed, write=True)

    def serve(self, sm: SmTraffic, time: float, nbytes: int, missed: int, write: bool) -> float:
        """Carry `nbytes` between an SM and the L2 from `time` on, `missed` of them from HBM; when the last arrives."""
        spec = self.spec
        self.l2_bytes += nbytes
        now = self._clock.now
        done = max(sm.port.take(time, nbytes, now), self._l2.take(time, nbytes, now))
        if missed:
            self.hbm_bytes += missed
            done = max(done, self._hbm.take(time, missed, now))
        latency = spec.hbm_latency if missed and not write else spec.l2_latency
        return done + self.jitter(latency)

    def read_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """An engine reads shared memory of an SM; when it is over."""
        self.shared_bytes += nbytes
        return sm.shared.take(time, nbytes, self._clock.now)

    def write_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """An engine writes shared memory of an SM, beside its reads, which wait for a few of the writes; when over."""
        now, held = self._clock.now, nbytes * self.spec.smem_write_share
        self.shared_bytes += held
        sm.shared.take(time, held, now)
        return sm.writes.take(time, nbytes, now)

    def access(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """A warp's transfer from or to the SM's shared memory or L1; when it is over. Warps go before the engines."""
        now = self._clock.now
        self.shared_bytes += nbytes
        sm.shared.take(time, nbytes, now)
        return sm.accesses.take(time, nbytes, now)

    def jitter(self, latency: float) -> float:
        """A latency, under a random schedule between half and twice as long."""
        return latency * self._rng.uniform(0.5, 2.0) if self._rng else latency

    def figures(self) -> dict[str, float]:
        """Bytes through the L2, from HBM, and through the shared memories of all SMs."""
        return {
            "l2_bytes": float(self.l2_bytes), "hbm_bytes": float(self.hbm_bytes), "shared_bytes": self.shared_bytes,
        }  # fmt: skip


class Untimed(Traffic):
    """A memory system without limits, for a run of which only the results count."""

    def touch(self, slot: int, where: Any, width: int, count: int) -> tuple[int, int]:
        """As `Traffic.touch`."""
        return 0, 0

    def touch_lines(self, slot: int, lines: np.ndarray, counts: np.ndarray, width: int) -> int:
        """As `Traffic.touch_lines`."""
        return 0

    def load(self, sm: SmTraffic, time: float, nbytes: int, issues: float) -> float:
        """As `Traffic.load`."""
        return time + self.spec.l2_latency

    def load_tile(self, sm: SmTraffic, key: Any, nbytes: int, arrived: Callable[[float, float], None]) -> None:
        """As `Traffic.load_tile`."""
        last = self._clock.now + self.spec.l2_latency
        arrived(last, last)

    def store_tile(self, sm: SmTraffic, time: float, key: Any, nbytes: int) -> float:
        """As `Traffic.store_tile`."""
        return time + self.spec.l2_latency

    def serve(self, sm: SmTraffic, time: float, nbytes: int, missed: int, write: bool) -> float:
        """As `Traffic.serve`."""
        return time + self.spec.l2_latency

    def read_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """As `Traffic.read_shared`."""
        return time

    def write_shared(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """As `Traffic.write_shared`."""
        return time

    def access(self, sm: SmTraffic, time: float, nbytes: float) -> float:
        """As `Traffic.access`."""
        return time


def through_l2(where: Any, width: int, count: int) -> int:
    """The bytes that come through the L2 for `count` items number `where` of `width` bytes: whole sectors."""
    return max(count * width, SECTOR * _sectors(where, width))


def _sectors(where: Any, width: int) -> int:
    """The sectors that each instruction touches, added up; lanes side by side share one."""
    if not isinstance(where, np.ndarray):
        return 1
    if not where.size:  # the condition of a loop that all lanes have left by `break`
        return 0
    sector = where * width // SECTOR
    return int(np.count_nonzero(sector[..., 1:] != sector[..., :-1])) + sector.size // sector.shape[-1]
