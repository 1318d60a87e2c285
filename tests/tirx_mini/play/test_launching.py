"""CUDA C++ and PTX on the page: compiled and simulated in one process, when the user asks for it, as `check` does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page, page_of
from tests.tirx_mini.play.test_export import recorded
from tirx_mini import read_cuda
from tirx_mini.commands.play import main
from tirx_mini.course import LaunchText
from tirx_mini.diagnose import Finding
from tirx_mini.ir import Span
from tirx_mini.play.findings import finding_data
from tirx_mini.play.launching import LaunchTask, launched
from tirx_mini.play.simulating import Simulation, Simulators
from tirx_mini.runtime import missing_compiler

pytestmark = pytest.mark.skipif(bool(missing_compiler()), reason="NVRTC or nvdisasm is not installed")

CUDA = """\
#include "factor.cuh"
__global__ void scale(const float *x, float *out, int n)
{
    __shared__ float values[64];
    values[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x] * FACTOR;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = values[63 - threadIdx.x];
}
template <typename T> __global__ void fill(T *out) { out[threadIdx.x] = T(1); }
"""
SYNC = "    __syncthreads();\n"
LAUNCH = {"args": "float32[128], zeros(float32[128]), 128", "grid": "2", "block": "64", "cluster": "", "smem": 0}
FILL = {"args": "zeros(float32[32])", "grid": "1", "block": "32"}
CHECK = ["findings", "bound", "timeline"]


def asked(text: str, kernel: str = "scale", launch: Any = LAUNCH, want: Any = ("findings",)) -> dict[str, Any]:
    return {"text": text, "kernel": kernel, "launch": launch, "want": list(want), "asked": True}


def ran(page: Page, *given: Any, **more: Any) -> dict[str, Any]:
    """The events of a run by name; those of stages by "stage" and their name."""
    events = [event for event in page.run(asked(*given, **more)) if event["event"] != "progress"]
    assert str(page.studio.source.path.parent) not in str(events)
    return {" ".join(filter(None, (event["event"], event.get("stage")))): event for event in events}


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "factor.cuh").write_text("#define FACTOR 2.0f\n")
    (folder / "scale.cu").write_text(CUDA)
    with page_of(folder / "scale.cu", tmp_path_factory.mktemp("processes")) as page:
        yield page


def test_the_session_has_kernels_a_launch_and_stages(cuda: Page) -> None:
    session = cuda.get("/session")[1]
    assert session["language"] == "cpp" and session["stages"] == ["tir", "ptx", "sass"]
    assert [(each["name"], each["line"], each["template"]) for each in session["kernels"]] == [
        ("scale", 2, False), ("fill", 9, True),
    ]  # fmt: skip
    assert session["kernels"][0]["parameters"] == "const float *x, float *out, int n"
    assert not session["automatic"] and session["course"] is False
    assert session["missing"] == ["the compiler of CUDA C++ runs outside of the sandbox"]
    assert cuda.post("/kernels", {"text": "__global__ void k() {}"})[1]["kernels"][0]["name"] == "k"


def test_a_text_runs_only_when_asked_and_with_a_launch(cuda: Page) -> None:
    status, answer = cuda.post("/run", {**asked(CUDA), "asked": False})
    assert status == 409 and "outside of the sandbox" in answer["error"]
    assert cuda.post("/run", {**asked(CUDA), "launch": None})[0] == 400
    for wrong in ({"launch": 3}, {"launch": {"grid": 8}}, {"launch": {"smem": -1}}, {"kernel": 'k"; system()'}):
        assert cuda.post("/run", {**asked(CUDA), **wrong})[0] == 400, wrong


def test_a_launch_is_of_no_kernel_in_python(page: Page, step4: str) -> None:
    status, answer = page.post("/run", asked(step4, "hgemm_v4"))
    assert status == 400 and "no other language" in answer["error"]


def test_a_right_kernel_has_a_verdict_a_bound_a_timeline_and_stages_with_its_lines(cuda: Page) -> None:
    events = ran(cuda, CUDA, want=[*CHECK, "tir", "ptx", "sass"])
    names = ["started", "built", "verdict", "bound", "timeline", "stage tir", "stage ptx", "stage sass", "done"]
    assert list(events) == names
    assert events["verdict"]["verdict"] == "ok" and events["verdict"]["findings"] == []
    for stage, word in (("tir", ""), ("ptx", "bar.sync"), ("sass", "BAR.SYNC")):
        (item,) = events[f"stage {stage}"]["items"]
        lines = item["text"].split("\n")
        assert len(lines) == len(item["lines"])
        assert {5, 6, 7} <= set(item["lines"]) <= set(range(9)), stage
        if stage != "tir":
            assert {number for line, number in zip(lines, item["lines"], strict=True) if word in line} == {6}


def test_findings_are_at_their_lines_of_the_text_that_is_not_saved(cuda: Page) -> None:
    race = ran(cuda, "\n" + CUDA.replace(SYNC, ""))["verdict"]
    finding = race["findings"][0]
    assert (race["verdict"], finding["code"], finding["line"]) == ("hazard", "TX201", 6)
    assert 7 in {each["line"] for each in finding["related"]}
    assert (finding["column"], finding["end_line"], finding["end_column"]) == (5, 6, 0)  # to the end of the line
    assert "scale.cu:6" in finding["text"] and "values[63 - threadIdx.x]" in finding["text"]
    (finding,) = ran(cuda, CUDA.replace("FACTOR", "FAKTOR"))["verdict"]["findings"]
    assert (finding["code"], finding["line"]) == ("TX401", 5) and "FAKTOR" in finding["title"]
    unknown = CUDA.replace(SYNC, '    asm volatile("vadd.u32.u32.u32 %0, %0, %0;" : "+r"(n));\n')
    (finding,) = ran(cuda, unknown)["verdict"]["findings"]
    assert (finding["code"], finding["line"]) == ("TX601", 6)


def test_an_instance_of_a_template_runs(cuda: Page) -> None:
    assert ran(cuda, CUDA, "fill<float>", FILL)["verdict"]["title"].startswith("fill<float>: ok")


@pytest.mark.parametrize(("launch", "said"), [
    ({"args": "", "grid": "", "block": ""}, "scale does not say how it is launched"),
    ({**LAUNCH, "args": "float33[128]"}, "'float33' is not a dtype"),
    ({**LAUNCH, "grid": "two"}, "--grid two: write one to three numbers"),
    ({**LAUNCH, "args": "1"}, "scale takes 3 arguments"),
    ({**LAUNCH, "args": "float32[9999999999999], zeros(float32[128]), 1"}, "more than 8192 MiB"),
])  # fmt: skip
def test_a_launch_that_does_not_fit_is_said(cuda: Page, launch: Any, said: str) -> None:
    assert said in ran(cuda, CUDA, launch=launch)["failed"]["title"]


def test_a_run_is_ended_after_its_time(simulators: Simulators, tmp_path: Path) -> None:
    text = "__global__ void k(int *x) { for (int i = 0; i < 100000000; ++i) atomicAdd(x, i * *x); }"
    task = LaunchTask(text, tmp_path / "k.cu", "k", LaunchText("int32[1]", "8", "32"), "b200", frozenset({"findings"}))
    events: list[dict[str, Any]] = []
    with pytest.raises(TimeoutError):
        Simulation(simulators).run(task, events.append, 0.5, launched)
    assert events and {event["event"] for event in events} <= {"progress", "built"}


def test_a_place_in_a_header_of_cuda_is_that_of_the_call() -> None:
    header = "/usr/lib/python3/site-packages/nvidia/cu13/include/cooperative_groups/details/sync.h"
    called = finding_data(Finding("race", "error", "a race", Span(header, 9, inlined_at=Span("k.cu", 3, 4))), "k.cu")
    assert (called["line"], called["column"], called["where"]) == (3, 5, "")
    assert "--> cooperative_groups/details/sync.h:9:1" in called["text"] and "/usr" not in called["text"]
    alone = finding_data(Finding("race", "error", "a race", Span(header, 9)), "k.cu")
    assert (alone["line"], alone["where"]) == (0, "sync.h:9")


def test_the_command_exports_the_page_of_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, exported = tmp_path / "fill.cu", tmp_path / "fill.html"
    file.write_text("template <typename T> __global__ void fill(T *out) { out[threadIdx.x] = T(VALUE); }")
    options = ["-D", "VALUE=3", *(word for name, value in FILL.items() for word in (f"--{name}", value))]
    assert main([f"{file}:fill<float>", *options, "--export", str(exported)]) == 0
    assert capsys.readouterr().out.startswith("fill<float>: ok")
    kept = recorded(exported.read_text(encoding="utf-8"))
    assert [event["stage"] for event in kept["events"] if event["event"] == "stage"] == ["tir", "ptx", "sass"]
    assert kept["session"]["launch"] == {**FILL, "cluster": "", "smem": 0} and str(tmp_path) not in str(kept)


def test_ptx_is_launched_and_is_its_own_stage(tmp_path: Path) -> None:
    text = read_cuda(CUDA.replace("FACTOR", "2").partition("\n")[2], optimize=True).text
    text = "\n".join(line for line in text.split("\n") if ".loc" not in line and ".file" not in line)
    (tmp_path / "scale.ptx").write_text(text)
    with page_of(tmp_path / "scale.ptx", tmp_path) as page:
        session = page.get("/session")[1]
        name = session["kernels"][0]["name"]
        events = ran(page, text, name, want=["findings", "ptx"])
    assert session["language"] == "ptx" and events["verdict"]["verdict"] == "ok"
    assert events["stage ptx"]["items"][0]["lines"] == [*range(1, text.count("\n") + 2)]
