"""Sampling: the time of a large problem, extrapolated from runs of parts of it.

A matrix kernel is repetitive: its roles execute a loop over K, and its CTAs, or their rounds over the tiles, form
waves. The runs leave out iterations from the middle of the loops (`translate.repeats`) and whole waves at the end, so
that the first and the last iterations of each loop are those of the kernel, and the last, partial wave is as full as
the kernel's. Time is then assumed to grow by the same amount with each iteration of a wave:

    cycles(waves, iterations) = a + b waves + c iterations + d waves iterations

Four runs determine a, b, c and d, also for the other figures; two suffice if only waves or only iterations are left
out. A third point of each axis must lie on the line through the others, with slopes equal to within `TOLERANCE`;
otherwise more waves are tried, and finally that axis is run in full. The modelled L2 shrinks in proportion to the
omitted iterations, so that it holds the same tiles (`timing.traffic`).

The omitted parts must be equivalent to the others. Clusters are equal if only persistent loops depend on blockIdx
(`equality`). One cluster is run in full by itself, and its time must match the extrapolation from runs of its parts, so
that no iteration and no round differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tirx_mini.hardware import TMEM_COLUMNS, GpuSpec
from tirx_mini.ir import Call, PrimFunc, int_value
from tirx_mini.isa import instruction_of

from ..launch import resident_clusters
from ..machine import KernelImage
from ..outcome import Outcome, Sampled, Size
from ..setup import Part
from ..translate import Cut, Repeats, repeats
from .equality import Equality

TOLERANCE = 0.08
"""The maximum relative difference between the slopes on the two sides of a point. Waves with few iterations differ by a
few percent."""
SHORTEST = 8
"""The minimum number of iterations of a shortened loop."""
APART = 8
"""The minimum difference in iterations between two runs; over fewer, slopes err by more than `TOLERANCE`."""
WORTH = 0.6
"""The maximum cost of the runs, as a share of the whole launch, for an axis to be sampled."""
WAVES = ((2, 3, 4), (3, 4, 6), (3, 6, 9), (6, 8, 12))
"""The wave counts of the runs, including the last partial wave. The first wave has a cold start, and if the times of
the following waves still differ, more of them are run. A large launch begins with the third entry, because differences
between single waves are multiplied by the number of omitted waves."""
LONGEST = 100
"""The maximum total number of iterations over all waves of the longest run."""
LONGEST_LIGHT = 350
"""The corresponding maximum where SMs take CTAs dynamically and iterations are cheap. CTAs that hit in the L2 are
faster than others, and whether fast or slow SMs take the last CTAs depends on the number of iterations, so the maximum
is high."""
MOST = 0.75
"""The maximum number of iterations of the longest run, as a share of all iterations."""
REST = 4
"""The cost of simulating a CTA outside its loops, in iterations."""

UNKNOWN = ("hbm_bytes",)
"""The figures that a sampled run lacks, because HBM traffic does not grow linearly."""

RunParts = Callable[[Sequence[Size]], Mapping[Size, Outcome | None]]
"""A function that runs parts of the given sizes; a run that faults or blocks yields None."""


class Sampling:
    """The sampled parts of one launch."""

    def __init__(self, func: PrimFunc, image: KernelImage, spec: GpuSpec) -> None:
        launch = image.launch
        self._repeats: Repeats = repeats(func)
        self.equal = Equality.of(func, timed=True).among(self._repeats.persistent)
        """Whether all clusters execute the same, up to the tiles that they compute."""
        self._clusters = launch.num_ctas // launch.cluster_size
        self._cluster_size = launch.cluster_size
        self._slots = _at_work(func, image, spec)

    @property
    def waves(self) -> int:
        """The number of waves of the whole launch, including the last partial wave."""
        found = self._repeats
        if found.persistent:
            return -(-found.tiles // found.step)
        return -(-self._clusters // self._slots)

    @property
    def whole(self) -> Size:
        """The size of the whole launch."""
        return Size(self.waves, self._repeats.trips)

    def effort(self, sizes: Iterable[Size]) -> int:
        """Return the number of CTA iterations in runs of the given sizes, with a surcharge for the rest of each CTA."""
        ctas = min(self._slots, self._clusters) * self._cluster_size
        return sum(size.waves * (size.trips + REST) * (self._cluster_size if size.alone else ctas) for size in sizes)

    def outcome(self, run: RunParts) -> tuple[Outcome, Sampled] | None:
        """Return the outcome of the whole launch with its samples, or None if the launch must be run as a whole.

        run: executes parts. A part that faults or blocks indicates an error in the kernel, or an unknown dependence
        between its parts; the whole launch must be run then.
        """
        if not self.equal:
            return None
        outcomes: dict[Size, Outcome] = {}
        choices = self._wave_points()
        waves, trips = choices.pop(0) if choices else (), self._trip_points()
        few = 2 if waves else 1
        while waves or trips:
            short = (trips or (self.whole.trips,))[0]
            along_trips = [Size(few, each) for each in trips]
            along_waves = [Size(each, short) for each in waves]
            corners = [Size(w, t) for w in self._wave_ends(waves) for t in self._trip_ends(trips, waves)]
            wanted = {*along_trips, *along_waves, *corners} - outcomes.keys()
            for size, outcome in run(sorted(wanted, key=lambda size: -self.effort([size]))).items():
                if outcome is None:
                    return None
                outcomes[size] = outcome
            if trips and not _even([(size.trips, outcomes[size].cycles) for size in along_trips]):
                trips = ()
            elif waves and not _even([(size.waves, outcomes[size].cycles) for size in along_waves]):
                waves = choices.pop(0) if choices else ()
            elif not self._holds_for_one(waves, trips, run):
                return None
            else:
                sizes = tuple(sorted(outcomes, key=lambda size: (size.waves, size.trips)))
                return self._extended(waves, trips, outcomes), Sampled(self.whole, sizes)
        return None

    def _holds_for_one(self, waves: tuple[int, ...], trips: tuple[int, ...], run: RunParts) -> bool:
        """Return whether the time of one cluster equals the time extrapolated from its parts."""
        waves = waves if self._repeats.persistent else ()
        if not waves and not trips:
            return True  # all that it does was run
        whole = replace(self.whole, alone=True)
        corners = {Size(w, t, alone=True) for w in self._wave_ends(waves) for t in self._trip_ends(trips, waves)}
        outcomes = {size: outcome for size, outcome in run([whole, *corners]).items() if outcome is not None}
        if len(outcomes) <= len(corners):
            return False
        worked_out = self._extended(waves, trips, outcomes, alone=True).cycles
        return abs(worked_out - outcomes[whole].cycles) <= TOLERANCE * outcomes[whole].cycles

    # -- the points ----------------------------------------------------------------------------------------------

    def _trip_points(self) -> tuple[int, ...]:
        """Return the iteration counts of three runs; none for short loops or loops of unknown length."""
        found = self._repeats
        points: list[int] = []
        # Roles that skip each other's stages take turns: the end of one hides behind the iterations of the other.
        least = max(SHORTEST, 2 * found.ring if found.skips else found.ring + 2)
        for trips in range(least, found.trips):
            if found.may_make(trips) and (not points or trips >= points[-1] + APART):
                points.append(trips)
        if len(points) < 3 or points[0] + points[1] > WORTH * found.trips:
            return ()
        return tuple(points[:3])

    def _wave_points(self) -> list[tuple[int, ...]]:
        """Return the candidate wave counts of three runs, in the order of trial; none for few waves."""
        worth = [waves for waves in WAVES if waves[0] + waves[-1] <= WORTH * self.waves]
        return worth[2:] or worth[-1:]

    def _wave_ends(self, points: tuple[int, ...]) -> tuple[int, ...]:
        """Return the wave counts that span the extrapolation line, or all waves if none are left out."""
        return (points[0], points[-1]) if points else (self.waves,)

    def _trip_ends(self, points: tuple[int, ...], waves: tuple[int, ...]) -> tuple[int, ...]:
        """Return the iteration counts that span the extrapolation line, reduced where the longest run would take too
        long."""
        if not points:
            return (self.whole.trips,)
        found, most = self._repeats, self._wave_ends(waves)[-1]
        if found.light and not found.persistent and not waves:
            top = min(LONGEST_LIGHT // most, int(MOST * found.trips))
            return (points[0], next((each for each in range(top, points[1], -1) if found.may_make(each)), points[1]))
        return (points[0], points[-1] if most * points[-1] <= LONGEST else points[1])

    def part(self, size: Size) -> tuple[Cut, Part]:
        """Return the part of the launch for a run; whole waves are left out, so that the last wave stays as full."""
        found, left_out = self._repeats, self.waves - size.waves
        tiles, clusters = found.tiles, self._clusters
        if found.persistent:
            tiles -= left_out * found.step
        else:
            clusters -= left_out * self._slots
        weight = found.trips / size.trips if size.trips else 1.0
        return found.cut(size.trips, tiles), Part(range(1 if size.alone else clusters), weight)

    # -- the whole -----------------------------------------------------------------------------------------------

    def _extended(
        self, waves: tuple[int, ...], trips: tuple[int, ...], outcomes: Mapping[Size, Outcome], *, alone: bool = False
    ) -> Outcome:
        """Return the outcome of the whole launch, extrapolated from runs at the given points. alone: for a single
        cluster."""
        wave_ends, trip_ends = self._wave_ends(waves), self._trip_ends(trips, waves)
        by_waves: list[dict[str, float]] = []
        for count in wave_ends:
            runs = [outcomes[Size(count, each, alone)] for each in trip_ends]
            by_waves.append(_line(trip_ends, [_figures(run) for run in runs], self.whole.trips))
        figures = _line(wave_ends, by_waves, self.whole.waves)
        last = outcomes[Size(wave_ends[-1], trip_ends[-1], alone)]
        cycles = figures.pop(_CYCLES)
        for name in UNKNOWN:
            figures.pop(name, None)
        return replace(last, cycles=cycles, stats=figures)


def _at_work(func: PrimFunc, image: KernelImage, spec: GpuSpec) -> int:
    """Return the number of concurrently working clusters, which residency and tensor memory limit."""
    resident = resident_clusters(image, spec)
    columns = 0
    for node in func.nodes:
        entry = instruction_of(node) if isinstance(node, Call) else None
        if isinstance(node, Call) and entry is not None and entry.writes and entry.cost == "alloc":
            columns += int_value(entry.argument(node, "n_cols")) or 0
    if not columns:
        return resident
    groups = spec.sms // image.launch.cluster_size
    return max(1, min(resident, groups * max(1, TMEM_COLUMNS // columns)))


_CYCLES = "cycles"


def _figures(outcome: Outcome) -> dict[str, float]:
    return {**outcome.stats, _CYCLES: outcome.cycles}


def _line(places: tuple[int, ...], figures: list[dict[str, float]], at: int) -> dict[str, float]:
    """Return the figures extrapolated along the line through two points, or those of the only point."""
    if len(places) == 1:
        return dict(figures[0])
    (first, second), (low, high) = places, figures
    share = (at - first) / (second - first)
    return {name: _between(low, high, name, share) for name in high}


def _between(low: Mapping[str, float], high: Mapping[str, float], name: str, share: float) -> float:
    start = low.get(name, 0.0)
    return start + share * (high[name] - start)


def _even(points: list[tuple[int, float]]) -> bool:
    """Return whether three points lie on a line."""
    (a, at_a), (b, at_b), (c, at_c) = points
    before, after = (at_b - at_a) / (b - a), (at_c - at_b) / (c - b)
    return abs(after - before) <= TOLERANCE * max(abs(after), abs(before))
