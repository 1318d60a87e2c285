"""The examples that the room's documentation shows are what it does."""

from __future__ import annotations

import doctest

import tirx_mini.layout as layout_room


def test_the_examples_hold() -> None:
    results = doctest.testmod(layout_room)
    assert results.attempted >= 4 and results.failed == 0
