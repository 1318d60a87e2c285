"""A timeline recorded without data, beside the verdict, equals the timeline of a run with data."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any
from unittest.mock import Mock

import pytest

from tests.tirx_mini.play.serving import Page
from tests.tirx_mini.play.test_simulating import SHAPE, task, told
from tirx_mini.play import simulating
from tirx_mini.play.beside import Beside
from tirx_mini.play.simulating import Part, Simulation, Simulators
from tirx_mini.worker import ProcessEnded

SIZES = dict(zip("mnk", SHAPE, strict=True))
DEPENDS = """
from tirx_mini.script import tirx as Tx
def make(M, N, K):
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((64,), "int32")):
        with Tx.kernel():
            Tx.cta_id([1], parent="kernel")
            lane = Tx.thread_id([32], parent="cta")
            if A[lane] > 3:
                A[lane + 32] = 1
    return kernel
"""


def ran(page: Page, text: str, kernel: str = "hgemm_v4") -> dict[str, Any]:
    asked = {"text": text, "kernel": kernel, "sizes": SIZES, "asked": True}
    return {event["event"]: event for event in page.run(asked)}


def deadlocked(step4: str) -> str:
    return step4.replace("TMA_BYTES = (BLK_M * BLK_K", "TMA_BYTES = (BLK_M * BLK_N")


def timeline_of(event: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The header of a timeline's data without the verdict, which a page of play does not show, and its columns."""
    data = zlib.decompress(base64.b64decode(event["data"]))
    size = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + size])
    runs = [{**run, "verdict": "", "figures": run["figures"][1:]} for run in header["runs"]]
    return {**header, "runs": runs}, data[4 + size :]


def test_the_timeline_and_bound_are_those_of_a_run_with_data(page: Page, simulators: Simulators, step4: str) -> None:
    events, both = ran(page, step4), told(simulators, task(step4, part=Part.BOTH))
    assert timeline_of(events["timeline"]) == timeline_of(both["timeline"])
    assert events["bound"] == both["bound"]
    verdict, whole = events["verdict"], both["verdict"]
    assert "by itself" in whole["time"] and "by itself" not in verdict["time"]
    assert verdict["title"].replace(verdict["time"], events["bound"]["time"]) == whole["title"]
    assert verdict["cycles"] == whole["cycles"]


@pytest.mark.parametrize("part", [Part.VERDICT, Part.TIME])
def test_each_process_tells_its_part(simulators: Simulators, step4: str, part: Part) -> None:
    names = {"verdict", "product"} if part is Part.VERDICT else {"clock", "bound", "timeline"}
    assert set(told(simulators, task(step4, part=part))) - {"progress"} == names


@pytest.mark.parametrize("cores, most", [(None, 1), (1, 1), (2, 1), (4, 3), (64, 4)])
def test_a_verdict_leaves_a_core_to_the_timeline(
    monkeypatch: pytest.MonkeyPatch, step4: str, cores: int | None, most: int
) -> None:
    monkeypatch.setattr(simulating, "check_kernel", Mock(side_effect=ValueError("asked")))
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    for part, jobs in ((Part.VERDICT, most), (Part.TRACED, None)):
        simulating._Run(task(step4, part=part)).work(lambda event: None)
        assert simulating.check_kernel.call_args.kwargs["jobs"] == jobs


def test_a_kernel_that_has_no_end_or_depends_on_data_has_the_timeline_of_a_check(page: Page, step4: str) -> None:
    stuck = ran(page, deadlocked(step4))
    assert stuck["verdict"]["verdict"] == "deadlock" and "timeline" in stuck and "bound" not in stuck
    depends = ran(page, DEPENDS, "make")
    assert depends["verdict"]["verdict"] == "ok" and "timeline" in depends


def test_events_wait_for_the_verdict_and_other_cycles_are_not_told(simulators: Simulators, step4: str) -> None:
    events: list[Any] = []
    asked = task(step4, part=Part.TIME)
    with Beside(Simulation(simulators), asked) as beside:
        assert not beside.told(events.append, 1.0)
        assert {event["event"] for event in events} <= {"progress"}
        events.clear()
    with Beside(Simulation(simulators), asked) as beside:
        beside._thread.join()
        assert events == []
        cycles = told(simulators, asked)["clock"]["cycles"]
        assert beside.told(events.append, cycles)
    assert [event["event"] for event in events if event["event"] != "progress"] == ["bound", "timeline"]


def test_a_race_has_no_bound(page: Page, step4: str) -> None:
    text = step4.replace("Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)", "pass", 1)
    assert text != step4
    events = ran(page, text)
    assert events["verdict"]["verdict"] != "ok" and "bound" not in events and "timeline" in events


def test_two_processes_are_taken_and_given_back(page: Page, step4: str) -> None:
    ready = page.studio._simulators._spares._ready
    ran(page, step4)
    before = set(map(id, ready))
    ran(page, step4)
    assert len(before & set(map(id, ready))) >= 2


@pytest.mark.parametrize("error", [TimeoutError(), ProcessEnded(-9)])
def test_without_a_timeline_the_verdict_stands(
    page: Page, step4: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(beside: Beside, tell: Any, cycles: float | None) -> bool:
        raise error

    monkeypatch.setattr(Beside, "told", fail)
    events = ran(page, step4)
    assert events["verdict"]["verdict"] == "ok" and "timeline" not in events
    assert events["failed"]["what"] == "timeline" and list(events)[-1] == "done"
