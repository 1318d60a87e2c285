"""References with one mistake each: the edit that makes it, and the finding it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import tirx_mini as tvm
from tests.kernels_ref.edits import SHAPES, Edit
from tirx_mini.course import Shape
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from utils import prepare_data

PACKAGE = Path(tvm.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A reference with a mistake, and the finding it leads to.

    name: what the mistake is.
    edit: how it is made.
    verdict: of the report.
    kind, code: of the finding; no code where the kind has only one.
    line: the text of the line that the finding names; several texts where several lines are equally wrong and the
        schedule decides which is named.
    page_says: words of the finding's page.
    also_shows: the text of a second line that the page shows.
    """

    name: str
    edit: Edit
    verdict: str
    kind: str
    code: str | None = None
    line: str | tuple[str, ...]
    page_says: tuple[str, ...] = ()
    also_shows: str | None = None


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A reference with a mistake that the compiler refuses.

    name: what the mistake is.
    edit: how it is made.
    kind: of the error.
    line: the text of the line that the error names.
    page_says: words of the error's page.
    """

    name: str
    edit: Edit
    kind: str | None = None
    line: str
    page_says: tuple[str, ...] = ()


def simulate(kernel: PrimFunc, step: int, **options: int) -> Report:
    """The report on a kernel of `step` at its shape."""
    return tvm.simulate(kernel, *prepare_data(*SHAPES[step], target="sim", arrays=True), **options)


def assert_sentence(text: str) -> None:
    assert len(text) > 20 and "\n" not in text, text


def assert_users_places(report: Report) -> None:
    """Whatever a report shows is in the user's text, never in that of the package."""
    for finding in report.findings:
        places = [finding.span, *(span for _, span in finding.details.get("notes", ()))]
        places += [role.span for role in finding.details.get("stuck", ())]
        for span in places:
            assert span is None or not span.user.library, f"{finding.code}: {span}"
            assert span is None or not Path(span.user.file).is_relative_to(PACKAGE), f"{finding.code}: {span}"


def assert_found(wrong: Wrong, report: Report) -> None:
    """The worst finding is what the edit leads to, where it is, in sentences."""
    page = str(report)
    assert_users_places(report)
    assert report.verdict == wrong.verdict, page
    finding = report.findings[0]
    lines = [wrong.edit.line_of(text) for text in ([wrong.line] if isinstance(wrong.line, str) else wrong.line)]
    assert (finding.kind, finding.severity) == (wrong.kind, "error" if wrong.verdict != "ok" else "warning"), page
    assert wrong.code in (None, finding.code), page
    assert finding.span is not None and finding.span.user.line in lines, page
    assert_sentence(finding.message)
    assert_sentence(finding.details["hint"])
    text = finding.diagnostic.render()
    for words in wrong.page_says:
        assert words in text, page
    if wrong.also_shows is not None:
        noted = {span.user.line for _, span in finding.details.get("notes", ()) if span is not None}
        noted |= {role.span.user.line for role in finding.details.get("stuck", ()) if role.span is not None}
        assert wrong.edit.line_of(wrong.also_shows) in noted, page


def assert_refused(refused: Refused, folder: Path) -> TirxError:
    """The front end or the lowering refuses it, at its line; returns the error."""
    with pytest.raises(TirxError) as caught:
        lower(refused.edit.kernel(folder))
    error, page = caught.value, str(caught.value)
    assert refused.kind in (None, error.kind), page
    assert error.span is not None and error.span.user.line == refused.edit.line_of(refused.line), page
    for words in refused.page_says:
        assert words in page, page
    return error


def simulate_on_hopper(edit: Edit, folder: Path, seed: int = 0, shape: Shape | None = None) -> Report:
    """The report on an edited Hopper reference."""
    data = prepare_data(*(shape or edit.shape), target="sim", arrays=True)
    return tvm.simulate(edit.kernel(folder, shape), *data, gpu="h100", seed=seed)


def assert_named(wrong: Wrong, report: Report) -> None:
    """One of the errors, or warnings, is what the edit leads to; several are as likely to come first."""
    assert_users_places(report)
    assert report.verdict == wrong.verdict, str(report)
    lines = wrong.edit.source().splitlines()
    worst = report.errors or report.warnings
    found = [f for f in worst if f.kind == wrong.kind and f.span and wrong.line in lines[f.span.user.line - 1]]
    assert found, str(report)
    assert wrong.code in (None, found[0].code), str(report)
    for words in wrong.page_says:
        assert words in found[0].diagnostic.render(), str(report)
