"""Still pictures of timelines: what is on them is what the timeline has, in its place."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest

from tirx_mini.diagnose import Activity, Interval, Timeline, Track, TrackKind
from tirx_mini.report.timeline import Heading, timeline_svg

from .pictures import SVG, arrows, boxes, titles, words
from .timelines import MMA, TENSOR, TMA, Ring

HEADING = Heading("ring of two stages", clock_ghz=2.0, note="The MMA warp waits for loads.")


@pytest.fixture(scope="module")
def ring() -> Timeline:
    return Ring().timeline()


def seen(timeline: Timeline, start: float, end: float) -> list[Interval]:
    return [item for item in timeline.intervals if item.start < end and item.end > start]


def test_every_interval_of_the_window_is_a_box_with_its_words(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0], 3000, 6000)
    shown = [title for title in titles(svg) if not title.startswith("phase")]
    expected = seen(ring, 3000, 6000)
    assert len(expected) > 20 and len(shown) == len(expected)
    for item in expected:
        waits = "waits for " if item.activity is Activity.WAIT else ""
        assert any(title.startswith(f"{waits}{item.name}") and f"from {item.start:,.0f}" in title for title in shown)


def test_boxes_lie_on_the_scale_and_waits_are_hatched_in_the_colour_of_their_stage(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0], 3000, 6000)
    waits = [item for item in seen(ring, 3000, 6000) if item.name == "tma2mma[1]"]
    found = boxes(svg, "waits for tma2mma[1]")
    assert {fill for *_, fill in found} == {"url(#wait1)"} and len({top for _, _, top, _ in found}) == 1
    (axis_left, _, _, _), *_ = boxes(svg, "waits for mma2ld")
    for item, (left, right, _, _) in zip(waits, found, strict=True):
        inside = min(item.end, 6000) - max(item.start, 3000)
        assert right - left == pytest.approx(inside * 740 / 3000, abs=0.02)
        assert left == pytest.approx(axis_left + (max(item.start, 3000) - 3000) * 740 / 3000, abs=0.02)
    assert {fill for *_, fill in boxes(svg, "MMA, stage 1")} == {"s1"}


def test_an_arrow_goes_from_what_ended_each_long_wait_to_its_end(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0], 3000, 6000)
    long = [item for item in seen(ring, 3000, 6000) if item.activity is Activity.WAIT and item.cycles >= 60]
    long = [item for item in long if item.barrier is not None and item.end <= 6000]
    assert len(long) > 8
    ends = sorted(round(132 + (item.end - 3000) * 740 / 3000) for item in long)
    assert sorted(round(x) for _, _, x, _ in arrows(svg)) == ends


def test_copies_in_flight_at_once_lie_below_one_another(ring: Timeline) -> None:
    found = boxes(timeline_svg(ring, HEADING, [0], 3000, 6000), "load A")
    assert len({top for _, _, top, _ in found}) == 2
    for left, right, top, _ in found:
        assert not any(t == top and left < r - 0.1 and right > x + 0.1 for x, r, t, _ in found if x != left)


def test_the_latency_of_a_copy_is_paler_than_its_transfer(ring: Timeline) -> None:
    first = next(item for item in ring.intervals if item.name == "load A")
    copy = replace(first, moved=(first.end - 200, first.end - 50))
    timeline = replace(ring, intervals=tuple(copy if item is first else item for item in ring.intervals))
    svg = timeline_svg(timeline, HEADING, [0], 0, 2960)
    rects = list(ET.fromstring(svg).iter(f"{SVG}rect"))
    whole = next(rect for rect in rects if rect.findtext(f"{SVG}title", "").startswith("load A, stage 0"))
    transfer = rects[rects.index(whole) + 1]
    assert "pale" in (whole.get("class") or "") and transfer.get("class") == "s0"
    assert float(transfer.get("x") or 0) == pytest.approx(132 + (first.end - 200) / 4, abs=0.01)
    assert float(transfer.get("width") or 0) == pytest.approx(150 / 4, abs=0.01)


def test_narrow_instructions_that_follow_one_another_share_a_box() -> None:
    issue = [
        Interval(TMA, Activity.RUN, name, 10.0 * k, 10.0 * k + 10, None, (), 1)
        for k, name in enumerate(["cp.async.bulk.tensor", "cp.async.bulk.tensor", "mbarrier.arrive.expect_tx"])
    ]
    later = Interval(TMA, Activity.RUN, "mbarrier.try_wait", 30.0, 40.0, None, (), 0)
    timeline = Timeline(intervals=(*issue, later), roles={TMA: "TMA"}, cycles=2000.0)
    assert list(titles(timeline_svg(timeline, HEADING, [0], 0, 2000))) == [
        "cp.async.bulk.tensor ×2, mbarrier.arrive.expect_tx, stage 1: 30 cycles from 0",
        "mbarrier.try_wait, stage 0: 10 cycles from 30",
    ]


def test_a_warp_that_only_stands_at_a_barrier_of_its_cta_has_no_row(ring: Timeline) -> None:
    idle = Track(0, TrackKind.WARP, 5)
    stands = Interval(idle, Activity.WAIT, "bar.sync 0", 100, 9000)
    before = Interval(idle, Activity.RUN, "mbarrier.init", 0, 100)
    timeline = replace(
        ring, intervals=tuple(sorted((before, stands, *ring.intervals), key=lambda i: i.start)),
        roles={**ring.roles, idle: "other"},
    )  # fmt: skip
    assert "other" not in words(timeline_svg(timeline, HEADING, [0], 3000, 6000))
    assert "other" in words(timeline_svg(timeline, HEADING, [0], 0, 6000))


def test_warps_share_a_row_within_a_warpgroup_and_those_that_issue_have_their_own() -> None:
    roles = {8: "MMA", 9: "MMA", 11: "TMA", 10: "other", **dict.fromkeys(range(8), "write-back")}
    tracks = {Track(0, TrackKind.WARP, warp): role for warp, role in roles.items()}
    work = [Interval(track, Activity.RUN, "arithmetic", 0, 900) for track in tracks]
    svg = timeline_svg(Timeline(intervals=tuple(work), roles=tracks, cycles=1000), HEADING, [0])
    rows = [word for word in words(svg) if word in roles.values() or word.startswith("warp ")]
    assert rows == [
        "TMA", "warp 11", "MMA", "warp 8", "MMA", "warp 9", "write-back", "warp 0 of 0–3", "write-back",
        "warp 4 of 4–7", "other", "warp 10",
    ]  # fmt: skip


@pytest.mark.parametrize(("role", "name"), [("all", "all roles"), ("TMA, MMA", "TMA, MMA"), ("loads", "loads")])
def test_a_warp_that_also_loads_stands_first(ring: Timeline, role: str, name: str) -> None:
    timeline = replace(ring, roles={**ring.roles, MMA: role, TMA: "other"})
    shown = [word for word in words(timeline_svg(timeline, HEADING, [0])) if word in (name, "tensor core", "other")]
    assert shown == [name, "tensor core", "other"]


def test_rows_stand_in_the_order_in_which_the_data_flow(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0])
    order = ["TMA", "TMA loads", "MMA", "tensor core", "write-back", "TMA stores"]
    assert [word for word in words(svg) if word in order] == order
    assert "warp 7" in words(svg) and "warp 4" in words(svg)


def test_each_row_says_how_much_of_the_window_it_waits_or_works(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0], 3000, 6000)

    def share(track: Track, activity: Activity) -> str:
        items = [item for item in seen(ring, 3000, 6000) if item.track == track and item.activity is activity]
        return f"{100 * sum(min(i.end, 6000) - max(i.start, 3000) for i in items) / 3000:.0f} %"

    assert f"waits {share(TMA, Activity.WAIT)}" in words(svg)
    assert f"waits {share(MMA, Activity.WAIT)}" in words(svg)
    assert f"busy {share(TENSOR, Activity.BUSY)}" in words(svg)
    description = ET.fromstring(svg).findtext(f"{SVG}desc") or ""
    assert description.startswith(HEADING.note) and f"MMA waits {share(MMA, Activity.WAIT)}" in description


def test_strips_show_the_phases_of_each_barrier(ring: Timeline) -> None:
    phases = [title for title in titles(timeline_svg(ring, HEADING, [0], 3000, 6000)) if title.startswith("phase")]
    changes = [c for c in ring.changes if c.kind.name == "COMPLETE" and 3000 <= c.time < 6000]
    assert len(phases) == len(changes) + len({change.barrier for change in changes})
    assert all(f"parity {int(phase.split()[1].strip(',')) % 2}" in phase for phase in phases)


def test_the_window_is_where_the_tensor_core_works_during_a_write_back(ring: Timeline) -> None:
    svg = timeline_svg(ring, HEADING, [0])
    assert boxes(svg, "store D") and len(boxes(svg, "MMA")) >= 4
    assert not boxes(svg, "MMA, stage 0: 256 cycles from 890")  # the first step is not the steady state


def test_a_run_without_an_overlap_is_shown_in_the_middle_of_its_multiplications() -> None:
    timeline = Ring(tiles=1, k_tiles=64).timeline()
    svg = timeline_svg(timeline, HEADING, [0])
    assert not boxes(svg, "store D") and 8 <= len(boxes(svg, "MMA")) <= 12


def test_the_axis_has_cycles_and_time(ring: Timeline) -> None:
    shown = words(timeline_svg(ring, HEADING, [0], 1000, 3000))
    assert "1,000" in shown and "500 ns" in shown and "3,000" in shown and "1.50 µs" in shown


def test_a_hang_ends_in_a_line_at_the_time_when_nothing_advanced_any_more() -> None:
    timeline = Ring().timeline(stuck=True)
    svg = timeline_svg(timeline, HEADING, [0])
    assert "stuck" in words(svg)
    (left, right, _, _), *_ = [box for box in boxes(svg, "waits for tma2mma[1]") if box[1] > 860]
    assert right > left and right == pytest.approx(872, abs=0.1)
    assert "stuck" not in words(timeline_svg(Ring().timeline(), HEADING, [0]))


@pytest.mark.parametrize(("start", "end"), [(5000, 5000), (6000, 5000), (-1, 100), (20000, 30000)])
def test_a_window_without_anything_is_refused_in_a_sentence(ring: Timeline, start: float, end: float) -> None:
    with pytest.raises(ValueError, match=r"^no picture from cycle .* the run has cycles 0 to 10324"):
        timeline_svg(ring, HEADING, [0], start, end)


def test_a_picture_of_a_long_run_stays_small_and_is_the_same_each_time() -> None:
    timeline = Ring(depth=4, k_tiles=128, tiles=16).timeline()
    assert len(timeline.intervals) > 5000
    svg = timeline_svg(timeline, HEADING, [0], 0, timeline.cycles)
    assert len(svg) < 100_000 and len(timeline_svg(timeline, HEADING, [0])) < 100_000
    assert svg == timeline_svg(Ring(depth=4, k_tiles=128, tiles=16).timeline(), HEADING, [0], 0, timeline.cycles)


def test_a_row_with_too_many_intervals_is_an_area_of_their_share_of_the_time() -> None:
    timeline = Ring(depth=2, k_tiles=200, tiles=4).timeline()
    svg = timeline_svg(timeline, HEADING, [0], 0, timeline.cycles)
    assert not boxes(svg, "MMA") and not boxes(svg, "waits for tma2mma")
    areas = [area for area in ET.fromstring(svg).iter(f"{SVG}polygon") if "wait" in (area.get("fill") or "")]
    assert len(areas) == 2  # the producer and the MMA warp; the write-back is few intervals
    for area, track in zip(areas, (TMA, MMA), strict=True):
        corners = [tuple(map(float, pair.split(","))) for pair in (area.get("points") or "").split()]
        bottom = max(y for _, y in corners)
        surface = sum((x2 - x1) * (bottom - y1) for (x1, y1), (x2, _) in pairwise(corners))
        waits = sum(i.cycles for i in timeline.intervals if i.track == track and i.activity is Activity.WAIT)
        assert surface / (740 * 24) == pytest.approx(waits / timeline.cycles, abs=0.01)


def test_two_ctas_have_rows_each_under_their_names(ring: Timeline) -> None:
    def moved(item: Interval) -> Interval:  # the same on CTA 1
        track = replace(item.track, cta=1)
        return replace(item, track=track, barrier=item.barrier and replace(item.barrier, cta=1))

    both = replace(
        ring,
        intervals=tuple(sorted((*ring.intervals, *map(moved, ring.intervals)), key=lambda item: item.start)),
        ctas=(*ring.ctas, replace(ring.ctas[0], cta=1, name="CTA (1, 0)", sm=1)),
        roles={**ring.roles, **{replace(track, cta=1): role for track, role in ring.roles.items()}},
    )
    shown = words(timeline_svg(both, HEADING, [0, 1]))
    assert shown.count("tensor core") == 2 and "CTA (0, 0)" in shown and "CTA (1, 0)" in shown
    assert "CTA (0, 0) on SM 0 and CTA (1, 0) on SM 1" in " ".join(shown)


def test_colours_are_never_alone(ring: Timeline) -> None:
    shown = words(timeline_svg(ring, HEADING, [0], 4000, 6000))
    assert {"stage 0", "stage 1"} <= set(shown) and {"MMA 0", "MMA 1", "load A 0", "load A 1"} <= set(shown)
    assert "waits for tma2mma[0]" in shown


def test_the_axis_of_a_window_from_the_launch_on_begins_at_0(ring: Timeline) -> None:
    shown = [text.strip() for text in words(timeline_svg(ring, HEADING, [0], 0, 3000))]
    assert "0" in shown and "-0" not in shown
