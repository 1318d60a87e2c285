"""An mbarrier page: three rounds of a producer and a consumer, event by event, and the parities of a ring of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tirx_mini.diagnose import Activity, BarrierChange, Interval, Signal, Timeline, TrackKind
from tirx_mini.report.svg import Picture
from tools.figures._page_code import code_of
from tools.figures._sheet import HATCH, MARGIN, arrow, rule, sheet

PAGE = "concepts/mbarriers.md"
STAGES = 2
TOP, ROW, BOTTOM = 128.0, 36.0, 82.0
EMPTY, PRODUCER, ENGINE, FULL, CONSUMER = 158.0, 350.0, 496.0, 666.0, 864.0
"""The middles of the columns, in user units."""
BARRIER, WIDE, NARROW = 178.0, 172.0, 120.0
"""The widths of the columns of barriers, of the boxes of warps, and of those of the engine."""


@dataclass(frozen=True)
class Step:
    """A row of the picture. actor: the middle of the column of who acts. words: what it does.

    change: of the barrier in the column at `barrier`, the state after it. done: the phase it completes, if it does.
    starts, passes: whether a blocked wait begins, or ends, here; test: whether this row tests the barrier.
    """

    time: float
    actor: float
    words: str
    barrier: float | None = None
    change: BarrierChange | None = None
    done: int | None = None
    starts: bool = False
    passes: bool = False
    test: bool = False


@cache
def traced(depth: int, rounds: int) -> Timeline:
    """The run of the page's ring."""
    page = code_of(PAGE, "ring")
    report = page.run(page.ring(depth=depth, rounds=rounds), trace=True)
    assert report.ok and report.trace is not None
    return report.trace


def steps_of(timeline: Timeline) -> list[Step]:
    """What happens to the barriers of the one stage, in order."""
    steps = [*waits(timeline.intervals), *changes(timeline.changes)]
    return sorted(steps, key=lambda step: (step.time, step.test))


def column(barrier: str) -> float:
    return FULL if barrier.startswith("full") else EMPTY


def waits(intervals: Sequence[Interval]) -> Iterator[Step]:
    """The tests of a parity, which pass or block, and the ends of the waits."""
    blocked = {(item.track, item.start): item for item in intervals if item.activity is Activity.WAIT and item.barrier}
    for item in intervals:
        operands = dict(item.operands)
        if item.name != "mbarrier.try_wait" or item.activity is not Activity.RUN:
            continue
        actor, bar = (PRODUCER if item.track.warp == 0 else CONSUMER), operands["bar"]
        wait = blocked.get((item.track, item.end))
        yield Step(
            item.start, actor, f"wait({bar}, {operands['phase']})", column(bar), starts=wait is not None,
            passes=wait is None, test=True,
        )  # fmt: skip
        if wait is not None:
            yield Step(wait.end, actor, "passes", column(bar), passes=True)


def changes(every: Sequence[BarrierChange]) -> Iterator[Step]:
    """The arrivals and bytes; each with the completion that it leads to."""
    for index, change in enumerate(every):
        if change.kind in (Signal.COMPLETE, Signal.EXPECT_TX):
            continue
        then = every[index + 1] if index + 1 < len(every) else None
        done = change.phase if then is not None and then.kind is Signal.COMPLETE else None
        if change.kind is Signal.TMA_LOAD:
            actor, words = ENGINE, f"{traced_bytes(every)} bytes land"
        elif change.source.warp == 0:
            actor, words = PRODUCER, f"arrive.expect_tx({change.tx})"
        else:
            actor, words = CONSUMER, "32 threads arrive"
        yield Step(change.time, actor, words, column(change.barrier.name), change, done)


def traced_bytes(every: Sequence[BarrierChange]) -> int:
    return max(change.tx for change in every)


def stepped() -> str:
    """Three rounds of one stage, a row for each event."""
    timeline = traced(1, 3)
    steps = steps_of(timeline)
    height = TOP + ROW * len(steps) + BOTTOM
    picture = sheet(
        height, "A producer and a consumer share one stage for three rounds",
        "A sequence diagram of a simulated run. Each row is an event at the barriers full and empty, with the phase, "
        "the pending arrivals and the tx-count after it. The producer's first wait, for parity 1 of empty, passes at "
        "once; every later wait passes when a phase completes.",
        "One stage, three rounds: what happens to its two barriers",
    )  # fmt: skip
    headings(picture, height)
    for middle in (EMPTY, FULL):
        phases(picture, middle, steps)
    for middle in (PRODUCER, CONSUMER):
        blocked(picture, middle, steps)
    for index, step in enumerate(steps):
        row(picture, step, TOP + ROW * (index + 0.5))
    y = height - 56
    picture.rect(MARGIN, y - 12, 24, 14, "edge", fill=HATCH)
    picture.text(46, y, "blocked in a wait", "soft")
    arrow(picture, 190, y - 5, 224, y - 5)
    picture.text(232, y, "changes the barrier", "soft")
    arrow(picture, 390, y - 5, 424, y - 5, "arrow dash")
    picture.text(432, y, "lets the warp pass", "soft")
    picture.text(MARGIN, y + 22, "Colour: the parity of the barrier's current phase. Counts: after the event.", "soft")
    picture.text(MARGIN, y + 42, "Cycles: from the launch on, on the modelled B200.", "soft")
    return str(picture)


def headings(picture: Picture, height: float) -> None:
    """Who the columns are, and a line down each of those who act."""
    picture.text(52, 108, "cycle", "soft small", text_anchor="end")
    for middle, name, what in (
        (EMPTY, "empty", "init(32): the stage is free"),
        (PRODUCER, "warp 0", "producer, one thread"),
        (ENGINE, "TMA engine", "writes the tile"),
        (FULL, "full", "init(1): the stage is filled"),
        (CONSUMER, "warp 1", "consumer, 32 threads"),
    ):
        picture.text(middle, 62, name, "ink head", text_anchor="middle")
        picture.text(middle, 82, what, "soft small", text_anchor="middle")
    for middle in (PRODUCER, ENGINE, CONSUMER):
        rule(picture, middle, 94, middle, height - BOTTOM, "edge")
    for middle in (EMPTY, FULL):
        picture.text(middle - 58, 108, "phase", "soft small", text_anchor="middle")
        picture.text(middle + 1, 108, "pending", "soft small", text_anchor="middle")
        picture.text(middle + 62, 108, "tx-count", "soft small", text_anchor="middle")


def phases(picture: Picture, middle: float, steps: Sequence[Step]) -> None:
    """The phases of a barrier from top to bottom, and its counts after each change."""
    mine = [(index, step) for index, step in enumerate(steps) if step.change is not None and step.barrier == middle]
    ends = [index for index, step in mine if step.done is not None]
    left = middle - BARRIER / 2
    start = TOP - 8
    for phase, end in enumerate([*ends, len(steps) - 1]):
        bottom = TOP + ROW * (end + 1)
        parity = phase % 2
        if bottom - start > 1:
            picture.rect(left, start + 2, BARRIER, bottom - start - 4, f"c{parity} edge", rx=6)
            top = start + (24 if phase else 30)
            picture.text(middle - 58, top, str(phase), "on head", text_anchor="middle")
            if bottom - start > 44:
                picture.text(middle - 58, top + 18, f"parity {parity}", "on small", text_anchor="middle")
        start = bottom
    expected = max(step.change.pending for _, step in mine if step.change) or (32 if middle == EMPTY else 1)
    counts(picture, middle, TOP + ROW * 0.5, expected, 0, False)
    for index, step in mine:
        assert step.change is not None
        y = TOP + ROW * (index + 0.5)
        counts(picture, middle, y, step.change.pending, step.change.tx, step.done is not None)
        if step.done is not None and index + 1 < len(steps):
            counts(picture, middle, y + ROW, expected, 0, False)


def counts(picture: Picture, middle: float, y: float, pending: int, tx: int, done: bool) -> None:
    style = "on bold" if done else "on"
    picture.text(middle + 1, y + 4.5, str(pending), style, text_anchor="middle")
    picture.text(middle + 62, y + 4.5, str(tx), style, text_anchor="middle")
    if done:
        picture.text(middle - BARRIER / 2 + 8, y + 4.5, "complete", "on bold small")


def blocked(picture: Picture, middle: float, steps: Sequence[Step]) -> None:
    """A hatched bar from the row in which a wait blocks to the one in which it passes."""
    begin: int | None = None
    for index, step in enumerate(steps):
        if step.actor != middle or step.change is not None:
            continue
        if step.starts:
            begin = index
        elif step.passes and begin is not None:
            top, bottom = TOP + ROW * (begin + 0.5), TOP + ROW * (index + 0.5)
            picture.rect(middle - 7, top, 14, bottom - top, "edge", fill=HATCH)
            begin = None


def row(picture: Picture, step: Step, y: float) -> None:
    """One event: the cycle, what is done, and an arrow to or from the barrier."""
    picture.text(52, y + 4.5, f"{step.time:,.0f}", "soft small", text_anchor="end")
    barrier = step.barrier
    assert barrier is not None
    right = barrier > step.actor
    near = barrier + (-BARRIER / 2 if right else BARRIER / 2)
    width = NARROW if step.actor == ENGINE else WIDE
    side = step.actor + (width / 2 if right else -width / 2)
    if step.change is not None:
        arrow(picture, side, y, near, y)
    elif step.passes:
        arrow(picture, near, y, side, y, "arrow dash")
    words = step.words
    if step.test:
        words += ": passes" if step.passes else ": blocks"
    picture.rect(step.actor - width / 2, y - 13, width, 26, "mute edge", rx=5)
    picture.text(step.actor, y + 4.5, words, "ink", text_anchor="middle")


def parities() -> str:
    """The stage and the parity of each wait of a ring of two stages, from the run's own waits."""
    tests: dict[int, list[tuple[str, str]]] = {0: [], 1: []}
    for item in traced(STAGES, 6).intervals:
        operands = dict(item.operands)
        if item.name == "mbarrier.try_wait" and item.track.kind is TrackKind.WARP:
            tests[item.track.warp or 0].append((operands["bar"], operands["phase"]))
    lines = ["| k | stage | producer: `empty.wait(stage, phase)` | consumer: `full.wait(stage, phase)` |",
             "| ---: | ---: | --- | --- |"]  # fmt: skip
    for k, ((empty, waits_for), (full, uses)) in enumerate(zip(tests[0], tests[1], strict=True)):
        free = ", passes at once" if k < STAGES else ""
        lines.append(f"| {k} | {k % STAGES} | `{empty}`, parity {waits_for}{free} | `{full}`, parity {uses} |")
    return "\n".join(lines)


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/mbarriers.svg", stepped()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "mbarriers-parities", parities()
