"""The profiler of `tvm.tirx.bench`: what a kernel notes is decoded, and switched off it notes nothing."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.compat.tvm import imports


class Event(Enum):
    LOAD = 0
    STORE = 1


def profile(enabled: Any) -> np.ndarray:
    """What two CTAs of two groups note about a load and a store."""
    with imports():
        from tvm.script import tirx as T
        from tvm.tirx.bench import CudaProfiler

        @T.prim_func
        def kernel(X: T.Buffer((256,), "float32"), Y: T.Buffer((256,), "float32"), P: T.Buffer((64,), "uint64")):
            T.device_entry()
            bx = T.cta_id([2])
            tx = T.thread_id([128])
            profiler = CudaProfiler(P, 4, 2, default_leader=(tx % 64 == 0), profiler_enabled=enabled)
            profiler.init(tx // 64)
            value = T.local_scalar("float32")
            profiler.start(Event.LOAD)
            value = X[bx * 128 + tx]
            profiler.end(Event.LOAD)
            profiler.start(Event.STORE)
            Y[bx * 128 + tx] = value
            profiler.end(Event.STORE)
            profiler.finalize()

    x, y, words = np.arange(256, dtype=np.float32), np.zeros(256, np.float32), np.zeros(64, np.uint64)
    report = tirx_mini.simulate(kernel, x, y, words)
    assert report.verdict == "ok" and (x == y).all(), str(report)
    return words


def test_a_profile_becomes_a_trace(tmp_path: Path) -> None:
    from tirx_mini.frontends.tvm.bench import export_to_perfetto_trace

    export_to_perfetto_trace(profile(True), str(tmp_path / "trace.json"), ["load", "store"])
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == 16
    for cta, group in ((0, 0), (0, 1), (1, 0), (1, 1)):
        own = [event for event in events if (event["pid"], event["tid"]) == (cta, group)]
        assert [(event["name"], event["ph"]) for event in own] == [(n, p) for n in ("load", "store") for p in "BE"]
        times = [event["ts"] for event in own]
        assert times == sorted(times) and times[1] > times[0]


@pytest.mark.parametrize("enabled", [False, np.bool_(False)])
def test_switched_off_it_notes_nothing(enabled: Any) -> None:
    assert not profile(enabled).any()
