"""The main thread's work for a frame while the timeline of `tirx play` is panned, in the system's Chromium.

    python benchmarks/play_panning.py                    # step 7 at 2048 and step 10 at 4096
    python benchmarks/play_panning.py --cases 7:2048 --phone

A wheel event moves the timeline in each of 300 frames, at the first zoom and at all of the run, on a screen of
1280 × 720 and on a phone with a CPU slowed fourfold. Work is CPU time of the thread, from Chromium's tracing, so that
other processes of the machine hardly count. On the phone they do: Chromium slows the thread by a signal handler that
waits, so that bounds apply to an idle machine. The page is one that `--export` writes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini.course import default_kernels, load_kernels, shape_text
from tirx_mini.hardware import GPUS
from tirx_mini.play.assets import assets
from tirx_mini.play.events import timeline_event
from tirx_mini.play.exporting import exported
from tirx_mini.play.simulating import clocked
from tirx_mini.report import product_shape

FRAMES, PIXELS = 300, 12
LONGEST_MS = 50.0
TASK = "RunTask"


@dataclass(frozen=True)
class Screen:
    """bound_ms: of a frame's work, at the 95th percentile."""

    name: str
    width: int
    height: int
    slowed: int
    bound_ms: float


SCREENS = (Screen("1280 × 720", 1280, 720, 1, 8.0), Screen("390 × 844, a quarter of the speed", 390, 844, 4, 16.0))

PAN = """([frames, pixels]) => new Promise((done) => {
    const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
    const middle = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, cancelable: true};
    let left = frames;
    const frame = () => {
        performance.mark('frame');
        const deltaX = (Math.floor(left / 50) % 2 ? 1 : -1) * pixels;
        canvas.dispatchEvent(new WheelEvent('wheel', {...middle, deltaX}));
        if (--left) requestAnimationFrame(frame);
        else requestAnimationFrame(() => setTimeout(done));
    };
    requestAnimationFrame(frame);
})"""


def written(step: int, size: int, folder: Path) -> Path:
    """The page of a step's reference at size³, with the timeline alone."""
    spec = GPUS["b200"]
    kernel = load_kernels(default_kernels())[step](size, size, size)
    report = clocked(kernel, spec)
    shape = product_shape(kernel)
    timeline = timeline_event(report, spec, "" if shape is None else shape_text(shape))
    assert timeline is not None
    path = folder / f"step{step:02d}.html"
    session = {"file": "gemm_kernels.py", "kernels": [], "gpus": [], "nvrtc": True, "version": ""}
    started = {"event": "started", "run": 1, "limits": {"build": 2, "simulate": 60}}
    path.write_text(exported(session, "", [started, timeline], assets()), encoding="utf-8")
    return path


def panned(browser: Browser, page: Page, trace: Path) -> tuple[list[float], float]:
    """The milliseconds of work in each frame, and those of the longest task."""
    browser.start_tracing(page=page, path=trace, categories=["toplevel", "devtools.timeline", "blink.user_timing"])
    page.evaluate(PAN, [FRAMES, PIXELS])
    browser.stop_tracing()
    events: list[dict[str, Any]] = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    marks = [each for each in events if each["name"] == "frame" and "blink.user_timing" in each["cat"]]
    thread = (marks[0]["pid"], marks[0]["tid"])
    starts = sorted(each["ts"] for each in marks)
    tasks = [
        each for each in events
        if (each["pid"], each["tid"]) == thread and each["name"].endswith(TASK) and each["ph"] == "X"
    ]  # fmt: skip
    work = [0.0] * len(starts)
    longest = 0.0
    for task in tasks:
        frame = sum(start <= task["ts"] + task["dur"] for start in starts) - 1
        if 0 <= frame < len(work):
            work[frame] += task.get("tdur", task["dur"]) / 1e3
            longest = max(longest, task.get("tdur", task["dur"]) / 1e3)
    return work, longest


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", default="7:2048,10:4096", help="STEP:SIZE, … (default: %(default)s)")
    parser.add_argument("--phone", action="store_true", help="only on the phone")
    options = parser.parse_args()
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        parser.error("chromium is not on PATH: install it, for example with apt-get install chromium")
    table = Table("", "screen", "zoom", "median", "95 %", "bound", "longest task", "load", title="ms of work a frame")
    held = True
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for case in options.cases.split(","):
            step, size = map(int, case.split(":"))
            path = written(step, size, Path(folder))
            for screen in SCREENS[options.phone :]:
                for zoom in ("first", "all"):
                    row, right = measured(browser, path, screen, zoom)
                    table.add_row(f"step {step}, {size}", screen.name, zoom, *row, f"{os.getloadavg()[0]:.1f}")
                    held &= right
        browser.close()
    Console().print(table)
    return 0 if held else 1


def measured(browser: Browser, path: Path, screen: Screen, zoom: str) -> tuple[list[str], bool]:
    page = browser.new_page(viewport={"width": screen.width, "height": screen.height})
    page.goto(path.as_uri())
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    if zoom == "all":
        page.locator("#zoom-all").click()
        page.locator("#zoom-in").click()  # there is something to pan
    client = page.context.new_cdp_session(page)
    client.send("Emulation.setCPUThrottlingRate", {"rate": screen.slowed})
    work, longest = panned(browser, page, path.with_suffix(".trace"))
    page.close()
    work.sort()
    high = work[round(0.95 * (len(work) - 1))]
    row = [f"{work[len(work) // 2]:.1f}", f"{high:.1f}", f"{screen.bound_ms:g}", f"{longest:.1f}"]
    return row, high <= screen.bound_ms and longest <= LONGEST_MS


if __name__ == "__main__":
    raise SystemExit(main())
