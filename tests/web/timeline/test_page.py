"""The page in a browser: what it shows is the run's, and mouse, touch and keys reach all of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.report.timeline.reports import report_of
from tests.tirx_mini.report.timeline.timelines import Ring
from tirx_mini.diagnose import Activity, Interval, Report
from tirx_mini.report.timeline import page_html

Show = Callable[..., Any]
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return report_of(Ring(), tmp_path)


def details(page: Any) -> dict[str, str]:
    """The rows of the details."""
    names = page.locator("#details dt").all_inner_texts()
    return dict(zip(names, page.locator("#details dd").all_inner_texts(), strict=True))


def seen(page: Any) -> tuple[float, float]:
    """The part of the time axis that is seen, in cycles, when the picture is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    words = page.locator("#seen").inner_text()
    start, end = re.findall(r"cycle ([\d,.-]+) to ([\d,.-]+),", words)[0]
    return float(start.replace(",", "")), float(end.replace(",", ""))


def lane(page: Any, name: str) -> Any:
    return page.locator("#labels button", has_text=name).first


def of_role(report: Report, role: str, activity: Activity = Activity.WAIT) -> list[Interval]:
    """The intervals of that role in the first CTA."""
    roles = report.trace.roles
    return [
        interval
        for interval in report.trace.intervals
        if interval.track.cta == 0 and roles.get(interval.track) == role and interval.activity is activity
    ]


def test_the_head_says_what_the_report_says(show: Show, report: Report) -> None:
    page = show(page_html(report))
    assert page.title() == page.locator("h1").inner_text() == "ring"
    head = page.locator("#figures").inner_text()
    for figure in ("ok", "B200", f"{report.time_us:.1f} µs", f"{report.tflops:.0f} TFLOPS", f"{report.cycles:,.0f}"):
        assert figure in head


def test_an_interval_is_told_as_the_run_has_it(show: Show, report: Report) -> None:
    page = show(page_html(report))
    page.locator("#zoom-all").click()
    lane(page, "MMA").click()
    rows = details(page)
    waits = {f"cycle {each.start:,.0f} to {each.end:,.0f}": each for each in of_role(report, "MMA")}
    wait = waits[rows["when"]]
    ended = report.trace.ended_by(wait)
    assert page.locator("#details h3").inner_text() == f"waits for {wait.name}"
    assert rows["waited"].startswith(f"{wait.cycles:,.0f} cycles, ")
    assert rows["stage"] == str(wait.stage)
    assert rows["mbarrier"] == f"{wait.barrier.name}, phase {wait.phase}"
    assert rows["ended by"] == f"{ended.kind.value} by TMA loads of CTA (0, 0), at cycle {ended.time:,.0f}"
    assert rows["line"] == "3"


def test_a_lane_is_busy_waiting_and_idle_as_its_intervals_are(show: Show, report: Report) -> None:
    page = show(page_html(report))
    page.locator("#tab-bound").click()
    row = page.locator("tr", has_text="MMA, CTA (0, 0)").locator("td").all_inner_texts()
    life = report.trace.ctas[0].end - report.trace.ctas[0].start
    waited = sum(each.cycles for each in of_role(report, "MMA"))
    ran = sum(each.cycles for each in of_role(report, "MMA", Activity.RUN))
    assert row[1:3] == [f"{100 * ran / life:.0f}\u00a0%", f"{100 * waited / life:.0f}\u00a0%"]
    assert row[4].startswith(f"tma2mma: {waited:,.0f} cycles")


def test_the_roofline_and_the_wave_have_the_models_figures(show: Show, report: Report) -> None:
    page = show(page_html(report))
    page.locator("#tab-roofline").click()
    figures = page.locator("#panel-roofline").inner_text()
    assert "64 FLOP/byte" in figures and "400 FLOP/byte" in figures
    assert f"{report.tflops:.0f} TFLOPS" in figures and "7.2 TB/s" in figures
    page.locator("#tab-wave").click()
    assert "4 tiles on 2 of 148 SMs: at most 2 on one" in page.locator("#panel-wave").inner_text()


def test_pointing_at_an_interval_marks_its_line_and_a_line_its_intervals(show: Show, report: Report) -> None:
    page = show(page_html(report))
    box, label = page.locator("#canvas").bounding_box(), lane(page, "TMA").bounding_box()
    page.mouse.move(box["x"] + 300, label["y"] + label["height"] / 2)
    page.wait_for_selector("#source .pointed")
    assert "Tx.copy_async" in page.locator("#source .pointed").inner_text()
    assert "cycles" in page.locator("#hint").inner_text()
    page.locator("#source [data-place]", has_text="gemm_async").click()
    number = sum(each.span is not None and each.span.line == 3 for each in report.trace.intervals)
    assert page.locator("#live").inner_text() == f"{number} intervals of line 3 are marked."


def test_wheel_drag_and_buttons_zoom_and_pan(show: Show, report: Report) -> None:
    page = show(page_html(report))
    box = page.locator("#canvas").bounding_box()
    page.locator("#zoom-all").click()
    assert seen(page) == (0, report.trace.cycles)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.wheel(0, -300)
    start, end = seen(page)
    assert end - start < 0.8 * report.trace.cycles
    assert start + end == pytest.approx(report.trace.cycles, rel=0.01)  # about the pointer
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 50, box["y"] + 100)
    page.mouse.up()
    assert seen(page)[0] < start
    page.locator("#zoom-in").click()
    assert seen(page)[1] - seen(page)[0] == pytest.approx((end - start) / 2, rel=0.01)


def test_a_finger_chooses_and_two_zoom(show: Show, report: Report) -> None:
    page = show(page_html(report), has_touch=True)
    box, label = page.locator("#canvas").bounding_box(), lane(page, "TMA").bounding_box()
    page.touchscreen.tap(box["x"] + 300, label["y"] + label["height"] / 2)
    assert "who" in details(page)
    page.locator("#zoom-all").click()
    client = page.context.new_cdp_session(page)
    middle, y = box["x"] + box["width"] / 2, box["y"] + 100
    for kind, apart in (("touchStart", 40), ("touchMove", 80), ("touchMove", 120), ("touchEnd", None)):
        fingers = [] if apart is None else [middle - apart, middle + apart]
        points = [{"x": x, "y": y, "id": finger} for finger, x in enumerate(fingers)]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    start, end = seen(page)
    assert end - start == pytest.approx(report.trace.cycles / 3, rel=0.05)


def test_a_run_that_hangs_says_so_and_ends_there(show: Show, tmp_path: Path) -> None:
    report = report_of(Ring(), tmp_path, ctas=1, stuck=True)
    page = show(page_html(report))
    assert "the MMA warp waits for ever for tma2mma[0]" in page.locator("#findings").inner_text()
    assert seen(page)[1] == report.trace.stuck
    lane(page, "MMA").focus()
    page.keyboard.press("Enter")
    for _ in range(99):
        page.keyboard.press("ArrowRight")
    assert details(page)["ended by"] == "nothing: it waits for ever"


def test_two_runs_share_the_axis(show: Show, report: Report, tmp_path: Path) -> None:
    page = show(page_html(report_of(Ring(load=1600), tmp_path), report))
    headings = page.locator("#labels h2").all_inner_texts()
    assert "A: ring, CTA (0, 0)" in headings and "B: ring, CTA (0, 0)" in headings
    assert seen(page)[0] == 0 and seen(page)[1] > report.trace.cycles
    page.locator("#tab-bound").click()
    assert "ring takes 62 % more than ring" in page.locator("#panel-bound").inner_text()


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_colours_follow_the_system_or_the_switch(show: Show, report: Report, scheme: str, other: str) -> None:
    page = show(page_html(report), color_scheme=scheme)
    colour = "() => getComputedStyle(document.body).backgroundColor"
    dark = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}
    assert page.evaluate(colour) == dark[scheme]
    for _ in range(2 if other == "dark" else 1):
        page.locator("#theme").click()
    assert page.evaluate(colour) == dark[other]


def test_nothing_moves_for_those_who_do_not_want_it(show: Show, report: Report) -> None:
    page = show(page_html(report), reduced_motion="reduce")
    times = "() => [...document.querySelectorAll('*')].map((each) => getComputedStyle(each).transitionDuration)"
    assert set(page.evaluate(times)) == {"0s"}


def test_a_drag_over_the_ruler_measures_and_takes_edges_nearby(show: Show, report: Report) -> None:
    page = show(page_html(report))
    page.locator("#zoom-all").click()
    lane(page, "MMA").click()
    start, end = (float(each.replace(",", "")) for each in details(page)["when"].removeprefix("cycle ").split(" to "))
    before = seen(page)
    page.locator("#ruler").click()
    box, label = page.locator("#canvas").bounding_box(), lane(page, "MMA").bounding_box()
    scale = box["width"] / (before[1] - before[0])
    x = [box["x"] + (time - before[0]) * scale for time in (start, end)]
    y = label["y"] + label["height"] / 2
    page.mouse.move(x[0] + 2, y)
    page.mouse.down()
    page.mouse.move(x[1] - 2, y, steps=4)
    page.mouse.up()
    assert seen(page) == before
    assert f"ruler: {end - start:,.0f} cycles, " in page.locator("#seen").inner_text()
    assert page.locator("#live").inner_text().startswith(f"The ruler: {end - start:,.0f} cycles")
    page.locator("#ruler").click()
    seen(page)
    assert "ruler" not in page.locator("#seen").inner_text()


def test_keys_measure_from_a_start_to_an_end(show: Show, report: Report) -> None:
    page = show(page_html(report))
    lane(page, "MMA").focus()
    page.keyboard.press("Enter")
    start = details(page)["when"].removeprefix("cycle ").split(" to ")[0]
    page.keyboard.press("m")
    assert page.locator("#live").inner_text() == f"The ruler begins at cycle {start}."
    page.keyboard.press("ArrowRight")
    end = details(page)["when"].split(" to ")[1]
    page.keyboard.press("m")
    length = float(end.replace(",", "")) - float(start.replace(",", ""))
    assert page.locator("#live").inner_text().startswith(f"From cycle {start} to {end}: {length:,.0f} cycles, ")
    page.keyboard.press("Escape")
    seen(page)
    assert "ruler" not in page.locator("#seen").inner_text()


def test_a_phone_shows_every_tab_in_its_width_and_a_chart_of_half_its_height(show: Show, report: Report) -> None:
    page = show(page_html(report), viewport=PHONE)
    assert page.locator("#canvas").bounding_box()["height"] >= PHONE["height"] / 2
    for tab in ("timeline", "bound", "roofline", "wave"):
        page.locator(f"#tab-{tab}").click()
        panel = page.locator(f"#panel-{tab}")
        assert panel.evaluate("(panel) => panel.scrollWidth") <= PHONE["width"], tab
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], tab


def test_the_source_has_the_room_that_the_details_leave(show: Show, report: Report) -> None:
    page = show(page_html(report))
    assert page.locator("#source").bounding_box()["width"] >= 0.37 * 1280
    assert page.locator("#source").bounding_box()["height"] > 3 * page.locator("#details").bounding_box()["height"]
    lane(page, "MMA").click()
    assert page.locator("#details").bounding_box()["height"] >= 150


WHEEL = """([times, pixels]) => new Promise((done) => {
    const canvas = document.getElementById('canvas'), range = document.getElementById('seen-range');
    const begun = performance.now();
    let changes = 0;
    const observer = new MutationObserver(() => { ++changes; });
    observer.observe(range, {childList: true, characterData: true, subtree: true});
    const frame = () => {
        canvas.dispatchEvent(new WheelEvent('wheel', {deltaX: pixels, bubbles: true, cancelable: true}));
        if (--times) requestAnimationFrame(frame);
        else done([changes, performance.now() - begun]);
    };
    frame();
})"""


def test_a_wheel_says_what_is_seen_some_times_a_second_and_at_its_end(show: Show, report: Report) -> None:
    """Other words lay out the page."""
    page = show(page_html(report))
    page.locator("#zoom-all").click()
    page.locator("#zoom-in").click()
    page.locator("#zoom-in").click()
    start, end = seen(page)
    changes, milliseconds = page.evaluate(WHEEL, [60, 1])
    assert 1 <= changes <= 2 + milliseconds / 100
    width = page.locator("#canvas").bounding_box()["width"]
    page.wait_for_timeout(200)
    assert seen(page)[0] - start == pytest.approx(60 * (end - start) / width, abs=2)
