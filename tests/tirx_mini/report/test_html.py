"""The HTML of notebooks: well-formed, complete, escaped, without scripts, and legible on light and dark pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tirx_mini.report.timeline.timelines import Ring
from tests.tirx_mini.timings import timing
from tirx_mini.diagnose import Finding, Report, StuckRole, Timeline
from tirx_mini.ir import Span
from tirx_mini.report import finding_html, report_html, timeline_html

SOURCE = """\
def kernel(A, B):
                        if warp_id < 4 and lane_id == 0:
                            wait(bar[stage], phase)
                            stage = stage + 1
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def race(source: str) -> Finding:
    details = {
        "hint": "wait for a phase < 2 & arrive",
        "notes": (("the other access is here", Span(source, 2, 24, 2, 55)),),
        "cta": "CTA 0",
    }
    message = "two accesses of <b>A</b> are not ordered"
    return Finding("race", "error", message, Span(source, 3, 28, 3, 51), details)


def hang(source: str) -> Finding:
    wait = Span(source, 3, 28, 3, 51)
    role = StuckRole(
        "warp 3", wait, "bar[1] to complete its phase of parity 0", 64, "CTA 0",
        barrier="bar[1]", stage=1, parity=0, phase=2, expected=128, pending=124,
    )  # fmt: skip
    cycle = ("warp 3 waits for bar[1] (line 3)", "warpgroup 0 waits for other[0] (line 4)")
    return Finding("deadlock", "error", "nobody arrives at bar[1]", wait, {"stuck": (role,), "cycle": cycle})


def tree(html: str) -> ET.Element:
    """The elements of a fragment. Raises for one that is not well-formed."""
    return ET.fromstring(html)


def words(html: str) -> str:
    """All of its words but the style sheet's."""
    root = tree(html)
    for style in root.findall(".//style"):
        style.clear()
    return " ".join("".join(root.itertext()).split())


def test_a_finding_has_its_code_its_line_with_the_underline_and_the_help(source: str) -> None:
    html = finding_html(race(source))
    text = words(html)
    assert "error[TX201]: two accesses of <b>A</b> are not ordered" in text
    assert "help: wait for a phase < 2 & arrive" in text
    assert "python -m tirx_mini explain TX201" in text
    first = tree(html).find(".//pre")
    assert first is not None
    lines = "".join(first.itertext()).splitlines()
    code = next(number for number, line in enumerate(lines) if "wait(bar[stage], phase)" in line)
    assert lines[code].startswith("3 |")
    assert lines[code].index("wait") == lines[code + 1].index("^") and lines[code + 1].count("^") == 23


def test_what_a_kernel_says_is_escaped(source: str) -> None:
    html = finding_html(race(source))
    assert "<b>A</b>" not in html and "if warp_id &lt; 4" in html


def test_notes_and_the_rule_are_folded(source: str) -> None:
    folded = ["".join(details.itertext()) for details in tree(finding_html(race(source))).findall(".//details")]
    assert len(folded) == 2
    assert folded[0].startswith("1 note") and "the other access is here" in folded[0] and "warp_id < 4" in folded[0]
    assert "rule: " in folded[1] and "CTA 0" in folded[1]


def test_a_possible_finding_says_in_which_order_it_goes_wrong(source: str) -> None:
    html = finding_html(replace(race(source), order="if the MMA comes first"))
    assert "possible: not seen in this run: it goes wrong if the MMA comes first" in words(html)
    assert "it happened in this run" not in words(html)


def test_a_hang_shows_who_waits_for_what(source: str) -> None:
    text = words(report_html(Report("deadlock", (hang(source),), kernel="k", gpu="B200")))
    assert "k: deadlock (1 error)" in text and "they wait for one another" in text
    assert "who waits for what" in text and "4 of 128, 124 missing" in text


def test_a_good_report_has_its_figures_and_no_findings() -> None:
    html = report_html(Report("ok", (), timing(12.34, 99.6), kernel="my_kernel", gpu="B200"))
    assert words(html) == (
        "my_kernel: ok, 12.3 µs predicted on B200 in a row of launches, 100 TFLOPS"
        "The time is 11.8 µs of launch and 1,000 cycles at 2.00 GHz."
    )
    assert tree(html).find(".//section") is None and "tirx-good" in html.partition("</style>")[2]


def test_a_run_without_data_says_what_is_not_known() -> None:
    assert "hazards were not looked for" in words(report_html(Report("clock", (), timing(1.0), kernel="k", gpu="B200")))


def test_a_wrong_result_is_the_verdict_and_a_finding(source: str) -> None:
    wrong = Finding("wrong-result", "error", "D is not A @ B.T", Span(source, 4))
    text = words(report_html(Report("ok", kernel="k", gpu="B200"), wrong))
    assert text.startswith("k: wrong (1 error)") and "D is not A @ B.T" in text


def test_many_findings_have_a_line_each(source: str) -> None:
    report = Report("hazard", tuple(replace(race(source), message=f"race {number}") for number in range(9)), kernel="k")
    root = tree(report_html(report))
    assert len(root.findall("section")) == 3
    items = ["".join(item.itertext()) for item in root.findall(".//li")]
    assert len(items) == 6 and items[0].endswith("race 3") and items[-1].endswith("race 8")


def test_there_are_no_scripts_and_colours_for_light_and_dark_pages(source: str) -> None:
    html = report_html(Report("hazard", (race(source),), kernel="<script>alert(1)</script>"))
    assert "<script" not in html and not re.search(r"\son\w+=", html)
    style = tree(html).findtext(".//style") or ""
    for page in ("prefers-color-scheme:dark", "data-jp-theme-light", ".vscode-dark", "html[theme=dark]"):
        assert page in style
    selectors = [part for rule in re.findall(r"([^{}]+)\{", style) for part in rule.split(",")]
    assert all(".tirx" in part or part.startswith("@media") for part in selectors)  # nothing outside of it changes


@pytest.mark.parametrize("stuck", [False, True])
def test_a_timeline_is_an_image_of_its_picture(stuck: bool) -> None:
    timeline = replace(Ring().timeline(stuck), label="ring on B200, 3 < 4", clock_ghz=2.0)
    image = tree(timeline_html(timeline))
    assert image.tag == "img" and image.get("alt") == "Timeline of ring on B200, 3 < 4"
    kind, _, data = image.get("src", "").partition(",")
    assert kind == "data:image/svg+xml;base64"
    svg = b64decode(data).decode()
    assert ET.fromstring(svg).tag.endswith("svg") and "ring on B200" in svg
    assert ("stuck" in svg) == stuck


def test_a_timeline_without_ctas_says_so() -> None:
    assert "no timeline" in words(timeline_html(Timeline()))
