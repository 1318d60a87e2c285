"""The table of what can be wrong: codes are unique where meanings are, and every finding has one."""

from __future__ import annotations

import re

import pytest

from tirx_mini.diagnose import CAUSES, KINDS, RULES, Finding, as_dict, codes, kind_with
from tirx_mini.ir import ERROR_KINDS

GROUPS = {"1": {"deadlock", "hazard", "fault"}, "2": {"hazard"}, "3": {"fault"}, "4": {"fault"}, "5": {"fault"},
          "6": {"incomplete"}}  # fmt: skip


@pytest.mark.parametrize("kind", [*CAUSES.values(), *KINDS.values()], ids=lambda kind: kind.name)
def test_a_kind_has_a_code_of_its_verdict_and_a_rule(kind) -> None:
    assert re.fullmatch(r"TX[1-6]\d\d", kind.code)
    assert kind.verdict in GROUPS[kind.code[2]]
    assert kind.rule.endswith(".") and len(kind.rule) <= 90


def test_only_one_mistake_seen_from_two_sides_shares_a_code() -> None:
    shared = {code for code in codes() if sum(k.code == code for k in (*CAUSES.values(), *KINDS.values())) > 1}
    assert shared == {
        "TX106", "TX107", "TX108", "TX109", "TX110", "TX111", "TX113", "TX116", "TX117", "TX119", "TX120", "TX126",
        "TX216",
    }  # fmt: skip


def test_the_compilers_codes_are_in_its_own_table() -> None:
    found = {kind.name: (kind.code, kind.rule) for kind in KINDS.values() if kind.code.startswith("TX4")}
    table = {kind.name: (kind.code, kind.rule) for kind in ERROR_KINDS.values()}
    assert found and found.items() <= table.items()


def test_every_rule_of_deadlocks_is_a_cause() -> None:
    assert {rule.kind.name for rule in RULES} == set(CAUSES)
    assert len({rule.certainty for rule in RULES}) == len(RULES)


def test_a_finding_has_the_code_of_its_cause() -> None:
    assert Finding("race", "error", "").code == "TX201"
    assert Finding("deadlock", "error", "").code == "TX113"
    assert Finding("deadlock", "error", "", details={"cause": "too-few-arrive"}).code == "TX107"
    assert as_dict(Finding("race", "error", "two"))["code"] == "TX201"


def test_a_kind_is_found_by_its_code() -> None:
    assert kind_with("TX201") is KINDS["race"]
    with pytest.raises(KeyError):
        kind_with("TX999")


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="not a kind of finding"):
        Finding("rase", "error", "")
