"""Statements: control flow over Python values runs at compile time, over IR values it becomes IR."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.tirx_mini.script.reading import error_in, line_of, printed

BECOMES = {
    "a branch of the kernel": (
        "if warp_id == 0:\n    reg[0] = 1\nelif warp_id == 1:\n    reg[1] = 1\nelse:\n    reg[2] = 1",
        "if warp_id == 0:\n    reg[0] = 1.0\nelif warp_id == 1:\n    reg[1] = 1.0\nelse:\n    reg[2] = 1.0",
    ),
    "a compile-time branch": ("if M > 100:\n    reg[0] = 1\nelse:\n    reg[1] = 1", "reg[0] = 1.0"),
    "names from a compile-time branch remain visible": ("if M > 100:\n    t = (1, 2)\nreg[t[1]] = 0", "reg[2] = 0.0"),
    "a number is a condition": ("if warp_id % 2:\n    pass", "if warp_id % 2 != 0:\n    pass"),
    "range": ("for i in range(4):\n    reg[i] = 0", "for i in range(4):\n    reg[i] = 0.0"),
    "range with bounds": ("for i in range(1, n, 2):\n    reg[i] = 0", "for i in range(1, n, 2):\n    reg[i] = 0.0"),
    "Tx.serial": ("for i in Tx.serial(2, 4):\n    reg[i] = 0", "for i in range(2, 4):\n    reg[i] = 0.0"),
    "Tx.unroll": ("for i in Tx.unroll(4):\n    reg[i] = 0", "for i in Tx.unroll(4):\n    reg[i] = 0.0"),
    "Tx.grid": (
        "for i, j in Tx.grid(2, 4):\n    reg[i * 4 + j] = 0",
        "for i in range(2):\n    for j in range(4):\n        reg[i * 4 + j] = 0.0",
    ),
    "a Python iterable is unrolled": ("for i in (1, 5):\n    reg[i] = i", "reg[1] = 1.0\nreg[5] = 5.0"),
    "zip and enumerate": (
        "for k, (a, b) in enumerate(zip([lane_id, n], (3, 4))):\n    reg[k] = a + b",
        "reg[0] = Tx.float32(lane_id + 3)\nreg[1] = Tx.float32(n + 4)",
    ),
    "an unrolled iteration binds its own values": (
        "for i in (2, 3):\n    x = lane_id * i\n    reg[i] = x",
        "x = lane_id * 2\nreg[2] = Tx.float32(x)\nx_1 = lane_id * 3\nreg[3] = Tx.float32(x_1)",
    ),
    "break and continue at compile time": (
        "for i in (1, 2, 3, 4):\n    if i == 2:\n        continue\n    if i == 4:\n        break\n    reg[i] = 0",
        "reg[1] = 0.0\nreg[3] = 0.0",
    ),
    "while": ("while phase < 4:\n    phase += 1", "while phase < 4:\n    phase = phase + 1"),
    "an endless loop with a break": (
        "while True:\n    phase += 1\n    if phase > n:\n        break\n    else:\n        continue",
        "while True:\n    phase = phase + 1\n    if phase > n:\n        break\n    else:\n        continue",
    ),
    "a while loop over Python values runs at compile time": (
        "items = [3, 1]\nwhile items:\n    reg[items.pop()] = 0",
        "reg[1] = 0.0\nreg[3] = 0.0",
    ),
    "a condition that needs statements is repeated in every iteration": (
        "@Tx.inline\ndef more():\n    phase += 1\n    return phase < 4\nwhile more():\n    reg[0] = 0",
        "while True:\n    phase = phase + 1\n    if not phase < 4:\n        break\n    reg[0] = 0.0",
    ),
    "scopes": (
        (
            "with Tx.cta():\n    with Tx.warpgroup()[wg_id == 0]:\n"
            "        with Tx.thread(parent='warp')[Tx.ptx.elect_sync()]:\n"
            "            phase = 1"
        ),
        (
            "with Tx.cta():\n    with Tx.warpgroup()[wg_id == 0]:\n        "
            'with Tx.thread(parent="warp")[Tx.ptx.elect.sync()]:\n            phase = 1'
        ),
    ),
    "scopes in one line": (
        "with Tx.cta(), Tx.thread():\n    phase = 1",
        "with Tx.cta():\n    with Tx.thread():\n        phase = 1",
    ),
    "a filter on a filter": (
        "with Tx.warp()[warp_id == 0][lane_id == 1]:\n    phase = 1",
        "with Tx.warp()[warp_id == 0 and lane_id == 1]:\n    phase = 1",
    ),
    "a name reassigned in each iteration": (
        "t = Tx.meta_var(0)\nfor k in range(4):\n    t = Tx.meta_var(k + 1)\n    reg[t] = 0",
        "for k in range(4):\n    reg[k + 1] = 0.0",
    ),
    "units of a scope by index": (
        "with Tx.warpgroup()[0:1]:\n    with Tx.warp()[1:3]:\n        with Tx.thread()[0]:\n            phase = 1",
        (
            "with Tx.warpgroup()[Tx.warp_id_in_cta >> 2 == 0]:\n"
            "    with Tx.warp()[1 <= Tx.warp_id_in_cta % 4 and Tx.warp_id_in_cta % 4 < 3]:\n"
            "        with Tx.thread()[Tx.threadIdx.x % 32 == 0]:\n            phase = 1"
        ),
    ),
    "units of a parent by index": (
        (
            'with Tx.warp(parent="cta")[:2]:\n'
            '    with Tx.thread(parent="warpgroup")[lane_id == 1][0:64]:\n        phase = 1'
        ),
        (
            'with Tx.warp(parent="cta")[Tx.warp_id_in_cta < 2]:\n'
            '    with Tx.thread(parent="warpgroup")[lane_id == 1 and Tx.threadIdx.x % 128 < 64]:\n        phase = 1'
        ),
    ),
    "short scopes": ("with Tx.wg():\n    phase = 1", "with Tx.warpgroup():\n    phase = 1"),
    "hints": (
        "Tx.hint('here')\nwith Tx.hint('there', depth=2):\n    phase = 1",
        'Tx.hint("here")\nwith Tx.hint("there", {"depth": 2}):\n    phase = 1',
    ),
    "docstrings and pass": ('"""What follows."""\npass\nphase = 1', "phase = 1"),
    "imports": ("import math\nfrom math import sqrt as root\nreg[0] = math.floor(root(17))", "reg[0] = 4.0"),
    "a shared buffer outlives its scope": (
        "with Tx.cta():\n    t = bar.view(1, 2)\nt[0, 0] = 1",
        'with Tx.cta():\n    t = Tx.decl_buffer((1, 2), "uint64", scope="shared", source=bar)\nt[0, 0] = 1',
    ),
    "return at the end": ("phase = 1\nreturn", "phase = 1"),
    "an instruction as a statement": (
        "Tx.ptx.map_shared_rank(bar.ptr_to([0]), 1)",
        "Tx.ptx.mapa(bar.ptr_to([0]), Tx.uint32(1))",
    ),
}


@pytest.mark.parametrize("name", BECOMES)
def test_a_statement_becomes_this_ir(name: str) -> None:
    body, expected = BECOMES[name]
    assert printed(body) == expected


def test_python_context_managers_are_entered_at_compile_time() -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def manager() -> Iterator[int]:
        seen.append("in")
        yield 3
        seen.append("out")

    assert printed("with manager() as i:\n    reg[i] = 0", manager=manager) == "reg[3] = 0.0"
    assert seen[:2] == ["in", "out"]


MISTAKES = {
    "too many copies": ("for i in Tx.unroll(10**7):\n    reg[0] = i", "Tx.unroll(10**7)", ("10,000,000",)),
    "too many copies of copies": (
        "for i in Tx.unroll(1000):\n    for j in Tx.vectorized(1000):\n        reg[0] = i",
        "Tx.vectorized(1000)",
        ("1,000,000 copies",),
    ),
    "too many iterations at compile time": (
        "t = tuple(range(1000))\nfor i in t:\n    for j in t:\n        pass",
        "pass",
        ("262,144 iterations, all together", "range(…)"),
    ),
    "too large an array": (
        "r = Tx.alloc_local((1 << 28,), 'float32')", "Tx.alloc_local((1 << 28,), 'float32')",
        ("with r, the arrays of a thread take 1,073,741,", "at most 524,288", "belongs to one thread"),
    ),
    "too large arrays together": (
        "a = Tx.alloc_local((65536,), 'float32')\nb = Tx.alloc_local((65536,), 'float32')",
        "Tx.alloc_local((65536,), 'float32')",
        ("with b, the arrays",),
    ),
    "a value from a loop that has ended": (
        "for i in range(2):\n    y = i * 2\nreg[y] = 0",
        "y",
        ("block that has ended",),
    ),
    "registers from an ended scope": ("with Tx.cta():\n    r = Tx.alloc_local((1,))\nr[0] = 0", "r", ("ended",)),
    "a Python value reassigned in a branch": (
        "t = (1, 2)\nif warp_id == 0:\n    t = (3, 4)\nreg[t[0]] = 0",
        "t",
        ("may not run",),
    ),
    "a Python value that changes between iterations": (
        "t = Tx.meta_var(0)\nfor k in range(4):\n    reg[0] = t\n    t = Tx.meta_var(1 - t)",
        "t",
        ("between iterations", "t: Tx.int32"),
    ),
    "a Python value incremented by a loop": (
        "t = Tx.meta_var(0)\nwhile phase < 2:\n    t ^= 1\n    reg[t] = 0",
        "t",
        ("between iterations",),
    ),
    "a Python value reassigned in a loop": (
        "t = (1, 2)\nfor k in range(4):\n    t = (3, 4)\nreg[t[0]] = 0",
        "t",
        ("may not run",),
    ),
    "unrolling an unknown number of times": ("for i in Tx.unroll(n):\n    pass", "Tx.unroll(n)", ("Tx.serial",)),
    "a loop that never ends": ("t = [1]\nwhile t:\n    pass", "while t:", ("never becomes false",)),
    "iterating over a value": ("for i in lane_id:\n    pass", "lane_id", ("int32",)),
    "iterating over a buffer": ("for i in reg:\n    pass", "reg", ("buffer reg",)),
    "a negative step": ("for i in range(4, 0, -1):\n    pass", "range(4, 0, -1)", ("step",)),
    "a float as a bound": ("for i in range(2.5):\n    pass", "range(2.5)", ("float32",)),
    "an early return": ("if warp_id == 0:\n    return", "return", ("`if`",)),
    "a break from an unrolled loop on a run-time condition": (
        "for i in (1, 2):\n    if lane_id == i:\n        break",
        "break",
        ("unrolled", "range"),
    ),
    "try": ("try:\n    pass\nfinally:\n    pass", "try:", ("`try`",)),
    "class": ("class C:\n    x = 1", "class C:", ("`class`",)),
    "a scope that is not opened": ("Tx.cta()", "Tx.cta()", ("`with`",)),
    "a scope that is not called": ("with Tx.cta:\n    pass", "Tx.cta", ("`with Tx.cta():`",)),
    "a slice of units that is not constant": (
        "with Tx.warp()[0:lane_id]:\n    pass",
        "Tx.warp()[0:lane_id]",
        ("first : last", "Tx.warp()[0:1]"),
    ),
    "an empty slice of units": ("with Tx.warp()[2:1]:\n    pass", "Tx.warp()[2:1]", ("first : last",)),
    "a slice of units with a step": ("with Tx.warp()[0:4:2]:\n    pass", "Tx.warp()[0:4:2]", ("first : last",)),
    "CTAs by index": ("with Tx.cta()[0:1]:\n    pass", "Tx.cta()[0:1]", ("by a condition", "Tx.cta()[condition]")),
    "an unknown parent": (
        "with Tx.thread(parent='warpgrp'):\n    pass",
        "'warpgrp'",
        ("`warpgroup`",),
    ),
    "an assertion": ("assert M == 127, f'M is {M}'", "M == 127", ("M is 128",)),
    "an exception": ("raise ValueError('no')", "raise ValueError('no')", ("no",)),
    "an unused value": ("phase ^ 1", "phase ^ 1", ("phase = phase ^ 1",)),
    "a function that is not called": ("Tx.cuda.cta_sync", "Tx.cuda.cta_sync", ("Tx.cuda.cta_sync()",)),
    "a loop with else": ("for i in range(2):\n    pass\nelse:\n    phase = 1", "phase = 1", ("`else`",)),
    "a walrus": ("if (k := 3) > 2:\n    pass", "k := 3", (":=",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_invalid_statement_is_reported(name: str) -> None:
    body, culprit, words = MISTAKES[name]
    error = error_in(body)
    assert line_of(error) == culprit, str(error)
    for word in words:
        assert word in str(error), str(error)
