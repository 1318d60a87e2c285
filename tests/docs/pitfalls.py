"""Tables of pitfalls: a mistake, the codes that `check` reports, and why; and kernels that make these mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.kernels_ref.edits import Edit
from tirx_mini.course import KernelRef, Shape, check_file
from tirx_mini.diagnose import Finding
from tools.pages import DOCS

_ROW = re.compile(r"^\| (?P<mistake>.+?) \| (?P<reported>[^|]*TX\d{3}[^|]*) \| .+ \|$", re.MULTILINE)
_CODE = re.compile(r"\[(TX\d{3})\]")


@dataclass(frozen=True)
class Mistake:
    """A kernel that makes the mistake of a row. edits: of the reference: old and new texts. shape: (M, N, K)."""

    edits: tuple[tuple[str, str], ...]
    shape: Shape | None = None


Mistakes = Mapping[int, Mapping[str, tuple[Mistake, ...]]]
"""The kernels for each row of a page, in the order of the table, by step and by the words of the row's first cell."""


def mistake(*edits: tuple[str, str], shape: Shape | None = None) -> tuple[Mistake, ...]:
    """One kernel, as `Mistake`."""
    return (Mistake(edits, shape),)


def lines(indent: int, *texts: str) -> str:
    """Whole lines, each indented by so many spaces."""
    return "".join(f"{' ' * indent}{text}\n" for text in texts)


def rows(step: int) -> dict[str, str]:
    """The report of `check` on each mistake in the table of a page."""
    page = (DOCS / f"steps/step{step:02}.md").read_text(encoding="utf-8")
    table = page.partition("\n## Pitfalls\n")[2].partition("\n## ")[0]
    return {row["mistake"]: row["reported"] for row in _ROW.finditer(table)}


def codes_in(cell: str) -> list[str]:
    """The codes of a cell."""
    return _CODE.findall(cell)


def each(mistakes: Mistakes) -> list[tuple[int, str]]:
    """(step, row) of all rows."""
    return [(step, row) for step in mistakes for row in mistakes[step]]


def assert_leads_to_its_codes(step: int, row: str, wrong: Iterable[Mistake], shape: Shape, folder: Path) -> None:
    """The first finding of each kernel has a code of the row, and together they have all its codes.

    A row says ", a warning" if and only if the first finding is one.
    """
    expected, only_warns = codes_in(rows(step)[row]), ", a warning" in rows(step)[row]
    found = [reported(step, kernel, kernel.shape or shape, folder) for kernel in wrong]
    assert all(findings and findings[0].code in expected for findings in found), found
    assert {finding.code for findings in found for finding in findings} >= set(expected), found
    assert {findings[0].severity == "error" for findings in found} == {not only_warns}, found


def reported(step: int, wrong: Mistake, shape: Shape, folder: Path) -> list[Finding]:
    """The findings of `check`, the worst first."""
    (old, new), *then = wrong.edits
    path = folder / "wrong.py"
    path.write_text(Edit(step, old, new, tuple(then)).source(), encoding="utf-8")
    checked = check_file(KernelRef(path, f"hgemm_v{step}"), shape=shape, trace=False)
    return [*checked.report.findings, *([checked.wrong] if checked.wrong else [])]
