"""Time and bandwidth of memories: the shared memory of an SM and its port to the L2, the L2 and the HBM.

Each is a server that takes one request after another. The L2 keeps what was touched most recently, up to its size;
what is not there comes from HBM.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.targets import GpuSpec

if TYPE_CHECKING:
    from .machine import Sm

LINE_BITS = 7
"""Ordinary accesses are followed in lines of 128 bytes."""


class Traffic:
    """The shared memory system of one run. All times are cycles."""

    def __init__(self, spec: GpuSpec, rng: random.Random | None) -> None:
        self.spec = spec
        self._rng = rng
        self._l2_free = 0.0
        self._hbm_free = 0.0
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
        return self._serve(sm, time, nbytes, missed * width, write)

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
        start = max(time, sm.port_free)
        sm.port_free = start + nbytes / spec.port_bytes_per_cycle
        self._l2_free = max(time, self._l2_free) + nbytes / (spec.l2_bytes_per_cycle * spec.sms)
        done = max(sm.port_free, self._l2_free)
        if missed:
            self.hbm_bytes += missed
            self._hbm_free = max(time, self._hbm_free) + missed / spec.hbm_bytes_per_cycle
            done = max(done, self._hbm_free)
        latency = spec.hbm_latency if missed and not write else spec.l2_latency
        return done + self.jitter(latency)

    def shared(self, sm: Sm, time: float, nbytes: float) -> float:
        """An engine's transfer between the shared memory of an SM and elsewhere; when it is over."""
        sm.smem_free = max(time, sm.smem_free) + nbytes / self.spec.smem_engine_bytes_per_cycle
        return sm.smem_free

    def jitter(self, latency: float) -> float:
        """A latency, under a random schedule between half and twice as long."""
        return latency * self._rng.uniform(0.5, 2.0) if self._rng else latency

    def figures(self) -> dict[str, float]:
        """Bytes through the L2 and from HBM."""
        return {"l2_bytes": float(self.l2_bytes), "hbm_bytes": float(self.hbm_bytes)}
