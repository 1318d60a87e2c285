"""Generators that are unrolled, context managers, ranges that count downwards, constants that leave a loop."""

from __future__ import annotations

import numpy as np
import pytest

from .programs import Programs

MANAGERS = """
import contextlib

@contextlib.contextmanager
def scaled(v, k=2):
    w = v * k
    print("in", w)
    yield w + 1
    print("out", w)

@contextlib.contextmanager
def nothing():
    yield

@contextlib.contextmanager
def twice():
    yield 1
    yield 2

@contextlib.contextmanager
def guarded(v):
    try:
        yield v
    finally:
        print(v)
"""


@pytest.mark.parametrize(("expression", "printed"), [
    ("tuple(i * z for i in range(3))", "(0, 3, 6)"), ("tuple(i for i in range(6) if i % 2)", "(1, 3, 5)"),
    ("tuple((i, j) for i in (1, 2) for j in range(i))", "((1, 0), (2, 0), (2, 1))"),
    ("tuple(a + b for a, b in ((1, z), (2, z)))", "(4, 5)"), ("sum(i for i in range(4))", "6"),
    ("max(i * z for i in range(3))", "6"), ("tuple(x for x in ct.static_iter(range(2)))", "(0, 1)"),
    ("all(i < 3 for i in range(3))", "True"), ("tuple(i for i in range(3, 0, -1))", "(3, 2, 1)"),
])  # fmt: skip
def test_generators(programs: Programs, expression: str, printed: str) -> None:
    assert programs.run(f"z, i = ct.bid(0) + 3, 5\nprint({expression})\nprint(i)") == f"{printed}\n5"


@pytest.mark.parametrize(("expression", "words"), [
    ("tuple(i for i in range(ct.bid(0)))", "known when the kernel is compiled"),
    ("tuple(i for i in range(3) if ct.bid(0) > i)", "must be known when the kernel is compiled"),
    ("tuple(i for i in ct.bid(0))", "runs over a range or a tuple"), ("tuple(i for i in range(9999))", "at most 1000"),
])  # fmt: skip
def test_generators_that_cannot_be_unrolled(programs: Programs, expression: str, words: str) -> None:
    assert words in programs.error(f"print({expression})")


def test_context_managers(programs: Programs) -> None:
    body = """
    total = 0
    for i in range(2):
        with scaled(ct.bid(0) + i) as r, nothing():
            w = r * 10
            if i > 0:
                total += w
        total += 1
    print(total, w)
    """
    assert programs.run("w = 0\n" + "\n".join(line[4:] for line in body.splitlines()), before=MANAGERS) == (
        "in 0\nout 0\nin 2\nout 2\n32 30"
    )


@pytest.mark.parametrize(("body", "words"), [
    ("with scaled(1) as r:\n    return", "no `break`, `continue` or `return`"),
    ("for i in range(3):\n    with nothing():\n        break", "no `break`, `continue` or `return`"),
    ("with twice():\n    pass", "`twice` needs one `yield`"), ("with guarded(1):\n    pass", "needs one `yield`"),
    ("with 3:\n    pass", "takes a call of a function"), ("x = scaled(3)", "write `with scaled(…) as x:`"),
    ("with open('x') as f:\n    pass", "takes a call of a function"),
])  # fmt: skip
def test_with_blocks_that_are_not_supported(programs: Programs, body: str, words: str) -> None:
    assert words in programs.error(body, before=MANAGERS)


@pytest.mark.parametrize(("start", "stop", "step"), [(7, 0, -2), (3, 3, -1), (0, 5, -1), (5, -6, -3), (-1, -9, -4)])
def test_ranges_that_count_downwards(programs: Programs, start: int, stop: int, step: int) -> None:
    body = f"""
    s = 0
    for i in range(a, b, {step}):
        s = s * 7 + i
    for i in range({start}, {stop}, {step}):
        if i == b:
            continue
        if i < -100:
            break
        s = s * 7 + i
    print(s)
    """
    wanted = 0
    for i in (*range(start, stop, step), *range(start, stop, step)):
        wanted = wanted * 7 + i
    assert programs.run(body, a=start, b=stop) == str(wanted)


@pytest.mark.parametrize(("body", "shape"), [
    ("while True:\n    if z == 0:\n        a = 4\n        break\n    a = 4\n    break", 4),
    ("while z < 3:\n    z = z + 1\n    a = 8", None), ("a = 2\nfor i in range(z):\n    a = 2", 2),
    ("a = 2\nwhile z < 3:\n    z = z + 1\n    if z == 2:\n        a = 2\n        break", 2),
    ("for i in range(z):\n    if i == 1:\n        a = 4\n        break\n    a = 4", None),
    ("while True:\n    z = z + 1\n    a = z\n    if z == 3:\n        a = 4\n        break", 4),
    ("while True:\n    if z == 0:\n        a = 4\n        break\n    a = 2\n    break", None),
])  # fmt: skip
def test_a_constant_that_leaves_a_loop_on_all_ways_stays_one(programs: Programs, body: str, shape: int | None) -> None:
    text = f"z, a = ct.bid(0), 1\n{body}\nprint(ct.full((a,), 3, ct.int32))"
    if shape is None:
        assert "must be an integer constant" in programs.error(text)
    else:
        assert programs.run(text) == str([3] * shape)


def test_zeros_of_two_signs_are_not_one_constant(programs: Programs) -> None:
    out = np.zeros(1, np.float32)
    programs.run("x = 0.0 if ct.bid(0) > 0 else -0.0\nct.scatter(y, 0, x)", y=out)
    assert np.signbit(out[0])


@pytest.mark.parametrize(("expression", "printed"), [
    ("ct.cat((t,), 0)", "[0, 1, 2, 3]"), ("ct.extract(t, 2, shape=())", "2"), ("t.extract((z + 1,), ())", "1"),
    ("ct.unpack_from_bytes(t.astype(ct.uint8), ct.bool_).astype(ct.int32)", "[0, 1, 1, 1]"),
    ("ct.pack_to_bytes(t > 1)", "[0, 0, 1, 1]"),
])  # fmt: skip
def test_shapes_at_the_edge(programs: Programs, expression: str, printed: str) -> None:
    assert programs.run(f"z, t = ct.bid(0), ct.arange(4, dtype=ct.int32)\nprint({expression})") == printed
