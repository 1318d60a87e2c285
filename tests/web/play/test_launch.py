"""Files of CUDA C++: the launch in fields, runs on Ctrl+Enter alone, C++ in the editor, and the tabs of its stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import SCREEN, violations

from .fake import FakeServer
from .pages import BASE, done, type_text, until, wait_for
from .test_access import PHONE

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]

TEXT = "#include <a.h>\n__global__ void reduce(const float *in, __half *out, int n)\n{\n  out[0] = in[n]; // a sum\n}\n"
LAUNCH = {"args": "float32[8], float16[8], 8", "grid": "1", "block": "32", "cluster": "", "smem": 0}
KERNELS = [
    {"name": "reduce", "step": None, "line": 2, "title": "reduce", "written": True, "sizes": None, "free": "",
     "parameters": "const float *in, __half *out, int n", "template": False},
    {"name": "fill", "step": None, "line": 6, "title": "fill", "written": True, "sizes": None, "free": "",
     "parameters": "T *out", "template": True},
]  # fmt: skip


@pytest.fixture
def cuda(serve: Serve) -> Callable[..., FakeServer]:
    def cuda(**session: Any) -> FakeServer:
        given = {
            "file": "reduce.cu", "text": TEXT, "automatic": False, "missing": ["the compiler runs outside"],
            "kernels": KERNELS, "course": False, "language": "cpp", "stages": ["tir", "ptx", "sass"], "launch": LAUNCH,
        }  # fmt: skip
        return serve(**{**given, "kernel": "reduce", **session})

    return cuda


def test_the_launch_of_the_command_runs_on_control_enter(cuda: Callable[..., FakeServer], play: Play) -> None:
    server = cuda()
    page = play(server)
    until(page, "Ctrl+Enter runs the text. The compiler runs outside.")
    type_text(page, "// more")
    page.wait_for_timeout(300)
    assert server.bodies("/run") == []
    page.keyboard.press("Control+Enter")
    done(page)
    assert server.bodies("/run") == [{
        "text": f"{TEXT}// more", "kernel": "reduce", "constants": {}, "sizes": None, "gpu": "b200", "sms": None,
        "modules": [], "course": False, "want": BASE, "launch": LAUNCH, "asked": True,
    }]  # fmt: skip


def test_a_field_runs_the_same_text_anew(cuda: Callable[..., FakeServer], play: Play) -> None:
    server = cuda()
    page = play(server)
    page.locator("#launch-grid").fill("8,4")
    page.keyboard.press("Tab")
    page.wait_for_timeout(200)
    assert server.bodies("/run") == []  # nobody has asked for this text yet
    page.locator("#run").click()
    done(page)
    page.locator("#launch-smem").fill("4096")
    page.keyboard.press("Tab")
    wait_for(lambda: len(server.bodies("/run")) == 2)
    assert [body["launch"] for body in server.bodies("/run")] == [
        {**LAUNCH, "grid": "8,4"}, {**LAUNCH, "grid": "8,4", "smem": 4096},
    ]  # fmt: skip


def test_without_a_launch_the_page_says_what_is_missing(cuda: Callable[..., FakeServer], play: Play) -> None:
    server = cuda(launch={**LAUNCH, "args": "", "grid": "", "block": ""})
    page = play(server)
    assert page.locator("#launch-args").get_attribute("placeholder") == "float32[1024], float16[1024], 1024"
    page.locator("#run").click()
    until(page, "Fill in how the kernel is launched")
    page.locator("#kernel").select_option("fill")
    page.locator("#run").click()
    until(page, "fill is a template: fill in its arguments")
    assert server.bodies("/run") == []
    for name, value in (("template", "float"), ("grid", "1"), ("block", "32")):
        page.locator(f"#launch-{name}").fill(value)
    page.locator("#run").click()
    done(page)
    assert server.bodies("/run")[-1]["kernel"] == "fill<float>"


def test_the_command_names_an_instance(cuda: Callable[..., FakeServer], play: Play) -> None:
    server = cuda(kernel="fill<double, 4>")
    page = play(server)
    page.locator("#run").click()
    done(page)
    assert server.bodies("/run")[0]["kernel"] == "fill<double, 4>"
    page.locator("#kernel").select_option("reduce")
    wait_for(lambda: len(server.bodies("/run")) == 2)
    assert server.bodies("/run")[1]["kernel"] == "reduce"
    assert not page.locator("#launch-template").is_visible()


def test_the_editor_has_cpp_and_the_tabs_are_those_of_its_stages(cuda: Callable[..., FakeServer], play: Play) -> None:
    page = play(cuda())
    assert page.locator(".cm-line .tok-comment").text_content() == "// a sum"
    assert "void" in page.locator(".cm-line .tok-typeName, .cm-line .tok-keyword").all_text_contents()
    tabs = [tab.inner_text() for tab in page.get_by_role("tab").all() if tab.is_visible()]
    assert tabs == ["Findings", "Timeline", "Bound", "TIR", "PTX", "SASS"]
    assert not page.locator("#sizes").is_visible() and not page.locator("#sms").is_visible()
    page.locator("#run").click()
    done(page)
    page.locator("#tab-ptx").click()
    until(page, "tcgen05.mma", "#pane-ptx")


@pytest.mark.parametrize("screen", [SCREEN, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_in_the_fields(
    cuda: Callable[..., FakeServer], play: Play, axe: str, screen: dict[str, int]
) -> None:
    page = play(cuda(kernel="fill<float>"), viewport=screen)
    page.locator("#run").click()
    done(page)
    assert violations(page, axe) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= screen["width"]


def test_a_launch_is_not_on_the_page_of_other_kernels(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    done(page)
    assert not page.locator("#launch").is_visible() and page.locator("#tab-passes").is_visible()
    assert "launch" not in server.bodies("/run")[0]
