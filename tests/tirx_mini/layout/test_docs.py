"""The examples in the docstring of `tirx_mini.layout` give the results that they show."""

from __future__ import annotations

import doctest

import tirx_mini.layout as layout_room


def test_the_docstring_examples_give_their_results() -> None:
    results = doctest.testmod(layout_room)
    assert results.attempted >= 4 and results.failed == 0
