"""Kernels are found in the syntax tree of a text, which is not executed."""

from __future__ import annotations

import pytest

from tirx_mini.play.kernels import constants_in, kernels_in
from tirx_mini.resources import resource


def test_the_students_file_has_ten_steps_that_are_not_written() -> None:
    found = kernels_in(resource("gemm_kernels.py").read_text(encoding="utf-8"))
    assert [each["step"] for each in found] == list(range(1, 11))
    assert not any(each["written"] for each in found)
    assert found[3]["title"] == "TMA" and found[3]["sizes"] == {"m": 512, "n": 512, "k": 512}
    assert found[0]["sizes"] == {"m": 128, "n": 128, "k": 64} and found[0]["free"] == ""


def test_any_factory_and_kernel_is_found_and_nothing_is_executed(step4: str) -> None:
    text = (
        step4.replace("hgemm_v4", "mine")
        + """
1 / 0
@Tx.prim_func
def alone(A: Tx.Buffer((4,), "float16")):
    ...
def helper(): pass
"""
    )
    mine, alone = kernels_in(text)
    assert mine["name"] == "mine" and mine["step"] is None and mine["written"] and mine["sizes"]["m"] == 512
    assert alone["sizes"] is None and not alone["written"]


def test_constants_have_values_and_lines(step4: str) -> None:
    found = constants_in(step4, "hgemm_v4")
    assert found["BLK_K"]["value"] == 64
    assert "BLK_K" in step4.splitlines()[found["BLK_K"]["line"] - 1]


@pytest.mark.parametrize("text", ["def f(:", "x = '\0'"])
def test_text_that_is_not_python_raises(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        kernels_in(text)
