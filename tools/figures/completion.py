"""When a TMA store has read its source and written its destination, and which wait for it returns when."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tirx_mini.diagnose import Activity, Awaited, Interval, Timeline, TrackKind
from tirx_mini.hardware import B200
from tools.figures._page_code import code_of
from tools.figures._sheet import MARGIN, Lanes, sheet

PAGE = "concepts/completion.md"
HEIGHT, GAP, TOP = 306.0, 16.0, 64.0
READ, FULL, NONE = "wait_group(0, read=True)", "wait_group(0)", "none"


@cache
def traced(wait: str) -> Timeline:
    """The run of the page's kernel with this wait."""
    page = code_of(PAGE, "store")
    trace = page.run(page.store(wait=wait), trace=True).trace
    assert trace is not None
    return trace


def engine(timeline: Timeline) -> Interval:
    """The one store."""
    return next(item for item in timeline.intervals if item.track.kind is TrackKind.TMA_STORE)


def waited(timeline: Timeline) -> Interval:
    """The wait for it."""
    return next(item for item in timeline.intervals if item.awaited is Awaited.BULK_COPIES)


def issue(timeline: Timeline) -> Interval:
    """The instruction that issues it."""
    found = (item for item in timeline.intervals if item.activity is Activity.RUN and "tensor.store" in item.name)
    return next(found)


def returns() -> str:
    """The store, and three threads that wait for it differently."""
    done, part = traced(FULL), traced(READ)
    store, sent = engine(done), issue(done)
    assert store.moved is not None
    begin, read = store.moved
    picture = sheet(
        HEIGHT, "One TMA store and the two waits for it",
        f"The store is issued at cycle {sent.start:.0f}. It has read its source at cycle {read:.0f}, where "
        f"wait_group.read returns, and its writes are done at cycle {store.end:.0f}, where wait_group returns.",
        f"One TMA store of {dict(store.operands)['bytes']} bytes, and when each wait for it returns",
    )  # fmt: skip
    lanes = Lanes(picture, 500, 2500, left=236)
    tops = [TOP + index * (lanes.tall + GAP) for index in range(4)]
    bottom = tops[-1] + lanes.tall + 10
    for time, words in ((begin, "starts"), (read, "source read"), (store.end, "writes done")):
        lanes.mark(time, TOP - 8, bottom)
        picture.text(lanes.x(time), TOP - 14, words, "ink bold small", text_anchor="middle")
    lanes.row(tops[0], "TMA engine", "works on its own")
    lanes.box(tops[0], begin, read, "reads the tile in shared memory", "c0")
    lanes.box(tops[0], read, store.end, "finishes its writes to D", "c1")
    for top, timeline, name in ((tops[1], part, "wait_group.read 0"), (tops[2], done, "wait_group 0")):
        wait, sent = waited(timeline), issue(timeline)
        lanes.row(top, name, "issuing thread")
        lanes.box(top, sent.start, wait.start, "")
        lanes.wait(top, wait.start, wait.end, "blocked")
    lanes.box(tops[1], waited(part).end, lanes.end, "may overwrite the tile, and end the CTA", "c2")
    lanes.box(tops[2], waited(done).end, lanes.end, "and may read D", "c2")
    missing = traced(NONE)
    lanes.row(tops[3], "no wait", "issuing thread")
    lanes.box(tops[3], issue(missing).start, issue(missing).end + B200.issue["sync"], "")
    x = lanes.x(issue(missing).end + B200.issue["sync"]) + 8
    picture.text(x, tops[3] + lanes.tall / 2 + 4.5, "goes on at once: TX209 if the CTA ends, TX201 if it writes the "
                 "tile or reads D", "alarm")  # fmt: skip
    lanes.axis(bottom + 6, 200)
    words = "Grey: the thread issues the copy and commits it. Green: what it may do after the wait. Modelled B200."
    picture.text(MARGIN, HEIGHT - 16, words, "soft")
    return str(picture)


def cycles() -> str:
    """When each wait returns, in a sentence."""
    store = engine(traced(FULL))
    assert store.moved is not None
    read, whole = store.moved[1] - store.start, store.end - store.start
    return (
        f"In this run the source has been read {read:.0f} cycles after the store was issued, and its writes are done "
        f"after {whole:.0f} cycles."
    )


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/completion.svg", returns()


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "completion-cycles", cycles()
