"""Vectors: what only moves one is one access, and what computes with one is an operation for each lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from tirx_mini.runtime import compile_cuda
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler


def kernel(*lines: str) -> PrimFunc:
    """A kernel of 8 threads with these statements."""
    body = "\n".join(f"    {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), H: T.Buffer((64,), "float16"), O: T.Buffer((64,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([8])
    t: T.let = tx * 4
{body}
""")


A = np.arange(64, dtype=np.float32) - 20
H = (np.arange(64) / 4).astype(np.float16)


def run(*lines: str) -> Any:
    """What the first 32 elements of `O` become."""
    out = np.zeros(64, np.float32)
    made = kernel(*lines)
    report = tvm.simulate(made, A.copy(), H.copy(), out)
    assert report.verdict == "ok" and not report.findings, report.findings
    goes_round(made)
    return out[:32]


BLOCKS = A[:32].reshape(8, 4)
CASES = {
    "O[T.ramp(t, 1, 4)] = A[T.ramp(t, 1, 4)]": BLOCKS,
    "O[T.ramp(t, 1, 4)] = A[T.ramp(t, 1, 4)] * 2.0 - A[T.ramp(0, 1, 4)]": 2 * BLOCKS - A[:4],
    "O[T.ramp(t, 1, 4)] = T.Broadcast(A[tx], 4) + A[T.ramp(0, 1, 4)]": A[:8, None] + A[:4],
    "O[T.Ramp(t, 1, 4)] = T.broadcast(T.float32(3), 4)": np.full((8, 4), 3),
    "O[T.ramp(t, 1, 4)] = T.Cast('float32x4', T.Ramp(tx, 3, 4))": np.arange(8)[:, None] + 3 * np.arange(4),
    "O[T.ramp(t, 1, 4)] = A[T.ramp(tx, 8, 4)]": A[np.arange(8)[:, None] + 8 * np.arange(4)],
    "O[T.ramp(tx, 8, 4)] = A[T.ramp(t, 1, 4)]": BLOCKS.T,
    "O[T.ramp(t, 1, 4)] = T.Cast('float32x4', H[T.ramp(t, 1, 4)])": H[:32],
    "O[T.ramp(t, 1, 4)] = T.max(A[T.ramp(t, 1, 4)], -A[T.ramp(t, 1, 4)])": abs(BLOCKS),
    "O[T.ramp(t, 1, 4)] = T.Select(A[T.ramp(t, 1, 4)] < 0.0, T.Broadcast(T.float32(1), 4), A[T.ramp(t, 1, 4)])":
        np.where(BLOCKS < 0, 1, BLOCKS),
    "O[T.ramp(t, 1, 4)] = T.Shuffle([A[T.ramp(t, 1, 4)]], [3, 2, 0, 0])": BLOCKS[:, [3, 2, 0, 0]],
    "O[T.ramp(t, 1, 4)] = T.Broadcast(T.Shuffle([A[T.ramp(t, 1, 4)], A[tx]], [4]), 4)": np.repeat(A[:8, None], 4, 1),
    "O[T.ramp(t, 1, 4)] = T.vectorcombine('float32x4', T.vectorhigh('float32x2', A[T.ramp(t, 1, 4)]),"
    " T.vectorlow('float32x2', A[T.ramp(t, 1, 4)]))": BLOCKS[:, [2, 3, 0, 1]],
}  # fmt: skip


@pytest.mark.parametrize("line", CASES)
def test_a_statement_of_vectors(line: str) -> None:
    np.testing.assert_array_equal(run(line), CASES[line].reshape(-1))


def test_variables_hold_vectors() -> None:
    lines = ("v = A[T.ramp(t, 1, 4)]", "w = v + T.Broadcast(T.float32(1), 4)", "u = w * w",
             "O[T.ramp(t, 1, 4)] = u - v")  # fmt: skip
    np.testing.assert_array_equal(run(*lines), (A[:32] + 1) ** 2 - A[:32])


def test_a_store_reads_all_lanes_before_it_writes_one() -> None:
    lines = (
        "r = T.alloc_local((8,), 'float32')", "for i in T.unroll(5): r[i] = A[t + i]",
        "r[T.ramp(1, 1, 4)] = r[T.ramp(0, 1, 4)] * 1.0", "O[T.ramp(t, 1, 4)] = r[T.ramp(0, 1, 4)]",
    )  # fmt: skip
    np.testing.assert_array_equal(run(*lines), BLOCKS[:, [0, 0, 1, 2]].reshape(-1))


def test_moves_stay_one_access() -> None:
    text = cuda_source(lower(kernel("O[T.ramp(t, 1, 4)] = A[T.ramp(t, 1, 4)]"))).text
    assert "*(uint4*)(O + t) = *(uint4*)(A + t);" in text
    computed = cuda_source(lower(kernel("O[T.ramp(t, 1, 4)] = A[T.ramp(t, 1, 4)] * 2.0"))).text
    assert computed.count("= *(uint4*)(A + t);") == computed.count("*(uint4*)(O + t) =") == 1


def test_all_of_them_compile() -> None:
    assert compile_cuda(cuda_source(lower(kernel(*CASES))), "sm_90a").cubin


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("O[T.ramp(t, 1, 4)] = T.Broadcast(A[T.ramp(t, 1, 4)], 4)", "repeats one value"),
        ("O[T.ramp(t, 1, 4)] = T.Broadcast(A[tx], tx)", "known at compile time"),
        ("O[tx] = A[T.ramp(t, 1, 4)]", "a vector of 4 values is stored to 1 element"),
        ("O[tx] = T.vectorlow('float32x3', A[T.ramp(t, 1, 4)])", "half of a vector of 4 lanes is not"),
        ("O[tx] = T.Shuffle([A[tx], H[tx]], [0])", "takes vectors of one type"),
    ],
)
def test_what_is_no_vector(line: str, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        lower(kernel(line))
