"""The loads and warp-level products that D depends on.

A load or a product counts if D differs without it. The kernel is therefore run with marks in its data: each load by
TMA brings one element that is `DELTA` more than in A or B, and D shows which of these arrived. In a second run the
products of each warp are multiplied by a number of its own, and D shows whose they are. What is loaded, multiplied or
waited for beside that leaves no mark in D. Work whose results cancel out is not detected.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import field
from statistics import median_low
from typing import Any

import numpy as np

from tirx_mini.diagnose import Timeline
from tirx_mini.records import dataclass
from tirx_mini.sim import Probe, Simulation

from .drawn import Matrices, product_where

DELTA = 4.0
"""The amount that a mark adds to an element of about 1."""
RIDGE = 1e-3
"""The regularisation added to sums of squares of about 500, which may be singular."""
MOST_SHARED = 8
"""The maximum number of marks in one row; each is an unknown of the differences in a row of D."""
WIDTH = 32
"""The number of columns of D examined together."""
CHUNK = 16
"""The item size in bytes for moving boxes."""
FIRST, STEP, LEVELS = 1.5, 0.016, 64
"""The first factor of units, the step between factors, and their number."""
TRIES = 12
"""The number of candidate positions, of which the one in the emptiest row is marked."""
GOOD, MOST = 0.2, 0.6
"""The minimum shares of a CTA's results, and of D."""
FEW = 4
"""The number of clusters that are run if there are many."""
ENOUGH = 4.0
"""The minimum element of D whose ratio to another element is robust against rounding."""


Unit = tuple[int, int, int]
"""The issuer of products: the cluster, the CTA, and the warp or, without tensor memory, the warpgroup in the CTA."""


def unit_of(cta: Any, number: int) -> Unit:
    """Return the unit of that number in a CTA of a run."""
    return cta.cluster.index, cta.number, number


@dataclass(eq=False)
class Load:
    """A TMA load as one CTA received it.

    operand: "A" or "B". issuer, warp: the number of the CTA that issued it, and the warp there. to: the CTA that it
    came to. alone: whether to no other. issued: when, in cycles. corner: its first row and column of the operand.
    fill: the phase of the barrier that it signals. low, high: where it lies in shared memory.
    row, column: the element with the mark; -1 for none. reads: when the first MMA of each unit had read it.
    counts: whether its mark is in D. used: when all units had read it whose products are in D; None if none has.
    """

    operand: str
    issuer: int
    warp: int
    to: int
    alone: bool
    issued: float
    corner: tuple[int, int]
    fill: Hashable
    low: int
    high: int
    row: int = -1
    column: int = -1
    reads: dict[Unit, float] = field(default_factory=dict)
    counts: bool = False
    used: float | None = None


@dataclass
class Marks(Probe):
    """Marks every load, in its own row while rows suffice.

    operands: the names of the arguments by their slots in the launch. depth: columns of A and B. dtype: of elements.
    """

    operands: Mapping[int, str]
    depth: int
    dtype: np.dtype[Any]
    rng: random.Random
    loads: list[Load] = field(default_factory=list)
    _rows: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    _held: dict[int, list[Load]] = field(default_factory=lambda: defaultdict(list))
    _kept: list[Any] = field(default_factory=list)
    _reading: list[Load] = field(default_factory=list)

    def loaded(self, copy: Any, cta: Any, box: np.ndarray) -> np.ndarray:
        operand = self.operands.get(copy.copier.slot)
        if operand is None:
            return box
        addresses = copy.copier.addresses(copy.coords)
        inside = np.flatnonzero(addresses >= 0)
        barrier = next(barrier for each, barrier in copy.targets if each is cta)
        first = addresses[inside[0]] if inside.size else 0
        load = Load(
            operand, copy.cta.number, copy.warp, cta.number, len(copy.targets) == 1, copy.issued,
            divmod(int(first) // self.dtype.itemsize, self.depth), (barrier.place, barrier.phase), copy.offset,
            copy.offset + copy.copier.box_bytes,
        )  # fmt: skip
        self.loads.append(load)
        held = self._held[id(cta.smem)]
        held[:] = [other for other in held if other.high <= load.low or load.high <= other.low]
        held.append(load)
        self._kept.append(cta.smem)
        return self._marked(load, box, addresses, inside)

    def _marked(self, load: Load, box: np.ndarray, addresses: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return the box with a mark in the emptiest of some random rows; no two marks share a position."""
        size = self.dtype.itemsize
        each = CHUNK // size
        best: tuple[int, int, int, int] | None = None
        fewest = MOST_SHARED
        for chunk in self.rng.choices(inside.tolist(), k=TRIES) if inside.size else ():
            at = self.rng.randrange(each)
            row, column = divmod(int(addresses[chunk]) // size + at, self.depth)
            there = self._rows[load.operand, row]
            if column not in there and len(there) < fewest:
                best, fewest = (chunk, at, row, column), len(there)
        if best is None:
            return box
        chunk, at, load.row, load.column = best
        self._rows[load.operand, load.row].add(load.column)
        marked = box.copy()
        marked.view(self.dtype)[chunk * each + at] += DELTA
        return marked

    def read(self, smem: object, low: int, high: int) -> None:
        held = self._held.get(id(smem), ())
        self._reading += (load for load in held if load.low < high and low < load.high)

    def factor(self, cta: object, unit: int) -> float:
        for load in self._reading:
            load.reads.setdefault(unit_of(cta, unit), self.clock.now)
        self._reading.clear()
        return 1.0

    def find(self, a: np.ndarray, b: np.ndarray, difference: np.ndarray, multipliers: Set[Unit]) -> None:
        """Determine the loads that count, and the times of their use.

        difference: of D with the marks and without; NaN where the run wrote nothing. multipliers: as of `Dependence`.
        """
        for load in self.loads:
            load.used = max((time for unit, time in load.reads.items() if unit in multipliers), default=None)
        for operand, other, change in (("A", b, difference), ("B", a, difference.T)):
            rows: dict[int, list[Load]] = defaultdict(list)
            for load in self.loads:
                if load.operand == operand and load.row >= 0:
                    rows[load.row].append(load)
            blocks = change.shape[1] // WIDTH
            for row, loads in rows.items():
                columns = [load.column for load in loads]
                found = _amounts(change[row, : blocks * WIDTH], other[: blocks * WIDTH], columns)
                for load, amount in zip(loads, found, strict=True):
                    load.counts = amount > 0.5


def _amounts(changes: np.ndarray, other: np.ndarray, columns: Sequence[int]) -> list[float]:
    """Return the share of one row's marks, in these columns, in a part of a row of D; the maximum over parts."""
    effects = DELTA * other[:, columns].astype(np.float64).reshape(-1, WIDTH, len(columns))
    parts = changes.reshape(-1, WIDTH, 1)
    there = np.isfinite(parts).all(axis=(1, 2))
    if not there.any():
        return [0.0] * len(columns)
    effects, parts = effects[there], parts[there]
    turned = effects.transpose(0, 2, 1)
    squares = turned @ effects + RIDGE * np.eye(len(columns))
    return list(np.linalg.solve(squares, turned @ parts)[:, :, 0].max(axis=0))


def depth_of(loads: Iterable[Load]) -> int:
    """Return the number of counted K tiles that are loaded, or being loaded, before an MMA has ended.

    Loads that signal the same phase of the same mbarrier fill one stage. A stage may have several loads of an operand,
    for several blocks of rows, with mbarriers of their own; so it is the loads of the same rows that are counted.
    """
    tiles: dict[tuple[int, str, int], list[dict[Hashable, Load]]] = defaultdict(lambda: [{}])
    for load in sorted(loads, key=lambda load: load.issued):
        if load.counts and load.used is not None:
            row, column = load.corner
            of_rows = tiles[load.to, load.operand, row]
            if any(each.corner[1] == column and each.fill != load.fill for each in of_rows[-1].values()):
                of_rows.append({})  # the same K tile again is that of another tile of D
            of_rows[-1].setdefault(load.fill, load)
    found: dict[str, list[int]] = defaultdict(list)
    for (_, operand, _), of_rows in tiles.items():
        found[operand] += (_sustained(list(fills.values())) for fills in of_rows)
    return min((median_low(each) for each in found.values()), default=0)


def _sustained(fills: Sequence[Load]) -> int:
    """Return the number of stages filled ahead for at least half of the tiles with enough remaining loads.

    The tiles tracked by one commit are read at the same time, and count as one.
    """
    ahead = [
        1 + sum(later.issued < (fill.used or 0.0) < (later.used or 0.0) for later in fills[number + 1 :])
        for number, fill in enumerate(fills)
    ]
    return max(d for d in range(len(fills) + 1) if 2 * sum(n >= d for n in ahead) >= len(fills) - d + 1)


@dataclass
class Factors(Probe):
    """Multiplies the products of each unit by its own factor. units: the factor of each unit."""

    units: dict[Unit, float] = field(default_factory=dict)

    def factor(self, cta: object, unit: int) -> float:
        return self.units.setdefault(unit_of(cta, unit), FIRST + STEP * (len(self.units) % LEVELS))

    def owners(self, ratios: np.ndarray) -> dict[Unit, float]:
        """Return the share of D from each unit's products. ratios: elements of D with factors to those without."""
        counts = {key: int((np.abs(ratios - number) < STEP / 3).sum()) for key, number in self.units.items()}
        return {key: count / ratios.size for key, count in counts.items() if count}


@dataclass(frozen=True)
class Dependence:
    """The loads and products on which D of one run depends.

    loads: all loads, with their known facts. multiplied: the share of D that comes from MMAs.
    owners: by unit, the share that is its products alone. issuing: the units that issued any.
    """

    loads: tuple[Load, ...]
    multiplied: float
    owners: Mapping[Unit, float]
    issuing: frozenset[Unit]

    @property
    def multipliers(self) -> frozenset[Unit]:
        """The units whose products are in D: all issuers if part of D is a sum over several units."""
        return frozenset(self.owners) if sum(self.owners.values()) > 0.95 * self.multiplied else self.issuing

    @property
    def consumers(self) -> int:
        """The number of units in a CTA that own a good part of its results, in CTAs that compute most of D."""
        of_ctas: dict[int, list[float]] = defaultdict(list)
        for (_, cta, _), share in self.owners.items():
            of_ctas[cta].append(share)
        counts = [(sum(each >= GOOD * sum(of) for each in of), sum(of)) for of in of_ctas.values()]
        whole = sum(share for _, share in counts)
        enough = (n for n, _ in counts if sum(share for count, share in counts if count >= n) >= MOST * whole)
        return max(enough, default=0)


def dependence(
    simulation: Simulation, data: Matrices, clusters: range, seed: int
) -> tuple[Dependence, Timeline | None] | None:
    """Return what D depends on in runs of some clusters, and a timeline of those with results; None without any.

    simulation: of a kernel in canonical form, with the data, of which D is overwritten. clusters: all of the launch.
    """
    a, b, d = data
    rng = random.Random(seed)
    found = None
    if len(clusters) > 2 * FEW:  # where there are more clusters than tiles, the first ones have the tiles, as a rule
        among = {*rng.sample(clusters[: 2 * FEW], FEW // 2), *rng.sample(clusters, FEW // 2)}
        found = _products(simulation, data, sorted(among))
    if found is None or len(found.working) < 2:
        found = _products(simulation, data, clusters)
        if len(clusters) > 2 * FEW and found.working:  # so many units have numbers of their own
            chosen = rng.sample(found.working, min(2 * FEW, len(found.working)))
            found = _products(simulation, data, sorted(chosen))
    if not found.ratios.size or not found.working:
        return None
    operands = {buffer.slot: buffer.name for buffer in simulation.image.globals if buffer.name in ("A", "B")}
    marks = Marks(operands, a.shape[1], a.dtype, random.Random(seed))
    shown = sorted(rng.sample(found.working, min(FEW, len(found.working))))
    got, trace = _written(simulation, d, shown, marks, trace=True)
    multiplied = float((found.ratios > FIRST - STEP).mean())
    result = Dependence(tuple(marks.loads), multiplied, found.owners, found.issuing)
    marks.find(a, b, got - found.want, result.multipliers)
    return result, trace


@dataclass(frozen=True)
class _Products:
    """A run with factors. want: D without them, where it was written. ratios: of its elements to those.

    owners, issuing: as of `Dependence`. working: the clusters whose products are in D, else those that issued any.
    """

    want: np.ndarray
    ratios: np.ndarray
    owners: Mapping[Unit, float]
    issuing: frozenset[Unit]

    @property
    def working(self) -> list[int]:
        return sorted({cluster for cluster, _, _ in self.owners or self.issuing})


def _products(simulation: Simulation, data: Matrices, clusters: Sequence[int]) -> _Products:
    a, b, d = data
    factors = Factors()
    got, _ = _written(simulation, d, clusters, factors)
    want = product_where(a, b, np.isfinite(got))
    seen = np.abs(want) > ENOUGH
    ratios = got[seen] / want[seen]
    return _Products(want, ratios, factors.owners(ratios), frozenset(factors.units))


def _written(
    simulation: Simulation, d: np.ndarray, clusters: Sequence[int], probe: Probe, *, trace: bool = False
) -> tuple[np.ndarray, Timeline | None]:
    """Return D as a run writes it, with NaN for the rest, and the timeline of the run."""
    d.fill(np.nan)
    outcome = simulation.excerpt(clusters, probe, trace=trace)
    return d.astype(np.float32), outcome.trace
