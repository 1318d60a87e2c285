"""The notebook of the tour: it runs, breaks and fixes its kernel, and its outputs render on light and dark pages."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

import tirx_mini as tvm
from tests.browser import SCREEN
from tirx_mini.runtime import ToolchainError
from tools.notebook import PAGES, PATH, executed


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The cells by their ids, executed in a folder that holds nothing; the first one that fails raises."""
    return {cell.id: cell for cell in executed(str(tmp_path_factory.mktemp("tour"))).cells}


def shown(cell: Any) -> str:
    """The HTML of the last output of a cell."""
    return cell.outputs[-1].data["text/html"]


def printed(cell: Any) -> str:
    """What a cell prints."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")


def words(html: str) -> str:
    return " ".join("".join(ET.fromstring(html).itertext()).split())


def picture(html: str) -> str:
    """The SVG of an image."""
    return b64decode(ET.fromstring(html).get("src", "").partition(",")[2]).decode()


def test_the_notebook_is_committed_with_the_outputs_of_a_run(cells: Mapping[str, Any]) -> None:
    committed = nbformat.read(PATH, as_version=4)
    nbformat.validate(committed)
    code = [cell for cell in committed.cells if cell.cell_type == "code"]
    assert len(code) > 10 and len(json.dumps(committed)) < 300_000
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        if cell.id != "cuda":  # which a machine without a compiler does not print
            found = [] if cell.id in PAGES else cells[cell.id].outputs
            assert cell.outputs == found, f"{cell.id}: run python -m tools.notebook"


def test_without_the_package_the_first_cell_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(cell for cell in nbformat.read(PATH, as_version=4).cells if cell.cell_type == "code")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="is not installed here: upload or clone the folder of the kit, run `%pip"):
        exec(first.source, {})


@pytest.mark.parametrize("folder", [".", "examples"])
def test_in_a_checkout_the_first_cell_finds_the_package(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(cell for cell in nbformat.read(PATH, as_version=4).cells if cell.cell_type == "code")
    (tmp_path / "tirx_mini" / "script").mkdir(parents=True)
    (tmp_path / "examples").mkdir()
    monkeypatch.chdir(tmp_path / folder)
    path: list[str] = []
    monkeypatch.setattr("sys.path", path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    exec(first.source, {})
    assert path == [str(tmp_path)]


def test_the_tour_runs_without_a_word_of_an_error(cells: Mapping[str, Any]) -> None:
    for cell in cells.values():
        for output in cell.get("outputs", ()):
            assert output.output_type in ("stream", "execute_result"), f"{cell.id}: {output}"


def test_findings_have_their_codes_and_the_lines_of_the_cell(cells: Mapping[str, Any]) -> None:
    cell = cells["kernel"]
    for name, verdict, code, line in (
        ("phase", "hazard", "error[TX108]", "Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), parity)"),
        ("hang", "deadlock", "error[TX107]", "Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), parity)"),
        ("fence", "ok", "warning[TX203]", "Tx.copy(Dreg_wg[:, :], tmem[:, :N])"),
    ):
        text = words(shown(cells[name]))
        number = 1 + next(n for n, each in enumerate(cell.source.splitlines()) if line in each)
        assert text.find(f"tile: {verdict}") > 0 and code in text, name
        assert f"--> Cell In[{cell.execution_count}]:{number}:" in text and f"{number} | {line}" in text, name
        assert "help: " in text


def test_the_kernel_is_right_before_and_after(cells: Mapping[str, Any]) -> None:
    for name in ("run", "fix"):
        text = words(shown(cells[name]))
        assert "tile: ok" in text and "TX" not in text and "Bound by" in text
    error = float(printed(cells["run"]).rpartition(" ")[2])
    assert error < 0.02


def test_timelines_are_pictures_and_pages(cells: Mapping[str, Any]) -> None:
    for name, title in (("hang-timeline", "tile on B200, deadlock"), ("timeline", "tile on B200"), ("step5", "step 5")):
        assert title in picture(shown(cells[name]))
    for name in ("timeline-page", "against"):
        assert ET.fromstring(shown(cells[name])).tag == "iframe"


def test_what_the_text_says_of_the_steps_is_so(cells: Mapping[str, Any]) -> None:
    step4, step5 = printed(cells["steps"]).splitlines()
    assert step4.startswith("step 4: ok") and step5.startswith("step 5: ok")
    assert float(step4.split()[3]) > float(step5.split()[3])
    assert "bound by launch and set-up" in printed(cells["bound"])


@pytest.mark.compiler
def test_the_cuda_is_that_of_the_kernel(cells: Mapping[str, Any]) -> None:
    text = printed(cells["cuda"])
    assert "__global__" in text and "tile_kernel" in text
    assert text.count("tcgen05.mma.cta_group::1.kind::f16") == 4 and "tcgen05.commit" in text


def test_without_a_compiler_the_cell_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def compile(*_: object, **__: object) -> None:
        raise ToolchainError("NVRTC is not installed")

    monkeypatch.setattr(tvm, "compile", compile)
    cell = next(cell for cell in nbformat.read(PATH, as_version=4).cells if cell.id == "cuda")
    exec(cell.source, {"tvm": tvm, "single_tile": lambda: None})
    said = "There is no CUDA compiler on this machine, so this part is skipped: NVRTC is not installed\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_outputs_fit_and_the_pages_run(
    cells: Mapping[str, Any], browser: Any, tmp_path: Path, scheme: str
) -> None:
    outputs = [
        f'<div class="output" id="{name}">{output.data["text/html"]}</div>'
        for name, cell in cells.items()
        for output in cell.get("outputs", ())
        if "data" in output and "text/html" in output.data
    ]
    assert len(outputs) >= 9
    path = tmp_path / "outputs.html"
    head = '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Outputs</title>'
    head += "<style>.output pre{font-family:sans-serif;white-space:normal}</style>"  # as notebooks have their own
    path.write_text(head + "".join(outputs), encoding="utf-8")
    context = browser.new_context(viewport=SCREEN, color_scheme=scheme)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for frame in page.frames[1:]:
        frame.wait_for_selector("html[data-ready]")
    wide = "[...document.querySelectorAll('.output *')].filter(e => e.getBoundingClientRect().right > innerWidth)"
    assert page.evaluate(f"() => {wide}.map(e => e.tagName + e.textContent.slice(0, 60))") == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= SCREEN["width"]
    assert page.evaluate("() => [...document.images].every(each => each.complete && each.naturalWidth > 0)")
    font = "e => getComputedStyle(e).fontFamily.includes('monospace') && getComputedStyle(e).whiteSpace === 'pre'"
    assert page.evaluate(f"() => [...document.querySelectorAll('.tirx pre, .tirx pre b')].every({font})")
    accent = page.evaluate("() => getComputedStyle(document.querySelector('.tirx-bad')).color")
    assert accent == {"light": "rgb(179, 38, 30)", "dark": "rgb(255, 138, 128)"}[scheme]
    assert len(page.frames) == 3 and wrong == []
    context.close()
