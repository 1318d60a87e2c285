"""One report of the texts of a CUDA source: each mistake once, and the time of the optimised text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tirx_mini.diagnose import VERDICTS, Finding, Proof, Report, verdict_of, worst_first
from tirx_mini.ir import Span
from tirx_mini.records import replace

from .texts import Role

_CHECKS = (Role.ASYNCHRONOUS, Role.ORDINARY)
"""The texts whose findings count; those of the first one come first."""
_WITHOUT: Mapping[Role, str] = MappingProxyType({
    Role.ORDINARY: "ordinary accesses were checked in optimised text only: the text without optimisation",
    Role.ASYNCHRONOUS: "asynchronous instructions were checked in optimised text only: the text with little "
                       "optimisation",
    Role.VALUES: "values of optimised text were not compared: the text without fused operations",
})  # fmt: skip
_ONLY_OPTIMISED = "only optimised text does this: its compiler moved, joined or dropped accesses of the source"
_OPERAND = re.compile(r" (reads|writes|frees|uses) it here\Z|is issued here\Z")
"""Notes on the places of the other operations of a finding."""


def merged(reports: Mapping[Role, Report], missing: Mapping[Role, str], differing: Finding | None) -> Report:
    """Return the report of the optimised text with the findings of all texts.

    missing: why texts were not simulated to their ends. differing: the finding that they compute different values.
    """
    own = reports[Role.TIME]
    checked = [reports[role] for role in _CHECKS if role in reports]
    findings = list(_together([report.findings for report in checked]))
    explained = any(finding.severity == "error" for finding in findings)
    if len(checked) < len(_CHECKS):
        mine = list(_new(own.findings, findings))
    else:
        codes = {finding.code for finding in findings}
        mine = [_of_optimised(finding) for finding in own.findings if finding.code not in codes]
    if differing is not None:
        mine = [differing, *map(_consequence, mine)]
        mine[0] = _consequence(differing) if explained else differing
    found = worst_first([*findings, *mine])
    verdict = verdict_of(found)
    worst = min([own, *checked], key=lambda report: VERDICTS.index(report.verdict))
    return replace(
        own, findings=found, verdict=verdict, seed=worst.seed, unchecked=tuple(_unchecked(missing)),
        proof=_weakest([own, *checked]) if verdict == "ok" else None,
    )  # fmt: skip


def _together(lists: Sequence[Sequence[Finding]]) -> Iterator[Finding]:
    """Yield the findings of several texts, each once.

    The same words about other lines are the same finding, at the lines of the last text: with less optimisation, more
    accesses have a line. Where the lines are the same, the first text also has the calls that it inlined.
    """
    known: list[Finding] = []
    for number, findings in enumerate(lists):
        for finding in _new(findings, tuple(known)):
            again = (_same_words(finding, findings, later) for later in lists[number + 1 :])
            last = next((found for found in again if found is not None), finding)
            known.append(finding if lines_of(last) == lines_of(finding) else last)
            yield known[-1]


def _new(findings: Sequence[Finding], before: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings that were not found before: none with the same code, and the same lines or words."""
    lines = {(finding.code, lines_of(finding)) for finding in before}
    for finding in findings:
        if (finding.code, lines_of(finding)) not in lines and _same_words(finding, findings, before) is None:
            yield finding


def _same_words(finding: Finding, findings: Sequence[Finding], others: Sequence[Finding]) -> Finding | None:
    """Return the only other finding in the words of this one, if it is the only one in its text.

    Roles may be known in one text alone, so the words are those without them.
    """

    def words(one: Finding) -> tuple[str, str]:
        return one.code, one.in_warps or one.message

    own, found = ([each for each in several if words(each) == words(finding)] for several in (findings, others))
    return found[0] if len(own) == len(found) == 1 else None


def lines_of(finding: Finding) -> frozenset[tuple[str, int]]:
    """Return the lines of the operations that a finding is about."""
    spans: list[Span | None] = [finding.span]
    spans += [span for text, span in finding.details.get("notes", ()) if _OPERAND.search(text)]
    return frozenset((span.user.file, span.user.line) for span in spans if span is not None)


def _of_optimised(finding: Finding) -> Finding:
    """Return a finding of optimised text alone, with a note that says so."""
    if finding.severity != "error" or finding.verdict != "hazard":
        return finding
    notes = (*finding.details.get("notes", ()), (_ONLY_OPTIMISED, None))
    return replace(finding, details={**finding.details, "notes": notes})


def _consequence(finding: Finding) -> Finding:
    return replace(finding, details={**finding.details, "consequence": True})


def _unchecked(missing: Mapping[Role, str]) -> Iterator[str]:
    for role, why in missing.items():
        yield f"{_WITHOUT[role]} is not simulated to its end ({why})"


def _weakest(reports: Sequence[Report]) -> Proof | None:
    """Return the proof of all texts."""
    proofs = [report.proof for report in reports]
    if None in proofs:
        return None
    return next((proof for proof in proofs if proof is not None and not proof.holds), proofs[0])
