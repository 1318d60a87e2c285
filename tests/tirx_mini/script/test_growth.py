"""Kernels that are too deep or too large for what follows are refused when they are read, and all others go through."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import line_of
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.script import from_source

KERNEL = """
@Tx.prim_func
def kernel(B: Tx.Buffer((64,), "int32")):
    Tx.device_entry()
    bx = Tx.cta_id([1])
    i = Tx.thread_id([64])
"""


def read(body: str) -> PrimFunc:
    return from_source(KERNEL + textwrap.indent(body, "    ") + "\n")


def accumulated(count: int, step: str) -> str:
    return f"acc = Tx.meta_var(i)\nfor k in tuple(range({count})):\n    acc = Tx.meta_var({step})\nB[i] = acc"


def chain(count: int) -> str:
    return "if i == 0:\n    B[i] = 0\n" + "\n".join(f"elif i == {k}:\n    B[i] = {k}" for k in range(1, count))


def nested(count: int) -> str:
    lines = [f"{'  ' * k}if i >= {-k}:" for k in range(count)]
    return "\n".join([*lines, f"{'  ' * count}B[i] = i"])


def grid(count: int) -> str:
    return f"for t in Tx.grid({', '.join(['1'] * count)}):\n    B[i] = i"


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (f"B[i] = {' + '.join(['i'] * 200)}", np.arange(64) * 200),
        (accumulated(200, "acc + 1"), np.arange(64) + 200),
        (accumulated(80, "Tx.cuda.shfl_xor(acc, 1)"), np.arange(64)),
        (accumulated(60, "Tx.if_then_else(i > 0, acc, i)"), np.arange(64)),
        (accumulated(30, "Tx.int32(Tx.float32(acc) * 1.0)"), np.arange(64)),
        (chain(64), np.arange(64)),
        (nested(90), np.arange(64)),
        (grid(20), np.arange(64)),
    ],
    ids=["operators", "steps", "calls", "choices", "conversions", "elifs", "ifs", "loops"],
)
def test_what_is_below_the_limits_is_simulated_and_compiled(body: str, values: np.ndarray) -> None:
    kernel, found = read(body), np.zeros(64, np.int32)
    assert tirx_mini.simulate(kernel, found).ok
    assert (found == values).all() and kernel.script()
    assert tirx_mini.compile(kernel, target="sim").source("cuda")


@pytest.mark.parametrize(
    ("body", "culprit", "words"),
    [
        (f"B[i] = {' + '.join(['i'] * 500)}", "B[i] = i + i", "more than 300 levels of syntax"),
        (accumulated(300, "acc + k"), "acc + k", "so many operators or calls in one another"),
        (f"y = {'B[' * 100}i{']' * 100}\nB[i] = y", "B[B[", "so many operators or calls in one another"),
        (accumulated(40, "acc + acc"), "acc + acc", "more than 65,536 parts"),
        (chain(400), "elif i ==", "more than 300 levels of syntax"),
        (nested(91), "if i >= 0", "more than 90 branches"),
        (grid(21), "for t in", "more than 20 loops"),
    ],
    ids=["operators", "steps", "indices", "repetitions", "elifs", "ifs", "loops"],
)
def test_what_is_above_them_gets_a_page(body: str, culprit: str, words: str) -> None:
    with pytest.raises(TirxError, match=words) as raised:
        read(body)
    assert line_of(raised.value).startswith(culprit), str(raised.value)
    assert raised.value.diagnostic.hint is not None


def test_inlining_that_doubles_at_each_level_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.script.builder._MAX_EXPANSIONS", 1000)
    body = "@Tx.inline\ndef f(n):\n    if n > 0:\n        f(n - 1)\n        f(n - 1)\nf(40)"
    with pytest.raises(TirxError, match="inline functions are expanded 1,000 times") as raised:
        read(body)
    assert line_of(raised.value) == "f(n - 1)"


@pytest.mark.parametrize(
    ("body", "culprit"),
    [("f = lambda x: f(x)\ny = f(i)", "f(x)"), ("y = again(3)", "again(3)")],
    ids=["in the kernel", "outside"],
)
def test_a_recursion_without_end_gets_a_page(body: str, culprit: str) -> None:
    def again(value: int) -> int:
        return again(value)

    with pytest.raises(TirxError, match="nests too deeply") as raised:
        from_source(KERNEL + textwrap.indent(body, "    ") + "\n", {"again": again})
    assert line_of(raised.value) == culprit
