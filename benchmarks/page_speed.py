"""How large the page of a timeline is, how soon it opens, and how smoothly it moves, in the system's Chromium.

    python benchmarks/page_speed.py                  # steps 5, 7 and 10 at 2048
    python benchmarks/page_speed.py --steps 10 --size 1024

Opening is from the navigation until the picture is drawn; zooming is from a key to the end of the next frame. Frames
are counted by Chromium's own tracing, while it scrolls the timeline to and fro for five seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini import simulate
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments, parse_steps
from tirx_mini.report.timeline import page_html

BOUNDS = {"MB": 5.0, "open": 2000.0, "zoom": 100.0, "fps": 60.0}
PAN_S, PAN_SPEED = 5.0, 600
"""Seconds, and pixels a second."""


@dataclass(frozen=True)
class Measured:
    """Of one page. mb: its size. zoom_ms: the median of several. fps: the median frame's. frames: all drawn ones."""

    mb: float
    open_ms: float
    zoom_ms: float
    fps: float
    frames: int


def measure(browser: Browser, path: Path) -> Measured:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    _next_frame(page)
    opened = time.perf_counter() - start
    zooms = [_zoom(page, key) for key in "0++++----"]
    frames = _pan(browser, page, path.with_suffix(".trace"))
    page.close()
    fps = 1e3 / statistics.median(frames)
    return Measured(path.stat().st_size / 1e6, opened * 1e3, statistics.median(zooms), fps, len(frames))


def _next_frame(page: Page) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def _zoom(page: Page, key: str) -> float:
    """Milliseconds from a key until the frame after it is done, by the page's own clock."""
    script = """(key) => new Promise((done) => {
        const start = performance.now();
        const target = document.getElementById("zoom-all");
        target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    })"""
    return page.evaluate(script, key)


def _pan(browser: Browser, page: Page, trace: Path) -> list[float]:
    """Milliseconds between the frames that were drawn while the timeline was scrolled to and fro by Chromium itself."""
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    client = page.context.new_cdp_session(page)
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 150, "speed": PAN_SPEED, "gestureSourceType": "mouse"}
    browser.start_tracing(page=page, path=trace, categories=["viz"])
    for direction in (-1, 1):
        distance = direction * PAN_SPEED * PAN_S / 2
        client.send("Input.synthesizeScrollGesture", {**where, "xDistance": distance})
    browser.stop_tracing()
    events: list[dict[str, Any]] = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    drawn = sorted(event["ts"] for event in events if event["name"] == "Display::DrawAndSwap" and event["ph"] in "BX")
    return [(later - earlier) / 1e3 for earlier, later in pairwise(drawn)]


def written(step: int, size: int, folder: Path) -> Path:
    """The page of a step's reference at size³."""
    kernel = load_kernels(default_kernels())[step](size, size, size)
    report = simulate(kernel, *make_arguments(kernel), checks=False, trace=True)
    path = folder / f"step{step:02d}.html"
    path.write_text(page_html(report, shape=f"{size}³"), encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", default="5,7,10", help="steps of the course, as in 4,7-10 (default: %(default)s)")
    parser.add_argument("--size", type=int, default=2048, help="M, N and K (default: %(default)s)")
    options = parser.parse_args()
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        parser.error("chromium is not on PATH: install it, for example with apt-get install chromium")
    table = Table(title=f"The page of a timeline at {options.size}³")
    bounds = ("", f"MB (≤ {BOUNDS['MB']:g})", f"opens, ms (≤ {BOUNDS['open']:g})", f"zooms, ms (≤ {BOUNDS['zoom']:g})")
    for column in (*bounds, f"frames a second (≥ {BOUNDS['fps']:g})", f"frames in {PAN_S:g} s"):
        table.add_column(column, justify="right" if column else "left")
    held = True
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for step in parse_steps(options.steps):
            found = measure(browser, written(step, options.size, Path(folder)))
            held &= found.mb <= BOUNDS["MB"] and found.open_ms <= BOUNDS["open"]
            held &= found.zoom_ms <= BOUNDS["zoom"] and found.fps >= BOUNDS["fps"] - 1
            figures = (
                f"{found.mb:.2f}",
                f"{found.open_ms:.0f}",
                f"{found.zoom_ms:.0f}",
                f"{found.fps:.0f}",
                str(found.frames),
            )
            table.add_row(f"step {step}, {STEPS[step].title}", *figures)
        browser.close()
    Console().print(table)
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
