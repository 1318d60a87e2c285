"""A process without anybody's Python loads IR and tells the events of a run; it is limited, and ended at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tirx_mini.course import KernelRef, load_kernel
from tirx_mini.play.simulating import Simulation, Simulators, Task
from tirx_mini.sandbox import remember_lines
from tirx_mini.saved import save_json
from tirx_mini.worker import ProcessEnded

PATH = "/somewhere/text/gemm_kernels.py"
ALL = ("findings", "timeline", "bound", "product")
SHAPE = (256, 256, 128)


def task(text: str, kernel: str = "hgemm_v4", want: Sequence[str] = ALL, **options: Any) -> Task:
    remember_lines(PATH, text)
    ir = save_json(load_kernel(KernelRef(Path(PATH), kernel), shape=options.pop("shape", SHAPE), source=text.encode()))
    given = {"gpu": "b200", "sms": None, **options}
    return Task(ir, {PATH: "gemm_kernels.py"}, "gemm_kernels.py", text, kernel, want=frozenset(want), **given)


def told(simulators: Simulators, asked: Task, limit_s: float = 60.0) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    Simulation(simulators).run(asked, events.append, limit_s)
    return {event["event"]: event for event in events}


def test_a_right_kernel_has_a_verdict_a_bound_a_product_and_a_timeline(simulators: Simulators, step4: str) -> None:
    events = told(simulators, task(step4))
    assert events["verdict"]["verdict"] == "ok" and events["verdict"]["findings"] == []
    assert events["product"]["tiles"] == [[0, 0], [0, 0]] and events["product"]["worst"] == []
    assert sum(term["percent"] for term in events["bound"]["terms"]) == 100
    assert len(events["timeline"]["data"]) > 1000
    order = list(events)
    assert order.index("verdict") < order.index("bound") < order.index("timeline")


def test_a_deadlock_has_findings_at_its_lines_and_no_tile_of_d(simulators: Simulators, step4: str) -> None:
    text = step4.replace("TMA_BYTES = (BLK_M * BLK_K", "TMA_BYTES = (BLK_M * BLK_N")
    assert text != step4
    events = told(simulators, task(text))
    verdict = events["verdict"]
    assert verdict["verdict"] == "deadlock"
    first = verdict["findings"][0]
    assert first["code"] == "TX106" and first["severity"] == "error"
    assert 0 < first["line"] <= text.count("\n") and first["help"]
    assert "gemm_kernels.py" in first["text"] and "/somewhere" not in str(events)
    assert events["product"]["tiles"] == [[2, 2], [2, 2]]


def test_a_wrong_product_shows_its_tiles(simulators: Simulators, step4: str) -> None:
    text = step4.replace("B[n_st : n_st + BLK_N", "B[m_st : m_st + BLK_N")
    assert text != step4
    events = told(simulators, task(text))
    assert events["verdict"]["verdict"] == "wrong"
    assert events["product"]["tiles"] == [[0, 1], [1, 0]]
    assert {tuple(worst["tile"]) for worst in events["product"]["worst"]} == {(0, 1), (1, 0)}
    assert "elements are wrong" in events["product"]["worst"][0]["sentence"]
    assert 0.4 < events["product"]["share"] < 0.6


def test_course_mode_seals_what_a_gpu_does_not_show(simulators: Simulators, step4: str) -> None:
    text = step4.replace("TMA_BYTES = (BLK_M * BLK_K", "TMA_BYTES = (BLK_M * BLK_N")
    sealed = told(simulators, task(text, sealed=True))["sealed"]
    assert sealed["verdict"]["verdict"] == "wrong" and sealed["verdict"]["stages"] == 4
    assert sealed["verdict"]["findings"] == [] and "TX106" not in str(sealed["verdict"])
    assert sealed["sentence"] == "it hangs: the launch does not end"
    assert sealed["whole"]["findings"][0]["code"] == "TX106"


def test_stages_alone_are_made_without_a_run(simulators: Simulators, step4: str) -> None:
    events: list[dict[str, Any]] = []
    Simulation(simulators).run(task(step4, want=("tir", "passes", "cuda")), events.append)
    stages = {event["stage"]: event for event in events if event["event"] == "stage"}
    assert list(stages) == ["tir", "passes", "cuda"]
    assert not any(event["event"] == "verdict" for event in events)
    line = next(number for number, text in enumerate(step4.splitlines(), 1) if "Tx.gemm_async(" in text)
    for event in stages.values():
        for item in event["items"]:
            assert len(item["lines"]) == len(item["text"].split("\n"))
        assert line in event["items"][0]["lines"]


def test_ir_that_is_none_is_said(simulators: Simulators, step4: str) -> None:
    events = told(simulators, Task("{}", PATH, "f.py", "", "k", "b200", None, frozenset(ALL)))
    assert events["failed"]["kind"] == "not IR"


def test_too_little_memory_is_said_and_the_next_run_works(simulators: Simulators, step4: str) -> None:
    events = told(simulators, task(step4, shape=(8192, 8192, 8192), memory_mb=600))
    assert events["failed"]["kind"] == "memory" and "600 MiB" in events["failed"]["title"]
    assert told(simulators, task(step4))["verdict"]["verdict"] == "ok"


def test_a_run_that_takes_too_long_is_ended_with_progress_before(simulators: Simulators, step4: str) -> None:
    events: list[dict[str, Any]] = []
    with pytest.raises(TimeoutError):
        Simulation(simulators).run(task(step4, shape=(4096, 4096, 4096)), events.append, 1.0)
    assert {event["event"] for event in events} == {"progress"} and len(events) >= 2


def test_a_run_is_cancelled_from_another_thread(simulators: Simulators, step4: str) -> None:
    simulation = Simulation(simulators)
    threading.Timer(0.5, simulation.cancel).start()
    begun = time.monotonic()
    with pytest.raises(ProcessEnded):
        simulation.run(task(step4, shape=(4096, 4096, 4096)), lambda _: None)
    assert time.monotonic() - begun < 10
