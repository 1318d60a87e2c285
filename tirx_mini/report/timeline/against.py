"""Comparison of two runs of a problem: the times of each role and engine, and the differences in sentences.

The times of a run are those of an average CTA slot: the cycles that all working CTAs spend on an activity, divided by
the cycles of their lifetimes, times the cycles of the run. This makes a kernel with one tile per CTA comparable with a
persistent one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from tirx_mini.diagnose import Activity, Awaited, Interval, Report, Timeline, Track, TrackKind, base_name, covered
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.records import dataclass

FUNCTIONS = ("TMA", "loads", "MMA", "write-back")
"""The functions of warps, in the order of the data flow; a role is one, several, or "all" of them."""
LEAST = 0.02
"""The threshold for a difference to be mentioned, as a fraction of the longer run."""
LONGER = 5
"""The ratio from which on absolute figures are more informative than the factor."""
MOST = 4
"""The maximum number of differences mentioned."""


@dataclass(frozen=True)
class Run:
    """One of two compared runs. name: of the kernel. time_us: predicted, with the launch."""

    name: str
    timeline: Timeline
    clock_ghz: float
    time_us: float | None = None

    @property
    def whole_us(self) -> float:
        """The total time in µs, including the launch if it is known."""
        return self.timeline.cycles / self.clock_ghz / 1e3 if self.time_us is None else self.time_us


def run_of(report: Report, spec: GpuSpec | None = None) -> Run:
    """Return a report as one side of a comparison. spec: the simulated GPU, if it differs from the named one.

    Raises `ValueError` for a run without a timeline.
    """
    name = report.kernel or "the kernel"
    if report.trace is None:
        raise ValueError(f"{name} was simulated without trace=True: there is no timeline to show")
    clock_ghz = report.stats.get("clock_ghz") or (spec or gpu_spec(report.gpu)).clock_ghz
    return Run(name, report.trace, clock_ghz, report.time_us)


@dataclass(frozen=True)
class Difference:
    """The time of one row in both runs, in µs of an average CTA slot.

    who: "MMA warp", "tensor core". what: "tma2mma" for a wait, "" for the busy time of an engine. If only the causes
    match, and not the barriers, it is the cause: "TMA loads". names: of the barrier before and after. before, after:
    None if that run has no such row.
    """

    who: str
    what: str
    before: float | None
    after: float | None
    names: tuple[str, str]

    @property
    def change(self) -> float:
        """The increase in µs."""
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass(frozen=True)
class Comparison:
    """The differences of two runs. differences: of all rows, the largest first. sentences: the significant
    differences."""

    before: Run
    after: Run
    differences: tuple[Difference, ...]
    sentences: tuple[str, ...]


def compare(before: Run, after: Run) -> Comparison:
    """Compare two runs of one problem on one GPU."""
    rows = (*_engines(before, after), *_waits(before, after))
    differences = tuple(sorted(rows, key=lambda row: -abs(row.change)))
    least = LEAST * max(before.whole_us, after.whole_us)
    large = [row for row in differences if abs(row.change) >= least and row.who != str(TrackKind.TENSOR)]
    named = sorted(large, key=_rank)[:MOST]
    sentences = [_headline(before, after), *_utilisation(before, after), *map(_sentence, named)]
    if not named:
        sentences.append(f"No wait differs by {100 * LEAST:.0f} % of the time.")
    return Comparison(before, after, differences, tuple(sentences))


def as_data(comparison: Comparison) -> dict[str, object]:
    """Return the comparison as JSON data, without the timelines."""
    return {
        "before": {"name": comparison.before.name, "us": comparison.before.whole_us},
        "after": {"name": comparison.after.name, "us": comparison.after.whole_us},
        "differences": [
            {"who": row.who, "what": row.what, "before": row.before, "after": row.after, "names": list(row.names)}
            for row in comparison.differences
        ],
        "sentences": list(comparison.sentences),
    }


_CAUSES: Mapping[Awaited | None, str] = MappingProxyType({
    Awaited.BULK_COPIES: "stores", Awaited.COPIES: "copies", Awaited.WARPGROUP_MMAS: "MMAs",
    Awaited.COLUMNS: "tensor memory", Awaited.TENSOR_LOADS: "tensor memory", Awaited.TENSOR_STORES: "tensor memory",
})  # fmt: skip


def cause(timeline: Timeline, wait: Interval) -> str:
    """Return the cause of a wait: "TMA loads", "MMAs", "stores", "tensor memory", "other warps"."""
    change = timeline.ended_by(wait)
    if change is not None:
        kinds = {TrackKind.TMA_LOAD: "TMA loads", TrackKind.TENSOR: "MMAs", TrackKind.TMA_STORE: "stores"}
        return kinds.get(change.source.kind, "other warps")
    return _CAUSES.get(wait.awaited, "other warps")


def _engines(before: Run, after: Run) -> Iterable[Difference]:
    """Yield a row with the busy time for each kind of engine."""
    first, second = _busy(before), _busy(after)
    for kind in (TrackKind.TMA_LOAD, TrackKind.TENSOR, TrackKind.TMA_STORE):
        if kind in first or kind in second:
            yield Difference(str(kind), "", first.get(kind), second.get(kind), ("", ""))


def _busy(run: Run) -> Mapping[TrackKind, float]:
    """Return the busy time of each engine, in µs of an average slot."""
    by_track: dict[Track, list[tuple[float, float]]] = defaultdict(list)
    for interval in run.timeline.intervals:
        if interval.activity is Activity.BUSY:
            by_track[interval.track].append((interval.start, interval.end))
    lives = sum(_lives(run).values())
    cycles: dict[TrackKind, float] = defaultdict(float)
    for track, spans in by_track.items():
        cycles[track.kind] += covered(spans)
    return {kind: spent / lives * _run_us(run) for kind, spent in cycles.items()}


def _waits(before: Run, after: Run) -> Iterable[Difference]:
    """Yield a row for each wait of a role, matched by the barrier's name or else by the cause."""
    first, second = _waiting(before), _waiting(after)
    for role, old in _pairs(list(first), [role for role in second if _functions(role)]):
        who = f"{_words(role)} warp{'s' * (_warps(after, role) > 1)}"
        mine, theirs = dict(second[role]), dict(first.get(old, {}))
        for name in [name for name in mine if name in theirs]:
            yield Difference(who, name[0], theirs.pop(name), mine.pop(name), (name[0], name[0]))
        for reason in dict.fromkeys(reason for _, reason in (*theirs, *mine)):
            then = {name: us for (name, why), us in theirs.items() if why == reason}
            now = {name: us for (name, why), us in mine.items() if why == reason}
            names = ", ".join(sorted(then)), ", ".join(sorted(now))
            totals = [sum(times.values()) if times else None for times in (then, now)]
            yield Difference(who, reason, totals[0], totals[1], names)


def _waiting(run: Run) -> Mapping[str, Mapping[tuple[str, str], float]]:
    """Return for each role the waiting times in µs of an average slot, by (name without the stage, cause)."""
    lives = _lives(run)
    lived: dict[str, float] = defaultdict(float)
    for track, role in run.timeline.roles.items():
        lived[role] += lives.get(track.cta, 0.0)
    cycles: dict[str, dict[tuple[str, str], float]] = {role: defaultdict(float) for role in lived if role}
    for interval in run.timeline.intervals:
        role = run.timeline.roles.get(interval.track, "")
        if interval.activity is Activity.WAIT and role and interval.track.cta in lives:
            cycles[role][base_name(interval.name), cause(run.timeline, interval)] += interval.cycles
    return {
        role: {what: spent / lived[role] * _run_us(run) for what, spent in waits.items()}
        for role, waits in cycles.items()
        if lived[role]
    }


def _lives(run: Run) -> dict[int, float]:
    """Return the lifetime in cycles of each CTA, except CTAs without a tile, which only wait for their end."""
    busy = {interval.track.cta for interval in run.timeline.intervals if interval.activity is Activity.BUSY}
    return {cta.cta: cta.end - cta.start for cta in run.timeline.ctas if cta.cta in busy or not busy}


def _pairs(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Match each role of the second run with the most similar role of the first; "" without a match."""

    def likeness(role: str, old: str) -> tuple[bool, int]:
        return role == old, len(_functions(role) & _functions(old))

    pairs = []
    for role in sorted(after, key=_place):
        best = max(before, key=lambda old: likeness(role, old), default="")
        pairs.append((role, best if any(likeness(role, best)) else ""))
    return pairs


def _functions(role: str) -> frozenset[str]:
    return frozenset(FUNCTIONS if role == "all" else role.split(", ")) & frozenset(FUNCTIONS)


def _place(role: str) -> int:
    return min((FUNCTIONS.index(word) for word in _functions(role)), default=len(FUNCTIONS))


def _words(role: str) -> str:
    """Return the text of a role before the word "warp"."""
    return {"all": "issuing"}.get(role, " and ".join(role.split(", ")))


def _warps(run: Run, role: str) -> int:
    """Return the maximum number of warps of a CTA with a role."""
    counts: dict[int, int] = defaultdict(int)
    for track, name in run.timeline.roles.items():
        counts[track.cta] += name == role
    return max(counts.values(), default=0)


def _run_us(run: Run) -> float:
    """Return the duration of the run in µs, without its launch."""
    return run.timeline.cycles / run.clock_ghz / 1e3


def _rank(row: Difference) -> tuple[bool, int]:
    """Return the sort key of a difference, by its effect on the tensor core: MMA waits first, whole-CTA barriers
    last.
    """
    order = ("MMA", "issuing", "TMA", "loads", "write-back")
    place = next((place for place, word in enumerate(order) if word in row.who), len(order))
    awaited = [Awaited.named(name) for name in row.names]
    return any(what is not None and what.threads for what in awaited), place


def _headline(before: Run, after: Run) -> str:
    old, new = before.whole_us, after.whole_us
    hung = [run for run in (before, after) if run.timeline.stuck is not None]
    if hung:
        return " ".join(f"{run.name} hangs after {_run_us(run):.1f} µs." for run in hung)
    if abs(new - old) < LEAST / 2 * max(old, new):
        return f"{after.name} takes as long as {before.name}: {old:.1f} and {new:.1f} µs."
    joint = "as" if new > 2 * old else "than"
    return f"{after.name} takes {_more(old, new)} {joint} {before.name}: {old:.1f} → {new:.1f} µs."


def _utilisation(before: Run, after: Run) -> list[str]:
    """Return a sentence on the tensor core's utilisation if both runs use it."""
    shares = [_busy(run).get(TrackKind.TENSOR, 0.0) / _run_us(run) for run in (before, after)]
    if not all(shares):
        return []
    return [f"The tensor core is busy {100 * shares[1]:.0f} % of the time, before {100 * shares[0]:.0f} %."]


def _sentence(row: Difference) -> str:
    """Return a sentence on a difference, with its figures."""
    before, after = row.before or 0.0, row.after or 0.0
    several = row.who.endswith("s")
    if row.what:
        verb, goal = "wait" if several else "waits", f" for {_named(row)}"
    else:
        verb, goal = "are busy" if several else "is busy", ""
    small = 0.01 * max(before, after)
    if before <= small:
        return f"The {row.who} now {verb}{goal}: {after:.1f} µs, before not at all."
    if after <= small:
        return f"The {row.who} no longer {verb}{goal}: {before:.1f} µs before."
    more = "longer" if after > LONGER * before else _more(before, after)
    return f"The {row.who} {verb} {more}{goal}: {before:.1f} → {after:.1f} µs."


def _named(row: Difference) -> str:
    """Return the objects of a row's waits, with both barrier names if they differ."""
    old, new = row.names
    if old == new:
        return row.what
    return f"{row.what} ({old} before, {new} now)" if old and new else f"{row.what} ({old or new})"


def _more(before: float, after: float) -> str:
    """Compare two figures in words: "38 % less", "12 % more", "3.1 times as long"."""
    ratio = after / before
    if ratio > 2:
        return f"{ratio:.1f} times as long"
    return f"{100 * abs(1 - ratio):.0f} % {'more' if ratio > 1 else 'less'}"
