"""Loops and branches are read once: what Python would change or compute there from run-time values is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.tirx_mini.script.reading import error_in, line_of, printed
from tirx_mini.lang import PipelineState


class Counter:
    """An object with Python state."""

    def __init__(self) -> None:
        self.n = 0

    def step(self) -> int:
        self.n += 1
        return self.n


LOOP, BRANCH = "no iteration repeats the change", "whether or not the kernel takes it"
CHANGES = {
    "an element of a dict": ("s = {'n': 0}\nfor k in range(4):\n    s['n'] += 1", "s['n']", ("Python dict", LOOP)),
    "an element of a list": ("s = [0]\nwhile phase < 4:\n    phase += 1\n    s[0] = 1", "s[0]", ("Python list", LOOP)),
    "a list that grows": ("s = []\nfor k in range(4):\n    s.append(k)", "s.append(k)", ("Python list", LOOP)),
    "a list in a branch": ("s = []\nif warp_id == 0:\n    s.append(1)", "s.append(1)", ("Python list", BRANCH)),
    "a list in a filtered scope": (
        "s = [1]\nwith Tx.thread()[lane_id == 0]:\n    s.pop()", "s.pop()", ("Python list", BRANCH),
    ),
    "a set": ("s = {1}\nfor k in range(4):\n    s.add(2)", "s.add(2)", ("Python set", LOOP)),
    "a dict by its method": ("s = {}\nfor k in range(4):\n    s.update(a=1)", "s.update(a=1)", ("Python dict", LOOP)),
    "an attribute": ("c = Counter()\nfor k in range(4):\n    c.n = 1", "c.n", ("Python Counter", LOOP)),
    "an augmented attribute": ("c = Counter()\nif warp_id == 0:\n    c.n += 1", "c.n", ("Python Counter", BRANCH)),
    "a method that changes an attribute": (
        "c = Counter()\nfor k in range(4):\n    reg[c.step()] = 0", "c.step()", ("Python Counter", LOOP),
    ),
    "an iterator": ("s = iter((1, 2))\nfor k in range(2):\n    reg[next(s)] = 0", "next(s)", ("iterator", LOOP)),
    "a list of an outer loop": (
        "for k in range(4):\n    s = [0]\n    for i in range(4):\n        s[0] = 1", "s[0]", ("Python list", LOOP),
    ),
    "a list, by an inline function": (
        "s = []\n@Tx.inline\ndef f():\n    s.append(1)\nfor k in range(4):\n    f()",
        "s.append(1)", (LOOP, "inlined from"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_python_object_that_a_loop_or_branch_changes_is_refused(name: str) -> None:
    body, culprit, words = CHANGES[name]
    error = error_in(body, Counter=Counter)
    assert line_of(error) == culprit, str(error)
    for word in (*words, "use a variable of the kernel"):
        assert word in str(error), str(error)


ALLOWED = {
    "outside loops": ("s = []\nfor i in (1, 2):\n    s.append(i)\nreg[s[1]] = 0", "reg[2] = 0.0"),
    "made in the same loop": (
        "for k in range(4):\n    s = [1]\n    s.append(2)\n    t = {}\n    t['a'] = s.pop()\n    reg[t['a']] = 0",
        "for k in range(4):\n    reg[2] = 0.0",
    ),
    "made by a call in the same loop": (
        "for k in range(4):\n    c = Counter()\n    c.n = 3\n    reg[c.step()] = 0",
        "for k in range(4):\n    reg[4] = 0.0",
    ),
    "made by a comprehension in the same branch": (
        "if warp_id == 0:\n    s = [i for i in (1, 2)]\n    s.reverse()\n    reg[s[0]] = 0",
        "if warp_id == 0:\n    reg[2] = 0.0",
    ),
    "keyword arguments of an inline function": (
        "def f(**config):\n    config['i'] = 2\n    reg[config['i']] = 0\nfor k in range(4):\n    f(i=1)",
        "for k in range(4):\n    reg[2] = 0.0",
    ),
    "a method that changes nothing": (
        "s = [1, 2]\nfor k in range(4):\n    reg[s.index(2)] = 0", "for k in range(4):\n    reg[1] = 0.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_python_objects_may_change_where_python_runs_once_too(name: str) -> None:
    body, expected = ALLOWED[name]
    assert printed(body, Counter=Counter) == expected


def test_objects_of_the_library_change_in_loops() -> None:
    body = "state = PipelineState(4, phase=0)\nfor k in range(4):\n    state.advance()"
    assert "state_stage = (state_stage + 1) % 4" in printed(body, PipelineState=PipelineState)


TEXTS = {
    "an f-string": ("name = f'tile {lane_id}'", "lane_id"),
    "an f-string of a variable": ("i = 0\nfor k in range(4):\n    i += 1\n    name = f'{i:>3}'", "i"),
    "str": ("name = str(lane_id)", "str(lane_id)"),
    "format": ("name = 'tile {}'.format(lane_id)", "'tile {}'.format(lane_id)"),
    "percent": ("name = 'tile %s' % lane_id", "'tile %s' % lane_id"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_a_runtime_value_is_refused(name: str) -> None:
    body, culprit = TEXTS[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    assert "only known when the kernel runs" in str(error) and "Tx.cuda.printf" in str(error)


def test_text_of_python_values_is_made() -> None:
    assert printed("sizes = {f'{i}': i for i in (1, 2)}\nreg[sizes['%d' % 2]] = 0") == "reg[2] = 0.0"


@pytest.mark.parametrize(
    ("call", "function"),
    [("np.sqrt(lane_id)", "sqrt"), ("np.maximum(lane_id, 3)", "maximum"), ("math.sqrt(reg[0])", "sqrt"),
     ("np.float32(lane_id)", "float32"), ("len(lane_id)", "len")],
)  # fmt: skip
def test_a_python_function_of_a_runtime_value_is_refused(call: str, function: str) -> None:
    error = error_in(f"x = {call}", np=np, math=math)
    assert line_of(error) == call, str(error)
    assert f"{function}() is a function of Python" in str(error) and "only known when the kernel runs" in str(error)


def test_numpy_scalars_are_operands() -> None:
    assert printed("reg[0] = scale * lane_id", scale=np.float32(2)) == "reg[0] = 2.0 * Tx.float32(lane_id)"
