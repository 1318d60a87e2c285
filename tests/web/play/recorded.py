"""Sessions and events for the fake server, around the ring of the timeline's tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.tirx_mini.report.timeline.reports import KERNEL, report_of
from tests.tirx_mini.report.timeline.timelines import Ring
from tirx_mini.report.timeline import page_html

Event = dict[str, Any]

TEXT = KERNEL + "\n\ndef hgemm_v4(M, N, K):\n    BLK_K = 64\n    return ring\n"
SIZES, LARGER = ({"m": size, "n": size, "k": size} for size in (512, 1024))
SESSION: Mapping[str, Any] = {
    "file": "gemm_kernels.py", "text": TEXT, "digest": "d0", "writable": True, "automatic": True, "missing": [],
    "ladder": "b200", "gpus": [{"name": "b200", "title": "B200"}, {"name": "h100", "title": "H100"}],
    "kernels": [
        {"name": "hgemm_v4", "step": 4, "title": "TMA", "written": True, "sizes": SIZES},
        {"name": "hgemm_v5", "step": 5, "title": "a ring", "written": False, "sizes": LARGER},
    ],
    "course": True, "nvrtc": True, "version": "0", "modules": [],
}  # fmt: skip
FINDING = {
    "code": "TX201", "severity": "error", "line": 3, "column": 5, "end_line": 3, "end_column": 18,
    "title": "the MMA reads a stage that no wait guards", "text": "error[TX201]: the whole page\n  3 | Tx.gemm_async",
    "help": "wait for tma2mma first", "related": [{"line": 2, "text": "the copy that writes it"}],
    "edit": {
        "line": 3, "before": "Tx.gemm_async(tmem, Asmem[stage, :, :], Bsmem[stage, :, :])",
        "after": "tma2mma.wait(stage, phase)",
    },
}  # fmt: skip
BOUND = {
    "event": "bound", "headline": "Bound by the latency of TMA loads.",
    "terms": [{"name": "TMA", "share": 0.6, "microseconds": 6.0}, {"name": "MMA", "share": 0.4, "microseconds": 4.0}],
    "sentences": ["More stages hide the latency."], "clock": "At 1.86 GHz.",
}  # fmt: skip
PRODUCT = {
    "event": "product", "rows": 512, "columns": 512, "tile": [128, 128],
    "tiles": [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]],
    "worst": [{"tile": [1, 1], "sentence": "It is twice what it must be."}],
}  # fmt: skip
TIR = "@T.prim_func\ndef ring():\n    T.copy_async()\n    T.gemm_async()"
CUDA = "__global__ void ring() {\n  // a stage\n  tma_load(0);\n  mma(1);\n}\n" + "// filler\n" * 3000
STAGES: Mapping[str, list[Event]] = {
    "tir": [{"name": "hgemm_v4", "text": TIR, "lines": [1, 1, 2, 3]}],
    "passes": [
        {"name": "parsed", "text": "a\nb\nc\nd\ne\nf\ng\nh\ncopy\ngemm", "lines": [1] * 8 + [2, 3]},
        {"name": "lower tiles", "text": "a\nb\nc\nd\ne\nf\ng\nh\ncopy.bulk\n  gemm", "lines": [1] * 8 + [2, 3]},
        {"name": "tidy", "text": "a\nb\nc\nd\ne\nf\ng\nh\ncopy.bulk\ngemm", "lines": [1] * 8 + [2, 3]},
    ],
    "cuda": [{"name": "ring.cu", "text": CUDA, "lines": [1, 2, 2, 3, 0] + [0] * 3001, "language": "cpp"}],
    "ptx": [{"name": "ring.ptx", "text": "cp.async.bulk.tensor;\ntcgen05.mma;", "lines": [2, 3]}],
}  # fmt: skip


def timeline_data(folder: Path) -> str:
    """The block of columns that the page of the ring's timeline carries."""
    page = page_html(report_of(Ring(), folder, file=str(SESSION["file"])))
    found = re.search(r'<script id="data" type="text/plain">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1]


def stage_of(name: str) -> Event:
    items = STAGES.get(name)
    event: Event = {"event": "stage", "stage": name}
    return {**event, "items": items} if items else {**event, "missing": "NVRTC is not installed: SASS needs it."}


def good(timeline: str, findings: tuple[Event, ...] = (), pause: float = 0.0) -> Callable[..., Iterator[Event | float]]:
    """A run that ends: with these findings, and with what the request wants of the stages."""

    def run(request: Mapping[str, Any]) -> Iterator[Event | float]:
        yield {"event": "started", "run": 7, "limits": {"build": 2, "simulate": 60}}
        yield {"event": "built", "seconds": 0.1, "constants": {"BLK_K": {"value": 64, "line": 8}}}
        if pause:
            yield {"event": "progress", "fraction": 0.3, "seconds": 0.4, "text": "Simulating."}
            yield pause
        verdict = "wrong" if findings else "ok"
        yield {
            "event": "verdict", "verdict": verdict, "findings": list(findings), "seconds": 0.2, "cycles": 18600.0,
            "title": "The product is right." if verdict == "ok" else "It is wrong.", "microseconds": 10.0,
        }  # fmt: skip
        yield BOUND
        yield PRODUCT
        for name in request["want"]:
            if name in (*STAGES, "sass"):
                yield stage_of(name)
        yield {"event": "timeline", "data": timeline}
        yield {"event": "done", "seconds": 0.3}

    return run
