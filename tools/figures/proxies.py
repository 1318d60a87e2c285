"""Threads write shared memory and TMA reads it: with the proxy fence, and without it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tirx_mini.diagnose import Activity, Finding, Interval, Timeline, TrackKind
from tirx_mini.report.svg import Picture
from tools.figures._page_code import code_of
from tools.figures._sheet import MARGIN, Lanes, sheet

PAGE = "concepts/proxies.md"
HEIGHT, FIRST, SECOND = 574.0, 74.0, 330.0
STRIP, GAP = 22.0, 14.0


@cache
def traced(fence: bool) -> tuple[Timeline, Finding | None]:
    """The run of the page's kernel, and its finding."""
    page = code_of(PAGE, "hand_over")
    report = page.run(page.hand_over(fence=fence), trace=True)
    assert report.trace is not None
    return report.trace, next(iter(report.findings), None)


def of_warp(timeline: Timeline, warp: int, name: str, activity: Activity = Activity.RUN) -> Interval:
    """The first interval of this name of a warp."""
    found = (i for i in timeline.intervals if i.track.warp == warp and i.activity is activity and i.name == name)
    return next(found)


def panel(picture: Picture, top: float, fence: bool) -> None:
    """One run: two warps with what they do and where their bytes are known to be visible, and the TMA engine."""
    timeline, finding = traced(fence)
    title = "With fence.proxy.async" if fence else "Without it: cta_sync alone"
    picture.text(MARGIN, top - 12, title, "ink bold")
    lanes = Lanes(picture, 375, 765, left=150)
    y = top
    for warp in (0, 1):
        lanes.row(y, f"warp {warp}", "32 threads")
        wrote = of_warp(timeline, warp, "store")
        lanes.box(y, wrote.start, wrote.end, "store", "c0")
        begin = lanes.end
        if fence:
            fenced = of_warp(timeline, warp, "fence.proxy.async")
            lanes.box(y, fenced.start, fenced.end, "", "c2", "fence.proxy.async")
            picture.text(lanes.x(fenced.start) + 4, y + lanes.tall / 2 + 4.5, "F", "on bold")
            begin = fenced.end
        wait = of_warp(timeline, warp, "bar.sync 0", Activity.WAIT)
        lanes.wait(y, of_warp(timeline, warp, "bar.sync").start, wait.end, "cta_sync")
        if warp == 0:
            issue = of_warp(timeline, 0, "cp.async.bulk.tensor.store")
            lanes.box(y, issue.start, issue.end, "issue")
        strip(lanes, y + lanes.tall + 3, wrote.end, begin)
        y += lanes.tall + STRIP + GAP + 6
    engine(lanes, y, timeline, finding)
    if fence:
        lanes.axis(y + lanes.tall + 12, 50)


def strip(lanes: Lanes, y: float, wrote: float, begin: float) -> None:
    """Through which proxy the bytes of a warp are visible: from `begin` on also through the async one."""
    picture, left, middle = lanes.picture, lanes.x(wrote), lanes.x(begin)
    picture.text(lanes.left - 10, y + 15.5, "its bytes", "soft small", text_anchor="end")
    picture.rect(left, y, middle - left, STRIP, "c1 edge", rx=3)
    if begin >= lanes.end:
        picture.text(left + 10, y + 15.5, "in the generic proxy only", "on small")
        return
    picture.rect(middle, y, lanes.right - middle, STRIP, "c2 edge", rx=3)
    picture.text(middle + 10, y + 15.5, "in the async proxy as well", "on small")


def engine(lanes: Lanes, y: float, timeline: Timeline, finding: Finding | None) -> None:
    """The TMA engine reads the tile."""
    store = next(item for item in timeline.intervals if item.track.kind is TrackKind.TMA_STORE)
    lanes.row(y, "TMA engine", "async proxy")
    fill = "c2" if finding is None else "c3"
    words = "reads the new bytes" if finding is None else f"may read old bytes: {finding.code}"
    lanes.box(y, store.start, lanes.end, words, fill)


def compared() -> str:
    """Both runs, one above the other."""
    _, finding = traced(False)
    assert finding is not None
    picture = sheet(
        HEIGHT, "What a proxy fence changes",
        "Two simulated runs of one kernel. With the fence, the rows that each warp has written are in the async "
        "proxy before the barrier, and the TMA store reads them. Without it, the barrier comes at nearly the same "
        f"time, and the TMA store may still read the old bytes: {finding.code}.",
        "Two warps write a tile, one thread lets TMA store it",
    )  # fmt: skip
    panel(picture, FIRST, True)
    panel(picture, SECOND, False)
    picture.text(MARGIN, HEIGHT - 40, f"{finding.code}: it goes wrong {finding.order}.", "alarm")
    words = "F: fence.proxy.async by each thread. Hatched: waits at cta_sync(). Cycles of two simulated runs, B200."
    picture.text(MARGIN, HEIGHT - 16, words, "soft")
    return str(picture)


def pictures() -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture."""
    yield "figures/proxies.svg", compared()
