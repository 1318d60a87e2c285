"""References with one mistake each: the edit that makes it, and what is to be found of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import tirx_mini as tvm
from tirx_mini.course import Shape, load_kernels
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc
from utils import prepare_data

ROOT = Path(__file__).parents[3]
SOURCES = {int(path.stem[4:6]): path for path in (ROOT / "kernels_ref" / "sm100").glob("step*.py")}
SHAPES: dict[int, Shape] = {
    1: (128, 128, 64),
    2: (128, 128, 256),
    3: (256, 256, 128),
    4: (256, 256, 192),
    5: (256, 128, 320),
    6: (384, 384, 320),
    7: (384, 384, 320),
    8: (384, 384, 448),
    9: (512, 768, 448),
    10: (1024, 768, 448),
}
"""What a wrong version computes: with `SMS`, several tiles for each CTA, and K tiles that the depth does not divide."""

SMS = 4
"""The multiprocessors that the persistent kernels are written for here, so that few tiles are several rounds."""


@dataclass(frozen=True)
class Edit:
    """`old`, which stands in the reference of `step` exactly once, becomes `new`; `then` are further such pairs."""

    step: int
    old: str
    new: str
    then: tuple[tuple[str, str], ...] = ()

    def source(self) -> str:
        text = SOURCES[self.step].read_text(encoding="utf-8")
        for old, new in ((self.old, self.new), *self.then):
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {SOURCES[self.step]}"
            text = text.replace(old, new)
        return re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", text)

    def kernel(self, folder: Path) -> PrimFunc:
        """The edited reference's kernel, from a file of its own in `folder`."""
        path = folder / "wrong.py"
        path.write_text(self.source(), encoding="utf-8")
        return load_kernels(path)[self.step](*SHAPES[self.step])

    def line_of(self, text: str) -> int:
        """The line on which `text`, which the edited source has once, begins."""
        source = self.source()
        assert source.count(text) == 1, f"{text!r} stands {source.count(text)} times in the edited source"
        return source.count("\n", 0, source.index(text)) + 1


@dataclass(frozen=True)
class Wrong:
    """An edit, and the finding it leads to: its verdict, its kind, the text of its line, and words of its page.

    at: more than one text where several lines are equally wrong, and the schedule decides which is found. code: of
    the finding, where the kind does not say it. other: the text of a second line that the page shows.
    """

    name: str
    edit: Edit
    verdict: str
    kind: str
    at: str | tuple[str, ...]
    words: tuple[str, ...] = ()
    other: str | None = None
    code: str | None = None


def simulate(kernel: PrimFunc, step: int, **options: int) -> Report:
    """The report on a kernel of `step` at its shape."""
    return tvm.simulate(kernel, *prepare_data(*SHAPES[step], target="sim"), **options)


def assert_sentence(text: str) -> None:
    assert len(text) > 20 and "\n" not in text, text


def assert_found(wrong: Wrong, report: Report) -> None:
    """The worst finding is what the edit leads to, where it is, in sentences."""
    page = str(report)
    assert report.verdict == wrong.verdict, page
    finding = report.findings[0]
    lines = [wrong.edit.line_of(text) for text in ([wrong.at] if isinstance(wrong.at, str) else wrong.at)]
    assert (finding.kind, finding.severity) == (wrong.kind, "error" if wrong.verdict != "ok" else "warning"), page
    assert wrong.code in (None, finding.code), page
    assert finding.span is not None and finding.span.user.line in lines, page
    assert_sentence(finding.message)
    assert_sentence(finding.details["hint"])
    text = finding.diagnostic.render()
    for word in wrong.words:
        assert word in text, page
    if wrong.other is not None:
        noted = {span.user.line for _, span in finding.details.get("notes", ()) if span is not None}
        noted |= {role.span.user.line for role in finding.details.get("stuck", ()) if role.span is not None}
        assert wrong.edit.line_of(wrong.other) in noted, page
