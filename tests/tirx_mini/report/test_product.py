"""The page about a wrong product: at the store of the result, with each line once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tirx_mini.diagnose import Finding, Report
from tirx_mini.report import Mismatch, plain, report_page, wrong_result
from tirx_mini.script import tirx as Tx

SHAPE = (32, 32)
MISMATCH = Mismatch("1.0% of D is wrong", ("the tile is entirely wrong",), "look at the rows", "D")


@Tx.prim_func(tirx=True)
def elementwise(A: Tx.Buffer(SHAPE, "float32"), B: Tx.Buffer(SHAPE, "float32"), D: Tx.Buffer(SHAPE, "float32")) -> None:
    with Tx.kernel():
        _ = Tx.cta_id([1], parent="kernel")
        row = Tx.thread_id([32], parent="cta")
        with Tx.thread():
            for col in range(32):
                D[row, col] = A[row, col] * B[row, col]


def line_of(text: str) -> int:
    text_lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(text_lines, 1) if text in line)


def lines(finding: Finding) -> list[tuple[str, int | None]]:
    return [(text, None if span is None else span.line) for text, span in finding.details["notes"]]


STORE = line_of("D[row, col] = ")


@pytest.mark.parametrize("suspect", ["A", "D", None])
def test_the_finding_is_at_the_store_and_no_note_names_that_line(suspect: str | None) -> None:
    finding = wrong_result(Mismatch("wrong", (), suspect=suspect), elementwise)
    assert finding.span is not None and finding.span.line == STORE
    assert lines(finding) == []


def test_operands_of_one_line_are_one_note() -> None:
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer(SHAPE, "float32"), B: Tx.Buffer(SHAPE, "float32"), D: Tx.Buffer(SHAPE, "float32")) -> None:
        with Tx.kernel():
            _ = Tx.cta_id([1], parent="kernel")
            row = Tx.thread_id([32], parent="cta")
            total = Tx.alloc_local((1,), "float32")
            with Tx.thread():
                total[0] = A[row, 0] * B[row, 0]
                D[row, 0] = total[0]

    finding = wrong_result(Mismatch("wrong", ()), kernel)
    assert finding.span is not None and finding.span.line == line_of("D[row, 0] = ")
    assert lines(finding) == [("A and B are accessed here", line_of("total[0] = A"))]


def test_without_a_kernel_there_are_words_only() -> None:
    finding = wrong_result(MISMATCH)
    assert finding.span is None and lines(finding) == [("the tile is entirely wrong", None)]


@pytest.mark.parametrize("others", [0, 5])
def test_a_wrong_result_has_a_page_and_what_was_not_written_is_said_once(others: int) -> None:
    missing = "no thread writes D[0:1, 0:1]"
    found = tuple(Finding("race", "error", f"race {n}", order="if so") for n in range(others))
    report: Any = Report("hazard" if others else "ok", found, unwritten=(missing,))
    page = plain(report_page(report, wrong_result(MISMATCH, elementwise, report.unwritten)))
    assert page.startswith("kernel: wrong (1 error") and page.count(missing) == 1
    assert page.count("error[TX501]: 1.0% of D is wrong\n") == 1
