"""Pages: complete, at 80 columns, without colour; and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.tirx_mini.timings import timing
from tirx_mini.diagnose import BarrierEvent, Finding, Report, Signal, StuckRole
from tirx_mini.ir import Span
from tirx_mini.report import barrier_table, finding_page, headline, plain, report_page, ring, stuck_page, to_json

SOURCE = """\
def kernel(A, B):
                        while valid():
                            for k in range(4):
                                wait(bar[stage], phase)  # a comment that is so long that it leaves the page
                                stage = stage + 1
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def race(source: str) -> Finding:
    wait = Span(source, 4, 32, 4, 55)
    details = {
        "hint": "synchronise " * 12,
        "notes": (("the other access is here", Span(source, 5, 32, 5, 49, inlined_at=Span(source, 3))),),
        "cta": "CTA 0",
        "rule": "PTX ISA: mbarrier",
        "count": 3,
    }
    return Finding("race", "error", "two accesses are not ordered " * 4, wait, details)


def stuck(source: str) -> StuckRole:
    return StuckRole(
        "warp 3 of warpgroup 1", Span(source, 4, 32, 4, 55), "bar[1] to complete its phase of parity 0", 64, "CTA 0",
        barrier="bar[1]", stage=1, parity=0, phase=2, expected=128, pending=124, tx_bytes=4096,
        providers=("the arrive of line 5 is up to warpgroup 0, which waits at line 3",),
        so_far=("arrive of line 5: 4×, by warpgroup 0",),
    )  # fmt: skip


def deadlock(source: str) -> Finding:
    cycle = ("warp 3 waits for bar[1] (line 4)", "warpgroup 0 waits for other[0] (line 3)")
    return Finding("deadlock", "error", "m", Span(source, 4), {"stuck": (stuck(source),), "cycle": cycle})


def test_a_page_says_everything_and_fits(source: str) -> None:
    page = plain(finding_page(race(source)))
    text = " ".join(page.split())
    place = f"{source}:4:33"
    source_line, inlined = "4 | wait(bar[stage], phase)", f"inlined from {source}:3"
    for words in (
        "error[TX201]: two accesses",
        "explain TX201",
        "help: synchronise",
        "note: the other access",
        source_line,
    ):
        assert words in text
    joined = "".join(page.split())  # long paths are folded
    assert place in joined and inlined.replace(" ", "") in joined
    for words in ("CTA 0", "PTX ISA: mbarrier", "found 3 times"):
        assert words in text
    assert "\x1b" not in page


def test_no_line_is_wider_than_the_terminal(source: str) -> None:
    for width in (60, 80, 120):
        lines = plain(report_page(Report("hazard", (race(source), deadlock(source)))), width).splitlines()
        assert max(map(len, lines)) <= width


def test_carets_stay_under_the_culprit(source: str) -> None:
    lines = plain(finding_page(race(source))).splitlines()
    shown = next(i for i, line in enumerate(lines) if "wait(bar[stage], phase)" in line)
    begin = lines[shown].index("wait(")
    assert lines[shown + 1].index("^") == begin
    assert lines[shown + 1].count("^") == len("wait(bar[stage], phase)")
    assert lines[shown - 1].endswith("for k in range(4):") and lines[shown + 2].endswith("stage = stage + 1")


def test_a_page_says_whether_it_happened_or_in_which_order_it_would(source: str) -> None:
    happened = plain(finding_page(race(source)))
    assert "it happened in this run" in happened and "possible" not in happened
    order = "if the TMA load lands before the read of warp 4"
    finding = Finding("race", "error", "two accesses are not ordered", None, order=order)
    possible = " ".join(plain(finding_page(finding)).split())
    assert f"possible: not seen in this run: it goes wrong {order}" in possible
    assert "it happened" not in possible
    assert f"note: not seen in this run: it goes wrong {order}" in finding.diagnostic.render()


def test_colour_is_only_added(source: str) -> None:
    out = StringIO()
    page = finding_page(race(source))
    Console(file=out, width=80, force_terminal=True, color_system="standard", highlight=False).print(page)
    assert "\x1b[1;31m" in out.getvalue()


def test_the_roles_of_a_deadlock(source: str) -> None:
    lines = plain(finding_page(deadlock(source))).splitlines()
    start = next(i for i, line in enumerate(lines) if line == "  warp 3 of warpgroup 1, line 4 (64 CTAs, first CTA 0)")
    facts = dict(line.strip().split("  ", 1) for line in lines[start + 2 : start + 6] if "  " in line.strip())
    assert "wait(bar[stage], phase)" in lines[start + 1]
    assert facts["waits for"].strip() == "bar[1], phase of parity 0; 2 rounds complete"
    assert facts["arrivals"].strip() == "4 of 128, 124 missing; 4096 bytes missing"
    assert facts["arrived"].strip() == "arrive of line 5: 4×, by warpgroup 0"
    assert facts["missing"].strip().startswith("the arrive of line 5 is up to warpgroup 0")


def test_the_ring_of_waits_is_closed(source: str) -> None:
    lines = plain(
        ring(("a waits for bar[1] to complete its phase of parity 0 (line 4)", "b waits (line 3)"))
    ).splitlines()
    assert lines == [
        "+-> a waits for bar[1], parity 0 (line 4)", "|   b waits (line 3)", "+-----+",
    ]  # fmt: skip


def test_a_role_that_waits_for_no_mbarrier() -> None:
    role = StuckRole("warp 1", None, "128 threads to arrive at barrier 1")
    assert "128 threads to arrive" in plain(stuck_page([role]))


def test_a_barrier_that_holds_no_barrier() -> None:
    role = StuckRole("warp 1", None, "bar", barrier="bar", parity=0, phase=0, expected=0, pending=0, tx_bytes=0)
    assert "never initialised" in plain(stuck_page([role]))


possible = (Finding("race", "error", "m", order="if the load lands first"),)


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (True, "right here; wrong if the load lands first; seldom seen on a chip"),
        (None, "nobody compared the result; it goes wrong if the load lands first"),
        (False, "the result is wrong: in this run, perhaps, as it goes wrong if the load lands first"),
    ],
)
def test_a_report_of_possible_errors_says_what_is_to_be_expected(right: bool | None, text: str) -> None:
    report = Report("hazard", possible, kernel="v3", right=right)
    assert text in " ".join(plain(report_page(report)).split()) and text in str(report)
    happened = replace(report, findings=(*possible, Finding("race", "error", "m")))
    assert happened.outlook == "" and Report("ok").outlook == ""
    assert json.loads(to_json(report)).get("right") is right


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report("ok", (), timing(12.34, 567.8), kernel="v3", gpu="B200"),
         "v3: ok, 12.3 µs predicted on B200 in a row of launches, 568 TFLOPS"),
        (Report("ok", (), timing(12.34, single_us=14.0), kernel="v3", gpu="B200"),
         "v3: ok, 12.3 µs predicted on B200 in a row of launches (14.0 µs by itself)"),
        (Report("ok", (Finding("race", "warning", "m"),), kernel="v3"), "v3: ok (1 warning)"),
        (
            Report("hazard", (*possible, Finding("race", "error", "m"), Finding("not-modelled", "note", "m"))),
            "kernel: hazard (1 error, 1 possible error, 1 note)",
        ),
        (
            Report("hazard", (Finding("race", "error", "m"),) * 2, seed=7),
            "kernel: hazard (2 errors); replay with --seed 7",
        ),
    ],
)
def test_headlines(report: Report, text: str) -> None:
    assert str(headline(report)) == text


def test_the_life_of_a_barrier(source: str) -> None:
    log = [
        BarrierEvent(12.0, "CTA 0", "bar[1]", Signal.EXPECT_TX, "warp 3 of CTA 0", Span(source, 4), 0, 4096, 0),
        BarrierEvent(90.5, "CTA 0", "bar[1]", Signal.COMPLETE, "", None, 0, 0, 1),
    ]
    lines = plain(barrier_table(log)).splitlines()
    assert lines[1].split() == ["12", "CTA", "0", "bar[1]", "0", "expect_tx", "4096", "warp", "3", "4"]
    assert lines[2].split() == ["90", "CTA", "0", "bar[1]", "1", "complete"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*", {"full[0]", "full[1]", "free"}), ("full", {"full[0]", "full[1]"}), ("full[1]", {"full[1]"}),
                           ("f*[0]", {"full[0]"}), ("free*", {"free"}), ("none", set())],
)  # fmt: skip
def test_barriers_are_chosen_by_name(pattern: str, names: set[str]) -> None:
    names_of_all = ("full[0]", "full[1]", "free")
    log = [BarrierEvent(1.0, "CTA 0", name, Signal.ARRIVE, "warp 0", None, 1, 0, 0) for name in names_of_all]
    rows = plain(barrier_table(log, pattern)).splitlines()[1:]
    assert {row.split()[3] for row in rows} == names


def test_json(source: str) -> None:
    data = json.loads(to_json(Report("deadlock", (deadlock(source),), kernel="v7", gpu="B200")))
    (finding,) = data["findings"]
    assert (data["verdict"], finding["kind"], finding["span"]) == ("deadlock", "deadlock", f"{source}:4:1")
    (role,) = finding["details"]["stuck"]
    assert (role["barrier"], role["expected"], role["pending"]) == ("bar[1]", 128, 124)
    assert finding["code"] == "TX113"


def test_what_follows_from_a_cause_is_counted(source: str) -> None:
    later = [replace(race(source), message=f"race {number}", details={"consequence": True}) for number in range(7)]
    report = Report("hazard", (race(source), *later))
    text = plain(report_page(report))
    assert "1 of 1" in text and text.count("help: ") == 1 and "race 4" not in text
    assert "7 consequences: what follows from it" in text and "with --all, check" in text
    assert "race 6" in str(report)
    text = plain(report_page(report, everything=True))
    assert text.count("error[") == 8 and "race 6" in text and "--all" not in text


def test_notes_of_one_text_share_a_place(source: str) -> None:
    notes = tuple(("the bar is signalled here", Span(source, line, 0, line, 1)) for line in (1, 2))
    text = plain(finding_page(replace(race(source), details={"notes": notes})))
    assert text.count("the bar is signalled here") == 1 and "(and in line 2)" in text


def test_plain_text_of_a_page_is_not_shown_in_a_notebook(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class ZMQInteractiveShell:
        """The name by which rich knows a notebook, where its consoles display instead of writing to their file."""

    def displayed(*_: object) -> None:
        raise AssertionError("a console displays its output in the notebook")

    monkeypatch.setattr("builtins.get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setattr("rich.jupyter.display", displayed)
    assert "two accesses" in plain(finding_page(race(source)))
