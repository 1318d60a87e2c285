"""Values as messages name them: short, in words, and without addresses."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
import pytest

from tirx_mini.ir import Buffer, DataType, const
from tirx_mini.script import tirx as Tx
from tirx_mini.wording import LONGEST, a, described


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"), (3, "3"), (1.5, "1.5"), ("text", "'text'"), (..., "`...`"), (np.float32(2), "2.0"),
        (np.zeros(3), "a ndarray"), (math, "the module math"), (int, "the class int"), (len, "the function len"),
        (lambda: 0, "a lambda"), ([1, "a"], "the list [1, 'a']"), ({"a": 1}, "the dict {'a': 1}"), ((), "the tuple ()"),
        ([object()], "a list"), ({1: object()}, "a dict"), (object(), "an object"), (Colour.RED, "Colour.RED"),
        (const(3), "3"), (Buffer("A", (4,), DataType("int8")), "the buffer A"), (Tx.float32, "the dtype float32"),
        (Tx.cta, "the scope Tx.cta"), (Tx.ptx.mma, "the function Tx.ptx.mma"), (Tx.ptx, "the group Tx.ptx"),
        (Tx.let, "Tx.let"),
    ],
)  # fmt: skip
def test_a_value_has_a_noun(value: Any, words: str) -> None:
    assert described(value) == words


@pytest.mark.parametrize("value", ["x" * 500, 10**5000, list(range(1000))], ids=["text", "number", "list"])
def test_it_is_short(value: Any) -> None:
    assert len(described(value)) <= LONGEST + len("the list ")


def test_an_article_fits_its_noun() -> None:
    assert [a("Int"), a("Buffer"), a("OpenScope")] == ["an Int", "a Buffer", "an OpenScope"]
