"""Loops, branches, functions: what is decided now, what becomes control flow, and which values it carries."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.language import ScalarSpec, trace
from tirx_mini.frontends.tile_ir.ssa import print_module
from tirx_mini.tile_ir import ct

from .programs import Programs

SKIPS = """
s = 0
for i in range(n):
    if i == 1:
        continue
    if i == 4:
        break
    s += i
print(s)
"""
BREAKS_INSIDE = """
s = 0
for i in range(3):
    for j in range(i):
        if j == n - 4:
            break
        s += 1
print(s)
"""
RETURNS_INSIDE = """
for i in range(n):
    for j in range(n):
        if i * j == 6:
            return
        print(i * j, end=' ')
"""


@pytest.mark.parametrize(("body", "printed"), [
    ("s = 0\nfor i in range(n):\n    s += i\nprint(s)", "10"),
    ("s = 0\nfor i in range(1, 9, 3):\n    s += i\nprint(s)", "12"),
    ("s = 0\nfor i in range(n):\n    if i == 3:\n        break\n    s += 10\nprint(s)", "30"),
    ("s = 0\nfor i in range(n):\n    if i % 2:\n        continue\n    s += i\nprint(s)", "6"),
    (SKIPS, "5"),
    ("while n > 2:\n    n -= 2\nprint(n)", "1"),
    ("s = 1\nwhile True:\n    s *= 2\n    if s > 20:\n        break\nprint(s)", "32"),
    (BREAKS_INSIDE, "2"),
    ("a, b = 0, 1\nfor i in range(n):\n    a, b = b, a + b\nprint(a, b)", "5 8"),
    ("p = (n, n + 1)\nfor i in range(2):\n    p = (p[1], p[0])\nprint(p)", "(5, 6)"),
    ("x = 1 if n > 3 else 2\nprint(x)", "1"),
    ("if n > 7:\n    x = 1\nelif n > 4:\n    x = 2\nelse:\n    x = 3\nprint(x)", "2"),
    ("x = 0.5\nif n > 4:\n    x = 2.0\nprint(f'{x:.1f}')", "2.0"),
    ("for n in range(3):\n    pass\nprint(n)", "2"),
    ("i = 7\nfor i in range(n - 5):\n    pass\nprint(i)", "7"),
    ("i = 7\nfor i in range(n):\n    i += 10\nprint(i)", "14"),
    (RETURNS_INSIDE, "0 0 0 0 0 0 1 2 3 4 0 2 4"),
    ("t = ()\nfor i in ct.static_iter(range(3)):\n    t += (i * n,)\nprint(t)", "(0, 5, 10)"),
    ("if n > 3:\n    if n > 4:\n        print('a')\n        return\n    print('b')\nprint('c')", "a"),
    ("for i in range(0):\n    n = 7\nprint(n)", "5"),
    ("n += 1\ndef twice(x):\n    return x * n\nprint(twice(2))", "12"),
    ("ok = n > 0 and 10 // n == 2\nprint(ok)", "1"),
])  # fmt: skip
def test_control_flow_is_pythons(programs: Programs, body: str, printed: str) -> None:
    assert programs.run(body, n=5) == printed


FUNCTIONS = """
SCALE = 3

def scaled(x, by=SCALE):
    if x > 10:
        return x
    return x * by

def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    else:
        return 0

@ct.function
def pair(x, *, more=1):
    return x, x + more

def make(k):
    def add(x):
        return x + k
    return add

@dataclass(frozen=True)
class Size:
    rows: int
    columns: int

    def area(self):
        return self.rows * self.columns

def first_above(n, limit):
    for i in range(n):
        if i * i > limit:
            return i
    return -1

def factors(n):
    for i in range(2, n):
        for j in range(2, n):
            if i * j == n:
                return i, j
    return 1, n

def steps(n):
    count = 0
    while True:
        if n == 1:
            return count
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1

def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)

def total(items):
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    return total(items[:half]) + total(items[half:])

def grown(n):
    size = Size(n, 1)
    for i in range(n):
        if i % 2 == 0:
            size = Size(size.rows + i, size.columns)
    return replace(size, columns=2).area()

SIZE = Size(4, 8)
ADD = make(100)
"""


@pytest.mark.parametrize(("expression", "printed"), [
    ("scaled(n)", "15"), ("scaled(n * 4)", "20"), ("scaled(x=n, by=2)", "10"),
    ("sign(n - 9)", "-1"), ("pair(n, more=2)", "(5, 7)"),
    ("make(n)(1)", "6"), ("ADD(n)", "105"), ("SIZE.area() + n", "37"), ("Size(n, 2).area()", "10"), ("SCALE", "3"),
    ("first_above(n, 3)", "2"), ("first_above(n, 30)", "-1"), ("factors(n + 10)", "(3, 5)"), ("factors(n)", "(1, 5)"),
    ("steps(n + 1)", "8"), ("factorial(4) + n", "29"), ("total((n, 1, 2, 3))", "11"), ("grown(n)", "22"),
])  # fmt: skip
def test_functions_are_inlined(programs: Programs, expression: str, printed: str) -> None:
    assert programs.value(expression, before=FUNCTIONS, n=5) == printed


def text(programs: Programs, body: str) -> str:
    kernel = programs.kernel(body, "n")
    return print_module(trace(kernel, (ScalarSpec(ct.int32),)).module)


def test_a_condition_that_is_known_leaves_no_branch(programs: Programs) -> None:
    assert " if " not in text(programs, "if 3 > 2:\n    print(n)\nelse:\n    undefined_name()")


def test_a_loop_carries_only_what_is_read_later(programs: Programs) -> None:
    """`t` is computed anew in each iteration of both loops, so neither hands it on, and its types may differ."""
    body = """
    s = 0
    for i in range(n):
        t = i + 1
        s += t
    for i in range(n):
        t = ct.zeros((4,), ct.float32) + i
        print(t)
    print(s)
    """
    loops = [line for line in text(programs, body).splitlines() if " for %" in line]
    assert [line.count("tile<i32>)") for line in loops] == [1, 0]
    assert "iter_values(%s_1 = %" in loops[0]


def test_a_static_iteration_is_unrolled(programs: Programs) -> None:
    made = text(programs, "for i in ct.static_iter(range(4)):\n    print(n + i)")
    assert made.count("print_tko") == 4
    assert " for %" not in made


def test_static_evaluation_sees_shapes_and_builds_expressions(programs: Programs) -> None:
    body = """
    t = ct.full((4, 8), n, ct.int32)
    rows = ct.static_eval([k * t.shape[0] for k in (1, 2)][-1])
    u = ct.static_eval(t + 1 if rows % 8 == 0 else t - 1)
    ct.static_assert(u.shape == (4, 8) and u.dtype == ct.int32)
    print(rows, ct.max(u))
    """
    assert programs.run(body, n=5) == "8 6"


def test_loads_and_stores_of_one_array_are_in_program_order(programs: Programs) -> None:
    """The store of each iteration comes before the load of the next one: they are connected by tokens."""
    body = """
    for i in range(1, 8):
        t = ct.load(x, (i - 1,), shape=())
        ct.store(x, (i,), t * 2)
    """
    x = np.ones(8, np.int32)
    programs.run(body, x=x)
    assert x.tolist() == [2**i for i in range(8)]


def test_arrays_that_are_only_read_have_no_tokens(programs: Programs) -> None:
    body = """
    s = ct.load(a, (0,), (4,))
    for i in range(1, 4):
        s = s + ct.load(a, (i,), (4,))
    ct.store(b, (0,), s)
    """
    kernel = programs.kernel(body, "a, b")
    from tirx_mini.frontends.tile_ir.language import ArraySpec

    made = print_module(trace(kernel, (ArraySpec(ct.float32, (16,), (1,)),) * 2).module)
    assert "token =" not in made
    assert "make_token" not in made
