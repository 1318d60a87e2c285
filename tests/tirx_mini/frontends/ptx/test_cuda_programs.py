"""CUDA C++ programs of every kind, right and with one mistake: nothing is found in one, the mistake in the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.tirx_mini.frontends.ptx.cuda.catalog import PROGRAMS
from tests.tirx_mini.frontends.ptx.cuda.seeded import FOLDER, Program, has_headers
from tirx_mini.diagnose import Finding
from tirx_mini.ir import Span
from tools.pages import DOCS


def programs() -> Iterator[object]:
    for each in PROGRAMS:
        marks = () if has_headers(each.headers) else pytest.mark.skip(f"the headers {each.headers} are not installed")
        yield pytest.param(each, id=each.name, marks=marks)


def lines(finding: Finding) -> set[int]:
    """The lines of the program that the page of a finding shows."""
    notes: tuple[tuple[str, Span | None], ...] = finding.details.get("notes", ())
    spans = [finding.span, *(span for _, span in notes), *(role.span for role in finding.details.get("stuck", ()))]
    return {line for span in spans for line in _chain(span)}


def _chain(span: Span | None) -> Iterator[int]:
    while span is not None:
        if span.file.startswith("<cuda"):
            yield span.line
        span = span.inlined_at


@pytest.mark.parametrize("program", list(programs()))
def test_nothing_is_found_in_a_right_program(program: Program) -> None:
    work, reports = program.run(program.text)
    for report in reports:
        assert (report.verdict, report.findings) == ("ok", ()), report
    assert work.right()


@pytest.mark.parametrize("program", list(programs()))
def test_the_mistake_of_a_wrong_program_is_named_at_its_line(program: Program) -> None:
    assert len(re.findall("//-", program.text)) == 1
    _, reports = program.run(program.wrong)
    found = [each for report in reports for each in report.findings if each.severity == "error"]
    assert any(each.code in program.codes and lines(each) & program.lines for each in found), reports


def test_every_file_is_a_program() -> None:
    assert {path.stem for path in FOLDER.glob("*.cu")} == {each.name for each in PROGRAMS}


def test_the_page_counts_the_programs() -> None:
    assert f"{len(PROGRAMS)} programs" in " ".join((DOCS / "ptx.md").read_text(encoding="utf-8").split())
