"""Launches as a command line gives them."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.arguments import TensorMap
from tirx_mini.course import file_and_name, launched_with, parse_arguments, parse_dims, random_arrays


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("a.cu:k", ("a.cu", "k")), ("a.cu", ("a.cu", "")), ("/b/a.cu:ns::k<int, 4>", ("/b/a.cu", "ns::k<int, 4>")),
        ("C:\\b\\a.cu:k", ("C:\\b\\a.cu", "k")), ("C:\\b\\a.cu", ("C:\\b\\a.cu", "")),
    ],
)  # fmt: skip
def test_a_file_and_the_name_of_a_kernel(program: str, expected: tuple[str, str]) -> None:
    assert file_and_name(program) == expected


@pytest.mark.parametrize(("program", "found"), [("a.cu:k", True), ("a.ptx", True), ("a.py:k", False), ("gemm", False)])
def test_files_that_the_command_line_launches(program: str, found: bool) -> None:
    assert (launched_with(program) is not None) == found


def test_arguments() -> None:
    array, number, real, nothing, yes, pair = parse_arguments("float16[2, 3], -4, 2.5, None, True, (1, int32[2])")
    assert (array.dtype, array.shape) == (np.float16, (2, 3)) and not array.any()
    assert (number, real, nothing, yes) == (-4, 2.5, None, True)
    assert pair[0] == 1 and pair[1].shape == (2,)
    assert [each.shape for each in parse_arguments("[float32[2], float32[3]]")[0]] == [(2,), (3,)]
    assert parse_arguments("") == ()
    assert parse_arguments("bfloat16[]")[0].shape == ()
    assert np.isinf(parse_arguments("inf")[0])


def test_arrays_hold_random_numbers_where_that_is_asked_for() -> None:
    random, indices, zeros = parse_arguments("float32[64], int32[64], zeros(float32[64])", random_arrays())
    assert random.std() > 0.5 and 0 <= indices.min() < indices.max() < 8 and not zeros.any()
    assert (parse_arguments("float32[64]", random_arrays())[0] == random).all()


def test_a_tensor_map() -> None:
    (found,) = parse_arguments("TensorMap(float16[64, 128], box=(64, 32), swizzle=128)")
    assert isinstance(found, TensorMap)
    assert (found.tensor.shape, found.box, found.swizzle) == ((64, 128), (64, 32), 128)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float17[4]", "'float17' is not a dtype of an array"), ("what", "'what' is not an argument"),
        ("1 2", "'1 2' is not an argument: write a number, or an array as in float16"),
        ("float32(4)", "is not an argument"), ("'text'", "is not an argument"), ("float32[n]", "is not an argument"),
        ("zeros()", "is not an argument"), ("TensorMap(float32[4], colour=3)", "is not an argument"),
    ],
)  # fmt: skip
def test_what_is_no_argument(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_arguments(text)


def test_dims() -> None:
    assert parse_dims("--grid", "8,4") == (8, 4)
    for text in ("x", "1,2,3,4", "", "-1"):
        with pytest.raises(ValueError, match="one to three numbers"):
            parse_dims("--grid", text)
