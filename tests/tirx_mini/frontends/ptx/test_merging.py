"""One report of several texts: findings once, the weakest proof, and notes on what was not checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tirx_mini.diagnose import Finding, Proof, Report
from tirx_mini.frontends.ptx.merging import lines_of, merged
from tirx_mini.frontends.ptx.texts import Role
from tirx_mini.ir import Span

HOLDS, OPEN = Proof(True), Proof(False, (("signals of full may count in each other's phases", None),))
DIFFERING = Finding("differing-results", "error", "x[0] is 1 without optimisation, and 2 with optimisation")


def race(line: int, other: int, words: str = "", kind: str = "race") -> Finding:
    here, there, first = (Span("k.cu", number) for number in (line, other, 1))
    notes = (("the store of warp 1 writes it here", there), ("its place is computed here", first))
    return Finding(kind, "error", words or f"{line} with {other}", here, {"notes": notes}, "if it is late")


def report(*findings: Finding, proof: Proof | None = HOLDS, seed: int = 0) -> Report:
    return Report("hazard" if findings else "ok", findings, proof=None if findings else proof, seed=seed)


def together(
    own: Report, little: Report | None, none: Report | None, differing: Finding | None = None
) -> Report:
    given = {Role.TIME: own, Role.ASYNCHRONOUS: little, Role.ORDINARY: none}
    return merged({role: each for role, each in given.items() if each is not None}, {}, differing)


def test_the_lines_of_a_finding_are_those_of_its_operations() -> None:
    assert lines_of(race(6, 4)) == lines_of(race(4, 6)) == {("k.cu", 4), ("k.cu", 6)}
    assert lines_of(Finding("race", "error", "")) == frozenset()


@pytest.mark.parametrize(
    ("little", "none", "expected"),
    [
        ([race(6, 4)], [race(4, 6)], [(6, 4)]),
        ([race(6, 4)], [race(6, 5)], [(6, 4), (6, 5)]),
        ([race(6, 4)], [race(6, 4, kind="missing-warp-sync")], [(6, 4), (6, 4)]),
        ([race(6, 4), race(4, 6)], [], [(6, 4), (4, 6)]),  # two findings of one text are two
        ([race(6, 4, "x")], [race(7, 4, "x")], [(7, 4)]),
        ([race(6, 4, "x"), race(9, 4, "x")], [race(7, 4, "x"), race(6, 4, "x")], [(6, 4), (9, 4), (7, 4)]),
    ],
)
def test_a_finding_of_two_texts_is_one(
    little: Sequence[Finding], none: Sequence[Finding], expected: Sequence[tuple[int, int]]
) -> None:
    found = together(report(), report(*little), report(*none))
    spans = [(each.span, each.details["notes"][0][1]) for each in found.findings]
    assert [(one.line, other.line) for one, other in spans if one is not None] == list(expected)
    assert found.verdict == "hazard" and found.proof is None


def test_a_finding_that_names_roles_in_one_text_alone_is_one() -> None:
    named = replace(race(6, 4, "loads (warp 1) stores"), in_warps="warp 1 stores")
    found = together(report(), report(named), report(race(7, 4, "warp 1 stores")))
    assert [finding.message for finding in found.findings] == ["warp 1 stores"]


def test_a_finding_of_optimised_text_alone_says_so() -> None:
    found = together(report(race(6, 4)), report(), report())
    assert found.verdict == "hazard" and "only optimised text does this" in found.findings[0].details["notes"][-1][0]
    assert together(report(race(6, 4)), report(race(8, 4)), report()).findings == (race(8, 4),)
    assert together(report(race(6, 4)), report(), None).findings == (race(6, 4),)


def test_a_difference_follows_from_what_else_is_found() -> None:
    alone = together(report(), report(), report(), DIFFERING)
    assert (alone.verdict, alone.findings) == ("fault", (DIFFERING,)) and alone.proof is None
    raced = together(report(), report(), report(race(6, 4)), DIFFERING)
    assert raced.causes == (race(6, 4),) and [each.code for each in raced.consequences] == ["TX504"]


def test_the_proof_is_the_weakest_and_the_seed_that_of_the_worst() -> None:
    assert together(report(), report(), report()).proof == HOLDS
    assert together(report(), report(proof=OPEN), report()).proof == OPEN
    assert together(report(), report(), report(proof=None)).proof is None
    assert together(report(), report(race(6, 4), seed=3), report()).seed == 3


def test_what_was_not_checked_is_a_note_of_the_report() -> None:
    found = merged({Role.TIME: report()}, {Role.ORDINARY: "f is recursive"}, None)
    assert found.ok and found.unchecked[0].endswith("is not simulated to its end (f is recursive)")
    assert found.unchecked[0] in str(found)
