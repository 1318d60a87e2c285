"""T.thread_return: what a thread has left undone, others do; loops are left, and nothing after them is executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc, Return, walk
from tirx_mini.passes import lower
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler


def kernel(*lines: str) -> PrimFunc:
    """A kernel of 64 threads with these statements."""
    body = "\n".join(f"    {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(O: T.Buffer((64,), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    O[tx] = 0
{body}
""")


def run(*lines: str) -> Any:
    made, out = kernel(*lines), np.zeros(64, np.int32)
    report = tvm.simulate(made, out)
    assert report.verdict == "ok" and not report.findings, report.findings
    assert not any(isinstance(node, Return) for node in walk(lower(made).body))
    goes_round(made)
    return out


TX = np.arange(64)
CASES: dict[tuple[str, ...], Any] = {
    ("if tx > 3: T.thread_return()", "O[tx] = 7"): np.where(TX > 3, 0, 7),
    ("if tx > 3:", "    O[tx] = 1", "    T.thread_return()", "O[tx] = 7"): np.where(TX > 3, 1, 7),
    ("if tx > 3:", "    O[tx] = 1", "    T.Return(0)", "else:", "    O[tx] = 2", "O[tx] = O[tx] + 7"):
        np.where(TX > 3, 1, 9),
    ("if tx > 3:", "    if tx > 9: T.thread_return()", "    O[tx] = 1", "O[tx] = O[tx] + 7"):
        np.where(TX > 9, 0, np.where(TX > 3, 8, 7)),
    ("for i in range(8):", "    if i == tx: T.evaluate(T.thread_return())", "    O[tx] = O[tx] + 1",
     "O[tx] = O[tx] + 10"):
        np.where(TX < 8, TX, 18),
    ("for i in range(8):", "    for j in range(8):", "        if i * 8 + j == tx: T.thread_return()",
     "        O[tx] = O[tx] + 1", "    O[tx] = O[tx] + 100"): TX + TX // 8 * 100,
    ("if tx < 3:", "    T.thread_return()", "if tx < 6:", "    T.thread_return()", "O[tx] = 5"): np.where(TX < 6, 0, 5),
    ("i: T.int32 = 0", "while i < 100:", "    if i == tx: T.thread_return()", "    i = i + 1", "    O[tx] = i"): TX,
}  # fmt: skip


@pytest.mark.parametrize("lines", CASES, ids=" ".join)
def test_a_thread_ends_where_it_returns(lines: tuple[str, ...]) -> None:
    np.testing.assert_array_equal(run(*lines), CASES[lines])


def test_a_return_in_a_branch_is_the_other_branch_of_what_follows() -> None:
    text = cuda_source(lower(kernel("if tx > 3: T.thread_return()", "O[tx] = 7"))).text
    assert "ended" not in text and "!(((int)threadIdx.x) > 3)" in text
