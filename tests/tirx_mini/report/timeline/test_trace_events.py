"""Trace events keep to the published format, and say what the timeline says.

"Trace Event Format" (Google), sections "Event Descriptions" and "JSON Object Format": which fields an event of each
phase type has to have.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.course import KernelRef, check_file
from tirx_mini.diagnose import Activity, Report
from tirx_mini.report.timeline import trace_json

KERNELS = Path(__file__).parents[4] / "kernels_ref" / "sm100"
REQUIRED = {
    "M": {"name", "pid", "args"},
    "X": {"name", "ts", "dur", "pid", "tid"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
    "C": {"name", "ts", "pid", "args"},
    "i": {"name", "ts", "pid", "tid", "s"},
}
METADATA = {
    "process_name": "name", "thread_name": "name", "process_sort_index": "sort_index", "thread_sort_index": "sort_index"
}  # fmt: skip
CLOCK = 1.85


@cache
def report(name: str) -> Report:
    found = check_file(KernelRef(KERNELS / name), shape=(512, 512, 256), sms=4, trace=True).report
    assert found.ok
    return found


@cache
def events(name: str) -> list[dict[str, Any]]:
    return json.loads(trace_json(report(name), CLOCK))["traceEvents"]


BOTH = pytest.mark.parametrize("name", ["step07_warp_specialized.py", "step10_multi_consumer.py"])


@BOTH
def test_each_event_has_the_fields_of_its_phase_type(name: str) -> None:
    assert {event["ph"] for event in events(name)} == set(REQUIRED)
    for event in events(name):
        assert REQUIRED[event["ph"]] <= set(event), event
        assert event.get("ts", 0) >= 0 and isinstance(event["pid"], int) and isinstance(event.get("tid", 0), int)
        if event["ph"] == "M":
            assert set(event["args"]) == {METADATA[event["name"]]}
        if event["ph"] == "C":
            assert all(isinstance(value, (int, float)) for value in event["args"].values())


@BOTH
def test_the_slices_of_a_thread_nest(name: str) -> None:
    threads: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in events(name):
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in threads.values():
        slices.sort()
        assert all(a[1] <= b[0] + 0.002 for a, b in pairwise(slices))


@BOTH
def test_every_thread_and_process_has_a_name(name: str) -> None:
    named = {(event["pid"], event.get("tid")) for event in events(name) if event["name"].endswith("_name")}
    used = {(event["pid"], event["tid"]) for event in events(name) if event["ph"] in "Xsf"}
    assert used <= named and {(pid, None) for pid, _ in used} <= named


@BOTH
def test_arrows_go_forward_from_a_slice_to_a_slice(name: str) -> None:
    slices = {(e["pid"], e["tid"], e["ts"], round(e["ts"] + e["dur"], 3)) for e in events(name) if e["ph"] == "X"}
    ends: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in events(name):
        if event["ph"] in "sf":
            ends[event["id"]].append(event)
            threads = [s for s in slices if s[:2] == (event["pid"], event["tid"])]
            assert any(start <= event["ts"] <= end for _, _, start, end in threads)
    assert ends
    for start, finish in ends.values():
        assert (start["ph"], finish["ph"]) == ("s", "f") and start["ts"] <= finish["ts"]


@BOTH
def test_slices_are_the_intervals_of_the_timeline(name: str) -> None:
    timeline = report(name).trace
    assert timeline is not None
    slices = [event for event in events(name) if event["ph"] == "X"]
    assert len(slices) == len(timeline.intervals)
    waits = sum(event["dur"] for event in slices if event["cat"] == "wait")
    cycles = sum(i.cycles for i in timeline.intervals if i.activity is Activity.WAIT)
    assert waits == pytest.approx(cycles / CLOCK / 1e3, rel=0.01)


def test_only_the_chosen_ctas_are_shown() -> None:
    text = trace_json(report("step07_warp_specialized.py"), CLOCK, [1])
    assert {event["pid"] for event in json.loads(text)["traceEvents"]} == {1}


def test_counters_say_what_a_barrier_lacks() -> None:
    counts = [event for event in events("step07_warp_specialized.py") if event["ph"] == "C"]
    full = [event["args"] for event in counts if event["name"] == "tma2mma[0]" and event["pid"] == 0]
    assert {args["pending arrivals"] for args in full} == {0, 1}
    assert max(args["bytes"] for args in full) == 2 * 128 * 64 * 2
