"""Data classes, named tuples, decorators, named arguments and dtypes of a program."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.tile_ir import ct

from .programs import Programs

BEFORE = """
import functools
from typing import NamedTuple

@dataclass(frozen=True)
class Strides:
    a: int
    b: int = 7

    @property
    def both(self):
        return self.a * 10 + self.b

    @functools.cached_property
    def sum(self):
        return self.a + self.b

    def __call__(self, x, *, by=1):
        return x * self.a + by

    def scaled(self, k):
        return Strides(self.a * k, self.b)

    @classmethod
    def unit(cls):
        return cls(1, 1)

    @staticmethod
    def twice(x):
        return 2 * x

class Pair(NamedTuple):
    x: int
    y: int = 3

    @property
    def product(self):
        return self.x * self.y

    def plus(self, z):
        return self.x + self.y + z

@dataclass
class Loose:
    a: int

LOOSE = Loose(3)

def decorated(f):
    @functools.wraps(f)
    def g(*args, **kwargs):
        return f(*args, **kwargs) + 1
    return g

@decorated
@decorated
def double(x, *, by=2):
    return x * by

def other(x, k=1, b=0):
    return x * k + b

def forward(x, **kwargs):
    return other(x, **kwargs) + len(kwargs)
"""


@pytest.mark.parametrize(("expression", "printed"), [
    ("Strides(z + 5).both", "57"), ("Strides(z + 5).sum", "12"), ("Strides(3)(z + 2)", "7"),
    ("Strides(3)(z + 2, by=z)", "6"), ("Strides(z + 2).scaled(3).both", "67"), ("Strides.unit().both", "11"),
    ("Strides(1).unit().both", "11"), ("Strides.twice(z + 4)", "8"), ("Strides(1).twice(z + 4)", "8"),
    ("replace(Strides(1), a=z + 2).both", "27"), ("Pair(z + 2).product", "6"), ("Pair(2, z + 4).plus(1)", "7"),
    ("double(z + 3)", "8"), ("double(z + 3, by=5)", "17"), ("forward(z + 2, k=3, b=1)", "9"),
    ("forward(z + 2)", "2"), ("forward(z + 2, **{})", ""),
    ("(lambda x, **kw: other(x, **kw))(z + 2, k=4)", "8"), ("np.int8 == ct.int8", "True"),
    ("np.float32 == ct.float32", "True"), ("ct.zeros((2,), ct.int8).dtype == np.int8", "True"),
    ("ct.float32 == np.float64", "False"), ("ct.bool_ == np.bool_", "True"),
])  # fmt: skip
def test_values(programs: Programs, expression: str, printed: str) -> None:
    if not printed:
        assert "error[TX41" in programs.error(f"z = ct.bid(0)\nprint({expression})", before=BEFORE)
        return
    assert programs.run(f"z = ct.bid(0)\nprint({expression})", before=BEFORE) == printed


@pytest.mark.parametrize(("statement", "words"), [
    ("print(Loose(3).a)", "write `@dataclass(frozen=True)` above `class Loose`"),
    ("print(replace(LOOSE, a=4).a)", "`Loose` is not frozen"),
    ("print(forward(1, **(1, 2)))", "not a tuple of 2 values"), ("print(other(1, k=2, **dict(k=3)))", "error[TX41"),
    ("print(Strides(1).neither)", "no attribute"),
])  # fmt: skip
def test_mistakes(programs: Programs, statement: str, words: str) -> None:
    assert words in programs.error(statement, before=BEFORE)


def test_an_object_that_changes_is_no_argument(programs: Programs) -> None:
    module = programs.load(BEFORE + "\n@ct.kernel\ndef kernel(given):\n    print(given.a)\n")
    with pytest.raises(ct.TileTypeError, match="`Loose` is not frozen"):
        programs.launch(module.kernel, module.Loose(3))
    programs.launch(module.kernel, module.Strides(3))


@pytest.mark.torch
def test_dtypes_of_numpy_and_pytorch_are_constants(programs: Programs) -> None:
    torch = pytest.importorskip("torch")
    kernel = programs.kernel(
        "print(d == ct.float32, ct.zeros((2,), d[0] if isinstance(d, tuple) else d).dtype)", "d: ct.Constant"
    )
    for given, printed in (
        (torch.float32, "True float32"), (torch.bool, "False bool_"), (np.dtype("int8"), "False int8"),
        (np.float32, "True float32"), ((torch.bfloat16, 1), "False bfloat16"), (torch.float8_e5m2, "False float8_e5m2"),
    ):  # fmt: skip
        programs.capsys.readouterr()
        programs.launch(kernel, given)
        assert programs.capsys.readouterr().out.strip() == printed


def test_constants_of_different_types_are_different_programs(programs: Programs) -> None:
    """1, 1.0 and True are equal in Python, and 0.0 is equal to -0.0."""
    kernel = programs.kernel(
        "ct.static_assert(True)\nprint(ct.astile(c, dtype=c_type))", "c: ct.Constant, c_type: ct.Constant"
    )
    divided = programs.kernel("print(ct.full((1,), 7, ct.int32) * c)", "c: ct.Constant")
    for value in (1, 1.0, True):
        programs.launch(divided, value)
        programs.launch(kernel, value, ct.float32)
    assert len(divided.programs) == 3
    assert programs.capsys.readouterr().out.split()[::2] == ["[7]", "[7.000000]", "[7]"]


def test_items_of_a_tuple_are_annotated_one_by_one(programs: Programs) -> None:
    kernel = programs.kernel(
        "ct.static_assert(c[0] == 4)\nprint(ct.full((c[0],), c[1], ct.int32), sum(d))",
        "c: tuple[ct.Constant[int], int], d: tuple[ct.Constant[int], ...]",
    )
    for scale in (3, 5):
        programs.launch(kernel, (4, scale), (1, 2, 3))
    assert len(kernel.programs) == 1
    assert programs.capsys.readouterr().out.splitlines() == ["[3, 3, 3, 3] 6", "[5, 5, 5, 5] 6"]
