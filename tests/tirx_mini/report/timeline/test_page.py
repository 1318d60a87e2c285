"""The page as a file: all that it needs is in it, and its data are the run's."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.report.timeline.reports import report_of
from tests.tirx_mini.report.timeline.timelines import Ring
from tests.tirx_mini.timings import timing
from tirx_mini.diagnose import Report
from tirx_mini.report.timeline import page_html
from tirx_mini.report.timeline.page_data import cta_groups


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return report_of(Ring(), tmp_path)


def header(page: str) -> dict[str, Any]:
    data = re.findall(r'<script id="data" type="text/plain">([^<]*)</script>', page)
    block = zlib.decompress(base64.b64decode(data[0]))
    return json.loads(block[4 : 4 + int.from_bytes(block[:4], "little")])


def test_the_page_asks_for_nothing_else(report: Report) -> None:
    page = page_html(report)
    assert not re.findall(r"{{\w+}}", page)
    assert re.findall(r"""(?:src|href)=["']?([^"'> ]*)""", page) == ["data:,"]
    assert "@import" not in page and "url(" not in page


def test_a_title_is_text(report: Report) -> None:
    page = page_html(report, shape="<script>{{data}}</script>")
    assert "<title>ring, &lt;script&gt;{{data}}&lt;/script&gt;</title>" in page


def test_the_head_has_the_reports_figures(report: Report) -> None:
    (run,) = header(page_html(report))["runs"]
    assert run["cycles"] == report.cycles
    assert dict(run["figures"]) == {
        "verdict": "ok", "on": "B200", "in a row of launches": f"{report.time_us:.1f} µs",
        "at": f"{report.tflops:.0f} TFLOPS", "launch": "0.0 µs", "then cycles": f"{report.cycles:,.0f} at 1.86 GHz",
    }  # fmt: skip


def test_the_head_has_both_times_where_both_are_known(report: Report) -> None:
    (run,) = header(page_html(replace(report, timing=timing(6.0, single_us=7.25))))["runs"]
    assert dict(run["figures"])["by itself"] == "7.2 µs"


def test_every_interval_and_change_is_in_its_column(report: Report) -> None:
    (run,) = header(page_html(report))["runs"]
    lengths = {name: column["length"] for name, column in run["columns"].items()}
    assert lengths.pop("track") == len({interval.track for interval in report.trace.intervals})
    assert {size for name, size in lengths.items() if name.startswith("change.")} == {len(report.trace.changes)}
    assert {size for name, size in lengths.items() if not name.startswith("change.")} == {len(report.trace.intervals)}


def test_the_source_is_the_kernels_function(report: Report) -> None:
    (run,) = header(page_html(report))["runs"]
    (file,) = run["files"]
    assert file["first"] == 1 and file["lines"][0] == "def ring(A, B, D):"
    assert {place["line"] for place in run["places"]} == {2, 3, 4}


def test_the_first_and_the_slowest_ctas_come_first_and_pairs_together(tmp_path: Path) -> None:
    timeline = report_of(Ring(), tmp_path, ctas=4).trace
    slow = replace(timeline.ctas[3], end=timeline.ctas[3].end + 1000)
    groups = cta_groups(replace(timeline, ctas=(*timeline.ctas[:3], slow)))
    assert [group["ctas"] for group in groups] == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert groups[0]["label"] == "First: CTA (0, 0) + CTA (1, 0), SM 0 + 1"
    assert groups[1]["label"].startswith("Slowest: ")


def test_a_page_begins_where_it_is_asked_to(report: Report) -> None:
    first = header(page_html(report))
    assert first["runs"][0]["shown"] == [0, 1]
    assert 0 <= first["window"][0] < first["window"][1] <= report.cycles
    asked = header(page_html(report, ctas=[1], window=(100.0, 200.0)))
    assert (asked["runs"][0]["shown"], asked["window"]) == ([1], [100, 200])


def test_a_run_that_hangs_ends_in_the_stuck_state_with_its_finding(tmp_path: Path) -> None:
    report = report_of(Ring(), tmp_path, stuck=True)
    (run,) = header(page_html(report))["runs"]
    assert run["stuck"] == report.trace.stuck
    assert [finding["message"] for finding in run["findings"]] == ["the MMA warp waits for ever for tma2mma[0]"]
    assert run["roofline"] is None


def test_two_runs_are_two_sets_of_columns_in_one_block(report: Report, tmp_path: Path) -> None:
    data = header(page_html(report_of(Ring(depth=4), tmp_path), report))
    first, second = data["runs"]
    assert first["cycles"] == report.cycles != second["cycles"]
    assert data["title"] == "ring against ring" and data["window"] is None
    assert data["differences"][0].startswith("ring takes 39 % less than ring")
    ends = [column["at"] + column["width"] * column["length"] for column in first["columns"].values()]
    assert min(column["at"] for column in second["columns"].values()) == max(ends)


def test_a_run_without_a_timeline_is_refused() -> None:
    with pytest.raises(ValueError, match="without trace=True"):
        page_html(Report("ok", kernel="gemm", gpu="B200"))
