"""The latency of `tirx play` from the last key to findings, without the browser: requests to its server.

    python benchmarks/play_latency.py                # forty runs of each case
    python benchmarks/play_latency.py --runs 5 --cases drill

A run is a request to a server on this machine, whose processes are warm. The page waits for 150 ms without a key before
it; these are added. Bounds apply to the median on an idle machine. The load is an average over the last minute.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini.course import DRILLS, Dealt, deal, default_kernels
from tirx_mini.play.server import Server
from tirx_mini.play.serving import listening, served
from tirx_mini.play.source import Source
from tirx_mini.play.studio import Studio, sandbox_here
from tirx_mini.resources import resource

KEYS_S = 0.15
"""The time for which the page waits for another key."""
PAUSE_S = 1.0
"""Between two runs, for the spare processes."""


@dataclass(frozen=True)
class Case:
    """A text and its problem. bound_s: from the last key to the verdict."""

    name: str
    text: str
    kernel: str
    shape: tuple[int, int, int]
    sms: int | None
    bound_s: float


@dataclass(frozen=True)
class Times:
    """Seconds from the last key. first: the first event after the start, as progress. None for what did not come."""

    first: float
    verdict: float
    timeline: float | None


def cases() -> Iterator[Case]:
    for step, size, sms, bound in ((4, 512, None, 0.35), (7, 512, 4, 0.5), (10, 1024, 4, 0.9), (7, 2048, None, 3.0)):
        file = next((default_kernels() / "sm100").glob(f"step{step:02}_*.py"))
        text = file.read_text(encoding="utf-8")
        yield Case(f"step {step}, {size}", text, f"hgemm_v{step}", (size, size, size), sms, bound)
    for name, code in (("deadlock", "TX106"), ("race", "TX201")):
        drill = next(each for each in DRILLS["sm100"] if each.first == code)
        dealt: Dealt = deal(drill, 0)
        said = f"drill of a {name}, step {drill.step}"
        yield Case(said, dealt.text, drill.factory, drill.shape, drill.sms, 0.5)
    student = resource("gemm_kernels.py").read_text(encoding="utf-8")
    yield Case("open TODO, step 4", student, "hgemm_v4", (512, 512, 512), None, 0.35)


def measure(server: Server, port: int, case: Case) -> Times:
    body: dict[str, Any] = {
        "text": case.text, "kernel": case.kernel, "sizes": dict(zip("mnk", case.shape, strict=True)), "sms": case.sms,
        "asked": True,
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    begun = time.perf_counter()
    connection.request("POST", "/run", json.dumps(body), headers)
    answer = connection.getresponse()
    at: dict[str, float] = {}
    while line := answer.readline():
        at.setdefault(json.loads(line)["event"], time.perf_counter() - begun + KEYS_S)
    connection.close()
    verdict = at.get("verdict", at.get("failed"))
    assert verdict is not None, f"{case.name}: {sorted(at)}"
    first = min(at.get(name, verdict) for name in ("built", "progress", "verdict"))
    return Times(first, verdict, at.get("timeline"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40, metavar="N")
    parser.add_argument("--cases", default="", metavar="PATTERN", help="only those whose name matches, as in drill")
    options = parser.parse_args()
    table = Table("", "median", "95 %", "bound", "timeline", "first event", "load", title="seconds from the last key")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.py"
        file.touch()
        server = Server(Studio(Source(file), sandbox_here(), Path(folder)))
        at = listening(0)
        served(server, at)
        try:
            for case in cases():
                if re.search(options.cases, case.name):
                    table.add_row(*row(server, at.getsockname()[1], case, options.runs))
        finally:
            server.studio.close()
    Console().print(table)


def row(server: Server, port: int, case: Case, runs: int) -> list[str]:
    measure(server, port, case)  # the processes are warm for it
    times: list[Times] = []
    for _ in range(runs):
        time.sleep(PAUSE_S)
        times.append(measure(server, port, case))
    verdicts = sorted(each.verdict for each in times)
    later = [each.timeline - each.verdict for each in times if each.timeline is not None]
    timeline = f"+{statistics.median(later):.2f}" if later else "none"
    highest = verdicts[min(len(verdicts) - 1, round(0.95 * len(verdicts)))]
    first = statistics.median(each.first for each in times)
    return [
        case.name,
        f"{statistics.median(verdicts):.2f}",
        f"{highest:.2f}",
        f"{case.bound_s:g}",
        timeline,
        f"{first:.2f}",
        f"{os.getloadavg()[0]:.1f}",
    ]


if __name__ == "__main__":
    main()
