"""The lowered texts of every program and its simulated report equal the stored ones (`tools/corpus`)."""

from __future__ import annotations

import pytest

from tools.corpus import Entry, Run, entries, runs, stored

ENTRIES = list(entries())
MEANT = "if this is meant to change: python -m tools.corpus --diff, then --write"


def test_what_is_stored_is_of_these_programs() -> None:
    assert list(stored()) == [each.name for each in (*ENTRIES, *runs())]


@pytest.mark.torch
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_program_becomes_what_is_stored(entry: Entry) -> None:
    assert entry.said() == stored()[entry.name], MEANT


@pytest.mark.parametrize("run", list(runs()), ids=lambda run: run.name)
def test_a_run_reports_what_is_stored(run: Run) -> None:
    assert run.said() == stored()[run.name], MEANT
