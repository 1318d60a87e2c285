"""The stages of a pipeline: their number, the latency of a turn, and the number that would hide it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from statistics import median

from tirx_mini.records import dataclass
from tirx_mini.sim import Interval, TrackKind, base_name

from .facts import Facts

MARGIN = 1.1
"""The safety factor on the mean turn, because turns vary in length."""


@dataclass(frozen=True)
class Stages:
    """The stages of a CTA's loads.

    Times are cycles, medians over the run; a turn lies within a tile.

    number: of stages. loaded: the barrier that loads signal, without its index.
    load: from the issue of the first load of a stage to the completion of its last.
    turn: from there to the first load into the same stage again: the load, the MMAs and their signals.
    multiply: from the issue of a stage's MMAs to the observation of their completion.
    work: the time of one stage without waits: of its MMAs, or of its bytes.
    room: the number of stages that fit in the shared memory of a CTA.
    """

    number: int
    loaded: str
    load: float
    turn: float
    multiply: float
    work: float
    room: int

    @property
    def hidden(self) -> float:
        """The part of a turn that the work on all stages covers."""
        return self.number * self.work

    @property
    def needed(self) -> int:
        """The number of stages that cover a turn."""
        return ceil(MARGIN * self.turn / self.work) if self.work else self.number


def stages_of(facts: Facts) -> Stages | None:
    """Return the stages of the CTA in focus; None if no tensor core consumes its TMA loads."""
    loads = facts.scene.lane(facts.focus.cta, TrackKind.TMA_LOAD)
    mmas = facts.scene.lane(facts.focus.cta, TrackKind.TENSOR)
    if loads is None or mmas is None:
        return None
    fills = _fills([load for load in loads.intervals if load.barrier is not None])
    if not fills:
        return None
    by_stage: dict[int | None, list[tuple[float, float]]] = {}
    for stage, start, end in fills:
        by_stage.setdefault(stage, []).append((start, end))
    pairs = [(before[0], after[0]) for row in by_stage.values() for before, after in pairwise(row)]
    ends = [loop.end for loop in facts.loops]
    inside = [pair for pair in pairs if not any(pair[0] < end < pair[1] for end in ends)]
    load = median(end - start for _, start, end in fills)
    turn = median(after - before for before, after in inside or pairs) if pairs else load
    name = next((base_name(load.barrier.name) for load in loads.intervals if load.barrier is not None), "")
    room = _room(facts, loads.intervals, len(by_stage), len(fills))
    return Stages(len(by_stage), name, load, turn, max(0.0, turn - load), _work(facts), room)


def _room(facts: Facts, loads: Sequence[Interval], stages: int, fills: int) -> int:
    """Return the number of stages that fit in a CTA's shared memory beside its other contents."""
    size = sum(int(dict(load.operands).get("bytes", 0)) for load in loads) / fills
    free = facts.spec.architecture.smem_per_cta - facts.stats.get("smem_bytes", 0)
    return stages + int(free // size) if size else stages


def _fills(loads: Sequence[Interval]) -> list[tuple[int | None, float, float]]:
    """Return (stage, start, end) of the merged loads of each barrier phase, by start."""
    found: dict[tuple[object, int | None], tuple[int | None, float, float]] = {}
    for load in loads:
        key = load.barrier, load.phase
        stage, start, end = found.get(key, (load.stage, load.start, load.end))
        found[key] = stage, min(start, load.start), max(end, load.end)
    return sorted(found.values(), key=lambda fill: fill[1])


def _work(facts: Facts) -> float:
    """Return the cycles per stage of the unit that it keeps busy longest."""
    return max((usage.share for usage in facts.usage), default=0.0) * facts.loop_cycles / max(
        1, sum(loop.batches for loop in facts.loops)
    )


def number(value: int) -> str:
    """Return a small number as a word."""
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight")
    return words[value - 1] if 1 <= value <= len(words) else str(value)


def count(value: int, noun: str) -> str:
    """Format a count with its noun: "two stages", "one tile"."""
    return f"{number(value)} {noun}{'s' * (value != 1)}"
