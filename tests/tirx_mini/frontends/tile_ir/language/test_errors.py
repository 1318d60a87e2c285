"""Mistakes in tile programs: each is a page with the line, one sentence, and what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.arguments import ArgumentError
from tirx_mini.tile_ir import ct

from .programs import Programs

X = np.zeros((16, 16), np.float32)

MISTAKES = {
    "ct.load(x, (0, 0), (4, 96))": ("TX411", "96 is not a power of two"),
    "ct.load(x, (0, 0), (4,))": ("TX411", "has 2 dimensions"),
    "ct.load(x, 0, (4, 4))": ("TX411", "the index has 1 item"),
    "ct.zeros((4, 8), ct.float32) + ct.zeros((8, 4), ct.float32)": ("TX411", "(4, 8) and (8, 4) do not broadcast"),
    "ct.zeros((4, 8), ct.float32) @ ct.zeros((4, 8), ct.float32)": ("TX411", "do not fit"),
    "ct.gather(x, (ct.arange(4, dtype=ct.float32), 0))": ("TX412", "must be a tile of integers"),
    "ct.gather(x, ct.arange(4, dtype=ct.int32))": ("TX411", "one for each dimension"),
    "ct.mma(ct.zeros((4, 4), ct.int32), ct.zeros((4, 4), ct.int32), ct.zeros((4, 4), ct.int32))": (
        "TX412", "does not multiply int32"
    ),
    "ct.mma(ct.zeros((4, 4), ct.bfloat16), ct.zeros((4, 4), ct.bfloat16), ct.zeros((4, 4), ct.float16))": (
        "TX412", "in float32, not in float16"
    ),
    "ct.mma(ct.zeros((4, 4), ct.bfloat16), ct.zeros((4, 4), ct.float16), ct.zeros((4, 4), ct.float32))": (
        "TX412", "does not promote"
    ),
    "ct.full((4,), 1, ct.int8) + 300": ("TX412", "out of the range of int8"),
    "ct.insert(ct.zeros((4,), ct.int8), 0, ct.zeros((1,), ct.int16))": ("TX412", "cannot put a tile of int16"),
    "ct.zeros((4,), ct.int8) & ct.zeros((4,), ct.int16)": ("TX412", "needs operands of one dtype"),
    "ct.zeros((4,), ct.int8) << ct.zeros((4,), ct.uint8)": ("TX412", "have no common dtype"),
    "divmod(ct.zeros((4,), ct.float32), 2)": ("TX412", "ct.divmod is for integers"),
    "ct.add(ct.zeros((4,), ct.float64), 1, flush_to_zero=True)": ("TX412", "is for float32, not for float64"),
    "ct.exp(ct.zeros((4,), ct.float16), rounding_mode=ct.RoundingMode.APPROX)": ("TX412", "APPROX of ct.exp is for"),
    "ct.sum(ct.zeros((4,), ct.int32), flush_to_zero=True)": ("TX412", "flush_to_zero of ct.sum"),
    "ct.where(True, ct.zeros((4,), ct.float8_e5m2), ct.zeros((4,), ct.float32))": ("TX412", "for storage"),
    "ct.gather(x, (0, 0), mask=1)": ("TX412", "must be of booleans"),
    "ct.gather(x, (0, 0), padding_value=ct.float64(1))": ("TX412", "cannot become float32 by itself"),
    "ct.store(x, (0, 0), ct.zeros((4, 4), ct.float64))": ("TX412", "cannot become float32 by itself"),
    "x.get_raw_memory().atomic_max_offset(0, 1)": ("TX412", "atomic_max_offset is not defined for arrays of float32"),
    "1 if n > 2 else 0.5": ("TX412", "depends on the path"),
    "ct.zeros((n,), ct.float32)": ("TX412", "known only at run time"),
    "ct.zeros((4,), 'float32')": ("TX412", "must be a dtype"),
    "ct.zeros((4,), ct.float23)": ("TX412", "float23"),
    "ct.load(y, (0, 0), (4, 4))": ("TX403", "`y` is not defined"),
    "ct.load(x, (0, 0))": ("TX412", "missing a required argument: 'shape'"),
    "ct.load(x, (0, 0), (4, 4), pading_mode=1)": ("TX412", "pading_mode"),
    "x[0, 0]": ("TX413", "cannot be indexed"),
    "ct.zeros((4,), ct.float32)[0]": ("TX413", "cannot be indexed"),
    "ct.zeros((4,), ct.float32).sum()": ("TX412", "write `ct.sum(…)`"),
    "[1, 2]": ("TX413", "does not support lists"),
    "(i for i in range(3))": ("TX413", "does not support generators"),
    "ct.zeros((4,), ct.uint8) + ct.zeros((4,), ct.int8)": ("TX412", "have no common dtype"),
    "ct.zeros((4,), ct.float32) & 1": ("TX412", "integers or booleans"),
    "ct.zeros((4,), ct.bool_) + ct.zeros((4,), ct.bool_)": ("TX412", "not defined for booleans"),
    "1 if ct.zeros((4,), ct.bool_) else 2": ("TX412", "must be a scalar"),
    "ct.reshape(ct.zeros((4,), ct.float32), (8,))": ("TX411", "has 4 elements"),
    "ct.bid(3)": ("TX412", "0, 1 or 2"),
    "int(n)": ("TX412", "takes constants"),
    "math.sqrt(n)": ("TX412", "use ct.sqrt"),
    "open('file')": ("TX415", "`open` cannot be called"),
    "ct.atomic_add(x, (0, 0), 'a')": ("TX412", "must be a tile or a number"),
    "ct.atomic_max(x, (0, 0), 1.0)": ("TX412", "not defined for arrays of float32"),
    "ct.extract(ct.zeros((8,), ct.float32), (2,), (4,))": ("TX411", "there are 2 cells"),
}  # fmt: skip


@pytest.mark.parametrize("expression", MISTAKES)
def test_a_mistake_in_an_expression(programs: Programs, expression: str) -> None:
    code, words = MISTAKES[expression]
    page = programs.error(f"value = {expression}", x=X, n=3)
    assert page.startswith(f"error[{code}]: ")
    assert words in page
    assert f"value = {expression}" in page and "^" in page
    assert "tirx_mini/frontends" not in page


STATEMENTS = {
    "s = 0\nfor i in range(n):\n    s = s + 1.5": ("TX412", "the type of `s` depends on the path"),
    "if n > 2:\n    y = n\nelse:\n    y = 1.5\nprint(y)": ("TX412", "the type of `y` depends on the path"),
    "for i in range(n):\n    y = 1\nprint(y)": ("TX403", "may make no iteration"),
    "if n > 2:\n    y = 1\nprint(y)": ("TX403", "`y` has no value where the condition of the `if` does not hold"),
    "print(np.sum(ct.load(x, (0, 0), (4, 4))))": ("TX415", "`ct.sum` computes with tiles"),
    "ct.store(x, (0, 0), f'{ct.load(x, (0, 0), (4, 4))}')": ("TX412", "not a formatted string"),
    "for i in range(n):\n    pass\nprint(i)": ("TX403", "`i` has no value"),
    "for i in range(9, 0, 0):\n    pass": ("TX412", "the step of a range cannot be 0"),
    "for t in (1, 2):\n    pass": ("TX412", "ct.static_iter"),
    "x[0, 0] = 1": ("TX413", "ct.store"),
    "with x:\n    pass": ("TX413", "`with`"),
    "try:\n    pass\nexcept ValueError:\n    pass": ("TX413", "exceptions"),
    "raise ValueError('no')": ("TX413", "exceptions"),
    "import os": ("TX413", "imports"),
    "def f(k):\n    return f(k - 1)\nf(n)": ("TX413", "`f` calls itself more than 32 times"),
    "def f(k):\n    for i in range(k):\n        if i > 2:\n            return i\nf(n)": (
        "TX412", "what the function returns depends on the path"
    ),
    "return n": ("TX412", "kernels return nothing"),
    "ct.static_assert(1 > 2, 'one is less')": ("TX414", "one is less"),
    "ct.static_assert(n > 2)": ("TX414", "when the kernel is compiled"),
    "ct.static_eval(1 / 0)": ("TX414", "ZeroDivisionError"),
    "raise ct.static_exception(KeyError('k'))": ("TX414", "KeyError"),
    "for i in ct.static_iter(range(3)):\n    break": ("TX413", "no `break`"),
    "while n > 0:\n    n -= 1\nelse:\n    pass": ("TX413", "`else` of a loop"),
    "a, b = (1, 2, 3)": ("TX412", "cannot be unpacked to 2 names"),
}  # fmt: skip


@pytest.mark.parametrize("body", STATEMENTS)
def test_a_mistake_in_a_statement(programs: Programs, body: str) -> None:
    code, words = STATEMENTS[body]
    page = programs.error(body, x=X, n=3)
    assert page.startswith(f"error[{code}]: ")
    assert words in page
    assert "-->" in page


def test_a_mistake_in_a_function_names_the_call_as_well(programs: Programs) -> None:
    page = programs.error("double('a')", before="def double(t):\n    return t - 1\n", x=X)
    assert "return t - 1" in page
    assert "inlined from" in page


def test_names_that_are_nearly_right_are_suggested(programs: Programs) -> None:
    assert "did you mean `tile`?" in programs.error("tile = 3\nprint(tiel)", x=X)


def test_operations_are_for_kernels() -> None:
    with pytest.raises(ct.TileSyntaxError, match="can only be called in tile code"):
        ct.load(X, (0, 0), (4, 4))
    assert ct.cdiv(7, 2) == 4


def test_a_kernel_cannot_be_called(programs: Programs) -> None:
    kernel = programs.kernel("pass")
    with pytest.raises(ct.TileSyntaxError, match="launch it"):
        kernel()
    with pytest.raises(ct.TileTypeError, match="only kernels can be launched"):
        ct.launch(None, (1,), lambda: None, ())


@pytest.mark.parametrize(("hint", "words"), [
    ({"num_ctas": 3}, "power of two from 1 to 16"), ({"occupancy": 0}, "from 1 to 32"), ({"num_cta": 2}, "no option"),
])  # fmt: skip
def test_options_of_a_kernel_are_checked(hint: dict[str, int], words: str) -> None:
    with pytest.raises(ct.TileTypeError, match=words):
        ct.kernel(**hint)


def test_an_array_without_dimensions_has_one_tile(programs: Programs) -> None:
    x = np.float32(4) + np.zeros((), np.float32)
    assert programs.value("ct.load(x, (), ())", x=np.asarray(x)) == "4.000000"
    assert programs.value("ct.gather(x, ())", x=np.asarray(x)) == "4.000000"


def test_arguments_of_a_launch_are_checked(programs: Programs) -> None:
    kernel = programs.kernel("ct.store(x, 0, n)", "x, n")
    for args, words in (
        ((X,), r"takes 2 arguments \(x, n\), but 1"), (([1], 1), "is a list"), ((X, 2**40), "ct.ScalarInt64"),
        ((X.astype("complex64"), 1), "complex64"), ((X[::-1], 1), "strides"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=words):
            ct.launch(None, (1,), kernel, args)
    with pytest.raises(ArgumentError, match="grid"):
        ct.launch(None, (0,), kernel, (X, 1))
