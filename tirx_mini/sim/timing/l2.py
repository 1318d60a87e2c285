"""A model of the L2 contents: the most recently used tiles of each partition.

A partition caches the reads of its adjacent SMs, even for memory of the other partition. So data that all SMs read
occupies each partition once, and the effective capacity is that of one partition (NVIDIA A100 white paper, L2 cache; on
a B200, the partitions are the two dies). The last lines of a tile come from the other partition, or from its memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import field

from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass

Arrival = tuple[float, float]
"""The arrival times of the first and the last bytes of a tile."""


@dataclass
class Partition:
    """One partition of the L2. tiles: bytes by key, in LRU order; nbytes: their total.

    arrivals: the arrival of the first and the last bytes of a tile; until then, further requests wait as well. touched:
    in a sampled run, the last request of each tile, and its arrival.
    """

    tiles: OrderedDict[Hashable, float] = field(default_factory=OrderedDict[Hashable, float])
    arrivals: dict[Hashable, Arrival] = field(default_factory=dict[Hashable, Arrival])
    touched: dict[Hashable, tuple[float, Arrival]] = field(default_factory=dict[Hashable, tuple[float, Arrival]])
    nbytes: float = 0.0

    def keep(self, key: object, nbytes: float, there: Arrival, room: float) -> None:
        """Insert a tile, and evict the least recently used tiles if it does not fit."""
        self.tiles[key] = nbytes
        self.arrivals[key] = there
        self.nbytes += nbytes
        while self.nbytes > room:
            oldest, freed = self.tiles.popitem(last=False)
            del self.arrivals[oldest]
            self.nbytes -= freed


class L2:
    """The tiles cached in the L2 of a GPU.

    All times are cycles.

    weight: the number of bytes that a loaded byte represents, in a sampled run that omits most loads. In such a run, a
    recently loaded tile counts as cached: concurrent CTAs are as many iterations apart as in the whole run, while two
    waves are fewer apart.
    """

    def __init__(self, spec: GpuSpec) -> None:
        self.weight = 1.0
        self._partitions = [Partition() for _ in range(spec.l2_partitions)]
        self._room = spec.l2_shared_bytes
        self._far = spec.l2_far_latency
        self._first_store: float | None = None

    def begin_store(self, now: float) -> None:
        """Record a store of a tile; the first store sets the time scale of a "short while"."""
        if self._first_store is None:
            self._first_store = now

    def holds(self, key: object) -> bool:
        """Return whether any partition holds or awaits a tile; a hit makes the tile the most recently used."""
        found = [partition for partition in self._partitions if key in partition.tiles]
        for partition in found:
            partition.tiles.move_to_end(key)
        return bool(found)

    def read(self, number: int, key: object, nbytes: int, now: float) -> Arrival | None:
        """Return the time at which a tile reaches a partition for one of its SMs; None on a miss, which HBM must
        `fill`."""
        mine = self._partitions[number]
        there = self._arrival(mine, key, now)
        if there is None:
            others = [self._arrival(other, key, now) for other in self._partitions if other is not mine]
            found = [arrival for arrival in others if arrival is not None]
            if not found:
                return None
            first, last = min(found)
            there = max(now, first) + self._far, max(now, last) + self._far
        self._use(mine, key, nbytes, there, now)
        return there

    def fill(self, number: int, key: object, nbytes: int, arrival: Arrival, now: float) -> Arrival:
        """Fill a tile from HBM, half of it through the other partition; return its time of arrival."""
        there = arrival[0] + self._far, arrival[1] + self._far
        self._use(self._partitions[number], key, nbytes, there, now)
        return there

    def write(self, key: object, nbytes: int) -> None:
        """Insert a stored tile into the partitions that own its lines."""
        for partition in self._partitions:
            partition.keep(key, nbytes / len(self._partitions), (0.0, 0.0), self._room)

    def _arrival(self, partition: Partition, key: object, now: float) -> Arrival | None:
        there = partition.arrivals.get(key)
        if there is None and key in partition.touched:
            when, arrival = partition.touched[key]
            if self._first_store is None or 2 * (now - when) < self._first_store:
                return arrival
        return there

    def _use(self, partition: Partition, key: object, nbytes: int, there: Arrival, now: float) -> None:
        if key in partition.tiles:
            partition.tiles.move_to_end(key)
        else:
            partition.keep(key, nbytes * self.weight, there, self._room)
        if self.weight > 1.0:
            partition.touched[key] = now, there
