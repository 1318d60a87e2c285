"""A page shows the kernel's function, and nothing else of its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.report.timeline.source_text import excerpt_around

MODULE = """\
import numpy


@decorated(
    1
)
def kernel(A):
    first(A)
    second(A)


def other():
    third()
"""


@pytest.mark.parametrize(("numbers", "first", "last"), [([8], 4, 9), ([9, 8], 4, 9), ([8, 13], 4, 13), ([2], 2, 2)])
def test_whole_statements_around_the_lines(tmp_path: Path, numbers: list[int], first: int, last: int) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(MODULE)
    assert excerpt_around(str(path), numbers) == (first, tuple(MODULE.splitlines()[first - 1 : last]))


def test_a_file_that_is_not_python_is_shown_from_the_first_line_to_the_last(tmp_path: Path) -> None:
    path = tmp_path / "kernel.txt"
    path.write_text("one (\ntwo\nthree\n")
    assert excerpt_around(str(path), [2, 3]) == (2, ("two", "three"))


@pytest.mark.parametrize("numbers", [[], [0], [99]])
def test_lines_that_are_not_there_have_no_text(tmp_path: Path, numbers: list[int]) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(MODULE)
    assert excerpt_around(str(path), numbers) == (1, ())
    assert excerpt_around(str(tmp_path / "missing.py"), [1]) == (1, ())
