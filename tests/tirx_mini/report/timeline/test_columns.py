"""Columns come back as they went, and are small."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.report.timeline.columns import ByIdentity, Columns, Names, packed


def read(columns: Columns, name: str) -> list[int]:
    """A column as `data.ts` reads it."""
    about = columns.index[name]
    size, width = about["length"], about["width"]
    planes = np.frombuffer(columns.payload(), np.uint8, size * width, about["at"]).reshape(width, size).astype(np.int64)
    numbers = sum(plane << 8 * number for number, plane in enumerate(planes))
    return [
        -(n + 1) // 2 if about["signed"] and n % 2 else n // 2 if about["signed"] else n
        for n in np.asarray(numbers).tolist()
    ]


@given(st.lists(st.integers(0, 2**32 - 1)), st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_numbers_come_back(unsigned: list[int], signed: list[int]) -> None:
    columns = Columns()
    columns.add("unsigned", unsigned)
    columns.add("signed", signed, signed=True)
    assert read(columns, "unsigned") == unsigned
    assert read(columns, "signed") == signed


def test_a_column_is_as_wide_as_its_largest_number() -> None:
    columns = Columns()
    for most in (255, 256, 65536):
        columns.add(str(most), [0, most])
    assert [about["width"] for about in columns.index.values()] == [1, 2, 4]


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_number_beyond_32_bits_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="32 bits"):
        Columns().add("time", [number])


def test_a_name_is_kept_once() -> None:
    names: Names[str] = Names()
    assert [names(name) for name in ("load", "wait", "load")] == [0, 1, 0]
    assert names.values == ["load", "wait"]


def test_a_function_is_asked_once_for_an_object() -> None:
    asked: list[str] = []
    number = ByIdentity[str](lambda value: asked.append(value) or len(asked))
    first, second = "".join(["a", "b"]), "".join(["a", "b"])
    assert [number(first), number(first), number(second)] == [1, 1, 2]


def test_a_block_is_its_header_and_what_follows() -> None:
    block = zlib.decompress(base64.b64decode(packed({"title": "→"}, [b"abc", b"d"])))
    size = int.from_bytes(block[:4], "little")
    assert json.loads(block[4 : 4 + size]) == {"title": "→"}
    assert block[4 + size :] == b"abcd"
