"""Time and bandwidth of memories: the shared memory of an SM and its port to the L2, the L2 and the HBM.

Each carries so many bytes a cycle. The L2 keeps what was touched most recently, up to its size;
what is not there comes from HBM.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.targets import GpuSpec

from .bandwidth import Bandwidth
from .clock import Clock

if TYPE_CHECKING:
    from .machine import Sm

LINE_BITS = 7
"""Ordinary accesses are followed in lines of 128 bytes."""
SECTOR = 32
"""Bytes that the L2 moves at least."""


class Traffic:
    """The shared memory system of one run. All times are cycles."""

    def __init__(self, spec: GpuSpec, clock: Clock, rng: random.Random | None) -> None:
        self.spec = spec
        self._clock = clock
        self._rng = rng
        self._l2 = Bandwidth(spec.l2_bytes_per_cycle * spec.sms)
        self._hbm = Bandwidth(spec.hbm_bytes_per_cycle)
        self._lines: dict[int, np.ndarray] = {}
        self._tiles: OrderedDict[Any, int] = OrderedDict()
        self._tile_bytes = 0
        self.l2_bytes = 0
        self.hbm_bytes = 0

    def generic(self, sm: Sm, time: float, slot: int, where: Any, width: int, count: int, write: bool) -> float:
        """Loads or stores by a warp of items number `where` of `width` bytes; when the last one arrives."""
        nbytes = count * width
        line = where * width >> LINE_BITS
        top = int(line.max()) if isinstance(line, np.ndarray) else line
        seen = self._lines.get(slot)
        if seen is None or top >= len(seen):
            grown = np.zeros(max(top + 1, 2 * len(seen) if seen is not None else 1024), bool)
            if seen is not None:
                grown[: len(seen)] = seen
            seen = self._lines[slot] = grown
        missed = count - int(np.count_nonzero(seen[line]))
        if missed:
            seen[line] = True
        return self._serve(sm, time, max(nbytes, SECTOR * _sectors(where, width)), missed * width, write)

    def tile(self, sm: Sm, time: float, key: Any, nbytes: int, write: bool) -> float:
        """A bulk copy of the tile `key`; when its last byte has passed."""
        tiles = self._tiles
        missed = 0
        if key in tiles:
            tiles.move_to_end(key)
        else:
            tiles[key] = nbytes
            self._tile_bytes += nbytes
            missed = nbytes
            while self._tile_bytes > self.spec.l2_bytes:
                self._tile_bytes -= tiles.popitem(last=False)[1]
        return self._serve(sm, time, nbytes, missed, write)

    def _serve(self, sm: Sm, time: float, nbytes: int, missed: int, write: bool) -> float:
        spec = self.spec
        self.l2_bytes += nbytes
        now = self._clock.now
        done = max(sm.port.take(time, nbytes, now), self._l2.take(time, nbytes, now))
        if missed:
            self.hbm_bytes += missed
            done = max(done, self._hbm.take(time, missed, now))
        latency = spec.hbm_latency if missed and not write else spec.l2_latency
        return done + self.jitter(latency)

    def shared(self, sm: Sm, time: float, nbytes: float) -> float:
        """An engine's transfer between the shared memory of an SM and elsewhere; when it is over."""
        return sm.shared.take(time, nbytes, self._clock.now)

    def jitter(self, latency: float) -> float:
        """A latency, under a random schedule between half and twice as long."""
        return latency * self._rng.uniform(0.5, 2.0) if self._rng else latency

    def figures(self) -> dict[str, float]:
        """Bytes through the L2 and from HBM."""
        return {"l2_bytes": float(self.l2_bytes), "hbm_bytes": float(self.hbm_bytes)}


def _sectors(where: Any, width: int) -> int:
    """The sectors that each instruction touches, added up; lanes side by side share one."""
    if not isinstance(where, np.ndarray):
        return 1
    sector = where * width // SECTOR
    return int(np.count_nonzero(sector[..., 1:] != sector[..., :-1])) + sector.size // sector.shape[-1]
