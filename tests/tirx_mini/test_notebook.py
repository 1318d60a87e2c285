"""What notebooks show: objects find their HTML, cells have their numbers, mistakes have no traceback of the package."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.lib.pretty import pretty

import tirx_mini as tvm
from tests.tirx_mini.report.timeline.reports import report_of
from tests.tirx_mini.report.timeline.timelines import Ring
from tests.tirx_mini.timings import timing
from tirx_mini.course import Checked
from tirx_mini.display import Displayed
from tirx_mini.ir import Diagnostic, Span, TirxError
from tirx_mini.report import finding_page, plain


@pytest.fixture
def report(tmp_path: Path) -> tvm.Report:
    return report_of(Ring(), tmp_path, stuck=True).named("ring")


def test_reports_findings_and_timelines_have_html(report: tvm.Report) -> None:
    shown = [each._repr_html_() for each in (report, report.findings[0], report.trace)]
    assert all(html and ET.fromstring(html) is not None for html in shown)
    assert "deadlock" in shown[0] and "TX1" in shown[1] and "image/svg+xml" in shown[2]


def test_an_object_without_a_writer_is_shown_as_text() -> None:
    class Other(Displayed):
        pass

    assert Other()._repr_html_() is None


def test_a_notebook_keeps_little_text_beside_the_html(report: tvm.Report) -> None:
    assert pretty(report) == str(report)
    assert pretty(report.trace) == "<Timeline 'ring on B200, deadlock': 2 CTAs, 190 intervals>"
    assert len(pretty(report.findings[0])) < 1000


def test_a_report_of_another_name_has_a_timeline_of_that_name(report: tvm.Report) -> None:
    renamed = replace(report, verdict="ok", timing=timing(4.24)).named("step 4")
    assert renamed.kernel == "step 4" and renamed.trace is not None and renamed.trace.label == "step 4 on B200, 4.2 µs"
    assert replace(report, trace=None).named("step 4").kernel == "step 4"


def test_the_page_of_a_timeline_is_framed_and_can_be_saved(report: tvm.Report, tmp_path: Path) -> None:
    page = tvm.timeline(report, shape="1024")
    frame = ET.fromstring(page._repr_html_())
    assert (frame.tag, frame.get("sandbox"), frame.get("title")) == ("iframe", "allow-scripts", "Timeline of ring")
    assert page.save(tmp_path / "x.html").read_text(encoding="utf-8") == page.html
    assert page.html.startswith("<!doctype html>") and "ring, 1024" in page.html
    assert page.html.split() == frame.get("srcdoc", "").split()  # XML makes blanks of line ends in attributes


def test_a_run_without_a_timeline_has_no_page() -> None:
    with pytest.raises(ValueError, match="trace=True"):
        tvm.timeline(tvm.Report("ok", kernel="k", gpu="B200"))


def ipython(format_code_name: Any) -> Any:
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    return SimpleNamespace(get_ipython=lambda: shell)


def test_a_cell_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {"/tmp/ipykernel_1/2.py": ("Cell", "In[3]")}
    monkeypatch.setitem(sys.modules, "IPython", ipython(cells.get))
    assert str(Span("/tmp/ipykernel_1/2.py", 7)) == "Cell In[3]:7"
    assert str(Span("kernel.py", 7)) == "kernel.py:7"
    assert "--> Cell In[3]:7:1" in Diagnostic("m", Span("/tmp/ipykernel_1/2.py", 7)).render()


def test_a_cell_has_its_number_where_the_notebook_runs_above_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, module = tmp_path / "ipykernel_1" / "2.py", tmp_path / "module.py"
    monkeypatch.setitem(sys.modules, "IPython", ipython({str(cell): ("Cell", "In[3]")}.get))
    monkeypatch.chdir(tmp_path)
    for path, name in ((cell, "Cell In[3]"), (module, "module.py")):
        finding = tvm.Finding("race", "error", "m", Span(str(path), 7))
        assert f"--> {name}:7:1" in plain(finding_page(finding))


def test_a_wrong_product_is_shown_with_its_report(report: tvm.Report) -> None:
    wrong = tvm.Finding("wrong-result", "error", "D is not A @ B.T")
    html = Checked(tvm.Report("ok", kernel="k", gpu="B200"), wrong=wrong)._repr_html_()
    assert "wrong" in html and "D is not A @ B.T" in html


@pytest.mark.parametrize("module", [SimpleNamespace(get_ipython=lambda: None), ipython(None)])
def test_a_file_has_its_path_where_no_shell_knows_cells(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert str(Span("/tmp/ipykernel_1/2.py", 7)) == "/tmp/ipykernel_1/2.py:7"


def test_a_mistake_is_printed_as_its_page(report: tvm.Report) -> None:
    error = TirxError("a mistake", Span("kernel.py", 7), "a hint")
    assert error._render_traceback_() == str(error).splitlines()
    assert tvm.SimulationError(report)._render_traceback_() == str(report).splitlines()
