"""The time of a large problem from runs of parts of it.

A kernel for matrices does the same thing over and over: its roles go round a loop over K, and its CTAs, or their
rounds over the tiles, come in waves. The runs leave out iterations from the middle of the loops (`translate.repeats`)
and whole waves at the end, so the first and the last iterations of each loop are those of the kernel, and the last,
partial wave is as full as the kernel's. Time is then taken to grow by the same amount with each iteration of a wave:

    cycles(waves, iterations) = a + b waves + c iterations + d waves iterations

Four runs give a, b, c and d, for the figures too; two do where only waves or only iterations are left out. A third
point of each axis must lie on the line through the others, in its slopes to `TOLERANCE`; where it does not, that axis
is run in full. The L2 holds so much less as iterations are left out, so that the same tiles are in it
(`timing.traffic`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tirx_mini.hardware import TMEM_COLUMNS, GpuSpec
from tirx_mini.ir import Call, PrimFunc, int_value, walk
from tirx_mini.isa import instruction_of

from .gpu import Outcome, Part, Sampled, Size, resident_clusters
from .machine import KernelImage
from .translate import Cut, Repeats, repeats

TOLERANCE = 0.08
"""By what share the slopes on both sides of a point may differ. Waves at few iterations differ by some percent."""
SHORTEST = 8
"""Iterations that a shortened loop makes at least."""
WORTH = 0.6
"""What the runs may cost at most, as a share of the whole, for an axis to be sampled."""
WAVES = ((3, 4, 6), (2, 3, 4))
"""Waves of the runs, the last partial one included. The first wave has the cold start."""


RunPart = Callable[[Cut, Part], Outcome]


class Sampling:
    """The parts of one launch. run: executes one, given what it leaves out."""

    def __init__(self, func: PrimFunc, image: KernelImage, spec: GpuSpec, run: RunPart) -> None:
        launch = image.launch
        self._run = run
        self._repeats: Repeats = repeats(func)
        self._clusters = launch.num_ctas // launch.cluster_size
        self._slots = _at_work(func, image, spec)
        self._outcomes: dict[Size, Outcome] = {}

    @property
    def waves(self) -> int:
        """Waves of the whole launch, the last partial one included."""
        found = self._repeats
        if found.persistent:
            return -(-found.tiles // found.step)
        return -(-self._clusters // self._slots)

    @property
    def whole(self) -> Size:
        """All of the launch."""
        return Size(self.waves, self._repeats.trips)

    def outcome(self) -> tuple[Outcome, Sampled | None]:
        """The outcome of the whole launch, and what it was worked out from; None where it was run.

        A run of a part that faults or blocks shows a mistake of the kernel, or that its parts depend on one another
        in a way that is not understood: then the whole is run.
        """
        whole = self.whole
        try:
            trips = self._trip_points()
            waves = self._wave_points(trips[0])
            if (waves, trips) == ((whole.waves,), (whole.trips,)):
                return self._at(whole), None
            outcome = self._extended(waves, trips)
        except _PartFailedError:
            return self._run(Cut(), Part(self._clusters)), None
        sizes = tuple(sorted(self._outcomes, key=lambda size: (size.waves, size.trips)))
        return outcome, Sampled(whole, sizes)

    # -- the points ----------------------------------------------------------------------------------------------

    def _trip_points(self) -> tuple[int, ...]:
        """The iterations of the two kinds of runs; all of them where the time does not grow evenly with them."""
        found = self._repeats
        all_of_them, period = found.trips, found.period
        least = max(SHORTEST, period // 2 + 2)
        first = least + (all_of_them - least) % period
        between = period * -(-SHORTEST // period)
        second, third = first + between, first + 2 * between
        if not found.loops or third >= all_of_them or first + second > WORTH * all_of_them:
            return (all_of_them,)
        few = min(self.waves, 2)
        points = [(trips, self._at(Size(few, trips)).cycles) for trips in (first, second, third)]
        return (first, second) if _even(points) else (all_of_them,)

    def _wave_points(self, trips: int) -> tuple[int, ...]:
        """The waves of the two kinds of runs, likewise, tried at a number of iterations."""
        for counts in WAVES:
            first, _, last = counts
            if first + last <= WORTH * self.waves:
                points = [(count, self._at(Size(count, trips)).cycles) for count in counts]
                return (first, last) if _even(points) else (self.waves,)
        return (self.waves,)

    def _at(self, size: Size) -> Outcome:
        """The outcome of a run of that size."""
        if size not in self._outcomes:
            outcome = self._run(*self._part(size))
            if outcome.fault is not None or outcome.blocked:
                raise _PartFailedError
            self._outcomes[size] = outcome
        return self._outcomes[size]

    def _part(self, size: Size) -> tuple[Cut, Part]:
        """What a run leaves out: whole waves, so that the last one is as full as the launch's."""
        found, left_out = self._repeats, self.waves - size.waves
        tiles, clusters = found.tiles, self._clusters
        if found.persistent:
            tiles -= left_out * found.step
        else:
            clusters -= left_out * self._slots
        weight = found.trips / size.trips if size.trips else 1.0
        return found.cut(size.trips, tiles), Part(clusters, weight)

    # -- the whole -----------------------------------------------------------------------------------------------

    def _extended(self, waves: tuple[int, ...], trips: tuple[int, ...]) -> Outcome:
        """The outcome of the whole launch, from those of runs at these points."""
        by_waves = []
        for count in waves:
            runs = [self._at(Size(count, each)) for each in trips]
            by_waves.append(_line(trips, [_figures(run) for run in runs], self.whole.trips))
        figures = _line(waves, by_waves, self.whole.waves)
        last = self._at(Size(waves[-1], trips[-1]))
        cycles = figures.pop(_CYCLES)
        return replace(last, cycles=cycles, stats=figures)


def _at_work(func: PrimFunc, image: KernelImage, spec: GpuSpec) -> int:
    """How many clusters work at a time: as many as the GPU holds, or fewer where they wait for tensor memory."""
    resident = resident_clusters(image, spec)
    columns = 0
    for node in walk(func.body):
        entry = instruction_of(node) if isinstance(node, Call) else None
        if isinstance(node, Call) and entry is not None and entry.writes and entry.cost == "alloc":
            columns += int_value(entry.argument(node, "n_cols")) or 0
    if not columns:
        return resident
    groups = spec.sms // image.launch.cluster_size
    return max(1, min(resident, groups * max(1, TMEM_COLUMNS // columns)))


class _PartFailedError(Exception):
    """A run of a part did not come to its end."""


_CYCLES = "cycles"


def _figures(outcome: Outcome) -> dict[str, float]:
    return {**outcome.stats, _CYCLES: outcome.cycles}


def _line(places: tuple[int, ...], figures: list[dict[str, float]], at: int) -> dict[str, float]:
    """The figures on the line through the two places, or of the only one."""
    if len(places) == 1:
        return dict(figures[0])
    (first, second), (low, high) = places, figures
    share = (at - first) / (second - first)
    return {name: _between(low, high, name, share) for name in high}


def _between(low: Mapping[str, float], high: Mapping[str, float], name: str, share: float) -> float:
    start = low.get(name, 0.0)
    return start + share * (high[name] - start)


def _even(points: list[tuple[int, float]]) -> bool:
    """Whether three points lie on a line."""
    (a, at_a), (b, at_b), (c, at_c) = points
    before, after = (at_b - at_a) / (b - a), (at_c - at_b) / (c - b)
    return abs(after - before) <= TOLERANCE * max(abs(after), abs(before))
