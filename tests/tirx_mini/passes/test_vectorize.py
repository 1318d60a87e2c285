"""Loops over the elements of a vector: accesses of up to 16 bytes where elements are neighbours and aligned."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.script.reading import goes_round
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.passes import lower
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler
THREADS, EACH = 8, 16


def kernel(*lines: str, count: int = EACH) -> PrimFunc:
    """A kernel of 8 threads, each with these statements for `i` in a vectorized loop; A, H and O have a row each."""
    body = "\n".join(f"        {line}" for line in lines)
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((8, 16), "float32"), H: T.Buffer((8, 16), "float16"), O: T.Buffer((8, 16), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    t = T.thread_id([8])
    tile = T.alloc_shared((8, 16), "float32")
    reg = T.alloc_local((16,), "float32")
    for i in T.vectorized({count}):
{body}
""")


A = np.linspace(-2, 2, 128, dtype=np.float32).reshape(THREADS, EACH)
H = A.astype(np.float16)


def text(func: PrimFunc) -> str:
    return cuda_source(lower(func)).text


WIDE = {
    "O[t, i] = A[t, i]": A,
    "O[t, i] = A[7 - t, i] * 2.0 + 1.0": A[::-1] * 2 + 1,
    "O[t, i] = T.float32(H[t, i])": H.astype(np.float32),
    "O[t, i] = T.if_then_else(t < 4, A[t, i], 1.0)": np.where(np.arange(8)[:, None] < 4, A, 1),
    "O[t, i] = T.exp2(A[t, i])": np.exp2(A),
    "x = A[t, i]; O[t, i] = x * x": A * A,
    "tile[t, i] = A[t, i]; O[t, i] = tile[t, i]": A,
    "reg[i] = A[t, i]; O[t, i] = reg[i] + T.float32(t)": A + np.arange(8)[:, None],
}
"""Statements, and what they store to O."""


@pytest.mark.parametrize("line", WIDE)
def test_neighbours_are_one_access(line: str) -> None:
    func, out = kernel(*line.split("; ")), np.zeros((THREADS, EACH), np.float32)
    report = tvm.simulate(func, A.copy(), H.copy(), out)
    assert report.verdict == "ok" and not report.findings, report.findings
    np.testing.assert_allclose(out, WIDE[line], rtol=1e-6)
    made = text(func)
    assert "i < 4;" in made and "*(uint4*)(O +" in made and " O[" not in made, made
    assert made.count("4*)(A +") + made.count("uint2*)(H +") == 1
    assert made.count("*(uint4*)(tile +") == (2 if "tile" in line else 0)
    goes_round(func)


@pytest.mark.parametrize(
    ("line", "count", "expected"),
    [
        ("O[t, i + 1] = A[t, i]", 15, np.pad(A[:, :15], ((0, 0), (1, 0)))),  # not aligned
        ("O[i // 2, t * 2 + i % 2] = A[t, i]", 16, A.reshape(8, 8, 2).transpose(1, 0, 2).reshape(8, 16)),
        ("if i < 3: O[t, i] = A[t, i]", 16, np.where(np.arange(16) < 3, A, 0)),
        ("O[t, 0] = A[t, i]", 16, np.pad(A[:, 15:], ((0, 0), (0, 15)))),  # one element
        ("O[t, i] = A[t, i]", 3, np.where(np.arange(16) < 3, A, 0)),
    ],
)
def test_other_loops_are_unrolled(line: str, count: int, expected: np.ndarray) -> None:
    func, out = kernel(line, count=count), np.zeros((THREADS, EACH), np.float32)
    assert tvm.simulate(func, A.copy(), H.copy(), out).verdict == "ok"
    np.testing.assert_array_equal(out, expected)
    assert "uint" not in text(func) and f"#pragma unroll\n  for (int i = 0; i < {count}; ++i)" in text(func)


def test_pairs_where_four_are_not_aligned() -> None:
    assert "*(uint2*)(O + i * 2 +" in text(kernel("O[t, i + 2] = A[t, i]", count=12))


def test_the_extent_is_a_constant() -> None:
    with pytest.raises(TirxError, match="iterations of a vectorized loop must be known at compile time"):
        from_source("""
@T.prim_func
def kernel(O: T.Buffer((64,), "float32")):
    T.device_entry()
    t = T.thread_id([8])
    for i in T.vectorized(t):
        O[i] = 0.0
""")
