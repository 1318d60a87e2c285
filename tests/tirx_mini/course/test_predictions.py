"""Verdicts, findings, proofs and predicted times of the ladder are the stored ones (`tools/predictions.py`)."""

from __future__ import annotations

import pytest

from tools.predictions import Case, cases, stored


def test_every_stored_one_is_of_a_run() -> None:
    assert [case.name for case in cases()] == list(stored())


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_the_simulator_says_what_is_stored(case: Case) -> None:
    assert case.said() == stored()[case.name], "if this is meant to change: python -m tools.predictions --write"
